"""The members of a group, and what is known of them when an assignment is computed."""

from __future__ import annotations

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


Place = tuple[int, int]
"""The row of a process, and the slot of a member of it (`simulator.group.fleet.Fleet`)."""


@dataclass(frozen=True, slots=True)
class ComputeAssignment:
    """What an assignment is computed for.

    Attributes:
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
