"""Writing down what happens while it happens; becomes the trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
from simulator.assignment.measures import Measures, failure_losses
from simulator.flows.execution import Execution, RunTotals
from simulator.flows.traffic import Routes, TrafficBytes, steady_state
from simulator.group.classic_group import ComputeAssignment, Member
from simulator.group.fleet import Fleet
from simulator.group.rebalance_causes import START, Cause
from simulator.group.reconciliation import GroupAssignment, Reconciliation
from simulator.results.trace import INITIAL_ROUND, CapturedRound, Round, Trace
from simulator.timeline import TimedChange
from simulator.world.layout import Layout
from simulator.world.world import OffsetReports, World


@dataclass(slots=True, eq=False)
class _Open:
    """The round that is going on."""

    wanted: ComputeAssignment
    decision: Decision
    handover: Reconciliation
    thread_moves: int
    causes: tuple[Cause, ...]
    requested_at_ms: int
    at_ms: int
    standby: IntArray
    steady_state: TrafficBytes
    before: RunTotals
    remote_source_counts: IntArray
    reasons: RoundExplanation | None
    measures: Measures
    goes_other_ways: bool = False
    restoring: int = 0
    warming_up: int = 0
    reconciled_at_ms: int | None = None


class TraceRecorder:
    """A run as far as it has come."""

    def __init__(
        self, world: World, layout: Layout, execution: Execution, fleet: Fleet, *, capture: bool = False
    ) -> None:
        self._world = world
        self._layout = layout
        self._execution = execution
        self._fleet = fleet
        self._rounds: list[Round] = []
        self._capture = capture
        self._captured: list[CapturedRound] = []
        self._changes: list[TimedChange] = []
        self._open: _Open | None = None
        self._steady: tuple[tuple[Routes, bytes, bytes, bytes], TrafficBytes] | None = None
        self._remote: tuple[PartitionTable, IntArray] | None = None
        self._slowest_ms = 0.0
        self._decided: GroupAssignment | None = None

    def note(self, timed: TimedChange) -> None:
        """Note a change that the scenario made."""
        self._changes.append(timed)

    def note_slow_leader(self, leader_compute_ms: float) -> None:
        """Note that a leader would compute for longer than it may."""
        self._slowest_ms = max(self._slowest_ms, leader_compute_ms)

    def begin(self, members: Sequence[Member], found: Decision, question: ExplanationRequest | None) -> None:
        """Begin with what is there when the run begins: a round like any other, but that nobody asked for it."""
        wanted = ComputeAssignment(INITIAL_ROUND, tuple(members), members[0], "found running")
        self.open_round(wanted, found, Reconciliation.of(found.target), (Cause(START, 0),), 0, 0)
        if self._open is not None and question is not None:
            self._open.reasons = explain_initial_state(question, self._layout.tasks.ids, found.target)
        self.look_around()
        self.settle(0)

    def open_round(
        self,
        wanted: ComputeAssignment,
        decision: Decision,
        handover: Reconciliation,
        causes: tuple[Cause, ...],
        requested_at_ms: int,
        now_ms: int,
    ) -> None:
        """Close the round that was going on and begin the next, just before its assignment takes effect."""
        self._close(now_ms)
        if np.array_equal(np.sort(decision.members), np.flatnonzero(self._fleet.up)):
            self._slowest_ms = 0.0
        target, present = decision.target, self._execution.assignment
        inside = (target.owner == present.owner) & (target.owner != UNASSIGNED)
        thread_moves = int((inside & (target.owner_thread() != present.owner_thread())).sum())
        standby = np.argwhere(target.standby)
        at_rest = self._at_rest(target, standby)
        before = self._execution.standing()
        remote, reasons = self._remote_sources(), self._explain(decision)
        self._open = _Open(
            wanted=wanted,
            decision=decision,
            handover=handover,
            thread_moves=thread_moves,
            causes=causes,
            requested_at_ms=requested_at_ms,
            at_ms=now_ms,
            standby=standby,
            steady_state=at_rest,
            before=before,
            remote_source_counts=remote,
            reasons=reasons,
            measures=decision.measures,
        )

    def _explain(self, decision: Decision) -> RoundExplanation | None:
        before, self._decided = self._decided, decision.target
        if decision.account is None:
            return None
        return explain_decision(decision.account, decision.members, before, decision.target)

    def _at_rest(self, target: GroupAssignment, standby: IntArray) -> TrafficBytes:
        """Bytes per second once all is in place; those of the round before if nothing is different."""
        routes, announces = self._execution.routes, self._fleet.announces
        key = (routes, target.owner.tobytes(), standby.tobytes(), announces.tobytes())
        if self._steady is None or self._steady[0] != key:
            copies = (standby[:, 0], standby[:, 1])
            self._steady = key, steady_state(routes, target.owner, copies, self._fleet.rack, announces)
        return self._steady[1]

    def note_other_ways(self) -> None:
        """Note that partitions stand elsewhere in the midst of a round, to stay there."""
        if self._open is not None:
            self._open.goes_other_ways = True

    def look_around(self) -> None:
        """Count what is not in place right after an assignment took effect."""
        if self._open is not None:
            self._open.restoring = int((~self._execution.running).sum())
            level, _ = self._execution.restoration.level()
            self._open.warming_up = int((~level & ~self._execution.restoration.copies.active).sum())

    def settle(self, now_ms: int) -> None:
        """Everybody has what the round that is going on decided."""
        if self._open is not None and self._open.reconciled_at_ms is None:
            self._open.reconciled_at_ms = now_ms

    def finish(self, now_ms: int, failure: str | None, pending: tuple[Cause, ...], *, unfinished: bool) -> Trace:
        """The trace of all of it."""
        last = self._open
        if last is not None:
            # Brokers may have gone or come back without a rebalance since the assignment was handed out.
            last.measures = last.decision.measured_with(self._execution.locations.table)
            last.goes_other_ways = True
        self._close(now_ms)
        return Trace(
            world=self._world,
            layout=self._layout,
            rounds=tuple(self._rounds),
            changes=tuple(self._changes),
            after=self._execution.standing(),
            max_processing_delay_s=self._execution.processing.max_processing_delay_s,
            failure_losses=None
            if last is None
            else failure_losses(self._layout, last.decision.target, self._fleet.rack),
            lives=self._execution.lives,
            client_racks=self._fleet.rack,
            outages=self._execution.outages(),
            end_ms=now_ms,
            catching_up=self._execution.catching_up,
            pending=pending,
            failure=failure,
            blocking_cause=self._hindrance(last),
            unfinished=unfinished,
            captured_rounds=tuple(self._captured),
        )

    def _remote_sources(self) -> IntArray:
        """Count each task's remote source partitions by rack; the same array as long as no partition is elsewhere."""
        table, source = self._execution.locations.table, self._layout.tasks.source
        if self._remote is None or self._remote[0] is not table:
            self._remote = table, np.column_stack((table.count_remote(source), source.counts()))
        return self._remote[1]

    def _close(self, now_ms: int) -> None:
        ended = self._open
        if ended is None:
            self._execution.take_bytes()
            return
        if ended.goes_other_ways:
            ended.steady_state = self._at_rest(ended.decision.target, ended.standby)
        self._rounds.append(
            Round(
                number=ended.wanted.generation,
                requested_at_ms=ended.requested_at_ms,
                at_ms=ended.at_ms,
                until_ms=now_ms,
                reconciled_at_ms=ended.reconciled_at_ms,
                reason=ended.wanted.reason,
                causes=ended.causes,
                members=ended.decision.members,
                owner=ended.decision.target.owner,
                standby=ended.standby,
                withheld=np.flatnonzero(ended.handover.withheld),
                thread_moves=ended.thread_moves,
                followup_delay_ms=ended.decision.followup_delay_ms,
                leader_compute_ms=ended.decision.leader_compute_ms,
                costs=ended.decision.costs,
                appraisal=ended.decision.appraisal,
                measures=ended.measures,
                steady_state=ended.steady_state,
                bytes=self._execution.take_bytes(),
                restoring=ended.restoring,
                warming_up=ended.warming_up,
                before=ended.before,
                remote_source_counts=ended.remote_source_counts,
                reasons=ended.reasons,
            )
        )
        if self._capture and ended.wanted.generation != INITIAL_ROUND:
            self._captured.append(CapturedRound(self._rounds[-1], ended.decision.state, ended.decision.columns))
        self._open = None

    def _hindrance(self, last: _Open | None) -> str | None:
        """What keeps the group from ever coming to rest, as things are in the end."""
        limit_ms = self._world.application.group_configs.max_poll_interval_ms
        if self._slowest_ms > limit_ms:
            return (
                f"the group leader would compute for {self._slowest_ms / 1000:.0f} s, and is put out of the group "
                f"after {limit_ms / 1000:.0f} s (max.poll.interval.ms)"
            )
        if last is None or last.decision.followup_delay_ms is None:
            return None
        copies = self._execution.restoration.copies
        for place in range(len(copies)):
            client = self._world.clients[int(copies.client[place])]
            if not copies.active[place] and client.reports is OffsetReports.NEVER:
                return f"{client.name} never reports the offsets of its copies"
        if not self._execution.availability.has_end_offsets:
            changelogs = self._layout.changelogs
            led = self._execution.locations.has_leader[changelogs.partition]
            first = self._layout.partitions[int(changelogs.partition[np.argmax(~led & ~changelogs.is_source)])]
            return f"the group leader cannot compute lags: {first} has no leader"
        for place in self._execution.restoration.falling_behind().tolist():
            client = self._world.clients[int(copies.client[place])]
            task = self._layout.tasks.ids[int(copies.task[place])]
            return f"the copy of {task} on {client.name} grows as fast as it is restored"
        return None
