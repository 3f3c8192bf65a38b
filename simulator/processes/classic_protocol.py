"""The classic protocol in time: members send heartbeats and join, the leader computes, and members revoke tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from simulator.assignment.leader import Decision
from simulator.group import classic_group as protocol
from simulator.group.classic_group import ClassicGroupProtocolState, ComputeAssignment, Member, Phase
from simulator.group.rebalance_causes import Cause
from simulator.group.reconciliation import Reconciliation, reconcile_group, without_stopped_clients
from simulator.processes.rejoining import Rejoining
from simulator.processes.simulation_context import Process, SimulationContext
from simulator.world.group_assignment import GroupAssignment
from simulator.world.world import Start

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
        self._group = ClassicGroupProtocolState()
        self._rejoining = Rejoining(context)
        self._decisions: dict[int, tuple[ComputeAssignment, Decision]] = {}
        self._requested_at_ms = 0
        self._heartbeats_since_ms = 0
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
        self._group = ClassicGroupProtocolState.running({member: self._context.is_static(member) for member in members})
        self._last_assignment = self._context.execution.assignment
        due_ms = self._context.world.next_rebalance_ms
        if due_ms is not None:
            self._context.env.process(self._follow_up(self._group.generation, due_ms))

    def join(self, member: Member, cause: Cause) -> None:
        """Let a client that has just started join; a static member that is back in time causes no rebalance."""
        is_static = self._context.is_static(member)
        self._send(protocol.Joined(member, is_static))
        rebalances = self._group.phase is not Phase.STABLE
        self._context.rebalance_causes.add_start(member.client, cause, rebalances=rebalances, replaces=is_static)

    def stop(self, member: Member, cause: Cause, *, leaves_group: bool) -> None:
        """Process the stop of a client; if it does not leave, the group removes it after its session timeout."""
        if not leaves_group:
            if member in self._group.members:
                self._context.rebalance_causes.add_crash(member, cause)
            now_ms = self._context.now_ms
            heartbeat_ms = now_ms - (now_ms - self._heartbeats_since_ms) % self._configs.heartbeat_interval_ms
            self._context.env.process(self._time_out(member, heartbeat_ms + self._configs.session_timeout_ms))
        elif member in self._group.members:
            self._context.rebalance_causes.add(cause)
            self._send(protocol.Left(member, f"{member.client} left"))

    def request_rebalance(self, reason: str, cause: Cause) -> None:
        """Let the leader request a rebalance, if it is up."""
        leader = self._group.leader
        if leader is not None and self._context.fleet.is_up(leader):
            self._context.rebalance_causes.add(cause)
            self._send(protocol.RebalanceRequested([leader], reason))

    def _time_out(self, member: Member, at_ms: int) -> Process:
        yield self._context.env.timeout(max(0, at_ms - self._context.now_ms))
        if member in self._group.members:
            self._send(protocol.Left(member, f"{member.client}: session timed out"))

    def _send(self, event: protocol.GroupEvent) -> None:
        """Send an event to the state machine, and execute its instructions."""
        before, members = self._group.rebalance, dict(self._group.members)
        instructions = self._group.handle(event)
        if self._group.rebalance != before:
            self._requested_at_ms = self._context.now_ms
        self._rejoining.record_reports(members, self._group.members, is_new=self._group.rebalance != before)
        for instruction in instructions:
            self._context.env.process(self._execute(instruction))

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
                decision = self._decisions[generation]
                # A leader that waited for end offsets may decide later than its successor: keep newer decisions.
                self._decisions = {number: newer for number, newer in self._decisions.items() if number > generation}
                self._assign(*decision)
            case protocol.ResendAssignment(member=member):
                yield env.timeout(0)
                self._resend_assignment(member)

    def _call_members(self, rebalance: int) -> Process:
        """Let members learn of a rebalance with their next heartbeat; heartbeats began with the last assignment."""
        interval_ms = self._configs.heartbeat_interval_ms
        passed_ms = self._context.now_ms - self._heartbeats_since_ms
        yield self._context.env.timeout(interval_ms - passed_ms % interval_ms)
        yield from self._rejoin(rebalance)

    def _rejoin(self, rebalance: int) -> Process:
        """Let the members that have learned of a rebalance send their JoinGroup requests, each as soon as it can."""
        fleet, since_ms = self._context.fleet, self._context.now_ms
        members = {fleet.row(member.client): member for member in self._group.members if fleet.is_up(member)}
        for delay_ms, clients in self._rejoining.by_delay(members):
            if since_ms + delay_ms > self._context.now_ms:
                yield self._context.env.timeout(since_ms + delay_ms - self._context.now_ms)
            up = [members[client] for client in clients if fleet.is_up(members[client])]
            self._send(protocol.Rejoined(rebalance, up))

    def _compute(self, instruction: ComputeAssignment) -> Process:
        """Let the leader compute the assignment, for as long as Kafka's leader would take."""
        env, execution = self._context.env, self._context.execution
        yield env.timeout(0)
        yield from self._fetch_end_offsets()
        execution.delete_expired_copies(self._context.now_ms)
        decision = self._context.leader.decide(instruction.members, instruction.leader)
        self._decisions[instruction.generation] = instruction, decision
        if decision.leader_compute_ms > self._configs.max_poll_interval_ms:
            yield from self._remove_slow_leader(instruction.leader, decision.leader_compute_ms)
        else:
            yield env.timeout(round(decision.leader_compute_ms))
            if self._context.fleet.is_up(instruction.leader):
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
            self._last_assignment = reconcile_group(decision.target, execution.assignment, stateful).assignment
            target = without_stopped_clients(decision.target, self._context.fleet.up)
            reconciliation = reconcile_group(target, execution.assignment, stateful)
            rejoining = self._rejoining_threads(target, reconciliation)
            causes = self._context.rebalance_causes.take(self._group.members)
            recorder.open_round(instruction, decision, reconciliation, causes, self._requested_at_ms, now_ms)
            execution.assign(reconciliation, is_restored=self._is_warm_start)
            self._is_warm_start = False
            recorder.count_unfinished()
            self._heartbeats_since_ms = now_ms
        if rejoining:
            self._request_followup(rejoining, reconciliation)
        else:
            recorder.mark_reconciled(now_ms)
            if decision.followup_delay_ms is not None:
                self._context.env.process(self._follow_up(instruction.generation, decision.followup_delay_ms))

    def _request_followup(self, rejoining: set[tuple[int, int]], reconciliation: Reconciliation) -> None:
        """Let the clients that revoked tasks or wait for some rejoin, each as soon as it can."""
        revoking = set(self._context.execution.revoked_from[reconciliation.revoked].tolist())
        clients = sorted({client for client, _ in rejoining})
        members = {
            self._context.fleet.row(member.client): member for member in self._members_with_all_threads(rejoining)
        }
        for delay_ms, group in self._rejoining.by_delay(clients, revoking):
            joining = [members[client] for client in group if client in members]
            if delay_ms == 0:
                self._send(protocol.RebalanceRequested(joining, FOLLOWUP))
            else:
                request = self._request_followup_after(delay_ms, joining, self._group.generation)
                self._context.env.process(request)

    def _request_followup_after(self, delay_ms: int, members: Sequence[Member], generation: int) -> Process:
        yield self._context.env.timeout(delay_ms)
        remaining = [
            member for member in members if member in self._group.members and self._context.fleet.is_up(member)
        ]
        if self._group.generation == generation and (remaining or not members):
            self._send(protocol.RebalanceRequested(remaining, FOLLOWUP))

    def _rejoining_threads(self, target: GroupAssignment, reconciliation: Reconciliation) -> set[tuple[int, int]]:
        """Return the threads, by client, that revoke a task or wait for one, and therefore rejoin immediately."""
        current = self._context.execution.assignment
        threads: set[tuple[int, int]] = set()
        for assignment, tasks in ((current, reconciliation.revoked), (target, reconciliation.withheld)):
            clients, numbers = assignment.owner[tasks].tolist(), assignment.owner_thread()[tasks].tolist()
            threads.update(zip(clients, numbers, strict=True))
        return threads

    def _members_with_all_threads(self, threads: set[tuple[int, int]]) -> Sequence[Member]:
        """Return the members all of whose threads are given; the others join when their other threads do."""
        fleet = self._context.fleet
        complete = [
            client
            for client in sorted({client for client, _ in threads})
            if all((client, number) in threads for number in range(fleet.num_threads(client)))
        ]
        return [member for member in map(fleet.member, complete) if member in self._group.members]

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
                execution.assign_to_static_member(self._context.fleet.row(member.client), self._last_assignment)
            self._request_overdue_followup()
