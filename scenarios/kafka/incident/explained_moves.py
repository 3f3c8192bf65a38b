"""Steps of the assignor for the moves of a recorded rebalance, as rows of the table `reasons`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assignors.model.assignment import UNASSIGNED, TaskAssignor, TaskType
from assignors.model.state import ApplicationState
from scenarios.kafka.incident.recomputation import Recomputed
from scenarios.kafka.incident.recorded import RecordedRebalance
from simulator.assignment.explanation import DecisionRecord, ExplanationRequest, explain_decision
from simulator.results.tabulation import step_rows
from simulator.world.group_assignment import GroupAssignment

Rows = tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class ProcessNames:
    """The clients of a night.

    Attributes:
        names: Name by process id, in a fixed order.
        threads: Threads by process id.
    """

    names: Mapping[str, str]
    threads: Mapping[str, int]


def explain_moves(
    recomputed: Recomputed,
    before: RecordedRebalance | None,
    assignor: TaskAssignor,
    traffic_cost: int,
    clients: ProcessNames,
) -> dict[str, Rows]:
    """Return the steps of each active task that got another client, by task; none if there is no assignment.

    `before`: the rebalance before; None for the first. `traffic_cost`: cost of a remote partition.
    """
    if recomputed.columns is None:
        return {}
    state = recomputed.rebuilt.state
    processes = list(clients.names)
    row_of = {process: row for row, process in enumerate(processes)}
    members = np.array([row_of[str(process)] for process in state.clients.ids], dtype=np.int64)
    record = DecisionRecord(state, assignor, traffic_cost, recomputed.steps, ExplanationRequest(break_evens=False))
    explanation = explain_decision(
        record,
        members,
        None if before is None else _assignment(state, row_of, before.active(), before.standby()),
        _assignment(state, row_of, recomputed.active, recomputed.standby),
    )
    names = [*clients.names.values(), None]
    threads = [clients.threads[process] for process in processes]
    return {
        str(state.tasks.ids[move.task]): tuple(step_rows(move, explanation, names, threads))
        for move in explanation.moves
        if move.role is TaskType.ACTIVE
    }


def _assignment(
    state: ApplicationState,
    row_of: Mapping[str, int],
    active: Mapping[str, str],
    standby: Mapping[str, Sequence[str]],
) -> GroupAssignment:
    """Return an assignment along all clients of the night."""
    tasks = list(map(str, state.tasks.ids))
    empty = GroupAssignment.empty(len(tasks), len(row_of))
    owner = np.array([row_of.get(active.get(task, ""), UNASSIGNED) for task in tasks], dtype=np.int64)
    for row, task in enumerate(tasks):
        for process in standby.get(task, ()):
            empty.standby[row, row_of[process]] = True
    return GroupAssignment(owner, empty.standby, empty.thread)
