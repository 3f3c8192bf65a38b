"""The state machine of a group of the streams protocol (KIP-1071), without a clock.

The group coordinator has a target assignment, and computes a new one when members join or leave. Each member reconciles
with its target by itself; see `reconciliation.reconcile_member`.

A static member (from Kafka 4.4 on) that closes reports epoch -2: it stays a member, with its tasks, until its session
times out. A member with the same instance id replaces it without a new target, unless its process id, rack, tags or
topology changed. While a static member has not reported -2, the coordinator refuses another one with its instance id.

A group of the consumer protocol (KIP-848) works in the same way. If it was converted from the classic protocol, it also
has members that still have that: each takes part in a new target when it rejoins. A member with the instance id of such
a member replaces it at any time.

Source: `GroupMetadataManager` and `StreamsGroup` of Kafka 4.2; `.getOrMaybeCreateStaticStreamsGroupMember`,
`.throwIfInstanceIdIsUnreleased`, `.hasEpochRelevantMemberConfigChanged` of Kafka 4.4.0;
`.getOrMaybeSubscribeStaticConsumerGroupMember`, `.classicGroupHeartbeatToConsumerGroup` of Kafka 4.3.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from simulator.errors import IllegalTransitionError
from simulator.group.group_events import AwaitFirstMembers, ComputeAssignment, Member


@dataclass(frozen=True, slots=True)
class ComputeTarget:
    """Compute a new target, after all other events of the moment.

    Attributes:
        awaits_heartbeat: whether it waits for the next heartbeat; false if a timer of the coordinator triggers it.
    """

    awaits_heartbeat: bool = True


Instruction = AwaitFirstMembers | ComputeTarget


@dataclass(slots=True)
class StreamsGroupProtocolState:
    """The state of a group.

    Attributes:
        epoch: the number of targets so far.
        members: the members in the order in which they joined.
        is_waiting: whether an empty group waits for more first members, or a target is due.
        classic: the members of the classic protocol, and the epoch of the target with which each joined last.
    """

    epoch: int = 0
    members: list[Member] = field(default_factory=list)
    is_waiting: bool = False
    _is_first: bool = False
    _reasons: list[str] = field(default_factory=list)
    _static: dict[tuple[str, int], Member] = field(default_factory=dict)
    _released: set[Member] = field(default_factory=set)
    classic: dict[Member, int] = field(default_factory=dict)

    @classmethod
    def running(
        cls, members: Mapping[Member, bool], *, epoch: int = 0, classic: Iterable[Member] = ()
    ) -> StreamsGroupProtocolState:
        """Return a group that has members and a target.

        Args:
            members: whether a member is static, by member.
            epoch: the epoch of the target.
            classic: the members of the classic protocol, which have joined with that target.
        """
        static = {_instance(member): member for member, is_static in members.items() if is_static}
        return cls(epoch, list(members), _static=static, classic=dict.fromkeys(classic, epoch))

    def is_classic_without(self, member: Member) -> bool:
        """Return whether members remain without one of the other protocol, and all of them have the classic one."""
        return len(self.members) > 1 and member not in self.classic and len(self.classic) == len(self.members) - 1

    def is_classic_with(self, joining: Iterable[Member]) -> bool:
        """Return whether all members have the classic protocol once static ones have replaced their predecessors.

        Args:
            joining: members of the classic protocol.
        """
        replaced = [self.predecessor(member) for member in joining]
        return all(member in self.classic or member in replaced for member in self.members)

    def predecessor(self, member: Member) -> Member | None:
        """Return the static member that has the instance id of another static member; None if none has it."""
        return self._static.get(_instance(member))

    def is_released(self, member: Member) -> bool:
        """Return whether a static member has closed, so that another one with its instance id may replace it."""
        return member in self._released or member in self.classic

    def is_outdated(self, member: Member) -> bool:
        """Return whether a member of the classic protocol has to rejoin, because there is a new target."""
        return self.classic.get(member, self.epoch) < self.epoch

    def rejoin(self, member: Member) -> None:
        """Let a member of the classic protocol take part in the last target.

        Raises:
            IllegalTransitionError: it is not a member, or has another protocol.
        """
        if member not in self.classic:
            raise IllegalTransitionError(f"{member.client} cannot rejoin: it is not a member of the classic protocol")
        self.classic[member] = self.epoch

    def rejoin_all(self) -> None:
        """Let all members of the classic protocol take part in the last target."""
        self.classic = dict.fromkeys(self.classic, self.epoch)

    def join(
        self, member: Member, *, is_static: bool = False, is_changed: bool = False, is_classic: bool = False
    ) -> list[Instruction]:
        """Add a member, or let it replace the static member with its instance id.

        Args:
            member: the member.
            is_static: whether it has a `group.instance.id`.
            is_changed: whether its process id or rack differs from those of the member that it replaces.
            is_classic: whether it has the classic protocol; it then joins with the next target.

        Returns:
            The instructions that follow.

        Raises:
            IllegalTransitionError: it is already a member, or its instance id belongs to one that has not closed.
        """
        if member in self.members:
            raise IllegalTransitionError(f"{member.client} cannot join the group: it is already a member")
        before = self.predecessor(member) if is_static else None
        if before is not None and not (is_classic or self.is_released(before)):
            raise IllegalTransitionError(f"{member.client} cannot join the group: its instance id is in use")
        if is_static:
            self._static[_instance(member)] = member
        if is_classic:
            self.classic[member] = -1
        if before is not None:
            return self._replace(before, member, is_changed)
        self.members.append(member)
        self._reasons.append(f"{member.client} joined")
        if len(self.members) == 1 and not self._is_first:
            self.is_waiting = self._is_first = True
            return [AwaitFirstMembers()]
        return [] if self._is_first else self._due()

    def _replace(self, before: Member, member: Member, is_changed: bool) -> list[Instruction]:
        self._released.discard(before)
        self.classic.pop(before, None)
        self.members[self.members.index(before)] = member
        if not is_changed:
            return []
        self._reasons.append(f"{member.client} is back as another process")
        return [] if self._is_first else self._due()

    def release(self, member: Member) -> None:
        """Let a static member close without leaving (epoch -2): it stays a member until its session times out.

        Raises:
            IllegalTransitionError: it is not a static member.
        """
        if self._static.get(_instance(member)) != member:
            raise IllegalTransitionError(f"{member.client} cannot leave temporarily: it is not a static member")
        self._released.add(member)

    def leave(self, member: Member, reason: str) -> list[Instruction]:
        """Remove a member that left, or whose session timed out.

        Returns:
            The instructions that follow.

        Raises:
            IllegalTransitionError: it is not a member.
        """
        if member not in self.members:
            raise IllegalTransitionError(f"{member.client} cannot leave the group: it is not a member")
        self.members.remove(member)
        self._released.discard(member)
        self.classic.pop(member, None)
        if self._static.get(_instance(member)) == member:
            del self._static[_instance(member)]
        self._reasons.append(reason)
        return [] if self._is_first else self._due()

    def end_initial_delay(self) -> list[Instruction]:
        """End the wait for the first members.

        Returns:
            The instructions that follow.

        Raises:
            IllegalTransitionError: the group does not wait for its first members.
        """
        if not self._is_first:
            raise IllegalTransitionError("a group that has a target does not wait for its first members")
        self._is_first = False
        return [ComputeTarget(awaits_heartbeat=False)]

    def take_target(self) -> ComputeAssignment | None:
        """Begin the target that is due, and return its members; None if none is due."""
        if not self.is_waiting or self._is_first:
            return None
        self.is_waiting = False
        reason, self._reasons = ", ".join(dict.fromkeys(self._reasons)), []
        if not self.members:
            return None
        self.epoch += 1
        return ComputeAssignment(self.epoch, tuple(self.members), self.members[0], reason)

    def refine(self) -> ComputeAssignment | None:
        """Begin another step towards the target, with an epoch of its own; None if a new target is due."""
        if self.is_waiting or not self.members:
            return None
        self.epoch += 1
        return ComputeAssignment(self.epoch, tuple(self.members), self.members[0], "copies have caught up")

    def _due(self) -> list[Instruction]:
        self.is_waiting = True
        return [ComputeTarget()]


def _instance(member: Member) -> tuple[str, int]:
    """Return what identifies a static member: `group.instance.id` is the client's with the number of the thread."""
    return member.client, member.thread
