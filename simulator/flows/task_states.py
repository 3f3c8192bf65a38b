"""The life of every task: unassigned, assigned, restoring, running, blocked, revoked.

Source: KIP-429 and `org.apache.kafka.streams.processor.internals.Task.State` (created, restoring, running, suspended,
closed); what a group has not given to anybody is unassigned, what its owner gave back for another is revoked. Kafka has
no state for a running task that can make no progress; here it is blocked.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise
from typing import Final

import numpy as np

from assignors.model.assignment import UNASSIGNED
from assignors.model.columns import BoolArray, IntArray
from assignors.model.ids import TaskId
from simulator.errors import IllegalTransitionError


class TaskState(IntEnum):
    """Where a task is in its life.

    Attributes:
        BLOCKED: it has its state, as when it runs, but a partition that it reads or writes is unavailable.
    """

    UNASSIGNED = 0
    ASSIGNED = 1
    RESTORING = 2
    RUNNING = 3
    REVOKED = 4
    BLOCKED = 5

    def __str__(self) -> str:
        return self.name.lower()


_NEXT: Final = {
    TaskState.UNASSIGNED: (TaskState.ASSIGNED,),
    TaskState.ASSIGNED: (
        TaskState.RESTORING,
        TaskState.RUNNING,
        TaskState.BLOCKED,
        TaskState.REVOKED,
        TaskState.UNASSIGNED,
    ),
    TaskState.RESTORING: (TaskState.RUNNING, TaskState.BLOCKED, TaskState.REVOKED, TaskState.UNASSIGNED),
    TaskState.RUNNING: (TaskState.BLOCKED, TaskState.REVOKED, TaskState.UNASSIGNED),
    TaskState.BLOCKED: (TaskState.RUNNING, TaskState.REVOKED, TaskState.UNASSIGNED),
    TaskState.REVOKED: (TaskState.ASSIGNED, TaskState.UNASSIGNED),
}

ALLOWED_TRANSITIONS: Final[BoolArray] = np.array(
    [[after in _NEXT[before] for after in TaskState] for before in TaskState]
)
"""[before][after]: which steps a life may take."""


@dataclass(frozen=True, slots=True, eq=False)
class TaskTransitions:
    """Steps that several lives took at one moment; `tasks` and `clients` are rows, UNASSIGNED for no client."""

    at_ms: int
    state: TaskState
    tasks: IntArray
    clients: IntArray


class TaskStateHistory:
    """The lives of T tasks.

    Attributes:
        state: shape (T,); each one's TaskState.
        steps: all that happened, in order.
    """

    def __init__(self, ids: tuple[TaskId, ...], clients: tuple[str, ...]) -> None:
        self._ids = ids
        self._clients = clients
        self.state: IntArray = np.zeros(len(ids), dtype=np.int64)
        self.steps: list[TaskTransitions] = []

    def step(self, at_ms: int, state: TaskState, tasks: IntArray, clients: IntArray) -> None:
        """Let tasks take a step.

        Args:
            at_ms: when.
            state: what they are from now on.
            tasks: shape (K,); rows.
            clients: shape (K,); the client each is on, UNASSIGNED if on none.

        Raises:
            IllegalTransitionError: one of them cannot take it; tells its story.
        """
        if not len(tasks):
            return
        legal = ALLOWED_TRANSITIONS[self.state[tasks], state]
        if not legal.all():
            task = int(tasks[np.argmin(legal)])
            before = TaskState(int(self.state[task]))
            told = "; ".join(self.story(task)) or "nothing happened to it yet"
            raise IllegalTransitionError(
                f"task {self._ids[task]} cannot go from {before} to {state} at {_seconds(at_ms)}: {told}"
            )
        self.state[tasks] = state
        self.steps.append(TaskTransitions(at_ms, state, tasks.copy(), clients.copy()))

    def story(self, task: int) -> list[str]:
        """One task's life, a step a line; a task that was assigned and ran at once is told in one."""
        told: list[tuple[int, TaskState, str]] = []
        for steps in self.steps:
            for place in np.flatnonzero(steps.tasks == task).tolist():
                client = int(steps.clients[place])
                told.append((steps.at_ms, steps.state, "" if client == UNASSIGNED else f" on {self._clients[client]}"))
        kept = [
            one
            for one, after in pairwise([*told, (-1, TaskState.UNASSIGNED, "")])
            if not (one[1] is TaskState.ASSIGNED and after[0] == one[0])
        ]
        return [f"{_seconds(at_ms)}: {state}{where}" for at_ms, state, where in kept]


def _seconds(at_ms: int) -> str:
    return f"{at_ms / 1000:g} s"
