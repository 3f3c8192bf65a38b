"""A group of the classic protocol as its leader's assignor sees it, in the iteration orders of the leader's maps.

Source: `ConsumerCoordinator.onLeaderElected`, `AbstractPartitionAssignor.assign` and `useRackAwareAssignment`
(KIP-881), `AbstractStickyAssignor.RackInfo`, kafka-clients 3.8 to 4.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from assignors.java.hash_order import hash_order, string_hash, string_ranks
from assignors.model.consumer_group import ConsumerGroupState, ConsumerTopic

NO_RACKS: frozenset[str] = frozenset()

PartitionRacks = tuple[frozenset[str], ...]
"""The known racks of the replicas of each partition of a topic."""


def racks_of_partitions(topic: ConsumerTopic) -> PartitionRacks:
    """Return the racks of each partition of a topic, without brokers that have no rack."""
    if not topic.racks:
        return (NO_RACKS,) * topic.partitions
    distinct = {racks: frozenset(rack for rack in racks if rack is not None) for racks in dict.fromkeys(topic.racks)}
    return tuple(distinct[racks] for racks in topic.racks)


def needs_racks(consumer_racks: Iterable[str], racks_by_topic: Mapping[int, PartitionRacks]) -> bool:
    """Return whether racks matter: consumers and replicas share a rack, and some partition is not in every rack."""
    distinct = {racks for of_topic in racks_by_topic.values() for racks in of_topic}
    everywhere = frozenset().union(*distinct)
    return not everywhere.isdisjoint(consumer_racks) and distinct != {everywhere}


@dataclass(frozen=True, slots=True)
class ClassicGroup:
    """The orders of a group's members and topics.

    Attributes:
        members: rows of the members in the order of the leader's HashMap of subscriptions.
        topics: rows of the subscribed topics that exist, in the order of the leader's HashMap of partitions.
        member_rank: rank of each member's id, by row.
        topic_rank: rank of each topic's name, by row.
        racks: rack of each member by row; None without rack, or if the rack is empty.
    """

    state: ConsumerGroupState
    members: tuple[int, ...]
    topics: tuple[int, ...]
    member_rank: Sequence[int]
    topic_rank: Sequence[int]
    racks: tuple[str | None, ...]

    @classmethod
    def of(cls, state: ConsumerGroupState) -> ClassicGroup:
        """Compute the orders."""
        members = hash_order([string_hash(member_id) for member_id in state.member_ids])
        distinct = dict.fromkeys(state.subscriptions[member] for member in members)
        subscribed = list(dict.fromkeys(topic for rows in distinct for topic in rows))
        hashes = [string_hash(topic.name) for topic in state.topics]
        subscribed = [subscribed[position] for position in hash_order([hashes[topic] for topic in subscribed])]
        existing = [topic for topic in subscribed if state.topics[topic].partitions]
        existing = [existing[position] for position in hash_order([hashes[topic] for topic in existing])]
        return cls(
            state=state,
            members=tuple(members),
            topics=tuple(existing),
            member_rank=string_ranks(state.member_ids),
            topic_rank=string_ranks([topic.name for topic in state.topics]),
            racks=tuple(rack or None for rack in state.racks),
        )

    def static_first(self) -> list[int]:
        """Return all members in the order of `MemberInfo`: static ones by instance id, then the others by member id."""
        return sorted_static_first(self.state.instance_ids, self.member_rank, self.members)


def sorted_static_first(
    instance_ids: Sequence[str | None], member_rank: Sequence[int], members: Sequence[int]
) -> list[int]:
    """Return members with static ones first, by instance id; the others follow by member id."""
    instance_rank = string_ranks([instance or "" for instance in instance_ids])
    return sorted(
        members,
        key=lambda m: (1, member_rank[m]) if instance_ids[m] is None else (0, instance_rank[m]),
    )
