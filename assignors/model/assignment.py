"""What a task assignor answers, and the check that the answer is one.

Source: KIP-924, `org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment`,
`KafkaStreamsAssignment`, and `TaskAssignmentUtils.validateTaskAssignment`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

import numpy as np

from assignors.errors import InvalidAssignmentError
from assignors.model.columns import BoolArray, IntArray
from assignors.model.ids import ProcessId, TaskId
from assignors.model.state import ApplicationState

UNASSIGNED = -1
"""Stands in a column of owners for a task that nobody runs."""


class TaskType(StrEnum):
    """In which role a client holds a task (`KafkaStreamsAssignment.AssignedTask.Type`)."""

    ACTIVE = "ACTIVE"
    STANDBY = "STANDBY"


@dataclass(frozen=True, slots=True)
class KafkaStreamsAssignment:
    """The tasks of one client; a warm-up is a standby, as in Kafka.

    `followup_rebalance_delay_ms` asks for another rebalance that long after this one. (Kafka's field is an instant; a
    pure assignor knows no clock, so ours is the time from now.)
    """

    process_id: ProcessId
    tasks: Mapping[TaskId, TaskType]
    followup_rebalance_delay_ms: int | None = None


class TaskAssignment:
    """The answer of a task assignor: one entry a client.

    Assignors that work on columns answer with `AssignmentColumns.to_assignment`; the entries are then only made when
    somebody asks for them.
    """

    __slots__ = ("_entries", "_made_of")

    def __init__(self, assignment: Iterable[KafkaStreamsAssignment]) -> None:
        self._entries: tuple[KafkaStreamsAssignment, ...] | None = tuple(assignment)
        self._made_of: tuple[ApplicationState, AssignmentColumns] | None = None

    @classmethod
    def _of(cls, state: ApplicationState, columns: AssignmentColumns) -> TaskAssignment:
        made = cls(())
        made._entries, made._made_of = None, (state, columns)
        return made

    @property
    def assignment(self) -> tuple[KafkaStreamsAssignment, ...]:
        """What each client gets."""
        if self._entries is None:
            assert self._made_of is not None
            state, columns = self._made_of
            self._entries = tuple(columns.entries(state))
        return self._entries

    def columns_for(self, state: ApplicationState) -> AssignmentColumns | None:
        """The columns that it was made of, along the rows of this very state; None if it was not."""
        return self._made_of[1] if self._made_of is not None and self._made_of[0] is state else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TaskAssignment) and self.assignment == other.assignment

    def __hash__(self) -> int:
        return hash(tuple(client.process_id for client in self.assignment))

    def __repr__(self) -> str:
        return f"TaskAssignment({self.assignment!r})"

    def __reduce__(self) -> tuple[type[TaskAssignment], tuple[tuple[KafkaStreamsAssignment, ...]]]:
        return TaskAssignment, (self.assignment,)

    @property
    def followup_rebalance_delay_ms(self) -> int | None:
        """The earliest follow-up rebalance that was asked for, in ms from now; None if nobody asked."""
        delays = [c.followup_rebalance_delay_ms for c in self.assignment if c.followup_rebalance_delay_ms is not None]
        return min(delays, default=None)


@runtime_checkable
class TaskAssignor(Protocol):
    """A strategy for giving tasks to clients: a frozen dataclass whose fields are its parameters.

    `assign` is pure and deterministic; it must not change the state.
    """

    def assign(self, state: ApplicationState) -> TaskAssignment:
        """Decide which client runs which task, and which clients hold standbys of it."""
        ...


class AssignmentError(StrEnum):
    """What can be wrong with an answer: the five errors of KIP-924."""

    ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES = "ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES"
    INVALID_STANDBY_TASK = "INVALID_STANDBY_TASK"
    MISSING_PROCESS_ID = "MISSING_PROCESS_ID"
    UNKNOWN_PROCESS_ID = "UNKNOWN_PROCESS_ID"
    UNKNOWN_TASK_ID = "UNKNOWN_TASK_ID"


@dataclass(frozen=True, slots=True)
class AssignmentProblem:
    """One thing wrong with one answer."""

    error: AssignmentError
    message: str
    task: TaskId | None = None
    process_id: ProcessId | None = None

    def __str__(self) -> str:
        return f"{self.error}: {self.message}"


def validate_assignment(state: ApplicationState, assignment: TaskAssignment) -> list[AssignmentProblem]:
    """Find everything that is wrong with an answer; Kafka stops at the first.

    Like Kafka, it does not mind a task that nobody runs.

    Returns:
        The problems in the order of the answer; empty if Kafka would accept it.
    """
    problems: list[AssignmentProblem] = []
    runs_on: dict[TaskId, ProcessId] = {}
    answered: set[ProcessId] = set()
    for client in assignment.assignment:
        process_id = client.process_id
        answered.add(process_id)
        if process_id not in state.row_of_client:
            message = f"client {process_id} is not a member of the group"
            problems.append(AssignmentProblem(AssignmentError.UNKNOWN_PROCESS_ID, message, process_id=process_id))
        for task, role in client.tasks.items():
            problems.extend(_task_problems(state, task, role, process_id, runs_on))
    for process_id in state.clients.ids:
        if process_id not in answered:
            message = f"client {process_id} is not in the answer (give it an empty one)"
            problems.append(AssignmentProblem(AssignmentError.MISSING_PROCESS_ID, message, process_id=process_id))
    return problems


def _task_problems(
    state: ApplicationState, task: TaskId, role: TaskType, client: ProcessId, runs_on: dict[TaskId, ProcessId]
) -> Iterable[AssignmentProblem]:
    row = state.row_of_task.get(task)
    if row is None:
        message = f"task {task}, given to {client}, is not a task of this application"
        yield AssignmentProblem(AssignmentError.UNKNOWN_TASK_ID, message, task, client)
    elif role is TaskType.STANDBY and not state.tasks.stateful[row]:
        message = f"task {task}, a standby on {client}, has no state to stand by with"
        yield AssignmentProblem(AssignmentError.INVALID_STANDBY_TASK, message, task, client)
    elif role is TaskType.ACTIVE:
        first = runs_on.setdefault(task, client)
        if first != client:
            message = f"task {task} is active on {first} and on {client}"
            yield AssignmentProblem(AssignmentError.ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES, message, task, client)


@dataclass(frozen=True, slots=True, eq=False)
class AssignmentColumns:
    """An answer laid out along the state's rows.

    Attributes:
        active: shape (T,); the client that runs each task, UNASSIGNED if none.
        standby: shape (T, C); whether the client holds a standby (or warm-up) of the task.
        followup_rebalance_delay_ms: see `TaskAssignment`.
    """

    active: IntArray
    standby: BoolArray
    followup_rebalance_delay_ms: int | None

    @classmethod
    def of(cls, state: ApplicationState, assignment: TaskAssignment) -> AssignmentColumns:
        """Validate an answer and lay it out.

        Raises:
            InvalidAssignmentError: the answer is not valid; the message names every problem.
        """
        made_of = assignment.columns_for(state)
        if made_of is not None and made_of.is_valid(state):
            return made_of
        problems = validate_assignment(state, assignment)
        if problems:
            raise InvalidAssignmentError("; ".join(map(str, problems)))
        active = np.full(len(state.tasks), UNASSIGNED, dtype=np.int64)
        standby = np.zeros((len(state.tasks), len(state.clients)), dtype=np.bool_)
        for client in assignment.assignment:
            column = state.row_of_client[client.process_id]
            for task, role in client.tasks.items():
                row = state.row_of_task[task]
                if role is TaskType.ACTIVE:
                    active[row] = column
                else:
                    standby[row, column] = True
        return cls(active, standby, assignment.followup_rebalance_delay_ms)

    def is_valid(self, state: ApplicationState) -> bool:
        """Whether this is what `validate` would find nothing wrong with; a task has one owner by construction."""
        num_clients = len(state.clients)
        fits = self.active.shape == (len(state.tasks),) and self.standby.shape == (len(state.tasks), num_clients)
        if not fits or ((self.active < UNASSIGNED) | (self.active >= num_clients)).any():
            return False
        return not self.standby[~state.tasks.stateful].any()

    def to_assignment(self, state: ApplicationState) -> TaskAssignment:
        """Say the same in the words of KIP-924."""
        return TaskAssignment._of(state, self)

    def entries(self, state: ApplicationState) -> Iterator[KafkaStreamsAssignment]:
        """One entry a client; the first carries the follow-up, as in Kafka."""
        tasks_of: list[dict[TaskId, TaskType]] = [{} for _ in state.clients.ids]
        for task, owner in zip(state.tasks.ids, self.active.tolist(), strict=True):
            if owner != UNASSIGNED:
                tasks_of[owner][task] = TaskType.ACTIVE
        rows, columns = np.nonzero(self.standby)
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
            tasks_of[column][state.tasks.ids[row]] = TaskType.STANDBY
        delays = [self.followup_rebalance_delay_ms, *[None] * len(tasks_of)]
        for process_id, tasks, delay in zip(state.clients.ids, tasks_of, delays, strict=False):
            yield KafkaStreamsAssignment(process_id, tasks, delay)
