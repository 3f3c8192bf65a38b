"""One assignment: build the assignor's input, call the assignor, and validate its assignment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import overload

import numpy as np

from assignors.containment.contained import assignor_name, innermost
from assignors.errors import AssignorError
from assignors.flow import FlowEffort
from assignors.model.assignment import AssignmentColumns, TaskAssignor
from assignors.model.columns import BoolArray, ClientTable, IntArray, PartitionTable, TaskTable, cells
from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import TaskId
from assignors.model.state import ApplicationState
from assignors.recording import (
    NEGLIGIBLE_MS,
    NO_RECORDER,
    Exchange,
    LeaderWork,
    PlacementStep,
    Recorder,
    as_recording,
    leader_time_ms,
    work_time_ms,
)
from simulator.errors import AssignorFailedError


@dataclass(frozen=True, slots=True, eq=False)
class ComputedAssignment:
    """The input and output of an assignor, and the compute time of Kafka's leader.

    Attributes:
        state: the assignor's input; columns in the order of process ids.
        columns: the assignment, along the rows of the state.
        leader_compute_ms: see `assignors.recording`; 0 if the assignor does not record its work.
        is_recorded: whether the assignor records its steps.
    """

    state: ApplicationState
    columns: AssignmentColumns
    leader_compute_ms: float
    is_recorded: bool


def compute_assignment(
    state: ApplicationState, assignor: TaskAssignor, leader_speed: float = 1.0, recorder: Recorder = NO_RECORDER
) -> ComputedAssignment:
    """Call an assignor, and validate its assignment.

    `state`: the assignor's input. `leader_speed`: the speed of Kafka's leader; see `assignors.recording`.
    `recorder`: records the steps of the assignor, if it records them. Raises AssignorFailedError if the assignor raised
    an error, or its assignment is invalid.
    """
    compute_time = _ComputeTime(recorder)
    recording = as_recording(assignor)
    try:
        assignment = recording.assign_recorded(state, compute_time)
        columns = AssignmentColumns.of(state, assignment)
    except AssignorError as error:
        raise AssignorFailedError(f"{assignor_name(assignor)}: {error}") from error
    own = innermost(assignor)
    return ComputedAssignment(state, columns, compute_time.ms / leader_speed, is_recorded=as_recording(own) is own)


class _ComputeTime(Recorder):
    """Adds up the compute time of Kafka's leader, and forwards everything to another recorder."""

    def __init__(self, recorder: Recorder) -> None:
        self._flows_ms = 0.0
        self._work_ms = 0.0
        self.wants_steps = recorder.wants_steps
        self._recorder = recorder

    @property
    def ms(self) -> float:
        """Return the compute time, without negligible work."""
        return self._flows_ms + (self._work_ms if self._work_ms >= NEGLIGIBLE_MS else 0.0)

    def flow(self, effort: FlowEffort, times: int = 1) -> None:
        """Add the effort of flows."""
        self._flows_ms += times * leader_time_ms([effort])
        self._recorder.flow(effort, times)

    def work(self, kind: LeaderWork, count: float) -> None:
        """Add operations."""
        self._work_ms += work_time_ms(kind, count)
        self._recorder.work(kind, count)

    def step(self, step: PlacementStep) -> None:
        """Forward a step."""
        self._recorder.step(step)

    def exchange(self, exchange: Exchange) -> None:
        """Forward an exchange."""
        self._recorder.exchange(exchange)


def build_state(
    tasks: TaskTable,
    clients: ClientTable,
    partitions: PartitionTable,
    lags: IntArray,
    previous: tuple[BoolArray, BoolArray],
    configs: AssignmentConfigs,
    task_insertion_order: IntArray | None = None,
    previous_thread: IntArray | None = None,
    thread_offsets: Sequence[Sequence[Mapping[TaskId, int]]] = (),
    thread_standbys: Sequence[Sequence[tuple[TaskId, ...]]] = (),
) -> ApplicationState:
    """Build the assignor's input from what the members of a group report.

    `clients`: C members in Kafka's order; `lags`: shape (T, C), in records; `previous`: the previous active tasks, and
    all copies, of each client, two arrays of shape (T, C); `task_insertion_order`: shape (T,), the order in which the
    leader lists the tasks, None for their own order; the data of threads: see `ApplicationState`.
    """
    ran, held = previous
    active, standby = _ByClient(tasks, ran, None), _ByClient(tasks, held, ran)
    return ApplicationState(
        tasks,
        clients,
        partitions,
        lags,
        active,
        standby,
        configs,
        task_insertion_order,
        previous_thread=previous_thread,
        task_offsets=[_largest(reported) for reported in thread_offsets],
        thread_offsets=thread_offsets,
        thread_standbys=thread_standbys,
    )


def _largest(reported: Sequence[Mapping[TaskId, int]]) -> Mapping[TaskId, int]:
    """Return the largest offset of each task that any thread reports."""
    largest: dict[TaskId, int] = {}
    for offsets in reported:
        for task, offset in offsets.items():
            largest[task] = max(offset, largest.get(task, 0))
    return largest


class _ByClient(Sequence[tuple[TaskId, ...]]):
    """The previous tasks of each client; listed lazily, since most assignors do not need them."""

    def __init__(self, tasks: TaskTable, held: BoolArray, without: BoolArray | None) -> None:
        self._tasks = tasks
        self._held = held
        self._without = without

    def __len__(self) -> int:
        return int(self._held.shape[1])

    @overload
    def __getitem__(self, index: int) -> tuple[TaskId, ...]: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[tuple[TaskId, ...], ...]: ...
    def __getitem__(self, index: int | slice) -> tuple[TaskId, ...] | tuple[tuple[TaskId, ...], ...]:
        return self._listed[index]

    @cached_property
    def _listed(self) -> tuple[tuple[TaskId, ...], ...]:
        held = self._held if self._without is None else self._held & ~self._without
        columns, rows = cells(np.ascontiguousarray(held.T))
        listed = [self._tasks.ids[row] for row in rows.tolist()]
        ends = np.searchsorted(columns, np.arange(len(self) + 1)).tolist()
        return tuple(tuple(listed[start:end]) for start, end in pairwise(ends))
