"""The state history of every task (unassigned, assigned, restoring, running, blocked, revoked), and totals over them.

Source: KIP-429 and `org.apache.kafka.streams.processor.internals.Task.State` (created, restoring, running, suspended,
closed). A task without owner is unassigned; a task that its owner gave back for another client is revoked. Kafka has no
state for a running task that cannot make progress; here it is blocked.
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
from simulator.world.layout import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class RunTotals:
    """Cumulative totals over all clients, from the start of the run to some moment.

    Attributes:
        restored_bytes: changelog bytes read to catch up.
        restored_again_bytes: the part of `restored_bytes` that the same client had held before and lost.
        downtime_ms: shape (T,); how long each task was not processed.
        unqueryable_ms: shape (T,); how long no client had a queryable copy of each task.
        backlog_s: shape (T,); the waiting input of each task, in seconds of usual input.
    """

    restored_bytes: float
    restored_again_bytes: float
    downtime_ms: IntArray
    unqueryable_ms: IntArray
    backlog_s: FloatArray


class Intervals:
    """Collects the intervals in which a condition holds, from observations in order of time."""

    def __init__(self) -> None:
        self._closed: list[tuple[int, int]] = []
        self._since_ms: int | None = None

    def note(self, now_ms: int, holds: bool) -> None:
        """Note whether the condition holds from now on; of several observations at one time the last one counts."""
        if holds and self._since_ms is None:
            self._since_ms = now_ms
            if self._closed and self._closed[-1][1] == now_ms:
                self._since_ms = self._closed.pop()[0]
        elif not holds and self._since_ms is not None:
            if now_ms > self._since_ms:
                self._closed.append((self._since_ms, now_ms))
            self._since_ms = None

    def first_without(self, at_ms: int) -> int | None:
        """Return the first time, from a given one on, at which the condition does not hold; None if there is none."""
        if self._since_ms is not None and self._since_ms <= at_ms:
            return None
        return next((end_ms for start_ms, end_ms in self._closed if start_ms <= at_ms < end_ms), at_ms)


class TaskState(IntEnum):
    """The state of a task.

    Attributes:
        UNASSIGNED: no client has it.
        ASSIGNED: a client has it, and neither restores nor runs it yet.
        RESTORING: its client restores its state.
        RUNNING: it is processed.
        REVOKED: its owner has given it back, and its new owner does not have it yet.
        BLOCKED: it has its state, but a partition that it reads or writes is unavailable.
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
"""[before][after]: whether a task may go from one state to another."""


@dataclass(frozen=True, slots=True, eq=False)
class TaskTransitions:
    """The transitions of K tasks to one state at one moment.

    Attributes:
        at_ms: when.
        tasks: shape (K,); rows of the tasks.
        clients: shape (K,); rows of their clients, UNASSIGNED for no client.
    """

    at_ms: int
    state: TaskState
    tasks: IntArray
    clients: IntArray


class TaskStateHistory:
    """The state histories of T tasks.

    Attributes:
        state: shape (T,); the current TaskState of each task.
        transitions: all transitions, in order of time.
    """

    def __init__(self, ids: tuple[TaskId, ...], clients: tuple[str, ...]) -> None:
        self._ids = ids
        self._clients = clients
        self.state: IntArray = np.zeros(len(ids), dtype=np.int64)
        self.transitions: list[TaskTransitions] = []

    def enter(self, at_ms: int, state: TaskState, tasks: IntArray, clients: IntArray) -> None:
        """Let tasks enter a state.

        `tasks`, shape (K,): rows. `clients`, shape (K,): the client that each task is on, UNASSIGNED if none. Raises
        IllegalTransitionError if a task cannot enter the state from its current one; the message has its history.
        """
        if not len(tasks):
            return
        legal = ALLOWED_TRANSITIONS[self.state[tasks], state]
        if not legal.all():
            task = int(tasks[np.argmin(legal)])
            before = TaskState(int(self.state[task]))
            history = "; ".join(self.describe(task)) or "no transition yet"
            raise IllegalTransitionError(
                f"task {self._ids[task]} cannot go from {before} to {state} at {_seconds(at_ms)}: {history}"
            )
        self.state[tasks] = state
        self.transitions.append(TaskTransitions(at_ms, state, tasks.copy(), clients.copy()))

    def longest_downtime_ms(self, from_ms: IntArray, end_ms: int) -> IntArray:
        """Return the longest time between two times in which each task ran, shape (T,).

        `from_ms`, shape (T,): from when on downtime of each task counts. `end_ms`: until when.
        """
        num_tasks = len(self.state)
        lengths = np.array([len(transition.tasks) for transition in self.transitions], dtype=np.int64)
        at_ms = np.array([transition.at_ms for transition in self.transitions], dtype=np.int64)
        runs = np.array([transition.state is TaskState.RUNNING for transition in self.transitions], dtype=np.bool_)
        tasks = np.concatenate([np.arange(num_tasks), *(transition.tasks for transition in self.transitions)])
        order = np.argsort(tasks, kind="stable")
        tasks = tasks[order]
        # Before its first transition, a task does not run.
        starts = np.concatenate([from_ms, np.repeat(at_ms, lengths)])[order].clip(from_ms[tasks], end_ms)
        runs = np.concatenate([np.zeros(num_tasks, dtype=np.bool_), np.repeat(runs, lengths)])[order]
        is_last = np.append(tasks[1:] != tasks[:-1], True)[: len(tasks)]
        passed_ms = np.where(is_last, end_ms, np.roll(starts, -1)) - starts
        # A state that lasts no time does not end an outage.
        lasts = passed_ms > 0
        tasks, runs, passed_ms = tasks[lasts], runs[lasts], passed_ms[lasts]
        longest = np.zeros(num_tasks, dtype=np.int64)
        if len(tasks):
            begins = np.flatnonzero(np.append(True, (tasks[1:] != tasks[:-1]) | (runs[1:] != runs[:-1])))
            outage_ms = np.add.reduceat(np.where(runs, 0, passed_ms), begins)
            np.maximum.at(longest, tasks[begins], outage_ms)
        return longest

    def describe(self, task: int) -> list[str]:
        """Return the history of one task, given by its row, one line per state.

        A task that ran in the moment of its assignment has no line for being assigned.
        """
        entries: list[tuple[int, TaskState, str]] = []
        for transition in self.transitions:
            for index in np.flatnonzero(transition.tasks == task).tolist():
                client = int(transition.clients[index])
                on_client = "" if client == UNASSIGNED else f" on {self._clients[client]}"
                entries.append((transition.at_ms, transition.state, on_client))
        shown_entries = [
            entry
            for entry, next_entry in pairwise([*entries, (-1, TaskState.UNASSIGNED, "")])
            if not (entry[1] is TaskState.ASSIGNED and next_entry[0] == entry[0])
        ]
        return [f"{_seconds(at_ms)}: {state}{on_client}" for at_ms, state, on_client in shown_entries]


def _seconds(at_ms: int) -> str:
    return f"{at_ms / 1000:g} s"
