"""A group of the streams protocol as a state machine (KIP-1071). It knows no clock.

The group coordinator has a target assignment, which it computes anew whenever members join or leave. How each member
comes to its target is not the group's business; see `handover.reconcile`.

Source: `GroupMetadataManager` and `StreamsGroup` of Kafka 4.2; `group.streams.initial.rebalance.delay.ms`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from simulator.errors import IllegalTransitionError
from simulator.group.classic_group import AwaitFirstMembers, ComputeAssignment, Member


@dataclass(frozen=True, slots=True)
class ComputeTarget:
    """Compute a new target, once everything that happens at that moment has happened.

    It is due with the next heartbeat, unless the coordinator's own timer calls for it.
    """

    awaits_heartbeat: bool = True


Instruction = AwaitFirstMembers | ComputeTarget


@dataclass(slots=True)
class StreamsGroupProtocolState:
    """A group; `members` in the order in which they joined, `epoch` counts the targets.

    `is_waiting` while the first members of an empty group are given time to come, and while a target is due.
    """

    epoch: int = 0
    members: list[Member] = field(default_factory=list)
    is_waiting: bool = False
    _is_first: bool = False
    _reasons: list[str] = field(default_factory=list)

    @classmethod
    def running(cls, members: Iterable[Member]) -> StreamsGroupProtocolState:
        """A group that goes on with members."""
        return cls(members=list(members))

    def join(self, member: Member) -> list[Instruction]:
        """A member joins. None is static: Kafka Streams refuses `group.instance.id` with this protocol.

        Raises:
            IllegalTransitionError: it is in the group already.
        """
        if member in self.members:
            raise IllegalTransitionError(f"{member.client} is in the group already")
        self.members.append(member)
        self._reasons.append(f"{member.client} joined")
        if len(self.members) == 1 and not self._is_first:
            self.is_waiting = self._is_first = True
            return [AwaitFirstMembers()]
        return [] if self._is_first else self._due()

    def leave(self, member: Member, reason: str) -> list[Instruction]:
        """A member left, or was not heard of for too long.

        Raises:
            IllegalTransitionError: it is not in the group.
        """
        if member not in self.members:
            raise IllegalTransitionError(f"{member.client} cannot leave the group: it is not in it")
        self.members.remove(member)
        self._reasons.append(reason)
        return [] if self._is_first else self._due()

    def end_initial_delay(self) -> list[Instruction]:
        """The time that the first members were given has passed.

        Raises:
            IllegalTransitionError: nobody waits for it.
        """
        if not self._is_first:
            raise IllegalTransitionError("a group that has a target is not waiting for its first members")
        self._is_first = False
        return [ComputeTarget(awaits_heartbeat=False)]

    def take_target(self) -> ComputeAssignment | None:
        """For whom a target is due, None if none is."""
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
