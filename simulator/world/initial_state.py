"""What the clients of an application have that is running when a run begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assignors.model.columns import IntArray
from assignors.model.ids import TaskId
from simulator.group.reconciliation import GroupAssignment
from simulator.world.world import Client

NO_COPY = -1


@dataclass(frozen=True, slots=True, eq=False)
class InitialState:
    """What is there.

    Attributes:
        holdings: who has what.
        lags: shape (T, N); by how many records the copy of a client is behind, NO_COPY where it has none.
    """

    holdings: GroupAssignment
    lags: IntArray


def build_initial_state(tasks: Sequence[TaskId], clients: Sequence[Client]) -> InitialState:
    """Lay out what N clients have of T tasks; copies are level where nothing is said of them."""
    row_of = {task: row for row, task in enumerate(tasks)}
    holdings = GroupAssignment.none(len(tasks), len(clients))
    lags = np.full(holdings.standby.shape, NO_COPY, dtype=np.int64)
    for column, client in enumerate(clients):
        runs, stands_by = _rows(client.tasks.active, row_of), _rows(client.tasks.standby, row_of)
        holdings.owner[list(runs)] = column
        holdings.standby[list(stands_by), column] = True
        held = {**runs, **stands_by}
        holdings.thread[list(held), column] = list(held.values())
        lags[list(held), column] = 0
        for task, lag in client.tasks.lags.items():
            lags[row_of[task], column] = lag
    return InitialState(holdings, lags)


def _rows(threads: Sequence[Sequence[TaskId]], row_of: Mapping[TaskId, int]) -> dict[int, int]:
    """The thread of each task, by row."""
    return {row_of[task]: number for number, tasks in enumerate(threads) for task in tasks}
