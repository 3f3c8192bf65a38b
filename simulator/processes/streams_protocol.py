"""The streams protocol in time (KIP-1071): the coordinator assigns, and each member comes to its target by itself.

The coordinator acts when it hears a heartbeat: a target that is due is computed with the next one of whichever member,
no sooner than `group.streams.assignment.interval.ms` after the target before. Whoever joins is heard at once.

A member hears of a new target with its next heartbeat. It gives back what is not its own any more, says so at once, and
gets what is free by then; for what others still have, it asks with every further heartbeat. Nobody waits for anybody
else, and tasks that stay are never interrupted.

Source: `StreamsGroup`, `CurrentAssignmentBuilder` in `org.apache.kafka.coordinator.group.streams`;
`GroupMetadataManager.streamsGroupHeartbeat`, `.maybeUpdateStreamsTargetAssignment`, Kafka 4.3.1.
"""

from __future__ import annotations

from collections.abc import Sequence

from simulator.group.classic_group import AwaitFirstMembers, Member
from simulator.group.rebalance_causes import Cause
from simulator.group.reconciliation import reconcile_group, reconcile_member, without_stopped_clients
from simulator.group.streams_group import ComputeTarget, Instruction, StreamsGroupProtocolState
from simulator.processes.simulation_context import Process, SimulationContext
from simulator.world.world import Start


