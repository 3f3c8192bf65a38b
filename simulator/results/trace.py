"""The trace of a run: its rounds, its changes, the state history of each task, and the decisions of autoscalers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from assignors.errors import AssignorError
from assignors.model.assignment import UNASSIGNED, AssignmentColumns
from assignors.model.columns import NO_RACK, BoolArray, IntArray
from assignors.model.state import ApplicationState
from assignors.objective import CostAndBound
from assignors.tasks.rack_aware import RackCosts
from simulator.assignment.explanation import RoundExplanation
from simulator.assignment.measures import FailureLosses, Measures
from simulator.brokers.partition_locations import Outage
from simulator.flows.other_history import OtherFlow
from simulator.flows.processing import Overload, ThreadLoad
from simulator.flows.task_states import Intervals, RunTotals, TaskStateHistory
from simulator.flows.traffic import TrafficBytes
from simulator.group.rebalance_causes import Cause
from simulator.world.changes import TimedChange
from simulator.world.layout import FloatArray, Layout
from simulator.world.pod_events import TOLERANCE
from simulator.world.world import World


@dataclass(frozen=True, slots=True)
class ScalingStep:
    """A decision of an autoscaler; equal decisions with about the same lag are one step.

    Attributes:
        at_ms: when.
        workload: the name of the StatefulSet or Deployment.
        scaler: who decided: `HPA` or `KEDA`.
        lag: the lag of the group in records; with several triggers, of the one that asks for the most pods.
        target_lag: the lag at which the pods that exist are enough, of the same trigger.
        recommended: the pods that the lag asks for.
        replicas_before: the replicas that were set.
        replicas: the replicas that are set from now on.
        ready: how many pods were ready.
    """

    at_ms: int
    workload: str
    scaler: str
    lag: int
    target_lag: int
    recommended: int
    replicas_before: int
    replicas: int
    ready: int
    reason: str

    def repeats(self, before: ScalingStep) -> bool:
        """Return whether this is the same decision as the one before, with the same pods and about the same lag."""
        change = abs(self.lag - before.lag)
        return (
            self.replicas == self.replicas_before
            and (self.scaler, self.recommended, self.replicas, self.ready, self.reason)
            == (before.scaler, before.recommended, before.replicas, before.ready, before.reason)
            and change <= TOLERANCE * max(before.lag, self.target_lag)
        )


INITIAL_ROUND = 0
"""The number of the round that holds the initial state of an application that was already running."""


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """A rebalance of a run, and the time until the next one.

    Attributes:
        number: Kafka's generation, 1 for the first rebalance. INITIAL_ROUND for the state before it.
        requested_at_ms: when the rebalance was requested.
        at_ms: when its assignment took effect.
        until_ms: when the next assignment took effect, or the end of the run.
        reconciled_at_ms: when every member had its part of the assignment, None if that never happened.
        reason: why the rebalance was requested.
        causes: the changes that caused it, by time; none if it only follows from the rebalance before.
        members: shape (C,); rows of the clients that took part, by process id.
        owner: shape (T,); the client to which each task is assigned as active task, UNASSIGNED if none.
        owner_thread: shape (T,); the thread of the owner; a member whose thread has ended has a number of its own.
        standby: shape (S, 2); task and client of every standby and warm-up.
        withheld: shape (W,); tasks that their new owners get only in the next rebalance.
        thread_moves: the number of tasks that moved to another thread of their client.
        followup_delay_ms: delay of the follow-up rebalance that the assignor requested; None if it did not.
        leader_compute_ms: time that Kafka's leader would need to compute the assignment.
        costs: Kafka's own costs of the assignment.
        appraisal: the cost of the assignment and its lower bound; None if racks are unknown, or if the run is without.
        measures: the figures of the assignment.
        steady_state: bytes per second once every task runs and every standby keeps up, with the leaders and replicas at
            the start of the round; with those at its end if it is the last or reassigned partitions moved in it.
        traffic: bytes until the next round.
        restoring: the number of tasks that did not run right after it.
        warming_up: the number of standbys and warm-ups that were behind right after it.
        totals_before: the cumulative totals when its assignment took effect.
        remote_source_counts: shape (T, R + 1); how many source partitions each task reads from another rack, by the
            rack in which it runs (last column: no rack), with the replicas at the start of the round.
        explanation: why each task moved; None unless requested.
    """

    number: int
    requested_at_ms: int
    at_ms: int
    until_ms: int
    reconciled_at_ms: int | None
    reason: str
    causes: tuple[Cause, ...]
    members: IntArray
    owner: IntArray
    owner_thread: IntArray
    standby: IntArray
    withheld: IntArray
    thread_moves: int
    followup_delay_ms: int | None
    leader_compute_ms: float
    costs: RackCosts
    appraisal: CostAndBound | None
    measures: Measures
    steady_state: TrafficBytes
    traffic: TrafficBytes
    restoring: int
    warming_up: int
    totals_before: RunTotals
    remote_source_counts: IntArray
    explanation: RoundExplanation | None = None

    def standbys(self, num_clients: int) -> BoolArray:
        """Return which of the world's clients has a standby of each task, shape (T, N)."""
        standbys = np.zeros((len(self.owner), num_clients), dtype=np.bool_)
        standbys[self.standby[:, 0], self.standby[:, 1]] = True
        return standbys

    def decides_like(self, other: Round) -> bool:
        """Return whether two rounds have the same members and the same assignment."""
        return (
            np.array_equal(self.members, other.members)
            and np.array_equal(self.owner, other.owner)
            and np.array_equal(self.standby, other.standby)
        )

    @property
    def is_final(self) -> bool:
        """Return whether no rebalance follows from it: it is reconciled, and no follow-up was requested."""
        return self.followup_delay_ms is None and self.reconciled_at_ms is not None


