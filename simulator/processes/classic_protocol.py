"""The classic protocol in time: members beat their hearts, join, wait for their leader, and give tasks back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from simulator.assignment.leader import Decision
from simulator.group import classic_group as protocol
from simulator.group.classic_group import ClassicGroupProtocolState, ComputeAssignment, Member, Phase
from simulator.group.rebalance_causes import Cause
from simulator.group.reconciliation import GroupAssignment, Reconciliation, reconcile_group, without_stopped_clients
from simulator.processes.simulation_context import Process, SimulationContext
from simulator.world.world import Start

API_TIMEOUT_MS: Final = 60_000
"""`default.api.timeout.ms` of the admin client: for how long a leader asks for end offsets."""
_RETRY_MS: Final = 1_000
"""How often it is seen here whether they can be had (`retry.backoff.max.ms`)."""


class ClassicProtocol:
    """Does what the group's state machine says, when it is time to."""

    def __init__(self, context: SimulationContext) -> None:
        self._context = context
        self._configs = context.world.application.group_configs
        self._group = ClassicGroupProtocolState()
        self._decided: dict[int, tuple[ComputeAssignment, Decision]] = {}
        self._asked_at_ms = 0
        self._heartbeats_since_ms = 0
        self._given = context.execution.assignment
        self._overdue: int | None = None
        self._fills = context.world.start is Start.WARM

    @property
    def is_at_rest(self) -> bool:
        """Whether no rebalance is under way, nor will be because somebody is silent or was put out."""
        at_rest = self._group.phase in (Phase.STABLE, Phase.EMPTY)
        return at_rest and set(self._group.members) == self._context.fleet.members_up()

    @property
    def round_under_way(self) -> int:
        """The number of the round that is being decided, or was last."""
        return self._group.generation

    def go_on(self, members: Sequence[Member]) -> None:
        """The group goes on with what its members have; it may be in the middle of probing rebalances."""
        self._group = ClassicGroupProtocolState.running({member: self._context.is_static(member) for member in members})
        self._given = self._context.execution.assignment
        due_ms = self._context.world.next_rebalance_ms
        if due_ms is not None:
            self._context.env.process(self._follow_up(self._group.generation, due_ms))

    def join(self, member: Member, cause: Cause) -> None:
        """Let a client that has just started join; a static member that is back in time does so without a rebalance."""
        is_static = self._context.is_static(member)
        self._tell(protocol.Joined(member, is_static))
        rebalances = self._group.phase is not Phase.STABLE
        self._context.rebalance_causes.rejoin(member.client, cause, rebalances=rebalances, replaces=is_static)

    def stop(self, member: Member, cause: Cause, *, leaves_group: bool) -> None:
        """Take note that a client has ended; unless it says so, the group misses it after the session timeout."""
        if not leaves_group:
            if member in self._group.members:
                self._context.rebalance_causes.lose(member, cause)
            now_ms = self._context.now_ms
            heard_ms = now_ms - (now_ms - self._heartbeats_since_ms) % self._configs.heartbeat_interval_ms
            self._context.env.process(self._miss(member, heard_ms + self._configs.session_timeout_ms))
        elif member in self._group.members:
            self._context.rebalance_causes.call(cause)
            self._tell(protocol.Left(member, f"{member.client} left"))

    def ask(self, reason: str, cause: Cause) -> None:
        """Let the leader ask for a rebalance, if it is up."""
        leader = self._group.leader
        if leader is not None and self._context.fleet.is_up(leader):
            self._context.rebalance_causes.call(cause)
            self._tell(protocol.RebalanceAsked([leader], reason))

    def _miss(self, member: Member, at_ms: int) -> Process:
        yield self._context.env.timeout(max(0, at_ms - self._context.now_ms))
        if member in self._group.members:
            self._tell(protocol.Left(member, f"{member.client} was not heard of"))

    def _tell(self, event: protocol.GroupEvent) -> None:
        before = self._group.rebalance
        instructions = self._group.handle(event)
        if self._group.rebalance != before:
            self._asked_at_ms = self._context.now_ms
        for instruction in instructions:
            self._context.env.process(self._follow(instruction))

    def _follow(self, instruction: protocol.Instruction) -> Process:
        env = self._context.env
        match instruction:
            case protocol.AwaitFirstMembers():
                yield env.timeout(self._configs.initial_rebalance_delay_ms)
                self._tell(protocol.InitialDelayOver())
            case protocol.CallMembers(rebalance=rebalance):
                yield from self._call_members(rebalance)
            case protocol.AwaitMembers(rebalance=rebalance):
                yield env.timeout(self._configs.max_poll_interval_ms)
                self._tell(protocol.RebalanceTimedOut(rebalance))
            case ComputeAssignment():
                yield from self._compute(instruction)
            case protocol.HandOut(generation=generation):
                yield env.timeout(0)
                self._hand_out(*self._decided.pop(generation))
            case protocol.HandBack(member=member):
                yield env.timeout(0)
                self._hand_back(member)

    def _call_members(self, rebalance: int) -> Process:
        """Members learn of a rebalance with their next heartbeat; they all beat from the last assignment on."""
        interval_ms = self._configs.heartbeat_interval_ms
        passed_ms = self._context.now_ms - self._heartbeats_since_ms
        yield self._context.env.timeout(interval_ms - passed_ms % interval_ms)
        there = [member for member in self._group.members if self._context.fleet.is_up(member)]
        self._tell(protocol.Rejoined(rebalance, there))

    def _compute(self, wanted: ComputeAssignment) -> Process:
        """The leader assigns, for as long as Kafka's would take."""
        env, execution = self._context.env, self._context.execution
        yield env.timeout(0)
        yield from self._fetch_end_offsets()
        execution.advance(self._context.now_ms)
        execution.clean_up()
        decision = self._context.leader.decide(wanted.members, wanted.leader)
        self._decided = {wanted.generation: (wanted, decision)}
        if decision.leader_compute_ms > self._configs.max_poll_interval_ms:
            yield from self._put_out(wanted.leader, decision.leader_compute_ms)
        else:
            yield env.timeout(round(decision.leader_compute_ms))
            if self._context.fleet.is_up(wanted.leader):
                self._tell(protocol.AssignmentReady(wanted.generation))

    def _fetch_end_offsets(self) -> Process:
        """The leader asks for the end offsets of changelogs, until it has them all or its admin client gives up."""
        for _ in range(API_TIMEOUT_MS // _RETRY_MS):
            if self._context.leader.knows_lags:
                return
            yield self._context.env.timeout(_RETRY_MS)

    def _put_out(self, leader: Member, leader_compute_ms: float) -> Process:
        """A leader that computes for too long does not poll; it is no member any more, and joins when it is done."""
        env, most_ms = self._context.env, self._configs.max_poll_interval_ms
        self._context.recorder.note_slow_leader(leader_compute_ms)
        yield env.timeout(most_ms)
        if leader in self._group.members:
            self._tell(protocol.Left(leader, f"{leader.client} computed for too long"))
        yield env.timeout(round(leader_compute_ms) - most_ms)
        if self._context.fleet.is_up(leader) and leader not in self._group.members:
            self._tell(protocol.Joined(leader, self._context.is_static(leader)))

    def _hand_out(self, wanted: ComputeAssignment, decision: Decision) -> None:
        execution, recorder = self._context.execution, self._context.recorder
        execution.advance(self._context.now_ms)
        stateful = self._context.leader.stateful
        # A static member that is down now finds what was decided for it when it is back.
        self._given = reconcile_group(decision.target, execution.assignment, stateful).given
        target = without_stopped_clients(decision.target, self._context.fleet.up)
        handover = reconcile_group(target, execution.assignment, stateful)
        concerned = self._threads_concerned(target, handover)
        causes = self._context.rebalance_causes.answer(self._group.members)
        recorder.open_round(wanted, decision, handover, causes, self._asked_at_ms, self._context.now_ms)
        execution.hand_out(handover, filled=self._fills)
        self._fills = False
        recorder.look_around()
        self._heartbeats_since_ms = self._context.now_ms
        self._context.announce_change()
        if concerned:
            self._tell(protocol.RebalanceAsked(self._all_there(concerned), "tasks to hand over"))
        else:
            recorder.settle(self._context.now_ms)
            if decision.followup_delay_ms is not None:
                self._context.env.process(self._follow_up(wanted.generation, decision.followup_delay_ms))

    def _threads_concerned(self, target: GroupAssignment, handover: Reconciliation) -> set[tuple[int, int]]:
        """The threads, by client, that give back a task or wait for one; they join anew at once."""
        present = self._context.execution.assignment
        threads: set[tuple[int, int]] = set()
        for assignment, which in ((present, handover.revoked), (target, handover.withheld)):
            clients, numbers = assignment.owner[which].tolist(), assignment.owner_thread()[which].tolist()
            threads.update(zip(clients, numbers, strict=True))
        return threads

    def _all_there(self, threads: set[tuple[int, int]]) -> Sequence[Member]:
        """The members all of whose threads are among these; the others are there once their other threads are."""
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
        self._ask_for_followup()

    def _ask_for_followup(self) -> None:
        """The leader asks, as soon as it is there."""
        leader = self._group.leader
        if leader is not None and self._overdue is not None and self._context.fleet.is_up(leader):
            self._tell(protocol.FollowupDue(self._overdue))

    def _hand_back(self, member: Member) -> None:
        if self._context.fleet.is_up(member):
            self._context.execution.advance(self._context.now_ms)
            self._context.execution.give_back(self._context.fleet.row(member.client), self._given)
            self._context.announce_change()
            self._ask_for_followup()
