"""The consumer group as a state machine: events in, instructions out. It knows no clock.

A group is *empty*, *preparing* a rebalance (waiting for members to join), *assigning* (the leader computes), or
*stable*. Joining and leaving prepare a rebalance; so do a follow-up that the assignor asked for, and a change of what
the members know of the brokers. What happens while the leader computes prepares the next one.

Source: `GroupCoordinator` of the classic protocol (KIP-62, KIP-134), `StreamsPartitionAssignor` (follow-ups, KIP-441).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from simulator.errors import IllegalTransitionError


class Phase(StrEnum):
    """Where a group is in its life."""

    EMPTY = "empty"
    PREPARING = "preparing"
    ASSIGNING = "assigning"
    STABLE = "stable"


@dataclass(frozen=True, slots=True)
class MemberJoined:
    """A client joined, or joined anew after a restart."""

    client: str


@dataclass(frozen=True, slots=True)
class MemberGone:
    """A client left, or was missed for the session timeout."""

    client: str


@dataclass(frozen=True, slots=True)
class InputChanged:
    """Something else that calls for a rebalance: placement of partitions, configs."""

    reason: str


@dataclass(frozen=True, slots=True)
class FollowupDue:
    """The time of the follow-up rebalance that was asked for in a generation."""

    generation: int


@dataclass(frozen=True, slots=True)
class JoinDelayOver:
    """The time that members were given to join has passed."""


@dataclass(frozen=True, slots=True)
class Assigned:
    """The leader's assignment was handed out; it may have asked for a follow-up."""

    followup_delay_ms: int | None


Event = MemberJoined | MemberGone | InputChanged | FollowupDue | JoinDelayOver | Assigned


@dataclass(frozen=True, slots=True)
class AwaitMembers:
    """Report JoinDelayOver after so long."""

    delay_ms: int


@dataclass(frozen=True, slots=True)
class ComputeAssignment:
    """Let the leader assign the tasks to these members, and report Assigned."""

    generation: int
    members: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class ScheduleFollowup:
    """Report FollowupDue of this generation after so long."""

    generation: int
    delay_ms: int


Instruction = AwaitMembers | ComputeAssignment | ScheduleFollowup


@dataclass(slots=True)
class Group:
    """One consumer group.

    Attributes:
        initial_delay_ms: `group.initial.rebalance.delay.ms`: how long an empty group waits for more members.
        members: the clients, in the order in which they joined.
        generation: how many assignments there were.
    """

    initial_delay_ms: int
    phase: Phase = Phase.EMPTY
    members: list[str] = field(default_factory=list)
    generation: int = 0
    _joined_while_waiting: bool = False
    _initial: bool = False
    _reasons: list[str] = field(default_factory=list)

    def handle(self, event: Event) -> list[Instruction]:
        """Take in what happened, and say what to do about it.

        Raises:
            IllegalTransitionError: that cannot happen in this phase.
        """
        match event:
            case MemberJoined(client=client):
                if client not in self.members:
                    self.members.append(client)
                return self._prepare(f"{client} joined", joined=True)
            case MemberGone(client=client):
                return self._remove(client)
            case InputChanged(reason=reason):
                return self._prepare(reason) if self.members else []
            case FollowupDue(generation=generation):
                current = generation == self.generation and self.phase is Phase.STABLE
                return self._prepare("follow-up") if current else []
            case JoinDelayOver():
                return self._finish_joining()
            case Assigned(followup_delay_ms=delay_ms):
                return self._settle(delay_ms)

    def _prepare(self, reason: str, *, joined: bool = False) -> list[Instruction]:
        self._reasons.append(reason)
        if self.phase is Phase.ASSIGNING:
            return []
        if self.phase is Phase.PREPARING:
            self._joined_while_waiting |= joined
            return []
        self._initial = self.phase is Phase.EMPTY
        self._joined_while_waiting = False
        self.phase = Phase.PREPARING
        return [AwaitMembers(self.initial_delay_ms if self._initial else 0)]

    def _remove(self, client: str) -> list[Instruction]:
        if client not in self.members:
            raise IllegalTransitionError(f"{client} cannot leave the group: its members are {', '.join(self.members)}")
        self.members.remove(client)
        return self._prepare(f"{client} is gone")

    def _finish_joining(self) -> list[Instruction]:
        if self.phase is not Phase.PREPARING:
            raise IllegalTransitionError(f"a group that is {self.phase} is not waiting for members")
        if self._initial and self._joined_while_waiting:
            self._joined_while_waiting = False
            return [AwaitMembers(self.initial_delay_ms)]
        reason, self._reasons = ", ".join(self._reasons), []
        if not self.members:
            self.phase = Phase.EMPTY
            return []
        self.generation += 1
        self.phase = Phase.ASSIGNING
        return [ComputeAssignment(self.generation, tuple(self.members), reason)]

    def _settle(self, followup_delay_ms: int | None) -> list[Instruction]:
        if self.phase is not Phase.ASSIGNING:
            raise IllegalTransitionError(f"a group that is {self.phase} is not waiting for an assignment")
        if self._reasons:
            self.phase, self._initial = Phase.PREPARING, False
            return [AwaitMembers(0)]
        self.phase = Phase.STABLE
        if followup_delay_ms is None:
            return []
        return [ScheduleFollowup(self.generation, followup_delay_ms)]
