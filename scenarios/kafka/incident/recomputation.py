"""Recomputation of recorded rebalances by an assignor, and the comparison with what was recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from assignors.errors import AssignorError
from assignors.model.assignment import UNASSIGNED, AssignmentColumns, TaskAssignor
from assignors.model.state import ApplicationState
from assignors.recording.recorder import StepRecorder, as_recording
from assignors.tasks.streams_group_sticky import StreamsGroupSticky
from scenarios.kafka.incident.recorded import RecordedRebalance
from scenarios.kafka.incident.states import RebuiltState

Owners = Mapping[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Recomputed:
    """The assignment of an assignor for a recorded rebalance.

    Attributes:
        rebuilt: Its input.
        active: Process of each task.
        standby: Processes with a standby of each task, sorted.
        steps: The recorded steps; None if the assignor records none.
        error: Why there is no assignment; None if there is one.
    """

    rebuilt: RebuiltState
    active: Owners
    standby: Mapping[str, tuple[str, ...]]
    columns: AssignmentColumns | None = None
    steps: StepRecorder | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A copy of a task that was recorded elsewhere.

    Attributes:
        role: `active` or `standby`.
        recorded: Processes that were recorded.
        recomputed: Processes that the assignor returns.
    """

    task: str
    role: str
    recorded: tuple[str, ...]
    recomputed: tuple[str, ...]


def recompute(rebalance: RecordedRebalance, rebuilt: RebuiltState, assignor: TaskAssignor) -> Recomputed:
    """Compute the assignment of a recorded rebalance again.

    `rebuilt`: the input of its assignor. `assignor`: the assignor; the one of streams groups gets the members in the
    order of the coordinator. Returns the assignment, or why there is none.
    """
    if isinstance(assignor, StreamsGroupSticky) and rebalance.coordinator_order:
        process_of = {member.id: member.process_id for member in rebalance.members}
        assignor = replace(assignor, members={name: process_of[name] for name in rebalance.coordinator_order})
    recorder = StepRecorder()
    recording = as_recording(assignor)
    state = rebuilt.state
    try:
        columns = AssignmentColumns.of(state, recording.assign_recorded(state, recorder))
    except AssignorError as error:
        return Recomputed(rebuilt, {}, {}, error=str(error))
    active, standby = placements(state, columns)
    return Recomputed(rebuilt, active, standby, columns, recorder if recording is assignor else None)


def placements(
    state: ApplicationState, columns: AssignmentColumns
) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """Return the process of each active task, and those of its standbys, sorted."""
    processes = list(map(str, state.clients.ids))
    tasks = list(map(str, state.tasks.ids))
    active = {
        task: processes[owner]
        for task, owner in zip(tasks, columns.active.tolist(), strict=True)
        if owner != UNASSIGNED
    }
    standby: dict[str, list[str]] = {}
    for row, column in np.argwhere(columns.standby).tolist():
        standby.setdefault(tasks[row], []).append(processes[column])
    return active, {task: tuple(sorted(held)) for task, held in standby.items()}


def compare(rebalance: RecordedRebalance, recomputed: Recomputed) -> tuple[Mismatch, ...]:
    """Return the differences between a recorded and a recomputed assignment, by role and task.

    A task that the leader withheld is compared with the client for which it was withheld; if that is unknown, because
    the rebalance after it assigned it to none of the members, it is not compared.
    """
    recorded_active, recorded_standby = rebalance.active(), rebalance.standby()
    mismatches = []
    for row_task in map(str, recomputed.rebuilt.state.tasks.ids):
        recorded = recorded_active.get(row_task)
        answer = recomputed.active.get(row_task)
        if recorded is not None and recorded != answer:
            mismatches.append(Mismatch(row_task, "active", (recorded,), () if answer is None else (answer,)))
    for row_task in map(str, recomputed.rebuilt.state.tasks.ids):
        held, answers = recorded_standby.get(row_task, ()), recomputed.standby.get(row_task, ())
        if held != answers:
            mismatches.append(Mismatch(row_task, "standby", held, answers))
    return tuple(mismatches)
