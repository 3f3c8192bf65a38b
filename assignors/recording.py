"""Record the steps by which an assignor computes an assignment, and predict how long Kafka's keep a leader busy.

`assignors.flow` counts the work of Kafka's rack-aware search for each flow (`FlowEffort`): `passes` x `edges` edge
scans. The assignors count the other operations of Kafka's (`LeaderWork`); each kind dominates the run time for some
shape of application.

The time of an assignment, `leader_compute_ms` (`simulator.assignment.rebalance`), is ::

    (sum over flows of passes x edges x EDGE_SCAN_NS + other) / leader_speed

where `other` is the sum over kinds of work of count x WORK_NS, or 0 if that is less than NEGLIGIBLE_MS.

Guarantees
    Predicts a warm JVM: the search within a third, the rest within a factor of two. The rest takes seconds for sticky
    assignors with thousands of tasks on few clients, and for high availability with a thousand clients or dozens of
    standbys; otherwise mostly milliseconds, which a simulation leaves out (`NEGLIGIBLE_MS`). Parsing subscriptions and
    distributing tasks over threads are not counted.
Priority
    The number of scans is exact; the time of one depends on the machine. A scan follows pointers (an entry of a
    ``TreeMap``, its edge, the entries of two nodes in a ``HashMap``), so memory matters as much as the processor.
Complexity
    One multiplication for each flow and each kind of work.
Source
    ``Graph.detectNegativeCycles`` of Kafka Streams. On two idle cores of an AMD EPYC, with OpenJDK 17.0.15 and trunk of
    2024-10-25, a scan took 9.6 and 7.4 ns with 100 tasks x 10 clients, 9.3, 10.2 and 8.1 ns with 300 x 30, and 6.8 ns
    with 1,000 x 50 (149 s): 8.5 ns ± 20 %, independent of the size of the graph. On such a machine under load,
    Kafka 4.3.1 took 15 to 25 ns, and 40 ns for graphs of 180,000 edges, which then share the cache with other
    processes; see docs/development/performance.md.
    The times of other work fit the eight shapes of ``StreamsAssignmentScaleTest``, each in two rounds, on the same
    idle machine; tests/assignors/recording/test_leader_work.py has the times. Under load, the sticky assignor of Kafka
    4.3.1 took 0.21, 2.5 and 24.6 s for 500, 1,000 and 2,000 tasks x 2, with 1, 5 or 20 subtopologies.
    The operations are those of `LegacyStickyTaskAssignor`, `HighAvailabilityTaskAssignor`, `TaskMovement` and
    `ConstrainedPrioritySet`, Kafka 4.3.1.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol, cast, runtime_checkable

from assignors.flow import FlowEffort
from assignors.model.assignment import TaskAssignment, TaskAssignor, TaskType
from assignors.model.columns import IntArray
from assignors.model.state import ApplicationState


class LeaderWork(StrEnum):
    """A kind of operation."""

    PLACE = "place"
    """assignment of a copy to a client"""
    VISIT = "visit"
    """visit of a client by a sticky assignor that looks for the client of a copy"""
    PAIR = "pair"
    """insertion of a task pair by a sticky assignor, times the number of tasks: with more tasks, the set of pairs has
    more hash collisions and more cache misses
    """
    COMPARE = "compare"
    """comparison of the loads of two clients in a balancing sweep"""
    COPY = "copy"
    """task copied by a balancing sweep, once for each two clients"""
    RANK = "rank"
    """comparison in the sorted sets of clients by lag, one set for each task"""
    MOVE = "move"
    """comparison in the priority queue of clients during a task movement"""


def comparisons_per_element(size: int) -> float:
    """Return the approximate number of comparisons to insert one of `size` elements into a sorted collection."""
    return max(1.0, math.log2(max(1, size)))


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


EDGE_SCAN_NS = 8.5
"""Time of an edge scan."""

WORK_NS: Final[Mapping[LeaderWork, float]] = MappingProxyType(
    {
        LeaderWork.PLACE: 3_000,
        LeaderWork.VISIT: 30,
        LeaderWork.PAIR: 0.65,
        LeaderWork.COMPARE: 300,
        LeaderWork.COPY: 40,
        LeaderWork.RANK: 100,
        LeaderWork.MOVE: 100,
    }
)
"""Time of an operation of each kind."""

NEGLIGIBLE_MS: Final = 50.0
"""Threshold below which such work is not counted: unsimulated network and disk latencies are about as long."""


def leader_time_ms(efforts: Iterable[FlowEffort], relative_speed: float = 1.0) -> float:
    """Return the time of the search over all flows of one assignment, in milliseconds.

    `efforts`: effort of each flow that Kafka solves, even if it moves nothing. `relative_speed`: speed of the leader's
    processor relative to the measured one; 2 halves the time. Raises ValueError if the speed is not positive.
    """
    if not relative_speed > 0:
        raise ValueError(f"relative_speed must be positive, not {relative_speed}")
    return sum(effort.passes * effort.edges for effort in efforts) * EDGE_SCAN_NS / 1e6 / relative_speed


def work_time_ms(kind: LeaderWork, count: float) -> float:
    """Return the time of `count` operations of a kind on the measured machine, in milliseconds."""
    return count * WORK_NS[kind] / 1e6
