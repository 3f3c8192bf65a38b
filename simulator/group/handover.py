"""What the coordinator knows of a group that it converts from one protocol to the other.

Source: `ConsumerGroup.fromClassicGroup`, `ClassicGroup.fromConsumerGroup`, Kafka 4.3.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from simulator.group.heartbeats import Heartbeats
from simulator.group.member import Member
from simulator.group.rebalance_causes import Cause
from simulator.world.group_assignment import GroupAssignment


@dataclass(frozen=True, slots=True, eq=False)
class GroupHandover:
    """A group between two protocols.

    Attributes:
        members: whether a member is static, by member in the order in which they joined.
        generation: the generation, or the epoch of the last target.
        assignment: what each member has for the coordinator, including members that are down; members that are down
            have the numbers of their slots (`Fleet.slot`).
        heartbeats: the heartbeats of the members of the classic protocol.
        rejoining: the members whose JoinGroup or SyncGroup requests the coordinator answers with REBALANCE_IN_PROGRESS
            because of the conversion.
        joining: the members that have started, but not joined, and why each started.
        assignor: the assignor that the coordinator selected last; None if it selected none.
    """

    members: Mapping[Member, bool]
    generation: int
    assignment: GroupAssignment
    heartbeats: Heartbeats
    rejoining: tuple[Member, ...] = ()
    joining: Mapping[Member, Cause] = field(default_factory=dict)
    assignor: str | None = None
