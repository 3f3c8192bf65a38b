"""The classic protocol in time: members send heartbeats and join, the leader computes, and members revoke tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Final

import numpy as np

from simulator.assignment.leader import Decision
from simulator.group import classic_group as protocol
from simulator.group.classic_group import ClassicGroupProtocolState, ComputeAssignment, Member, Phase
from simulator.group.heartbeats import Heartbeats
from simulator.group.rebalance_causes import Cause
from simulator.group.reconciliation import Reconciliation, reconcile_group, without_stopped_threads
from simulator.processes.rejoining import Rejoining
from simulator.processes.simulation_context import Process, SimulationContext
from simulator.world.group_assignment import GroupAssignment
from simulator.world.world import GroupConfigs, Start

API_TIMEOUT_MS: Final = 60_000
"""`default.api.timeout.ms` of the admin client: how long a leader retries to fetch end offsets."""
FOLLOWUP: Final = "follow-up rebalance: revoked tasks can be assigned"
_RETRY_MS: Final = 1_000
"""The time between two retries (`retry.backoff.max.ms`)."""


class ClassicProtocol:
    """Runs the state machine of a classic group: executes its instructions after the right delays."""

    def __init__(self, context: SimulationContext) -> None:
        self._context = context
        self._configs = context.world.application.group_configs
        self._group = ClassicGroupProtocolState(extends_every_initial_delay=self._configs.extends_every_initial_delay)
        self._rejoining = Rejoining(context)
        self._decisions: dict[int, tuple[ComputeAssignment, Decision]] = {}
        self._requested_at_ms = 0
        world, interval_ms = context.world, self._configs.heartbeat_interval_ms
        self._heartbeats = Heartbeats(context.fleet, interval_ms, world.seed, are_late=True)
        self._silent: dict[Member, None] = {}
        self._last_assignment = context.execution.assignment
        self._overdue: int | None = None
        self._is_warm_start = context.world.start is Start.WARM

    @property
    def is_stable(self) -> bool:
        """Return whether no rebalance is in progress, and no member is down or was removed."""
        is_stable = self._group.phase in (Phase.STABLE, Phase.EMPTY)
        return is_stable and set(self._group.members) == self._context.fleet.members_up()

    @property
    def current_round(self) -> int:
        """Return the number of the round that is being computed, or of the last one."""
        return self._group.generation

    def resume(self, members: Sequence[Member]) -> None:
        """Continue with members that have their tasks; a probing rebalance may be due."""
        self._group = ClassicGroupProtocolState.running(
            {member: self._context.is_static(member) for member in members},
            extends_every_initial_delay=self._configs.extends_every_initial_delay,
        )
        self._heartbeats.spread(members, self._context.now_ms)
        self._last_assignment = self._context.execution.assignment
        due_ms = self._context.world.next_rebalance_ms
        if due_ms is not None:
            self._context.env.process(self._follow_up(self._group.generation, due_ms))

    def join(self, members: Sequence[Member], cause: Cause) -> None:
        """Let threads that have just started join; a static member that is back in time causes no rebalance."""
        for member in members:
            is_static = self._context.is_static(member)
            self._heartbeats.restart([member], self._context.now_ms)
            self._send(protocol.Joined(member, is_static))
            rebalances = self._group.phase is not Phase.STABLE
            self._context.rebalance_causes.add_start(member, cause, rebalances=rebalances, replaces=is_static)

    def stop(self, members: Sequence[Member], cause: Cause, *, leaves_group: bool, closes: bool) -> None:
        """Process the end of threads; if they do not leave, the group removes each after its session timeout.

        Args:
            members: their members.
            cause: the event.
            leaves_group: whether they leave.
            closes: without effect, since a member that closes without leaving sends nothing.
        """
        for member in members:
            if member not in self._group.members:
                continue
            if leaves_group:
                self._context.rebalance_causes.add(cause)
                self._send(protocol.Left(member, f"{member.client} left"))
            else:
                self._context.rebalance_causes.add_crash(member, cause)
                last_ms = self._heartbeats.last_ms(member, self._context.now_ms)
                self._context.env.process(self._time_out(member, last_ms))

    def record_change(self) -> None:
        """Do nothing: members report offsets only when they join."""

    def move_coordinator(self, configs: GroupConfigs) -> None:
        """Let another broker coordinate the group; members and assignments stay."""
        self._group.extends_every_initial_delay = configs.extends_every_initial_delay

    def request_rebalance(self, reason: str, cause: Cause) -> None:
        """Let the leader request a rebalance, if it is up."""
        leader = self._group.leader
        if leader is not None and self._context.fleet.is_up(leader):
            self._context.rebalance_causes.add(cause)
            self._send(protocol.RebalanceRequested([leader], reason))

    def _time_out(self, member: Member, last_heartbeat_ms: int) -> Process:
        """Remove a silent member when its session ends."""
        # While a rebalance that it has joined waits for others, the session does not end, and it begins anew when the
        # rebalance has all its members (`ClassicGroupMember.hasSatisfiedHeartbeat`).
        session_ms = self._configs.session_timeout_ms
        end_ms = last_heartbeat_ms + session_ms
        while end_ms > self._context.now_ms:
            yield self._context.env.timeout(end_ms - self._context.now_ms)
            end_ms = max(end_ms, self._heartbeats.since_ms(member) + session_ms)
        if self._group.phase is Phase.PREPARING and self._group.members.get(member):
            self._silent[member] = None
        elif member in self._group.members:
            self._send(protocol.Left(member, f"{member.client}: session timed out"))

    def _restart_sessions(self) -> None:
        """Restart the heartbeats of all members, and the sessions of silent ones, as a rebalance has its members."""
        now_ms = self._context.now_ms
        joined = [member for member in self._group.members if self._group.members[member]]
        self._heartbeats.restart(joined, now_ms)
        silent, self._silent = self._silent, {}
        for member in silent:
            self._context.env.process(self._time_out(member, now_ms))

    def _send(self, event: protocol.GroupEvent) -> None:
        """Send an event to the state machine, and execute its instructions."""
        before, generation = self._group.rebalance, self._group.generation
        candidates = self._candidates(event)
        had_joined = {member for member in candidates if self._group.members.get(member)}
        instructions = self._group.handle(event)
        members, is_new = self._group.members, self._group.rebalance != before
        if is_new:
            self._requested_at_ms = self._context.now_ms
        self._rejoining.record_reports(
            [member for member in candidates if members.get(member) and (is_new or member not in had_joined)]
        )
        if self._group.generation != generation:
            self._restart_sessions()
        for instruction in instructions:
            self._context.env.process(self._execute(instruction))

    def _candidates(self, event: protocol.GroupEvent) -> Sequence[Member]:
        """Return the members that may join a rebalance with an event; looking at all members would be quadratic."""
        match event:
            case protocol.Joined(member=member):
                return [member]
            case protocol.Rejoined(members=members) | protocol.RebalanceRequested(members=members):
                return members
            case protocol.FollowupDue() if self._group.leader is not None:
                return [self._group.leader]
        return ()

    def _execute(self, instruction: protocol.Instruction) -> Process:
        env = self._context.env
        match instruction:
            case protocol.AwaitFirstMembers():
                yield env.timeout(self._configs.initial_rebalance_delay_ms)
                self._send(protocol.InitialDelayOver())
            case protocol.CallMembers(rebalance=rebalance):
                yield from self._call_members(rebalance)
            case protocol.AwaitMembers(rebalance=rebalance):
                yield env.timeout(self._configs.max_poll_interval_ms)
                self._send(protocol.RebalanceTimedOut(rebalance))
            case ComputeAssignment():
                yield from self._compute(instruction)
            case protocol.SendAssignment(generation=generation):
                yield env.timeout(0)
                self._assign(*self._decisions.pop(generation))
            case protocol.ResendAssignment(member=member):
                yield env.timeout(0)
                self._resend_assignment(member)

    def _call_members(self, rebalance: int) -> Process:
        """Let each member learn of a rebalance with its next heartbeat, and rejoin as soon as it can."""
        now_ms = self._context.now_ms
        missing = [member for member, has_joined in self._group.members.items() if not has_joined]
        called_ms = self._heartbeats.next_times_ms(missing, now_ms)
        due = list(zip(self._rejoining.ready_times_ms(missing, called_ms), missing, strict=True))
        for at_ms, calls in groupby(sorted(due, key=lambda call: call[0]), key=lambda call: call[0]):
            yield self._context.env.timeout(at_ms - self._context.now_ms)
            if self._group.rebalance != rebalance:
                return
            self._send(protocol.Rejoined(rebalance, list(self._running(member for _, member in calls))))

    def _running(self, members: Iterable[Member]) -> Iterable[Member]:
        return filter(self._context.fleet.is_up, members)

    def _compute(self, instruction: ComputeAssignment) -> Process:
        """Let the leader compute the assignment, for as long as Kafka's leader would take."""
        env, execution = self._context.env, self._context.execution
        yield env.timeout(0)
        yield from self._fetch_end_offsets()
        execution.delete_expired_copies(self._context.now_ms)
        self._context.budget.count_rebalance()
        decision = self._context.leader.decide(instruction)
        if decision.leader_compute_ms > self._configs.max_poll_interval_ms:
            # The group never receives this decision: without its large arrays, a leader that never finishes needs no
            # more memory with each attempt.
            slow_ms = decision.leader_compute_ms
            del decision
            yield from self._remove_slow_leader(instruction.leader, slow_ms)
        else:
            yield env.timeout(round(decision.leader_compute_ms))
            # Decisions are large: one that another rebalance superseded is never sent, and not kept.
            if self._context.fleet.is_up(instruction.leader) and self._group.awaits(instruction.generation):
                self._decisions[instruction.generation] = instruction, decision
                self._send(protocol.AssignmentReady(instruction.generation))

    def _fetch_end_offsets(self) -> Process:
        """Wait until the leader can fetch the end offsets of all changelogs, or its admin client times out."""
        for _ in range(API_TIMEOUT_MS // _RETRY_MS):
            if self._context.leader.knows_lags:
                return
            yield self._context.env.timeout(_RETRY_MS)

    def _remove_slow_leader(self, leader: Member, leader_compute_ms: float) -> Process:
        """Remove a leader that exceeds `max.poll.interval.ms`; it joins again when it has finished computing."""
        env, limit_ms = self._context.env, self._configs.max_poll_interval_ms
        self._context.recorder.note_slow_leader(leader_compute_ms)
        yield env.timeout(limit_ms)
        if leader in self._group.members:
            self._send(protocol.Left(leader, f"{leader.client} exceeded max.poll.interval.ms"))
        yield env.timeout(round(leader_compute_ms) - limit_ms)
        if self._context.fleet.is_up(leader) and leader not in self._group.members:
            self._send(protocol.Joined(leader, self._context.is_static(leader)))

    def _assign(self, instruction: ComputeAssignment, decision: Decision) -> None:
        execution, recorder = self._context.execution, self._context.recorder
        now_ms, stateful = self._context.now_ms, self._context.leader.stateful
        with execution.changing(now_ms):
            # A static member that is down at the moment gets its part of this assignment when it is back.
            copies = execution.restoration.holds_copy(np.arange(execution.assignment.standby.shape[1]))
            target = without_stopped_threads(decision.target, self._context.fleet.running)
            reconciliation = reconcile_group(target, execution.assignment, stateful, copies)
            of_all = reconciliation
            if target is not decision.target:
                of_all = reconcile_group(decision.target, execution.assignment, stateful, copies)
            self._last_assignment = of_all.assignment
            rejoining = self._rejoining_members(target, reconciliation)
            causes = self._context.rebalance_causes.take(self._group.members)
            recorder.open_round(instruction, decision, reconciliation, causes, self._requested_at_ms, now_ms)
            execution.assign(reconciliation, is_restored=self._is_warm_start)
            recorder.count_unfinished()
        if self._is_warm_start:
            self._heartbeats.spread(self._running(self._group.members), now_ms)
            self._is_warm_start = False
        if rejoining:
            self._request_followup(rejoining, instruction.generation)
        else:
            recorder.mark_reconciled(now_ms)
            if decision.followup_delay_ms is not None:
                self._context.env.process(self._follow_up(instruction.generation, decision.followup_delay_ms))

    def _request_followup(self, rejoining: Mapping[Member, bool], generation: int) -> None:
        """Let members rejoin, each as soon as it can.

        Args:
            rejoining: the members, and whether each rejoins because it must revoke tasks.
            generation: the generation whose assignment they have just received.
        """
        now_ms = self._context.now_ms
        ready = [(self._rejoining.ready_ms(member, now_ms, revokes), member) for member, revokes in rejoining.items()]
        for at_ms, group in groupby(sorted(ready, key=lambda call: call[0]), key=lambda call: call[0]):
            members = [member for _, member in group]
            if at_ms == now_ms:
                self._send(protocol.RebalanceRequested(members, FOLLOWUP))
            else:
                self._context.env.process(self._request_followup_at(at_ms, members, generation))

    def _request_followup_at(self, at_ms: int, members: Sequence[Member], generation: int) -> Process:
        yield self._context.env.timeout(at_ms - self._context.now_ms)
        remaining = [member for member in self._running(members) if member in self._group.members]
        if self._group.generation == generation and remaining:
            self._send(protocol.RebalanceRequested(remaining, FOLLOWUP))

    def _rejoining_members(self, target: GroupAssignment, reconciliation: Reconciliation) -> dict[Member, bool]:
        """Return the members that revoke a task or wait for one, and therefore rejoin; and whether each revokes."""
        current = self._context.execution.assignment
        revokes: dict[tuple[int, int], bool] = {}
        for assignment, tasks, is_revoking in (
            (target, reconciliation.withheld, False),
            (current, reconciliation.revoked, True),
        ):
            clients, numbers = assignment.owner[tasks].tolist(), assignment.owner_thread()[tasks].tolist()
            revokes.update(dict.fromkeys(zip(clients, numbers, strict=True), is_revoking))
        members = {thread: self._context.fleet.member(*thread) for thread in sorted(revokes)}
        return {
            member: revokes[thread]
            for thread, member in members.items()
            if member is not None and member in self._group.members
        }

    def _follow_up(self, generation: int, delay_ms: int) -> Process:
        yield self._context.env.timeout(delay_ms)
        self._overdue = generation
        self._request_overdue_followup()

    def _request_overdue_followup(self) -> None:
        """Let the leader request the follow-up rebalance that is due, if it is up."""
        leader = self._group.leader
        if leader is not None and self._overdue is not None and self._context.fleet.is_up(leader):
            self._send(protocol.FollowupDue(self._overdue))

    def _resend_assignment(self, member: Member) -> None:
        if self._context.fleet.is_up(member):
            execution = self._context.execution
            with execution.changing(self._context.now_ms):
                row = self._context.fleet.row(member.client)
                execution.assign_to_static_member(row, member.thread, self._last_assignment)
            self._request_overdue_followup()
