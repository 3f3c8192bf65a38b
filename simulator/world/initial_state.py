"""The tasks and copies of the clients of an application that is already running when a run begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assignors.model.columns import IntArray
from assignors.model.ids import TaskId
from simulator.world.group_assignment import GroupAssignment
from simulator.world.sentinels import NO_COPY
from simulator.world.world import Client


@dataclass(frozen=True, slots=True, eq=False)
class InitialState:
    """The initial assignment and lags of T tasks on N clients.

    Attributes:
        assignment: the initial assignment of tasks to clients.
        lags: shape (T, N); how many records the copy of a client is behind, NO_COPY where it has none.
        lags_when_opened: shape (T, N); how many records, at the start, what was on disk was behind when the stores of
            the copy were opened, NO_COPY where they were empty.
    """

    assignment: GroupAssignment
    lags: IntArray
    lags_when_opened: IntArray


def build_initial_state(tasks: Sequence[TaskId], clients: Sequence[Client]) -> InitialState:
    """Lay out the tasks and copies of clients in arrays.

    `tasks`: T tasks, by row; `clients`: N clients, by row. Returns the initial state; a copy without a stated lag has
    caught up.
    """
    row_of = {task: row for row, task in enumerate(tasks)}
    assignment = GroupAssignment.empty(len(tasks), len(clients))
    lags, lags_when_opened = np.full((2, *assignment.standby.shape), NO_COPY, dtype=np.int64)
    for column, client in enumerate(clients):
        active, standby = _threads(client.tasks.active, row_of), _threads(client.tasks.standby, row_of)
        assignment.owner[list(active)] = column
        assignment.standby[list(standby), column] = True
        thread_of_copy = {**active, **standby}
        assignment.thread[list(thread_of_copy), column] = list(thread_of_copy.values())
        lags[list(thread_of_copy), column] = 0
        for task, lag in client.tasks.lags.items():
            lags[row_of[task], column] = lag
        for task, lag in client.tasks.lags_when_opened.items():
            lags_when_opened[row_of[task], column] = lag
    return InitialState(assignment, lags, lags_when_opened)


def _threads(tasks_by_thread: Sequence[Sequence[TaskId]], row_of: Mapping[TaskId, int]) -> dict[int, int]:
    """Return the thread of each task, by row."""
    return {row_of[task]: number for number, tasks in enumerate(tasks_by_thread) for task in tasks}
