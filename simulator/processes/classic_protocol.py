"""The classic protocol in time: members send heartbeats and join, the leader computes, and members revoke tasks.

Members of Kafka Streams rebalance cooperatively (KIP-429): they keep their tasks while a rebalance goes on, revoke
those that move when they receive the assignment, and rejoin. Consumers do the same with a cooperative assignor, but
those that wait for a partition do not rejoin: the revocation of another one triggers the follow-up rebalance. With an
eager assignor, a member revokes all partitions before it joins, and gets partitions again with the assignment.

Source: `ConsumerCoordinator.onJoinPrepare` and `.onJoinComplete`, `StreamsPartitionAssignor.onAssignment`, Kafka 4.3.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from assignors.model.configs import AssignmentConfigs
from simulator.assignment.leader import Decision
from simulator.group import group_events as events
from simulator.group.classic_group import ClassicGroupProtocolState, Phase
from simulator.group.group_events import ComputeAssignment, Member
from simulator.group.handover import GroupHandover
from simulator.group.heartbeats import Heartbeats
from simulator.group.rebalance_causes import Cause
from simulator.group.reconciliation import Reconciliation, reconcile_group, without_stopped_threads
from simulator.processes.followups import FollowupRebalances
from simulator.processes.process_scope import ProcessScope
from simulator.processes.received_assignment import ReceivedAssignment
from simulator.processes.rejoining import Rejoining
from simulator.processes.selected_assignor import SelectedAssignor
from simulator.processes.simulation_context import Process, SimulationContext
from simulator.random_streams import random_order
from simulator.world.group_assignment import GroupAssignment
from simulator.world.world import GroupConfigs, Start

API_TIMEOUT_MS: Final = 60_000
"""`default.api.timeout.ms` of the admin client: how long a leader retries to fetch end offsets."""
_RETRY_MS: Final = 1_000
"""The time between two retries (`retry.backoff.max.ms`)."""


class ClassicProtocol:
    """Runs the state machine of a classic group: executes its instructions after the right delays."""

    def __init__(self, context: SimulationContext) -> None:
        self._context = context
        self._scope = ProcessScope(context.env)
        self._configs = context.world.application.group_configs
        self._group = ClassicGroupProtocolState(
            hash_order=self._hash_order, extends_every_initial_delay=self._configs.extends_every_initial_delay
        )
        self._rejoining = Rejoining(context)
        self._followups = FollowupRebalances(context, self._scope, self._rejoining, self._send)
        self._decisions: dict[int, tuple[ComputeAssignment, Decision]] = {}
        self._requested_at_ms = 0
        world, interval_ms = context.world, self._configs.heartbeat_interval_ms
        self._heartbeats = Heartbeats(context.fleet, interval_ms, world.seed, are_late=True)
        self._selected = SelectedAssignor(context.leader)
        self._silent: dict[Member, None] = {}
        self._received = ReceivedAssignment(context)
        self._is_consumer_group = context.world.application.is_consumer_group
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
        self._continue({member: self._context.is_static(member) for member in members}, 0)
        self._heartbeats.spread(members, self._context.now_ms)
        self._received = ReceivedAssignment(self._context)
        self._selected.select(members)
        due_ms = self._context.world.next_rebalance_ms
        if due_ms is not None:
            self._followups.request_later(self._group, self._group.generation, due_ms)

    def _continue(self, members: Mapping[Member, bool], generation: int) -> None:
        """Continue with members; the mapping says whether a member is static."""
        self._group = ClassicGroupProtocolState.running(
            members,
            generation=generation,
            extends_every_initial_delay=self._configs.extends_every_initial_delay,
            hash_order=self._hash_order,
        )

    def take_over(self, group: GroupHandover) -> None:
        """Continue with a group of which a member of the consumer protocol is removed or replaced next."""
        self._continue(group.members, group.generation)
        self._heartbeats, self._selected.name = group.heartbeats, group.assignor
        self._received.last = group.assignment
        for member in group.members:
            if self._context.rebalance_causes.has_crashed(member):  # Its session begins anew.
                self._heartbeats.restart([member], self._context.now_ms)
                self._scope.start(self._time_out(member, self._context.now_ms))

    def hand_over(self) -> GroupHandover:
        """End, and return the group with what each member has received."""
        self._scope.end()
        group = self._group
        is_rebalancing = group.phase in (Phase.PREPARING, Phase.COMPLETING)
        return GroupHandover(
            members={member: self._context.is_static(member) for member in group.members},
            generation=group.generation,
            assignment=self._received.of_members(group.members),
            heartbeats=self._heartbeats,
            rejoining=tuple(member for member, has_joined in group.members.items() if is_rebalancing and has_joined),
            assignor=self._selected.name,
        )

    def remove(self, member: Member, reason: str) -> None:
        """Remove a member of the consumer protocol that left, or whose session timed out."""
        self._received.remove(member)
        self._send(events.Left(member, reason))

    def join(self, members: Sequence[Member], cause: Cause) -> None:
        """Let threads that have just started join; a static member that is back in time causes no rebalance."""
        for member in members:
            is_static = self._context.is_static(member)
            self._heartbeats.restart([member], self._context.now_ms)
            changes = is_static and self._selected.changes_with(self._group.members)
            self._send(events.Joined(member, is_static, changes))
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
            self._received.stop(member)
            if member not in self._group.members:
                continue
            if leaves_group:
                self._context.rebalance_causes.add(cause)
                self._send(events.Left(member, f"{member.client} left"))
            else:
                self._context.rebalance_causes.add_crash(member, cause)
                last_ms = self._heartbeats.last_ms(member, self._context.now_ms)
                self._scope.start(self._time_out(member, last_ms))

    def record_change(self) -> None:
        """Do nothing: members report offsets only when they join."""

    def move_coordinator(self, configs: GroupConfigs) -> None:
        """Let another broker coordinate the group; members and assignments stay."""
        self._group.extends_every_initial_delay = configs.extends_every_initial_delay

    def set_configs(self, configs: AssignmentConfigs, cause: Cause) -> None:
        """Let the leader request a rebalance, since the members have other configs."""
        self.request_rebalance("configs changed", cause)

    def request_rebalance(self, reason: str, cause: Cause) -> None:
        """Let the leader request a rebalance, if it is up."""
        leader = self._group.leader
        if leader is not None and self._context.fleet.is_up(leader):
            self._context.rebalance_causes.add(cause)
            self._send(events.RebalanceRequested([leader], reason))

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
            self._send(events.Left(member, f"{member.client}: session timed out"))

    def _hash_order(self, member: Member) -> int:
        """Return the place of a member in the coordinator's hash table: each start of a thread gets a new random id."""
        process_id = self._context.fleet.first_process_id(member.client)
        names = ("member_id", str(process_id), str(member.start), str(member.thread))
        return random_order(self._context.world.seed, *names)

    def _restart_sessions(self) -> None:
        """Restart the heartbeats of all members, and the sessions of silent ones, as a rebalance has its members."""
        now_ms = self._context.now_ms
        joined = [member for member in self._group.members if self._group.members[member]]
        self._heartbeats.restart(joined, now_ms)
        silent, self._silent = self._silent, {}
        for member in silent:
            self._scope.start(self._time_out(member, now_ms))

    def _send(self, event: events.GroupEvent) -> None:
        """Send an event to the state machine, and execute its instructions."""
        before, generation = self._group.rebalance, self._group.generation
        candidates = self._candidates(event)
        members = self._group.members
        had_joined = [members.get(member, False) for member in candidates]
        instructions = self._group.handle(event)
        members, is_new = self._group.members, self._group.rebalance != before
        if is_new:
            self._requested_at_ms = self._context.now_ms
        joined = [
            member
            for member, joined_before in zip(candidates, had_joined, strict=True)
            if members.get(member) and (is_new or not joined_before)
        ]
        self._rejoining.record_reports(joined)
        if eager := [member for member in joined if self._context.leader.is_eager(member)]:
            self._revoke_all(eager)
        if self._group.generation != generation:
            self._restart_sessions()
        for instruction in instructions:
            self._scope.start(self._execute(instruction))

    def _revoke_all(self, members: Sequence[Member]) -> None:
        """Let members revoke all tasks, as eager ones do before they join."""
        execution, fleet = self._context.execution, self._context.fleet
        assignment = remaining = execution.assignment
        for member in members:
            if fleet.is_up(member):
                remaining = remaining.without_thread(fleet.row(member.client), member.thread)
        revoked = remaining.owner != assignment.owner
        if revoked.any():
            with execution.changing(self._context.now_ms):
                execution.assign(Reconciliation(remaining, revoked, np.zeros_like(revoked)))

    def _candidates(self, event: events.GroupEvent) -> Sequence[Member]:
        """Return the members that may join a rebalance with an event; looking at all members would be quadratic."""
        match event:
            case events.Joined(member=member):
                return [member]
            case events.Rejoined(members=members) | events.RebalanceRequested(members=members):
                return members
            case events.FollowupDue() if self._group.leader is not None:
                return [self._group.leader]
        return ()

    def _execute(self, instruction: events.Instruction) -> Process:
        env = self._context.env
        match instruction:
            case events.AwaitFirstMembers():
                yield env.timeout(self._configs.initial_rebalance_delay_ms)
                self._send(events.InitialDelayOver())
            case events.CallMembers(rebalance=rebalance):
                yield from self._call_members(rebalance)
            case events.AwaitMembers(rebalance=rebalance):
                yield env.timeout(self._configs.max_poll_interval_ms)
                self._send(events.RebalanceTimedOut(rebalance))
            case ComputeAssignment():
                yield from self._compute(instruction)
            case events.SendAssignment(generation=generation):
                yield env.timeout(0)
                self._assign(*self._decisions.pop(generation))
            case events.ResendAssignment(member=member):
                yield env.timeout(0)
                self._resend_assignment(member)

    def _call_members(self, rebalance: int) -> Process:
        """Let each member learn of a rebalance with its next heartbeat, and rejoin as soon as it can."""
        now_ms = self._context.now_ms
        missing = [member for member, has_joined in self._group.members.items() if not has_joined]
        called_ms = self._heartbeats.next_times_ms(missing, now_ms)
        due: dict[int, list[Member]] = {}
        for at_ms, member in zip(self._rejoining.ready_times_ms(missing, called_ms), missing, strict=True):
            if at_ms in due:
                due[at_ms].append(member)
            else:
                due[at_ms] = [member]
        env, group, is_up = self._context.env, self._group, self._context.fleet.is_up
        for at_ms in sorted(due):
            yield env.timeout(at_ms - now_ms)
            now_ms = at_ms
            if group.rebalance != rebalance:
                return
            self._send(events.Rejoined(rebalance, [member for member in due[at_ms] if is_up(member)]))

    def _running(self, members: Iterable[Member]) -> Iterable[Member]:
        return filter(self._context.fleet.is_up, members)

    def _compute(self, instruction: ComputeAssignment) -> Process:
        """Let the leader compute the assignment, for as long as Kafka's leader would take."""
        env, execution = self._context.env, self._context.execution
        yield env.timeout(0)
        yield from self._fetch_end_offsets()
        execution.delete_expired_copies(self._context.now_ms)
        self._context.budget.count_rebalance()
        instruction = self._selected.update(instruction)
        decision = self._context.leader.decide(instruction, self._owned_partitions())
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
                self._send(events.AssignmentReady(instruction.generation))

    def _owned_partitions(self) -> GroupAssignment | None:
        """Return the partitions that members of a consumer group report as owned; None for Kafka Streams.

        The sticky assignor remembers the last assignment in spite of the revocation (`StickyAssignor.onAssignment`).
        """
        if not self._is_consumer_group:
            return None
        is_eager = all(map(self._context.leader.is_eager, self._group.members))
        return self._received.reported if is_eager else self._context.execution.assignment

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
            self._send(events.Left(leader, f"{leader.client} exceeded max.poll.interval.ms"))
        yield env.timeout(round(leader_compute_ms) - limit_ms)
        if self._context.fleet.is_up(leader) and leader not in self._group.members:
            self._send(events.Joined(leader, self._context.is_static(leader)))

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
            self._received.update(of_all, reconciliation)
            rejoining = self._followups.rejoining_members(self._group, target, reconciliation)
            causes = self._context.rebalance_causes.take(self._group.members)
            recorder.open_round(instruction, decision, reconciliation, causes, self._requested_at_ms, now_ms)
            execution.assign(reconciliation, is_restored=self._is_warm_start)
            recorder.count_unfinished()
        if self._is_warm_start:
            self._heartbeats.spread(self._running(self._group.members), now_ms)
            self._is_warm_start = False
        if rejoining:
            self._followups.request(self._group, rejoining, instruction.generation)
        else:
            recorder.mark_reconciled(now_ms)
            if decision.followup_delay_ms is not None:
                delay_ms = decision.followup_delay_ms
                self._followups.request_later(self._group, instruction.generation, delay_ms)

    def _resend_assignment(self, member: Member) -> None:
        if self._context.fleet.is_up(member):
            execution = self._context.execution
            with execution.changing(self._context.now_ms):
                row = self._context.fleet.row(member.client)
                execution.assign_to_static_member(row, member.thread, self._received.last)
                self._received.update_member(member)
            self._followups.request_overdue(self._group)
