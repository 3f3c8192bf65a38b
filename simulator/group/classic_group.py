"""The state machine of a group of the classic protocol: events in, instructions out, without a clock.

A group is *empty*, *preparing* a rebalance (waiting for its members to join), *completing* it (the leader computes the
assignment and the others wait for it), or *stable*. A rebalance begins when a member joins, leaves or times out, or
when it requests one: because a follow-up is due, because it revoked tasks, or because its metadata changed.

Each stream thread of a client is a member with its own consumer: it joins, leaves and times out by itself.

Source: `GroupCoordinator`/`GroupMetadataManager` of the classic protocol (KIP-62, KIP-134, KIP-345), as of 4.0.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from simulator.errors import IllegalTransitionError
from simulator.group.group_events import (
    AssignmentReady,
    AwaitFirstMembers,
    AwaitMembers,
    CallMembers,
    ComputeAssignment,
    FollowupDue,
    GroupEvent,
    InitialDelayOver,
    Instruction,
    Joined,
    Left,
    Member,
    RebalanceRequested,
    RebalanceTimedOut,
    Rejoined,
    ResendAssignment,
    SendAssignment,
)


class Phase(StrEnum):
    """The phase of a group: between two rebalances, or within one."""

    EMPTY = "empty"
    PREPARING = "preparing a rebalance"
    COMPLETING = "completing a rebalance"
    STABLE = "stable"


@dataclass(slots=True)
class ClassicGroupProtocolState:
    """The state of a group.

    The first member of an empty group leads. If the leader leaves, the first member in the order of member ids in a
    hash table leads; if that has not joined when the rebalance completes, the first that has. (Source:
    `ClassicGroup.remove` and `maybeElectNewJoinedLeader`, 4.3.1.)

    Attributes:
        phase: the phase of the rebalance.
        generation: Kafka's generation id.
        members: the members in the order in which they joined, and whether they have joined the current rebalance.
        leader: the member that computes assignments, None if there is none.
        rebalance: the number of rebalances that have begun.
        hash_order: the place of a member in the hash table; member ids are random, so this is a random order. By
            default, the oldest member is the first.
        extends_every_initial_delay: see `GroupConfigs`. (Source: `GroupMetadataManager.addMemberAndRebalance`, 4.3.1;
            `GroupCoordinator.addMemberAndRebalance`, 3.9.1.)
    """

    phase: Phase = Phase.EMPTY
    generation: int = 0
    members: dict[Member, bool] = field(default_factory=dict)
    leader: Member | None = None
    rebalance: int = 0
    hash_order: Callable[[Member], int] | None = None
    _static: dict[tuple[str, int], Member] = field(default_factory=dict)
    _rejoined: dict[Member, None] = field(default_factory=dict)
    extends_every_initial_delay: bool = True
    _had_assignment: bool = False
    _is_first: bool = False
    _has_newcomers: bool = False
    _reasons: list[str] = field(default_factory=list)

    @classmethod
    def running(
        cls,
        members: Mapping[Member, bool],
        *,
        generation: int = 0,
        extends_every_initial_delay: bool = True,
        hash_order: Callable[[Member], int] | None = None,
    ) -> ClassicGroupProtocolState:
        """Return a stable group, or an empty one.

        Args:
            members: whether a member is static, by member; the first one in the hash table leads.
            generation: the generation.
            extends_every_initial_delay: as in the attributes.
            hash_order: as in the attributes.
        """
        static = {_instance(member): member for member, is_static in members.items() if is_static}
        group = cls(
            Phase.STABLE if members else Phase.EMPTY,
            generation,
            members=dict.fromkeys(members, True),
            hash_order=hash_order,
            extends_every_initial_delay=extends_every_initial_delay,
            _static=static,
            _had_assignment=bool(members),
        )
        group.leader = group._first(members) if members else None
        return group

    def handle(self, event: GroupEvent) -> list[Instruction]:
        """Process an event.

        Returns:
            The instructions that follow from it.

        Raises:
            IllegalTransitionError: the event is impossible in this phase.
        """
        match event:
            case Joined():
                return self._join(event)
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

    def _join(self, event: Joined) -> list[Instruction]:
        member, is_static = event.member, event.is_static
        if member in self.members:
            raise IllegalTransitionError(f"{_name(member)} cannot join the group: it is already a member")
        before = self._static.get(_instance(member)) if is_static else None
        if is_static:
            self._static[_instance(member)] = member
        if before is not None:
            return self._replace(before, event)
        self.members[member] = True
        self._rejoined[member] = None
        if self.leader is None:
            self.leader = member
        reason = f"{member.client} joined"
        if self.phase is Phase.EMPTY:
            self.phase, self._is_first, self._has_newcomers = Phase.PREPARING, True, False
            self._rejoined = {member: None}
            self.rebalance += 1
            self._reasons.append(reason)
            return [AwaitFirstMembers()]
        return self._prepare(reason, [member])

    def _replace(self, before: Member, event: Joined) -> list[Instruction]:
        """Put a static member that is back in the place of its predecessor."""
        member = event.member
        self.members = {member if old == before else old: joined for old, joined in self.members.items()}
        self.members[member] = True
        if self.leader == before:
            self.leader = member
        if self.phase is Phase.STABLE and not event.changes_assignor:
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
            self.leader = self._first(self.members) if self.members else None
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
            self.leader = self._first([member for member, joined in self.members.items() if joined])
        self.generation += 1
        self._had_assignment = True
        self.phase = Phase.COMPLETING
        rejoined = tuple(member for member in self._rejoined if self.members.get(member))
        return [ComputeAssignment(self.generation, tuple(self.members), self.leader, reason, rejoined)]

    def _first(self, members: Collection[Member]) -> Member:
        """Return the first of some members in the hash table."""
        return next(iter(members)) if self.hash_order is None else min(members, key=self.hash_order)

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
