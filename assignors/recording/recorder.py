"""Telling how an assignment came about, to whoever asks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol

from assignors.flow import FlowEffort
from assignors.model.assignment import TaskAssignment, TaskAssignor, TaskType
from assignors.model.columns import IntArray
from assignors.model.state import ApplicationState
from assignors.recording.leader_work import LeaderWork


class StepKind(StrEnum):
    """What happened to a copy of a task in one step of an assignment."""

    DEALT = "dealt"
    """clients in Kafka's order were dealt the tasks in turn"""
    KEPT = "kept"
    """it went to who ran it before, who has room, or is not to be relieved"""
    STOOD_BY = "stood_by"
    """it went to who stood by before, under the same conditions"""
    LEAST_LOADED = "least_loaded"
    """it went to a client with the least active and standby tasks per thread among those that could take it"""
    FEWEST_ACTIVES = "fewest_actives"
    """it went to a client with the least active tasks per thread"""
    MIXED = "mixed"
    """it went to the least loaded client that holds a task which it had not met before"""
    TAGS = "tags"
    """it went to the least loaded client whose tags differ from those of the task's other copies"""
    BALANCED = "balanced"
    """it was moved because that lessens the difference of two clients in tasks per thread"""
    CAUGHT_UP = "caught_up"
    """it stayed where it was placed, because that client's copy is within the acceptable lag"""
    CLOSEST = "closest"
    """it stayed where it was placed, though behind, because no other client is less behind"""
    WAITS = "waits"
    """it was moved to a client that is caught up, or less behind, because where it was placed the copy is behind"""
    WARM_UP = "warm_up"
    """a copy was left where the task was placed, to warm up for it"""
    SWAPPED = "swapped"
    """the standby of the client that took the task over went to where the task was placed"""


class PlacementStep(NamedTuple):
    """One step of one copy of a task; loads are tasks per thread as they were before the step.

    Attributes:
        kind: what happened.
        role: in which role the copy ends the step.
        task: row.
        source: the client that had it in this assignment in the making, UNASSIGNED if none.
        destination: the client that has it then.
        source_load: of the source.
        destination_load: of the destination; only active tasks count where the kind says so.
        held: how many tasks there were at the destination where those are counted, not weighed; see `room`.
        room: how many there may be: active tasks of a client, or tasks of the thread in a streams group.
        source_lag: how many records the source's copy is behind; sentinels as in the state.
        destination_lag: the same of the destination's.
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
    """One flow that was solved to save traffic, and the M copies that it moved; every client keeps its number.

    Attributes:
        role: of the copies.
        tasks: shape (M,); rows.
        sources: shape (M,); who had each before.
        destinations: shape (M,); who has it after.
        source_traffic: shape (M,); what each cost there.
        destination_traffic: shape (M,); what it costs now, without the cost of moving it.
        non_overlap_cost: what it cost to move one.
        spreads: whether the flow had to spread subtopologies as well (balance_subtopology), at any cost.
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
        """Shape (M,); what each move changed in the total, negative if it saved."""
        return self.destination_traffic - self.source_traffic + self.non_overlap_cost


class Recorder:
    """Is told what happens in one assignment, in the order in which it happens; this one keeps nothing.

    Attributes:
        wants_steps: whether `step` and `exchange` are to be told.
    """

    wants_steps: bool = False

    def flow(self, effort: FlowEffort, times: int = 1) -> None:
        """Kafka would solve a flow with so much effort, and do so `times` times over.

        Every flow that Kafka solves is told, however its answer was found here. Pairs of clients that exchange standbys
        are told together once all are done, those of equal effort in one call.
        """

    def work(self, kind: LeaderWork, count: float) -> None:
        """Kafka would do so many operations of a kind, besides those of flows."""

    def step(self, step: PlacementStep) -> None:
        """A copy of a task was placed or moved by itself."""

    def exchange(self, exchange: Exchange) -> None:
        """Copies were moved together, by a flow."""


NO_RECORDER = Recorder()
"""Stands for "nobody asks": what only a recorder needs is not worked out for this one."""


class StepRecorder(Recorder):
    """Keeps all steps and exchanges.

    Attributes:
        told: these, in order.
        flows: how many flows were solved.

    Guarantees: done in order, they lead from an empty placement to the assignor's answer. A copy that comes from a
    client is not there any more afterwards, but for `CAUGHT_UP` and `CLOSEST`, which change nothing.
    """

    wants_steps = True

    def __init__(self) -> None:
        self.told: list[PlacementStep | Exchange] = []
        self.flows = 0

    def flow(self, effort: FlowEffort, times: int = 1) -> None:
        """Count flows."""
        self.flows += times

    def step(self, step: PlacementStep) -> None:
        """Keep a step."""
        self.told.append(step)

    def exchange(self, exchange: Exchange) -> None:
        """Keep an exchange in which something moved."""
        if len(exchange.tasks):
            self.told.append(exchange)


class RecordingTaskAssignor(TaskAssignor, Protocol):
    """A task assignor that can tell how it came to its answer."""

    def assign_recorded(self, state: ApplicationState, recorder: Recorder) -> TaskAssignment:
        """As `assign`, which is this with `SILENT`; the answer does not depend on the recorder."""
        ...
