"""The assignment of a task assignor, and its validation.

Source: KIP-924, `org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment`,
`KafkaStreamsAssignment`, and `TaskAssignmentUtils.validateTaskAssignment`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from numbers import Integral
from typing import Final, Protocol, runtime_checkable

import numpy as np

from assignors.errors import InvalidAssignmentError
from assignors.model.columns import BoolArray, IntArray, cells
from assignors.model.ids import ProcessId, TaskId
from assignors.model.state import ApplicationState

UNASSIGNED = -1
"""Owner of a task that no client runs."""

_MAX_DELAY_MS: Final = 2**52
"""Longest delay of a follow-up rebalance: added to the time of a run, it is still exact in all tables."""


class TaskType(StrEnum):
    """The role in which a client holds a task (`KafkaStreamsAssignment.AssignedTask.Type`)."""

    ACTIVE = "ACTIVE"
    STANDBY = "STANDBY"


@dataclass(frozen=True, slots=True)
class KafkaStreamsAssignment:
    """The tasks of one client; a warm-up is a standby, as in Kafka.

    Attributes:
        process_id: the client.
        tasks: role of each task of the client.
        followup_rebalance_delay_ms: requests another rebalance after this delay; None for no request. Kafka's field is
            a point in time; a pure assignor has no clock.
    """

    process_id: ProcessId
    tasks: Mapping[TaskId, TaskType]
    followup_rebalance_delay_ms: int | None = None


class TaskAssignment:
    """The assignment of a task assignor: one entry for each client.

    Args:
        assignment: the entries.

    Assignors that work on columns return `AssignmentColumns.to_assignment`, which builds the entries on first access.

    Examples:
        >>> client = ProcessId(0, 1)
        >>> assignment = TaskAssignment([KafkaStreamsAssignment(client, {TaskId(0, 0): TaskType.ACTIVE})])
        >>> len(assignment.assignment)
        1
    """

    __slots__ = ("_entries", "_source")

    def __init__(self, assignment: Iterable[KafkaStreamsAssignment]) -> None:
        self._entries: tuple[KafkaStreamsAssignment, ...] | None = tuple(assignment)
        self._source: tuple[ApplicationState, AssignmentColumns] | None = None

    @classmethod
    def _of(cls, state: ApplicationState, columns: AssignmentColumns) -> TaskAssignment:
        assignment = cls(())
        assignment._entries, assignment._source = None, (state, columns)
        return assignment

    @property
    def assignment(self) -> tuple[KafkaStreamsAssignment, ...]:
        """Return the entries."""
        if self._entries is None:
            assert self._source is not None
            state, columns = self._source
            self._entries = tuple(columns.entries(state))
        return self._entries

    def columns_for(self, state: ApplicationState) -> AssignmentColumns | None:
        """Return the columns from which the assignment was built, if they belong to this state; else None."""
        return self._source[1] if self._source is not None and self._source[0] is state else None

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
        """Return the shortest requested delay of a follow-up rebalance, in ms; None if no client requests one."""
        delays = [c.followup_rebalance_delay_ms for c in self.assignment if c.followup_rebalance_delay_ms is not None]
        return min(delays, default=None)


@runtime_checkable
class TaskAssignor(Protocol):
    """A strategy that assigns tasks to clients; typically a frozen dataclass whose fields are its parameters.

    `assign` is pure and deterministic, and does not change the state.
    """

    def assign(self, state: ApplicationState) -> TaskAssignment:
        """Return the active tasks and the standbys of each client."""
        ...


class AssignmentError(StrEnum):
    """The five errors of KIP-924."""

    ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES = "ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES"
    INVALID_STANDBY_TASK = "INVALID_STANDBY_TASK"
    MISSING_PROCESS_ID = "MISSING_PROCESS_ID"
    UNKNOWN_PROCESS_ID = "UNKNOWN_PROCESS_ID"
    UNKNOWN_TASK_ID = "UNKNOWN_TASK_ID"


@dataclass(frozen=True, slots=True)
class AssignmentProblem:
    """One error of an assignment.

    Attributes:
        error: kind of error.
        message: description with the ids.
        task: the task; None if the error concerns a client.
        process_id: the client.
    """

    error: AssignmentError
    message: str
    task: TaskId | None = None
    process_id: ProcessId | None = None

    def __str__(self) -> str:
        return f"{self.error}: {self.message}"


def validate_assignment(state: ApplicationState, assignment: TaskAssignment) -> list[AssignmentProblem]:
    """Find all errors of an assignment; Kafka stops at the first.

    As in Kafka, a task without active client is not an error.

    Args:
        state: the state that was assigned.
        assignment: the assignment.

    Returns:
        The errors in the order of the assignment; empty if Kafka accepts it.

    Examples:
        >>> from assignors.model.state import KafkaStreamsState, TaskInfo
        >>> task, client = TaskId(0, 0), ProcessId(0, 1)
        >>> state = ApplicationState.of([TaskInfo(task, is_stateful=False)], [KafkaStreamsState(client)])
        >>> assignment = TaskAssignment([KafkaStreamsAssignment(client, {task: TaskType.ACTIVE})])
        >>> validate_assignment(state, assignment)
        []
        >>> [problem] = validate_assignment(state, TaskAssignment([]))
        >>> problem.error
        <AssignmentError.MISSING_PROCESS_ID: 'MISSING_PROCESS_ID'>
    """
    problems: list[AssignmentProblem] = []
    active_on: dict[TaskId, ProcessId] = {}
    assigned: set[ProcessId] = set()
    for client in assignment.assignment:
        process_id = client.process_id
        assigned.add(process_id)
        if process_id not in state.row_of_client:
            message = f"client {process_id} is not a member of the group"
            problems.append(AssignmentProblem(AssignmentError.UNKNOWN_PROCESS_ID, message, process_id=process_id))
        for task, role in client.tasks.items():
            problems.extend(_task_problems(state, task, role, process_id, active_on))
    for process_id in state.clients.ids:
        if process_id not in assigned:
            message = f"client {process_id} is missing (assign no tasks to it instead)"
            problems.append(AssignmentProblem(AssignmentError.MISSING_PROCESS_ID, message, process_id=process_id))
    return problems


def _type_mistake(assignment: object) -> str | None:
    """Return which part of an assignment has a wrong type; None if all are right.

    An assignor is code of the user, which no type checker may have seen.
    """
    if not isinstance(assignment, TaskAssignment):
        return f"returned {_named(assignment)}, expected a TaskAssignment"
    if assignment._entries is None:
        assert assignment._source is not None
        return _delay_mistake(assignment._source[1].followup_rebalance_delay_ms, "the columns")
    for entry in assignment._entries:
        if not isinstance(entry, KafkaStreamsAssignment):
            return f"the TaskAssignment has {_named(entry)}, expected a KafkaStreamsAssignment"
        if not isinstance(entry.process_id, ProcessId):
            return f"process_id is {_named(entry.process_id)}, expected a ProcessId"
        if not isinstance(entry.tasks, Mapping):
            return f"tasks of {entry.process_id} is {_named(entry.tasks)}, expected a mapping from TaskId to TaskType"
        for task, role in entry.tasks.items():
            if not isinstance(task, TaskId) or not isinstance(role, TaskType):
                pair = f"{_named(task)}: {_named(role)}"
                return f"tasks of {entry.process_id} has {pair}, expected TaskId: TaskType"
        mistake = _delay_mistake(entry.followup_rebalance_delay_ms, str(entry.process_id))
        if mistake is not None:
            return mistake
    return None


def _delay_mistake(delay_ms: object, place: str) -> str | None:
    if delay_ms is None:
        return None
    name = f"followup_rebalance_delay_ms of {place} is"
    if not isinstance(delay_ms, Integral) or isinstance(delay_ms, bool) or delay_ms < 0:
        return f"{name} {_named(delay_ms)}, expected milliseconds"
    if int(delay_ms) > _MAX_DELAY_MS:
        return f"{name} more than {_MAX_DELAY_MS:,} (about 142,000 years), expected fewer milliseconds"
    return None


def _named(value: object) -> str:
    """Return a value for a message: None and numbers as they are, anything else by its type."""
    return str(value) if value is None or isinstance(value, int | float) else f"a {type(value).__name__}"


def _task_problems(
    state: ApplicationState, task: TaskId, role: TaskType, client: ProcessId, active_on: dict[TaskId, ProcessId]
) -> Iterable[AssignmentProblem]:
    row = state.row_of_task.get(task)
    if row is None:
        message = f"task {task}, assigned to {client}, is not a task of this application"
        yield AssignmentProblem(AssignmentError.UNKNOWN_TASK_ID, message, task, client)
    elif role is TaskType.STANDBY and not state.tasks.stateful[row]:
        message = f"task {task} is stateless and cannot be a standby on {client}"
        yield AssignmentProblem(AssignmentError.INVALID_STANDBY_TASK, message, task, client)
    elif role is TaskType.ACTIVE:
        first = active_on.setdefault(task, client)
        if first != client:
            message = f"task {task} is active on {first} and on {client}"
            yield AssignmentProblem(AssignmentError.ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES, message, task, client)


@dataclass(frozen=True, slots=True, eq=False)
class AssignmentColumns:
    """An assignment in columns along the rows of a state.

    Attributes:
        active: shape (T,); client that runs each task, or UNASSIGNED.
        standby: shape (T, C); whether the client holds a standby or warm-up of the task.
        followup_rebalance_delay_ms: see `TaskAssignment`.
        thread: shape (T, C); the thread of the client, from 0, that gets each task, in either role, and arbitrary
            elsewhere; None if the assignor assigns tasks to clients only.
    """

    active: IntArray
    standby: BoolArray
    followup_rebalance_delay_ms: int | None
    thread: IntArray | None = None

    @classmethod
    def of(cls, state: ApplicationState, assignment: TaskAssignment) -> AssignmentColumns:
        """Validate an assignment and convert it to columns.

        Returns:
            The columns.

        Raises:
            InvalidAssignmentError: the assignment is not valid; the message lists all errors.
        """
        mistake = _type_mistake(assignment)
        if mistake is not None:
            raise InvalidAssignmentError(mistake)
        source = assignment.columns_for(state)
        if source is not None and source.is_valid(state):
            return source
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

    def along(self, rows: IntArray, num_tasks: int) -> AssignmentColumns:
        """Return the columns along more tasks, which are unassigned.

        Args:
            rows: shape (T,); the row of each task among those.
            num_tasks: how many there are.
        """
        active = np.full(num_tasks, UNASSIGNED, dtype=np.int64)
        standby = np.zeros((num_tasks, self.standby.shape[1]), dtype=np.bool_)
        active[rows], standby[rows] = self.active, self.standby
        thread = None
        if self.thread is not None:
            thread = np.zeros(standby.shape, dtype=np.int64)
            thread[rows] = self.thread
        return AssignmentColumns(active, standby, self.followup_rebalance_delay_ms, thread)

    def is_valid(self, state: ApplicationState) -> bool:
        """Return whether `validate_assignment` would find no error; columns have at most one owner for each task."""
        num_clients = len(state.clients)
        fits = self.active.shape == (len(state.tasks),) and self.standby.shape == (len(state.tasks), num_clients)
        if not fits or ((self.active < UNASSIGNED) | (self.active >= num_clients)).any():
            return False
        return not self.standby[~state.tasks.stateful].any()

    def moves_between_threads(self, later: AssignmentColumns) -> BoolArray:
        """Return which tasks of a client, in the same role, are on another thread in a later assignment, shape (T, C).

        Args:
            later: an assignment with the same rows; False everywhere if either does not assign tasks to threads.
        """
        if self.thread is None or later.thread is None:
            return np.zeros_like(self.standby)
        runs = self.active[:, None] == np.arange(self.standby.shape[1])
        later_runs = later.active[:, None] == np.arange(self.standby.shape[1])
        stays = (runs & later_runs) | (self.standby & later.standby)
        moves: BoolArray = stays & (self.thread != later.thread)
        return moves

    def to_assignment(self, state: ApplicationState) -> TaskAssignment:
        """Return the assignment in the types of KIP-924."""
        return TaskAssignment._of(state, self)

    def entries(self, state: ApplicationState) -> Iterator[KafkaStreamsAssignment]:
        """Yield one entry for each client; the first carries the follow-up rebalance, as in Kafka.

        Yields:
            Entries in the order of clients.
        """
        tasks_of: list[dict[TaskId, TaskType]] = [{} for _ in state.clients.ids]
        for task, owner in zip(state.tasks.ids, self.active.tolist(), strict=True):
            if owner != UNASSIGNED:
                tasks_of[owner][task] = TaskType.ACTIVE
        rows, columns = cells(self.standby)
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
            tasks_of[column][state.tasks.ids[row]] = TaskType.STANDBY
        delays = [self.followup_rebalance_delay_ms, *[None] * len(tasks_of)]
        for process_id, tasks, delay in zip(state.clients.ids, tasks_of, delays, strict=False):
            yield KafkaStreamsAssignment(process_id, tasks, delay)
