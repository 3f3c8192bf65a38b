"""A target assignment that a group approaches in steps, and the next step."""

from __future__ import annotations

from dataclasses import dataclass

from assignors.errors import AssignorError
from assignors.functions import FunctionAssignor
from assignors.model.assignment import AssignmentColumns, TaskAssignor
from assignors.model.columns import BoolArray
from assignors.model.ids import ProcessId
from assignors.model.state import ApplicationState
from assignors.tasks.streams_group_preview import StreamsGroupPreview
from assignors.tasks.warmup_refinement import RefinedAssignment
from simulator.errors import AssignorFailedError


@dataclass(frozen=True, slots=True, eq=False)
class ApproachedTarget:
    """A target assignment that a group approaches in steps, by warm-ups.

    Attributes:
        clients: process ids of the members, in the order of the columns.
        columns: the target assignment.
        warmups: shape (T, N + D); which standbys are warm-ups, in the last step: those of the world's N clients, and of
            D former processes that were in the group then.
        awaited: shape (T, N); the copies that must catch up before another step.
        acceptable_recovery_lag: maximum lag of a caught-up copy, in records.
    """

    clients: tuple[ProcessId, ...]
    columns: AssignmentColumns
    warmups: BoolArray
    awaited: BoolArray
    acceptable_recovery_lag: int


def next_step(
    assignor: StreamsGroupPreview, state: ApplicationState, target: AssignmentColumns | None, warmups: BoolArray
) -> tuple[TaskAssignor, RefinedAssignment, AssignmentColumns]:
    """Compute the next step to a target.

    `target`: the target; None to compute a new one. `warmups`, shape (T, C): which standbys are warm-ups now. Returns
    an assignor that returns the step, the step, and the target. Raises AssignorFailedError if the assignor raises an
    error.
    """
    try:
        goal = assignor.target(state) if target is None else target
    except AssignorError as error:
        raise AssignorFailedError(f"{type(assignor).__name__}: {error}") from error
    step = assignor.step(state, goal, warmups)
    return FunctionAssignor(step.columns.to_assignment), step, goal
