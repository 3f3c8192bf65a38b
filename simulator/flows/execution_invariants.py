"""The invariants of the assignment and of the task states, which tests check after every change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assignors.model.assignment import UNASSIGNED
from simulator.errors import InvalidStateError
from simulator.flows.task_states import TaskState

if TYPE_CHECKING:
    from simulator.flows.execution import Execution

_OWNED = (TaskState.ASSIGNED, TaskState.RESTORING, TaskState.RUNNING, TaskState.BLOCKED)


def validate_execution(execution: Execution) -> None:
    """Check the assignment of tasks to clients and threads, and the state of every task.

    Raises InvalidStateError if an invariant is violated; the message says which.
    """
    for holds, violation in (*_of_assignment(execution), *_of_task_states(execution)):
        if not holds:
            raise InvalidStateError(f"at {execution.now_ms} ms: {violation}")


def _of_assignment(execution: Execution) -> tuple[tuple[bool | np.bool_, str], ...]:
    assignment, fleet = execution.assignment, execution.fleet
    owner, standby, thread = assignment.owner, assignment.standby, assignment.thread
    up, running = np.array(fleet.up), fleet.running
    owned = np.flatnonzero(owner != UNASSIGNED)
    on_thread = running[np.arange(len(up)), np.minimum(thread, running.shape[1] - 1)]
    stateful = execution.layout.tasks.stateful
    return (
        (up[owner[owned]].all(), "a client that is down owns a task"),
        (not standby[:, ~up].any(), "a client that is down has a standby task"),
        (not standby[owned, owner[owned]].any(), "a client has a task as active and as standby"),
        (not standby[~stateful].any(), "a stateless task has a standby"),
        (on_thread[assignment.held()].all(), "a task is on a thread that does not run"),
    )


def _of_task_states(execution: Execution) -> tuple[tuple[bool | np.bool_, str], ...]:
    state, owner = execution.task_states.state, execution.assignment.owner
    is_running = np.isin(state, (TaskState.RUNNING, TaskState.BLOCKED))
    last_owner = np.full(len(owner), UNASSIGNED)
    for transition in execution.task_states.transitions:
        clients = transition.clients if transition.state in _OWNED else UNASSIGNED
        last_owner[transition.tasks] = clients
    return (
        ((np.isin(state, _OWNED) == (owner != UNASSIGNED)).all(), "the state of a task contradicts its assignment"),
        ((state != TaskState.ASSIGNED).all(), "an assigned task neither restores nor runs"),
        ((execution.processed == (state == TaskState.RUNNING)).all(), "only running tasks are processed"),
        ((execution.running == is_running).all(), "a task that has been restored is neither running nor blocked"),
        ((last_owner == owner).all(), "the state history of a task ends on another client than its owner"),
    )
