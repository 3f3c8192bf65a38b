"""Record the steps by which an assignor computes an assignment."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple, Protocol, cast, runtime_checkable

from assignors.flow import FlowEffort
from assignors.model.assignment import TaskAssignment, TaskAssignor, TaskType
from assignors.model.columns import IntArray
from assignors.model.state import ApplicationState
from assignors.recording.leader_work import LeaderWork


class StepKind(StrEnum):
    """Why a copy of a task is on a client."""

    DEALT = "dealt"
    """round-robin placement over the clients in Kafka's order"""
    KEPT = "kept"
    """the client ran the task before, and has capacity or need not be relieved"""
    STOOD_BY = "stood_by"
    """the client held a standby before, under the same conditions"""
    LEAST_LOADED = "least_loaded"
    """the client has the lowest load (active and standby tasks per thread) among the candidates"""
    FEWEST_ACTIVES = "fewest_actives"
    """the client has the fewest active tasks per thread"""
    MIXED = "mixed"
    """the client is the least loaded one with a task with which this task is not yet paired (see `TaskPairs`)"""
    TAGS = "tags"
    """the client is the least loaded one whose tags differ from those of the task's other copies"""
    BALANCED = "balanced"
    """the move reduces the difference in load of two clients"""
    CAUGHT_UP = "caught_up"
    """the task stays: the client's copy is within the acceptable lag"""
    CLOSEST = "closest"
    """the task stays: the client's copy is behind, but no other copy is closer"""
    WAITS = "waits"
    """the task moves to a caught-up or closer client until the copy on the intended client has caught up"""
    WARM_UP = "warm_up"
    """a warm-up on the client for which the task is intended"""
    SWAPPED = "swapped"
    """the standby of the client that took over the task moves to the client for which the task is intended"""


class PlacementStep(NamedTuple):
    """One step of one copy of a task.

    Attributes:
        kind: reason.
        role: role of the copy after the step.
        task: row of the task.
        source: client that held the copy in the intermediate assignment, or UNASSIGNED.
        destination: client that holds the copy after the step.
        source_load: tasks per thread of the source before the step.
        destination_load: tasks per thread of the destination before the step; active tasks only for `FEWEST_ACTIVES`.
        held: number of tasks of the destination before the step, where it is compared with `room`.
        room: maximum number of tasks: active tasks of a client, or tasks of a thread in a streams group.
        source_lag: lag of the source's copy in records; sentinels as in the state.
        destination_lag: lag of the destination's copy.
    """

    kind: StepKind
    role: TaskType
    task: int
    source: int
    destination: int
    source_load: float | None = None
    destination_load: float | None = None
    held: int | None = None
    room: int | None = None
    source_lag: int | None = None
    destination_lag: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Exchange:
    """A flow that reduces traffic, and the M copies that it moves; the number of copies of each client stays the same.

    Attributes:
        role: role of the copies.
        tasks: shape (M,); rows.
        sources: shape (M,); clients before.
        destinations: shape (M,); clients after.
        source_traffic: shape (M,); traffic cost at the source.
        destination_traffic: shape (M,); traffic cost at the destination.
        non_overlap_cost: cost of a move.
        spreads: whether the flow also balances subtopologies (balance_subtopology), at any cost.
    """

    role: TaskType
    tasks: IntArray
    sources: IntArray
    destinations: IntArray
    source_traffic: IntArray
    destination_traffic: IntArray
    non_overlap_cost: int
    spreads: bool

    @property
    def costs(self) -> IntArray:
        """Return the change of the total cost by each move, shape (M,); negative for a saving."""
        return self.destination_traffic - self.source_traffic + self.non_overlap_cost


class Recorder:
    """Receives the steps of one assignment in order; this one ignores them.

    `wants_steps` says whether the assignor calls `step` and `exchange`.
    """

    wants_steps: bool = False

    def flow(self, effort: FlowEffort, times: int = 1) -> None:
        """Receive the effort of a flow that Kafka solves `times` times.

        Each flow of Kafka's is recorded, even if it is not solved here. The flows of a standby exchange are recorded
        together at its end, those of equal effort in one call.
        """

    def work(self, kind: LeaderWork, count: float) -> None:
        """Receive the number of operations of a kind that Kafka executes, outside of flows."""

    def step(self, step: PlacementStep) -> None:
        """Receive the placement or move of one copy."""

    def exchange(self, exchange: Exchange) -> None:
        """Receive the moves of a flow."""


NO_RECORDER = Recorder()
"""A recorder for callers that need no steps; assignors skip what only a recorder needs."""


class StepRecorder(Recorder):
    """Keeps all steps and exchanges.

    Attributes:
        entries: steps and exchanges in order.
        flows: number of flows.

    Guarantees: applied in order, they lead from an empty placement to the assignment. A copy leaves its source, except
    in `CAUGHT_UP` and `CLOSEST`, which change nothing.
    """

    wants_steps = True

    def __init__(self) -> None:
        self.entries: list[PlacementStep | Exchange] = []
        self.flows = 0

    def flow(self, effort: FlowEffort, times: int = 1) -> None:
        """Count flows."""
        self.flows += times

    def step(self, step: PlacementStep) -> None:
        """Keep a step."""
        self.entries.append(step)

    def exchange(self, exchange: Exchange) -> None:
        """Keep an exchange that moves a copy."""
        if len(exchange.tasks):
            self.entries.append(exchange)


@runtime_checkable
class RecordingTaskAssignor(TaskAssignor, Protocol):
    """A task assignor that records its steps."""

    def assign_recorded(self, state: ApplicationState, recorder: Recorder) -> TaskAssignment:
        """Return the assignment of `assign`, and pass the steps to a recorder, which does not change the assignment."""
        ...


class RecordedAssignor(ABC):
    """Base of the task assignors that record their steps: `assign` records none."""

    __slots__ = ()

    def assign(self, state: ApplicationState) -> TaskAssignment:
        """Return the assignment; raise what `assign_recorded` raises."""
        return self.assign_recorded(state, NO_RECORDER)

    @abstractmethod
    def assign_recorded(self, state: ApplicationState, recorder: Recorder) -> TaskAssignment:
        """Return the assignment, and pass the steps to a recorder, which does not change the assignment."""


@dataclass(frozen=True, slots=True)
class UnrecordedAssignor(RecordedAssignor):
    """A recording assignor around one that does not record its steps."""

    assignor: TaskAssignor

    def assign_recorded(self, state: ApplicationState, recorder: Recorder) -> TaskAssignment:
        """Return the assignment of the assignor; record nothing."""
        return self.assignor.assign(state)


def as_recording(assignor: TaskAssignor) -> RecordingTaskAssignor:
    """Return the assignor if it records its steps; else an `UnrecordedAssignor` around it.

    A subclass of a recording assignor that overrides `assign` alone does not record its steps: the inherited
    `assign_recorded` would return the answer of its base class.
    """
    # `isinstance` with a protocol looks up its members anew, each time.
    if getattr(assignor, "assign_recorded", None) is None or _overrides_assign_alone(type(assignor)):
        return UnrecordedAssignor(assignor)
    return cast(RecordingTaskAssignor, assignor)


@lru_cache(maxsize=64)
def _overrides_assign_alone(assignor_class: type) -> bool:
    """Return whether a class overrides `assign` below the class that defines `assign_recorded`."""
    definer = next(base for base in assignor_class.__mro__ if {"assign", "assign_recorded"} & vars(base).keys())
    return "assign_recorded" not in vars(definer)