class StreamsProtocol:
    """Does what the coordinator's state machine says, when it is time to."""

    def __init__(self, context: SimulationContext) -> None:
        self._context = context
        self._configs = context.world.application.group_configs
        self._group = StreamsGroupProtocolState()
        self._target = context.execution.assignment
        self._joined_at_ms: dict[Member, int] = {}
        self._beating: set[Member] = set()
        self._asked_at_ms: int | None = None
        self._computed_at_ms: int | None = None

    @property
    def is_at_rest(self) -> bool:
        """Whether everybody has what the last target says, and nobody is silent."""
        return self._all_have_come and set(self._group.members) == self._context.fleet.members_up()

    @property
    def _all_have_come(self) -> bool:
        return not self._group.is_waiting and not any(self._is_behind(member) for member in self._group.members)

    @property
    def round_under_way(self) -> int:
        """The epoch of the last target."""
        return self._group.epoch

    def go_on(self, members: Sequence[Member]) -> None:
        """The group goes on with what its members have, which is their target."""
        self._group = StreamsGroupProtocolState.running(members)
        self._target = self._context.execution.assignment
        # Their hearts have just beaten; nobody hears anything by joining.
        self._joined_at_ms = dict.fromkeys(members, self._context.now_ms - self._configs.streams_heartbeat_interval_ms)

    def join(self, member: Member, cause: Cause) -> None:
        """Let a client that has just started join."""
        self._context.rebalance_causes.rejoin(member.client, cause, rebalances=True, replaces=False)
        self._joined_at_ms[member] = self._context.now_ms
        self._tell(self._group.join(member))
        self._beat(member, at_once=True)

    def stop(self, member: Member, cause: Cause, *, leaves_group: bool) -> None:
        """Take note that a client has ended; unless it says so, the group misses it after the session timeout."""
        if leaves_group:
            self._context.rebalance_causes.call(cause)
            self._leave(member, "left")
        else:
            self._context.rebalance_causes.lose(member, cause)
            self._context.env.process(self._miss(member))

    def ask(self, reason: str, cause: Cause) -> None:
        """Do nothing: the coordinator sees no racks, and its own configs do not change."""

    def _miss(self, member: Member) -> Process:
        silent_ms = (self._context.now_ms - self._joined_at_ms[member]) % self._configs.streams_heartbeat_interval_ms
        yield self._context.env.timeout(max(0, self._configs.session_timeout_ms - silent_ms))
        if member in self._group.members:
            self._leave(member, "was not heard of")

    def _leave(self, member: Member, how: str) -> None:
        """A member is gone, and with it what it was to have: whoever comes in its stead is a stranger."""
        instructions = self._group.leave(member, f"{member.client} {how}")
        if all(other.client != member.client for other in self._group.members):
            self._target = self._target.without(self._context.fleet.row(member.client))
        self._tell(instructions)

    def _tell(self, instructions: list[Instruction]) -> None:
        for instruction in instructions:
            if self._asked_at_ms is None and isinstance(instruction, ComputeTarget):
                self._asked_at_ms = self._context.now_ms
            self._context.env.process(self._follow(instruction))

    def _follow(self, instruction: Instruction) -> Process:
        match instruction:
            case AwaitFirstMembers():
                yield self._context.env.timeout(self._configs.initial_rebalance_delay_ms)
                self._tell(self._group.end_initial_delay())
            case ComputeTarget(awaits_heartbeat):
                yield self._context.env.timeout(0)
                if not awaits_heartbeat:
                    self._compute()
                    return
                while self._group.members:
                    beats_at_ms, member = self._next_heartbeat()
                    if member is not None and beats_at_ms == self._context.now_ms:
                        self._compute(member)
                        return
                    yield self._context.env.timeout(beats_at_ms - self._context.now_ms)
                self._compute()

    def _next_heartbeat(self) -> tuple[int, Member | None]:
        """When a heartbeat may next call for a target, and whose; nobody's while all are down, to be asked again."""
        now_ms, interval_ms = self._context.now_ms, self._configs.streams_heartbeat_interval_ms
        earliest_ms = now_ms
        if self._computed_at_ms is not None:
            earliest_ms = max(now_ms, self._computed_at_ms + self._configs.streams_assignment_interval_ms)
        found: tuple[int, Member | None] = now_ms + interval_ms, None
        for member in filter(self._context.fleet.is_up, self._group.members):
            beats_at_ms = earliest_ms + (self._joined_at_ms[member] - earliest_ms) % interval_ms
            if found[1] is None or beats_at_ms < found[0]:
                found = beats_at_ms, member
        return found

    def _compute(self, heard: Member | None = None) -> None:
        """Take a new target, for all that have joined and left by now.

        Args:
            heard: whose heartbeat calls for it, who is told of it at once.
        """
        wanted = self._group.take_target()
        requested_at_ms, self._asked_at_ms = self._asked_at_ms, None
        if wanted is None:
            return
        assert requested_at_ms is not None  # No target is due that nobody asked for.
        execution, recorder = self._context.execution, self._context.recorder
        execution.advance(self._context.now_ms)
        execution.clean_up()
        decision = self._context.leader.decide(wanted.members, wanted.leader, previous=self._target)
        first = wanted.generation == 1 and self._context.world.start is Start.WARM
        target = without_stopped_clients(decision.target, self._context.fleet.up)
        handover = reconcile_group(target, execution.assignment, self._context.leader.stateful)
        causes = self._context.rebalance_causes.answer(self._group.members)
        recorder.open_round(wanted, decision, handover, causes, requested_at_ms, self._context.now_ms)
        self._target = decision.target
        self._computed_at_ms = self._context.now_ms
        if first:
            execution.hand_out(handover, filled=True)
        recorder.look_around()
        self._context.announce_change()
        for member in wanted.members:
            self._beat(member, at_once=member == heard)
        self._settle_if_all_have_come()

    def _beat(self, member: Member, *, at_once: bool) -> None:
        """Let a member's heart beat, at once or when it is time, until it has what it should have."""
        if member not in self._beating and self._is_behind(member):
            self._beating.add(member)
            self._context.env.process(self._come_to_target(member, at_once))

    def _come_to_target(self, member: Member, at_once: bool) -> Process:
        interval_ms = self._configs.streams_heartbeat_interval_ms
        passed_ms = self._context.now_ms - self._joined_at_ms[member]
        wait_ms = 0 if at_once else interval_ms - passed_ms % interval_ms
        while member in self._group.members and self._is_behind(member):
            yield self._context.env.timeout(wait_ms)
            if member in self._group.members and self._context.fleet.is_up(member):
                self._reconcile(self._context.fleet.row(member.client))
            wait_ms = interval_ms
        self._beating.discard(member)
        self._settle_if_all_have_come()

    def _reconcile(self, client: int) -> None:
        execution = self._context.execution
        execution.advance(self._context.now_ms)
        execution.hand_out(reconcile_member(client, self._target, execution.assignment))
        self._context.announce_change()

    def _is_behind(self, member: Member) -> bool:
        """Whether a member that is up has anything else than its target."""
        if not self._context.fleet.is_up(member):
            return False
        client, present, target = (
            self._context.fleet.row(member.client),
            self._context.execution.assignment,
            self._target,
        )
        has, wants = present.owner == client, target.owner == client
        stands_by = present.standby[:, client] != target.standby[:, client]
        elsewhere = has & wants & (present.thread[:, client] != target.thread[:, client])
        return bool((has != wants).any() or stands_by.any() or elsewhere.any())

    def _settle_if_all_have_come(self) -> None:
        if self._all_have_come:
            self._context.recorder.settle(self._context.now_ms)
