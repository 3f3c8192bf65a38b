"""Members of groups, the events of a classic group, and the instructions that follow from them.

A group of the streams protocol or the consumer protocol has the same members, and some of the same instructions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


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
    """A thread that has just started joins.

    Attributes:
        member: its member.
        is_static: whether it has a `group.instance.id`.
        changes_assignor: whether the coordinator selects another assignor, because the member lists other ones than
            its predecessor did.
    """

    member: Member
    is_static: bool = False
    changes_assignor: bool = False


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
