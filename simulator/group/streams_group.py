"""The state machine of a group of the streams protocol (KIP-1071), without a clock.

The group coordinator has a target assignment, and computes a new one when members join or leave. Each member reconciles
with its target by itself; see `reconciliation.reconcile_member`.

Source: `GroupMetadataManager` and `StreamsGroup` of Kafka 4.2; `group.streams.initial.rebalance.delay.ms`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from simulator.errors import IllegalTransitionError
from simulator.group.classic_group import AwaitFirstMembers, ComputeAssignment, Member


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
    """

    epoch: int = 0
    members: list[Member] = field(default_factory=list)
    is_waiting: bool = False
    _is_first: bool = False
    _reasons: list[str] = field(default_factory=list)

    @classmethod
    def running(cls, members: Iterable[Member]) -> StreamsGroupProtocolState:
        """Return a group that has members and a target."""
        return cls(members=list(members))

    def join(self, member: Member) -> list[Instruction]:
        """Add a member; it is never static, since Kafka Streams rejects `group.instance.id` with this protocol.

        Returns:
            The instructions that follow.

        Raises:
            IllegalTransitionError: it is already a member.
        """
        if member in self.members:
            raise IllegalTransitionError(f"{member.client} cannot join the group: it is already a member")
        self.members.append(member)
        self._reasons.append(f"{member.client} joined")
        if len(self.members) == 1 and not self._is_first:
            self.is_waiting = self._is_first = True
            return [AwaitFirstMembers()]
        return [] if self._is_first else self._due()

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

    def _due(self) -> list[Instruction]:
        self.is_waiting = True
        return [ComputeTarget()]