def num_rebalances(rounds: Sequence[Round]) -> int:
    """Return how many rounds are rebalances: all except the initial state."""
    return sum(round_.number != INITIAL_ROUND for round_ in rounds)


def first_final_index(rounds: Sequence[Round]) -> int:
    """Return the index of the first of the last rounds that all have the same assignment; there must be a round."""
    return next((index for index in range(len(rounds) - 1, 0, -1) if not rounds[index - 1].decides_like(rounds[-1])), 0)


@dataclass(frozen=True, slots=True, eq=False)
class CapturedRound:
    """The input and output of the assignor in one rebalance.

    Attributes:
        round: the rebalance.
        state: the assignor's input.
        columns: the assignment, along the rows of `state`.
    """

    round: Round
    state: ApplicationState
    columns: AssignmentColumns


@dataclass(frozen=True, slots=True, eq=False)
class OtherTrafficBytes:
    """The traffic of other producers and groups in a run.

    Attributes:
        flows: the F flows.
        matrices: shape (F, R + 1, R + 1); bytes by flow, from rack and to rack; the last ones are for no rack.
    """

    flows: Sequence[OtherFlow]
    matrices: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """A finished run.

    Attributes:
        world: the input of the run.
        layout: the rows of tasks and partitions.
        rounds: the rebalances in order; before them, the initial state if the application was already running.
        changes: the changes of the scenario, in order.
        final_totals: the cumulative totals at the end.
        max_processing_delay_s: shape (T,); the maximum backlog of each task, in seconds of usual input.
        failure_losses: the tasks lost if racks or clients failed at the end; None if nothing was assigned.
        task_states: the state history of every task.
        added_at_ms: shape (T,); when each task began to exist: 0, unless its partition was added later.
        client_racks: shape (N,); the rack of each client, a column of the layout's racks, NO_RACK if unknown.
        end_ms: when the run ended.
        catching_up: see `Execution`.
        outages: when partitions that tasks read or write were unavailable.
        pending_causes: the changes whose rebalance had not taken effect by the end.
        failure: why the run ended early, None if no assignor failed.
        failure_kind: class of the exception that the failed assignor raised, None if no assignor failed.
        stopped: why the run was stopped early, None if it was within its budget.
        blocking_cause: what keeps the group from converging, None if nothing does.
        unfinished: whether a rebalance was under way at the end.
        captured_rounds: the assignor's input and output of each rebalance; empty unless the run captured them.
        neighbors: the traces of the other applications that ran on the cluster at the same time, by `application.id`.
        scaling: the decisions of autoscalers, by time.
        scaled_pods: the decisions that made pods start or stop, by the change of their clients.
        thread_loads: what the threads with running tasks process at the end; none if no thread has a limit.
        overloads: the periods in which threads were overloaded; none if no thread has a limit.
        other_traffic: the traffic of other producers and groups; None if the scenario states none.
    """

    world: World
    layout: Layout
    rounds: Sequence[Round]
    changes: Sequence[TimedChange]
    final_totals: RunTotals
    max_processing_delay_s: FloatArray
    failure_losses: FailureLosses | None
    task_states: TaskStateHistory
    added_at_ms: IntArray
    client_racks: IntArray
    end_ms: int
    catching_up: Intervals
    outages: Sequence[Outage] = ()
    pending_causes: tuple[Cause, ...] = ()
    failure: str | None = None
    failure_kind: type[AssignorError] | None = None
    stopped: str | None = None
    blocking_cause: str | None = None
    unfinished: bool = False
    captured_rounds: Sequence[CapturedRound] = ()
    neighbors: Sequence[Trace] = ()
    scaling: Sequence[ScalingStep] = ()
    scaled_pods: Mapping[Cause, tuple[ScalingStep, ...]] = field(default_factory=dict)
    thread_loads: Sequence[ThreadLoad] = ()
    overloads: Sequence[Overload] = ()
    other_traffic: OtherTrafficBytes | None = None

    @property
    def downtime_ms(self) -> IntArray:
        """Return how long each task was not processed, from the first assignment on, shape (T,)."""
        return self.final_totals.downtime_ms - self._first_totals.downtime_ms

    @property
    def longest_downtime_ms(self) -> IntArray:
        """Return the longest single outage of each task, from the first assignment on, shape (T,)."""
        from_ms = self.rounds[0].at_ms if self.rounds else self.end_ms
        return self.task_states.longest_downtime_ms(np.maximum(self.added_at_ms, from_ms), self.end_ms)

    @property
    def unqueryable_ms(self) -> IntArray:
        """Return how long no client had a queryable copy of each task, from the first assignment on, shape (T,)."""
        return self.final_totals.unqueryable_ms - self._first_totals.unqueryable_ms

    @property
    def _first_totals(self) -> RunTotals:
        return self.rounds[0].totals_before if self.rounds else self.final_totals

    def knows_racks(self, round_: Round) -> bool:
        """Return whether the racks of all clients of a round are known."""
        return not (self.client_racks[round_.members] == NO_RACK).any()

    def describe_task(self, task: str) -> list[str]:
        """Describe where a task ran and where its standbys were, one line per round that changed it.

        Args:
            task: id of the task.

        Returns:
            The lines by time.

        Raises:
            KeyError: the application has no such task.
        """
        row = next((row for row, id_ in enumerate(self.layout.tasks.ids) if str(id_) == task), None)
        if row is None:
            raise KeyError(f"unknown task '{task}' of {self.world.application.id}")
        lines: list[str] = []
        before = ""
        for round_ in self.rounds:
            now = self._describe_copies(round_, row)
            if now != before:
                lines.append(f"{round_.at_ms / 1000:.0f} s, round {round_.number} ({round_.reason}): {now}")
            before = now
        return lines

    def _describe_copies(self, round_: Round, row: int) -> str:
        clients = self.world.clients
        owner = int(round_.owner[row])
        active = "unassigned" if owner == UNASSIGNED else f"runs on {clients[owner].name}"
        if row in round_.withheld:
            active = f"waits for its old owner, then runs on {clients[owner].name}"
        standbys = [clients[n].name for n in np.flatnonzero(round_.standbys(len(clients))[row])]
        return active + (f", standby on {', '.join(standbys)}" if standbys else "")
