"""The recorder of a run: collects rounds and changes while they happen, and returns the trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assignors.model.assignment import UNASSIGNED
from assignors.model.columns import IntArray, PartitionTable
from simulator.assignment.explanation import (
    ExplanationRequest,
    RoundExplanation,
    explain_decision,
    explain_initial_state,
)
from simulator.assignment.leader import Decision
from simulator.assignment.measures import failure_losses
from simulator.flows.execution import Execution
from simulator.flows.other_history import OtherTrafficHistory
from simulator.flows.traffic import Routes, TrafficBytes, steady_state_traffic
from simulator.group.fleet import Fleet
from simulator.group.member import ComputeAssignment, Member
from simulator.group.rebalance_causes import START, Cause
from simulator.group.reconciliation import Reconciliation
from simulator.results.trace import INITIAL_ROUND, CapturedRound, OtherTrafficBytes, Round, ScalingStep, Trace
from simulator.world.changes import TimedChange
from simulator.world.group_assignment import GroupAssignment
from simulator.world.layout import Layout
from simulator.world.world import OffsetReports, World


@dataclass(slots=True, eq=False)
class _OpenRound:
    """The current round, whose figures are not complete yet."""

    round: Round
    decision: Decision
    has_moved_partitions: bool = False

    def complete(self, **figures: Any) -> None:
        self.round = replace(self.round, **figures)


class TraceRecorder:
    """Records the trace of a run."""

    def __init__(
        self,
        world: World,
        layout: Layout,
        execution: Execution,
        fleet: Fleet,
        *,
        capture: bool = False,
        other_traffic: OtherTrafficHistory | None = None,
    ) -> None:
        """Create a recorder with an empty trace.

        `capture`: whether to keep the assignor's input and output of every rebalance; `other_traffic`: the traffic of
        other producers and groups, None if the scenario states none.
        """
        self._world = world
        self._layout = layout
        self._execution = execution
        self._fleet = fleet
        self._rounds: list[Round] = []
        self._capture = capture
        self._other_traffic = other_traffic
        self._other_until_ms = 0
        self._captured: list[CapturedRound] = []
        self._changes: list[TimedChange] = []
        self._scaling: list[ScalingStep] = []
        self._scaled_pods: dict[Cause, list[ScalingStep]] = {}
        self._open: _OpenRound | None = None
        self._last_steady_state: tuple[tuple[Routes, bytes, bytes, bytes], TrafficBytes] | None = None
        self._last_remote_sources: tuple[PartitionTable, IntArray] | None = None
        self._slowest_ms = 0.0
        self._last_target: GroupAssignment | None = None

    def note_change(self, timed: TimedChange) -> None:
        """Record a change of the scenario."""
        self._changes.append(timed)

    def note_scaling(self, step: ScalingStep) -> None:
        """Record a decision of an autoscaler."""
        self._scaling.append(step)

    def note_scaled_pod(self, cause: Cause, step: ScalingStep) -> None:
        """Record the decision that makes a pod start or stop; `cause` is the change of its client."""
        steps = self._scaled_pods.setdefault(cause, [])
        if step not in steps:
            steps.append(step)

    def note_slow_leader(self, leader_compute_ms: float) -> None:
        """Record a leader that computes for longer than `max.poll.interval.ms`."""
        self._slowest_ms = max(self._slowest_ms, leader_compute_ms)

    def note_moved_partitions(self) -> None:
        """Record that a reassignment moved partitions within the current round."""
        if self._open is not None:
            self._open.has_moved_partitions = True

    def record_initial_round(
        self, members: Sequence[Member], initial: Decision, explain: ExplanationRequest | None
    ) -> None:
        """Record the initial state of a running application as a round without a rebalance.

        `explain`: which copies to explain; None for none.
        """
        instruction = ComputeAssignment(INITIAL_ROUND, tuple(members), members[0], "initial state")
        self.open_round(instruction, initial, Reconciliation.without_moves(initial.target), (Cause(START, 0),), 0, 0)
        if self._open is not None and explain is not None:
            self._open.complete(explanation=explain_initial_state(explain, self._layout.tasks.ids, initial.target))
        self.count_unfinished()
        self.mark_reconciled(0)

    def open_round(
        self,
        instruction: ComputeAssignment,
        decision: Decision,
        reconciliation: Reconciliation,
        causes: tuple[Cause, ...],
        requested_at_ms: int,
        now_ms: int,
    ) -> None:
        """Close the current round and begin the next, just before its assignment takes effect.

        `instruction`: the members, the leader and the number of the round; `reconciliation`: the part of it that takes
        effect now; `requested_at_ms`: when the rebalance was requested.
        """
        self._close(now_ms)
        up, clients = self._fleet.up, decision.clients.tolist()
        if len(clients) == sum(up) and all(up[row] for row in clients):
            self._slowest_ms = 0.0
        target, current = decision.target, self._execution.assignment
        same_client = (target.owner == current.owner) & (target.owner != UNASSIGNED)
        standby = np.stack(target.standby_cells, axis=1)
        opened = Round(
            number=instruction.generation,
            requested_at_ms=requested_at_ms,
            at_ms=now_ms,
            until_ms=now_ms,
            reconciled_at_ms=None,
            reason=instruction.reason,
            causes=causes,
            members=decision.clients,
            owner=target.owner,
            owner_thread=target.owner_thread(),
            standby=standby,
            withheld=np.flatnonzero(reconciliation.withheld),
            thread_moves=int((same_client & (target.owner_thread() != current.owner_thread())).sum()),
            followup_delay_ms=decision.followup_delay_ms,
            leader_compute_ms=decision.leader_compute_ms,
            costs=decision.costs,
            appraisal=decision.appraisal,
            measures=decision.measures,
            steady_state=self._steady_state(target, standby, now_ms),
            traffic={},
            restoring=0,
            warming_up=0,
            totals_before=self._execution.totals(),
            remote_source_counts=self._remote_source_counts(),
            explanation=self._explain(decision),
        )
        self._open = _OpenRound(opened, decision)

    def count_unfinished(self) -> None:
        """Count the tasks that do not run and the copies that are behind, right after an assignment took effect."""
        if self._open is not None:
            restoration = self._execution.restoration
            self._open.complete(
                restoring=int((self._execution.exists & ~self._execution.running).sum()),
                warming_up=int((~restoration.caught_up() & ~restoration.copies.active).sum()),
            )

    def mark_reconciled(self, now_ms: int) -> None:
        """Record that every member has its part of the current round's assignment."""
        if self._open is not None and self._open.round.reconciled_at_ms is None:
            self._open.complete(reconciled_at_ms=now_ms)

    def finish(self, now_ms: int, failure: str | None, pending: tuple[Cause, ...], *, unfinished: bool) -> Trace:
        """Close the last round.

        `now_ms`: the end of the run; `failure`: why the run ended early, None if it did not; `pending`: the causes that
        no rebalance has processed; `unfinished` says whether a rebalance is under way. Returns the trace of the run.
        """
        last = self._open
        if last is not None:
            # Brokers may have stopped or started without a rebalance since the last assignment.
            last.complete(measures=last.decision.measured_with(self._execution.locations.table))
            last.has_moved_partitions = True
        self._close(now_ms)
        return Trace(
            world=self._world,
            layout=self._layout,
            rounds=tuple(self._rounds),
            changes=tuple(self._changes),
            final_totals=self._execution.totals(),
            max_processing_delay_s=self._execution.processing.max_processing_delay_s,
            failure_losses=(
                None if last is None else failure_losses(self._layout, last.decision.target, self._fleet.rack)
            ),
            task_states=self._execution.task_states,
            added_at_ms=self._execution.added_at_ms,
            client_racks=self._fleet.rack,
            outages=self._execution.outages(),
            end_ms=now_ms,
            catching_up=self._execution.catching_up,
            pending_causes=pending,
            failure=failure,
            blocking_cause=self._find_blocking_cause(last),
            unfinished=unfinished,
            captured_rounds=tuple(self._captured),
            scaling=tuple(self._scaling),
            scaled_pods={cause: tuple(steps) for cause, steps in self._scaled_pods.items()},
            thread_loads=tuple(self._execution.thread_loads()),
            overloads=self._execution.overloads(),
            other_traffic=self._other_bytes(now_ms),
        )

    def _explain(self, decision: Decision) -> RoundExplanation | None:
        before, self._last_target = self._last_target, decision.target
        if decision.record is None:
            return None
        return explain_decision(decision.record, decision.members, before, decision.target)

    def _steady_state(self, target: GroupAssignment, standby: IntArray, now_ms: int) -> TrafficBytes:
        """Return bytes per second in the steady state of a target; reuse the last ones if nothing changed."""
        own = self._own_steady_state(target, standby)
        if self._other_traffic is None:
            return own
        return {**own, **self._other_traffic.steady_state(now_ms)}

    def _take_other_traffic(self, now_ms: int) -> TrafficBytes:
        """Return the other traffic since the last call, at first since the start of the run."""
        if self._other_traffic is None:
            return {}
        from_ms, self._other_until_ms = self._other_until_ms, now_ms
        return self._other_traffic.between(from_ms, now_ms)

    def _other_bytes(self, end_ms: int) -> OtherTrafficBytes | None:
        """Return the other traffic of the whole run by flow."""
        history = self._other_traffic
        return None if history is None else OtherTrafficBytes(history.flows, history.flow_bytes(end_ms))

    def _own_steady_state(self, target: GroupAssignment, standby: IntArray) -> TrafficBytes:
        routes, announces = self._execution.routes, self._fleet.announces
        key = (routes, target.owner.tobytes(), standby.tobytes(), announces.tobytes())
        if self._last_steady_state is None or self._last_steady_state[0] != key:
            copies = (standby[:, 0], standby[:, 1])
            factor = self._execution.usual_factor
            traffic = steady_state_traffic(routes, target.owner, copies, self._fleet.rack, announces, factor)
            self._last_steady_state = key, traffic
        return self._last_steady_state[1]

    def _remote_source_counts(self) -> IntArray:
        """Count each task's remote source partitions by rack; reuse the array while no partition moves."""
        table, source = self._execution.locations.table, self._layout.tasks.source
        if self._last_remote_sources is None or self._last_remote_sources[0] is not table:
            self._last_remote_sources = table, np.column_stack((table.count_remote(source), source.counts()))
        return self._last_remote_sources[1]

    def _close(self, now_ms: int) -> None:
        closed = self._open
        if closed is None:
            self._execution.take_traffic()
            return
        decision = closed.decision
        if closed.has_moved_partitions:
            closed.complete(steady_state=self._steady_state(decision.target, closed.round.standby, now_ms))
        traffic = {**self._execution.take_traffic(), **self._take_other_traffic(now_ms)}
        closed.complete(until_ms=now_ms, traffic=traffic)
        self._rounds.append(closed.round)
        if self._capture and closed.round.number != INITIAL_ROUND:
            self._captured.append(CapturedRound(closed.round, decision.state, decision.columns))
        self._open = None

    def _find_blocking_cause(self, last: _OpenRound | None) -> str | None:
        """Return what keeps the group from converging at the end of the run, None if nothing does."""
        limit_ms = self._world.application.group_configs.max_poll_interval_ms
        if self._slowest_ms > limit_ms:
            return (
                f"the group leader would compute for {self._slowest_ms / 1000:.0f} s, and is removed from the group "
                f"after {limit_ms / 1000:.0f} s (max.poll.interval.ms)"
            )
        if last is None or last.decision.followup_delay_ms is None:
            return None
        copies = self._execution.restoration.copies
        for index in range(len(copies)):
            client = self._world.clients[int(copies.client[index])]
            if not copies.active[index] and client.reports is OffsetReports.NEVER:
                return f"{client.name} never reports the offsets of its copies"
        if not self._execution.availability.has_end_offsets:
            changelogs = self._layout.changelogs
            has_leader = self._execution.locations.has_leader[changelogs.partition]
            first = self._layout.partitions[int(changelogs.partition[np.argmax(~has_leader & ~changelogs.is_source)])]
            return f"the group leader cannot compute lags: {first} has no leader"
        for index in self._execution.restoration.rates.falling_behind().tolist():
            client = self._world.clients[int(copies.client[index])]
            task = self._layout.tasks.ids[int(copies.task[index])]
            return f"the copy of {task} on {client.name} grows as fast as it is restored"
        return None
