"""One rebalance: from what is known to a state, from the state to an assignment, checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import overload

import numpy as np

from assignors.errors import AssignorError
from assignors.flow import FlowEffort
from assignors.model.assignment import AssignmentColumns, TaskAssignor
from assignors.model.columns import BoolArray, ClientTable, IntArray, PartitionTable, TaskTable
from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import TaskId
from assignors.model.state import ApplicationState
from assignors.recording.leader_time import NEGLIGIBLE_MS, leader_time_ms, work_time_ms
from assignors.recording.leader_work import LeaderWork
from assignors.recording.recorder import NO_RECORDER, Exchange, PlacementStep, Recorder, as_recording
from simulator.errors import AssignorFailedError


@dataclass(frozen=True, slots=True, eq=False)
class ComputedAssignment:
    """What the group leader was shown, what it decided, and how long Kafka's own leader would have taken for it.

    Attributes:
        state: the input of the assignor; columns in the order of process ids.
        columns: the answer along the rows of the state.
        leader_compute_ms: see `assignors.recording.leader_time`; 0 where an assignor does not tell.
        told: whether the assignor told a recorder how it decided.
    """

    state: ApplicationState
    columns: AssignmentColumns
    leader_compute_ms: float
    told: bool


def compute_assignment(
    state: ApplicationState, assignor: TaskAssignor, leader_speed: float = 1.0, recorder: Recorder = NO_RECORDER
) -> ComputedAssignment:
    """Let an assignor decide, and check its answer.

    Args:
        state: what it is shown.
        assignor: who decides.
        leader_speed: how fast Kafka's leader computes; see `assignors.recording.leader_time`.
        recorder: is told how the assignor decided, if that tells anybody.

    Raises:
        AssignorFailedError: it threw, or its answer is not valid.
    """
    computing = _Computing(recorder)
    recording = as_recording(assignor)
    try:
        assignment = recording.assign_recorded(state, computing)
        columns = AssignmentColumns.of(state, assignment)
    except AssignorError as error:
        raise AssignorFailedError(f"{type(assignor).__name__}: {error}") from error
    return ComputedAssignment(state, columns, computing.ms / leader_speed, told=recording is assignor)


class _Computing(Recorder):
    """Adds up how long Kafka's own leader would compute, and passes everything on."""

    def __init__(self, recorder: Recorder) -> None:
        self._flows_ms = 0.0
        self._work_ms = 0.0
        self.wants_steps = recorder.wants_steps
        self._recorder = recorder

    @property
    def ms(self) -> float:
        """How long the leader computes, without work that does not count."""
        return self._flows_ms + (self._work_ms if self._work_ms >= NEGLIGIBLE_MS else 0.0)

    def flow(self, effort: FlowEffort, times: int = 1) -> None:
        """Add an effort."""
        self._flows_ms += times * leader_time_ms([effort])
        self._recorder.flow(effort, times)

    def work(self, kind: LeaderWork, count: float) -> None:
        """Add operations."""
        self._work_ms += work_time_ms(kind, count)
        self._recorder.work(kind, count)

    def step(self, step: PlacementStep) -> None:
        """Pass a step on."""
        self._recorder.step(step)

    def exchange(self, exchange: Exchange) -> None:
        """Pass an exchange on."""
        self._recorder.exchange(exchange)


def build_state(
    tasks: TaskTable,
    clients: ClientTable,
    partitions: PartitionTable,
    lags: IntArray,
    previous: tuple[BoolArray, BoolArray],
    configs: AssignmentConfigs,
    task_insertion_order: IntArray | None = None,
) -> ApplicationState:
    """What the group leader would learn from its members now.

    Args:
        tasks: T tasks.
        clients: C members in Kafka's order.
        partitions: where the partitions stand.
        lags: shape (T, C).
        previous: what each client ran, and what else it has a copy of; two arrays of shape (T, C).
        configs: the assignment configs.
        listed_tasks: shape (T,); the tasks as the leader lists them, None for their own order.
    """
    active, standby = (_ByClient(tasks, held) for held in previous)
    return ApplicationState(tasks, clients, partitions, lags, active, standby, configs, task_insertion_order)


class _ByClient(Sequence[tuple[TaskId, ...]]):
    """The tasks that each client had; listed only if an assignor asks, and most do not."""

    def __init__(self, tasks: TaskTable, held: BoolArray) -> None:
        self._tasks = tasks
        self._held = held

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
        columns, rows = np.nonzero(np.ascontiguousarray(self._held.T))
        listed = [self._tasks.ids[row] for row in rows.tolist()]
        ends = np.searchsorted(columns, np.arange(len(self) + 1)).tolist()
        return tuple(tuple(listed[start:end]) for start, end in pairwise(ends))
