"""A group of the classic protocol as a state machine: events in, instructions out. It knows no clock.

A group is *empty*, *preparing* a rebalance (waiting for its members to join), *completing* it (the leader computes and
the others wait for what they get), or *stable*. Joining, leaving and falling silent prepare a rebalance, and so does a
member that asks for one: because a follow-up is due, because it gave tasks back, because its metadata changed.

A member is one start of a client. Its stream threads are members of their own in Kafka; they join, leave and fall
silent together, so here they are one.

Source: `GroupCoordinator`/`GroupMetadataManager` of the classic protocol (KIP-62, KIP-134, KIP-345), as of 4.0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from simulator.errors import IllegalTransitionError


class Phase(StrEnum):
    """Where a group is in its life."""

    EMPTY = "empty"
    PREPARING = "preparing a rebalance"
    COMPLETING = "completing a rebalance"
    STABLE = "stable"


class Member(NamedTuple):
    """A member: a client, and which of its starts it is, from 1."""

    client: str
    start: int


@dataclass(frozen=True, slots=True)
class Joined:
    """A client that has just started joins; static if it has a `group.instance.id`."""

    member: Member
    is_static: bool = False


@dataclass(frozen=True, slots=True)
class Rejoined:
    """These members have learned of a rebalance and joined anew."""

    rebalance: int
    members: Sequence[Member]


@dataclass(frozen=True, slots=True)
class RebalanceAsked:
    """Members join anew on their own account."""

    members: Sequence[Member]
    reason: str


@dataclass(frozen=True, slots=True)
class Left:
    """A member left, or has not been heard of for too long."""

    member: Member
    reason: str


@dataclass(frozen=True, slots=True)
class FollowupDue:
    """It is time for the follow-up rebalance that was asked for in a generation."""

    generation: int


@dataclass(frozen=True, slots=True)
class InitialDelayOver:
    """The time that an empty group gives more members to join has passed."""


@dataclass(frozen=True, slots=True)
class RebalanceTimedOut:
    """Members have had `max.poll.interval.ms` to join a rebalance."""

    rebalance: int


@dataclass(frozen=True, slots=True)
class AssignmentReady:
    """The leader has computed the assignment of a generation."""

    generation: int


GroupEvent = (
    Joined | Rejoined | RebalanceAsked | Left | FollowupDue | InitialDelayOver | RebalanceTimedOut | AssignmentReady
)


@dataclass(frozen=True, slots=True)
class AwaitFirstMembers:
    """Report InitialDelayOver after `group.initial.rebalance.delay.ms`."""


@dataclass(frozen=True, slots=True)
class CallMembers:
    """Let the members learn of a rebalance with their next heartbeat, and report who joined."""

    rebalance: int


@dataclass(frozen=True, slots=True)
class AwaitMembers:
    """Report RebalanceTimedOut after `max.poll.interval.ms`."""

    rebalance: int


@dataclass(frozen=True, slots=True)
class ComputeAssignment:
    """Let the leader assign to these members."""

    generation: int
    members: tuple[Member, ...]
    leader: Member
    reason: str


@dataclass(frozen=True, slots=True)
class HandOut:
    """Give the members what was computed for this generation."""

    generation: int


@dataclass(frozen=True, slots=True)
class HandBack:
    """Give a static member what its predecessor had; there is no rebalance."""

    member: Member


Instruction = AwaitFirstMembers | CallMembers | AwaitMembers | ComputeAssignment | HandOut | HandBack


@dataclass(slots=True)
class ClassicGroupProtocolState:
    """A group; `members` in the order in which they joined, with whether they have joined the present rebalance.

    `rebalance` counts those that began. The leader stays until it goes, or does not join; then the longest-standing
    member that has joined leads. (Kafka takes any.)
    """

    phase: Phase = Phase.EMPTY
    generation: int = 0
    members: dict[Member, bool] = field(default_factory=dict)
    leader: Member | None = None
    rebalance: int = 0
    _static: dict[str, Member] = field(default_factory=dict)
    _is_first: bool = False
    _more_came: bool = False
    _reasons: list[str] = field(default_factory=list)

    @classmethod
    def running(cls, members: Mapping[Member, bool]) -> ClassicGroupProtocolState:
        """A stable group that goes on with members, one at least, each with whether it is static; the first leads."""
        static = {one.client: one for one, is_static in members.items() if is_static}
        return cls(Phase.STABLE, members=dict.fromkeys(members, True), leader=next(iter(members)), _static=static)

    def handle(self, event: GroupEvent) -> list[Instruction]:
        """Take in what happened, and say what to do about it.

        Raises:
            IllegalTransitionError: that cannot happen in this phase.
        """
        match event:
            case Joined(member=member, is_static=is_static):
                return self._join(member, is_static)
            case Rejoined(rebalance=rebalance, members=members):
                return self._rejoin(members) if rebalance == self.rebalance else []
            case RebalanceAsked(members=members, reason=reason):
                return self._ask(members, reason)
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
                return self._hand_out(generation)

    def _join(self, member: Member, is_static: bool) -> list[Instruction]:
        if member in self.members:
            raise IllegalTransitionError(f"{_name(member)} is in the group already")
        before = self._static.get(member.client) if is_static else None
        if is_static:
            self._static[member.client] = member
        if before is not None:
            return self._replace(before, member)
        self.members[member] = True
        reason = f"{member.client} joined"
        if self.phase is Phase.EMPTY:
            self.phase, self._is_first, self._more_came = Phase.PREPARING, True, False
            self.rebalance += 1
            self._reasons.append(reason)
            return [AwaitFirstMembers()]
        return self._prepare(reason, [member])

    def _replace(self, before: Member, member: Member) -> list[Instruction]:
        """A static member that is back takes the place of its predecessor."""
        self.members = {member if one == before else one: joined for one, joined in self.members.items()}
        self.members[member] = True
        if self.leader == before:
            self.leader = member
        if self.phase is Phase.STABLE:
            return [HandBack(member)]
        return self._prepare(f"{member.client} is back", [member])

    def _rejoin(self, members: Sequence[Member]) -> list[Instruction]:
        if self.phase is not Phase.PREPARING:
            return []
        for member in members:
            if member in self.members:
                self.members[member] = True
        return self._complete_if_all_are_there()

    def _ask(self, members: Sequence[Member], reason: str) -> list[Instruction]:
        if not self.members:
            return []
        unknown = [member for member in members if member not in self.members]
        if unknown:
            raise IllegalTransitionError(f"{_name(unknown[0])} asks for a rebalance, but is not in the group")
        return self._prepare(reason, members)

    def _prepare(self, reason: str, joined: Sequence[Member]) -> list[Instruction]:
        """Begin a rebalance, or let these members join the one that is being prepared."""
        self._reasons.append(reason)
        if self.phase is Phase.PREPARING:
            self._more_came = True
            self.members.update(dict.fromkeys(joined, True))
            return self._complete_if_all_are_there()
        self.phase, self._is_first = Phase.PREPARING, False
        self.rebalance += 1
        self.members = {member: member in joined for member in self.members}
        done = self._complete_if_all_are_there()
        return [CallMembers(self.rebalance), AwaitMembers(self.rebalance)] if self.phase is Phase.PREPARING else done

    def _leave(self, member: Member, reason: str) -> list[Instruction]:
        if member not in self.members:
            here = ", ".join(_name(one) for one in self.members) or "nobody"
            raise IllegalTransitionError(f"{_name(member)} cannot leave the group: in it is {here}")
        del self.members[member]
        if self._static.get(member.client) == member:
            del self._static[member.client]
        if self.leader == member:
            self.leader = None
        if self.phase is Phase.PREPARING:
            self._reasons.append(reason)
            return self._complete_if_all_are_there()
        return self._prepare(reason, [])

    def _end_initial_delay(self) -> list[Instruction]:
        if self.phase is not Phase.PREPARING or not self._is_first:
            raise IllegalTransitionError(f"a group that is {self.phase} is not waiting for its first members")
        if self._more_came:
            self._more_came = False
            return [AwaitFirstMembers()]
        self._is_first = False
        return self._complete()

    def _complete_if_all_are_there(self) -> list[Instruction]:
        return [] if self._is_first or not all(self.members.values()) else self._complete()

    def _complete(self) -> list[Instruction]:
        """Nobody else is waited for: whoever has not joined is no member any more, unless it is a static one."""
        self.members = {
            member: joined
            for member, joined in self.members.items()
            if joined or self._static.get(member.client) == member
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
        self.phase = Phase.COMPLETING
        return [ComputeAssignment(self.generation, tuple(self.members), self.leader, reason)]

    def _hand_out(self, generation: int) -> list[Instruction]:
        if generation > self.generation or (generation == self.generation and self.phase is Phase.STABLE):
            raise IllegalTransitionError(f"nobody asked for an assignment of generation {generation}")
        if generation < self.generation or self.phase is not Phase.COMPLETING:
            return []
        self.phase = Phase.STABLE
        return [HandOut(generation)]


def _name(member: Member) -> str:
    return member.client if member.start == 1 else f"{member.client} (start {member.start})"
