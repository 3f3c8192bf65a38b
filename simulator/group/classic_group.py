"""The state machine of a group of the classic protocol: events in, instructions out, without a clock.

A group is *empty*, *preparing* a rebalance (waiting for its members to join), *completing* it (the leader computes the
assignment and the others wait for it), or *stable*. A rebalance begins when a member joins, leaves or times out, or
when it requests one: because a follow-up is due, because it revoked tasks, or because its metadata changed.

Each stream thread of a client is a member with its own consumer: it joins, leaves and times out by itself.

Source: `GroupCoordinator`/`GroupMetadataManager` of the classic protocol (KIP-62, KIP-134, KIP-345), as of 4.0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from simulator.errors import IllegalTransitionError


class Phase(StrEnum):
    """The phase of a group: between two rebalances, or within one."""

    EMPTY = "empty"
    PREPARING = "preparing a rebalance"
    COMPLETING = "completing a rebalance"
    STABLE = "stable"


class Member(NamedTuple):
    """A member of a group: one stream thread of one start of a client.

    Attributes:
        client: name of the client.
        start: number of the start of the client or, if that is later, of the thread; from 1.
        thread: number of the stream thread, from 0: thread *i* is `StreamThread-(i + 1)`.
    """

    client: str
    start: int
    thread: int = 0


@dataclass(frozen=True, slots=True)
class Joined:
    """A thread that has just started joins; it is static if it has a `group.instance.id`."""

    member: Member
    is_static: bool = False


@dataclass(frozen=True, slots=True)
class Rejoined:
    """Members have learned of a rebalance and rejoined."""

    rebalance: int
    members: Sequence[Member]


@dataclass(frozen=True, slots=True)
class RebalanceRequested:
    """Members rejoin to request a rebalance."""

    members: Sequence[Member]
    reason: str


@dataclass(frozen=True, slots=True)
class Left:
    """A member left, or its session timed out."""

    member: Member
    reason: str


@dataclass(frozen=True, slots=True)
class FollowupDue:
    """The follow-up rebalance that was requested in a generation is due."""

    generation: int


@dataclass(frozen=True, slots=True)
class InitialDelayOver:
    """The time for which an empty group waits for more members has passed."""


@dataclass(frozen=True, slots=True)
class RebalanceTimedOut:
    """The time that members have to join a rebalance, `max.poll.interval.ms`, has passed."""

    rebalance: int


@dataclass(frozen=True, slots=True)
class AssignmentReady:
    """The leader has computed the assignment of a generation."""

    generation: int


GroupEvent = (
    Joined | Rejoined | RebalanceRequested | Left | FollowupDue | InitialDelayOver | RebalanceTimedOut | AssignmentReady
)


@dataclass(frozen=True, slots=True)
class AwaitFirstMembers:
    """Report InitialDelayOver after `group.initial.rebalance.delay.ms`."""


@dataclass(frozen=True, slots=True)
class CallMembers:
    """Let members learn of a rebalance with their next heartbeat, and report which of them rejoined."""

    rebalance: int


@dataclass(frozen=True, slots=True)
class AwaitMembers:
    """Report RebalanceTimedOut after `max.poll.interval.ms`."""

    rebalance: int


@dataclass(frozen=True, slots=True)
class ComputeAssignment:
    """Let the leader compute the assignment of the given members.

    Attributes:
        generation: the generation.
        members: the members in the order in which they joined the group.
        leader: the member that computes the assignment.
        reason: why the group rebalances.
        rejoined: the members in the order in which they joined this rebalance; empty for a coordinator.
    """

    generation: int
    members: tuple[Member, ...]
    leader: Member
    reason: str
    rejoined: tuple[Member, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class SendAssignment:
    """Send the members the assignment of this generation."""

    generation: int


@dataclass(frozen=True, slots=True)
class ResendAssignment:
    """Send a static member the assignment of its predecessor, without a rebalance."""

    member: Member


Instruction = AwaitFirstMembers | CallMembers | AwaitMembers | ComputeAssignment | SendAssignment | ResendAssignment


@dataclass(slots=True)
class ClassicGroupProtocolState:
    """The state of a group.

    The leader stays until it leaves, or does not join; then the oldest member that has joined leads. (Kafka takes any.)

    Attributes:
        phase: the phase of the rebalance.
        generation: Kafka's generation id.
        members: the members in the order in which they joined, and whether they have joined the current rebalance.
        leader: the member that computes assignments, None if there is none.
        rebalance: the number of rebalances that have begun.
        extends_every_initial_delay: see `GroupConfigs`. (Source: `GroupMetadataManager.addMemberAndRebalance`, 4.3.1;
            `GroupCoordinator.addMemberAndRebalance`, 3.9.1.)
    """

    phase: Phase = Phase.EMPTY
    generation: int = 0
    members: dict[Member, bool] = field(default_factory=dict)
    leader: Member | None = None
    rebalance: int = 0
    _static: dict[tuple[str, int], Member] = field(default_factory=dict)
    _rejoined: dict[Member, None] = field(default_factory=dict)
    extends_every_initial_delay: bool = True
    _had_assignment: bool = False
    _is_first: bool = False
    _has_newcomers: bool = False
    _reasons: list[str] = field(default_factory=list)

    @classmethod
    def running(
        cls, members: Mapping[Member, bool], *, extends_every_initial_delay: bool = True
    ) -> ClassicGroupProtocolState:
        """Return a stable group.

        Args:
            members: at least one member, and whether it is static; the first one leads.
            extends_every_initial_delay: as in the attributes.
        """
        static = {_instance(member): member for member, is_static in members.items() if is_static}
        return cls(
            Phase.STABLE,
            members=dict.fromkeys(members, True),
            leader=next(iter(members)),
            extends_every_initial_delay=extends_every_initial_delay,
            _static=static,
            _had_assignment=True,
        )

    def handle(self, event: GroupEvent) -> list[Instruction]:
        """Process an event.

        Returns:
            The instructions that follow from it.

        Raises:
            IllegalTransitionError: the event is impossible in this phase.
        """
        match event:
            case Joined(member=member, is_static=is_static):
                return self._join(member, is_static)
            case Rejoined(rebalance=rebalance, members=members):
                return self._rejoin(members) if rebalance == self.rebalance else []
            case RebalanceRequested(members=members, reason=reason):
                return self._request(members, reason)
            case Left(member=member, reason=reason):
                return self._leave(member, reason)
            case FollowupDue(generation=generation):
                due = generation == self.generation and self.phase is Phase.STABLE and self.leader is not None
                return self._prepare("follow-up", [self.leader]) if due and self.leader else []
            case InitialDelayOver():
                return self._end_initial_delay()
            case RebalanceTimedOut(rebalance=rebalance):
                waiting = self.phase is Phase.PREPARING and rebalance == self.rebalance
                return self._complete() if waiting else []
            case AssignmentReady(generation=generation):
                return self._send_assignment(generation)

    def awaits(self, generation: int) -> bool:
        """Return whether the members wait for the assignment of this generation: no other rebalance superseded it."""
        return self.generation == generation and self.phase is Phase.COMPLETING

    def _join(self, member: Member, is_static: bool) -> list[Instruction]:
        if member in self.members:
            raise IllegalTransitionError(f"{_name(member)} cannot join the group: it is already a member")
        before = self._static.get(_instance(member)) if is_static else None
        if is_static:
            self._static[_instance(member)] = member
        if before is not None:
            return self._replace(before, member)
        self.members[member] = True
        self._rejoined[member] = None
        reason = f"{member.client} joined"
        if self.phase is Phase.EMPTY:
            self.phase, self._is_first, self._has_newcomers = Phase.PREPARING, True, False
            self._rejoined = {member: None}
            self.rebalance += 1
            self._reasons.append(reason)
            return [AwaitFirstMembers()]
        return self._prepare(reason, [member])

    def _replace(self, before: Member, member: Member) -> list[Instruction]:
        """Put a static member that is back in the place of its predecessor."""
        self.members = {member if old == before else old: joined for old, joined in self.members.items()}
        self.members[member] = True
        if self.leader == before:
            self.leader = member
        if self.phase is Phase.STABLE:
            return [ResendAssignment(member)]
        return self._prepare(f"{member.client} is back", [member])

    def _rejoin(self, members: Sequence[Member]) -> list[Instruction]:
        if self.phase is not Phase.PREPARING:
            return []
        for member in members:
            if member in self.members:
                self.members[member] = True
                self._rejoined[member] = None
        return self._complete_if_all_joined()

    def _request(self, members: Sequence[Member], reason: str) -> list[Instruction]:
        if not self.members:
            return []
        unknown = [member for member in members if member not in self.members]
        if unknown:
            raise IllegalTransitionError(f"{_name(unknown[0])} cannot request a rebalance: it is not in the group")
        return self._prepare(reason, members)

    def _prepare(self, reason: str, joined: Sequence[Member]) -> list[Instruction]:
        """Begin a rebalance, or let members join the one in preparation."""
        self._reasons.append(reason)
        if self.phase is Phase.PREPARING:
            self._has_newcomers = self.extends_every_initial_delay or not self._had_assignment
            self.members.update(dict.fromkeys(joined, True))
            self._rejoined.update(dict.fromkeys(joined))
            return self._complete_if_all_joined()
        self._rejoined = dict.fromkeys(joined)
        self.phase, self._is_first = Phase.PREPARING, False
        self.rebalance += 1
        self.members = {**dict.fromkeys(self.members, False), **dict.fromkeys(joined, True)}
        done = self._complete_if_all_joined()
        return [CallMembers(self.rebalance), AwaitMembers(self.rebalance)] if self.phase is Phase.PREPARING else done

    def _leave(self, member: Member, reason: str) -> list[Instruction]:
        if member not in self.members:
            members = ", ".join(map(_name, self.members)) or "none"
            raise IllegalTransitionError(
                f"{_name(member)} cannot leave the group: it is not a member (members: {members})"
            )
        del self.members[member]
        if self._static.get(_instance(member)) == member:
            del self._static[_instance(member)]
        if self.leader == member:
            self.leader = None
        if self.phase is Phase.PREPARING:
            self._reasons.append(reason)
            return self._complete_if_all_joined()
        return self._prepare(reason, [])

    def _end_initial_delay(self) -> list[Instruction]:
        if self.phase is not Phase.PREPARING or not self._is_first:
            raise IllegalTransitionError(f"a group that is {self.phase} does not wait for its first members")
        if self._has_newcomers:
            self._has_newcomers = False
            return [AwaitFirstMembers()]
        self._is_first = False
        return self._complete()

    def _complete_if_all_joined(self) -> list[Instruction]:
        return [] if self._is_first or not all(self.members.values()) else self._complete()

    def _complete(self) -> list[Instruction]:
        """Complete the rebalance; remove dynamic members that have not joined."""
        self.members = {
            member: joined
            for member, joined in self.members.items()
            if joined or self._static.get(_instance(member)) == member
        }
        if self.members and not any(self.members.values()):
            return [AwaitMembers(self.rebalance)]
        reason, self._reasons = ", ".join(dict.fromkeys(self._reasons)), []
        if not self.members:
            self.phase, self.leader = Phase.EMPTY, None
            return []
        if self.leader is None or not self.members.get(self.leader):
            self.leader = next(member for member, joined in self.members.items() if joined)
        self.generation += 1
        self._had_assignment = True
        self.phase = Phase.COMPLETING
        rejoined = tuple(member for member in self._rejoined if self.members.get(member))
        return [ComputeAssignment(self.generation, tuple(self.members), self.leader, reason, rejoined)]

    def _send_assignment(self, generation: int) -> list[Instruction]:
        if generation > self.generation or (generation == self.generation and self.phase is Phase.STABLE):
            raise IllegalTransitionError(f"no assignment of generation {generation} was requested")
        if not self.awaits(generation):
            return []
        self.phase = Phase.STABLE
        return [SendAssignment(generation)]


def _instance(member: Member) -> tuple[str, int]:
    """Return what identifies a static member: `group.instance.id` is the client's with the number of the thread."""
    return member.client, member.thread


def _name(member: Member) -> str:
    details = [f"thread {member.thread + 1}"] if member.thread else []
    if member.start > 1:
        details.append(f"start {member.start}")
    return f"{member.client} ({', '.join(details)})" if details else member.client
