"""Kafka's range assignor of brokers (KIP-848)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from assignors.consumers.broker_group import BrokerGroup
from assignors.consumers.classic_group import sorted_static_first
from assignors.consumers.stored_assignment import topic_hashes
from assignors.java.hash_map import table_size_for
from assignors.java.hash_order import in_hash_order
from assignors.java.strings import string_ranks
from assignors.model.consumer_group import ConsumerAssignment, ConsumerGroupState, SubscriptionType, partition_key


@dataclass(frozen=True, slots=True)
class BrokerRange:
    """Gives each subscriber of a topic a range of its partitions.

    Guarantees: of each topic, shares differ by at most one partition. Topics with as many partitions and the same
    subscribers are co-partitioned: a member gets the same partitions of all of them.
    Priority: balance within topics. Members by instance id, then by member id; the first get the larger shares. Ignores
    racks and what members own.
    Complexity: O(P + S + M log M) for P partitions, M members and S subscriptions of members to topics.
    Source: `org.apache.kafka.coordinator.group.assignor.RangeAssignor`, KIP-848; Kafka 4.0 to 4.4.
    """

    def assign(self, state: ConsumerGroupState) -> ConsumerAssignment:
        """Return the partitions of each member."""
        if not state.member_ids:
            return ConsumerAssignment(())
        group = BrokerGroup.of(state)
        members = sorted_static_first(state.instance_ids, string_ranks(state.member_ids), group.members)
        topics_of = [group.topics_of(member) for member in range(len(members))]
        # Kafka trusts the type: in a homogeneous group, all members get the topics of the first.
        is_homogeneous = state.subscription_type is SubscriptionType.HOMOGENEOUS
        if is_homogeneous:
            topics_of = [topics_of[members[0]]] * len(members)
        subscribers = Counter(topic for topics in topics_of for topic in topics)
        remaining = {
            topic: [0, *divmod(state.topics[topic].partitions, number)] for topic, number in subscribers.items()
        }
        hashes = topic_hashes(state)
        orders: dict[tuple[int, ...], list[int]] = {}
        assigned: list[tuple[int, ...]] = [()] * len(members)
        for member in members:
            ranges = {}
            for topic in topics_of[member]:
                start, share, extra = remaining[topic]
                end = start + share + (extra > 0)
                remaining[topic] = [end, share, extra - (extra > 0)]
                ranges[topic] = range(start, end)
            rows = state.subscriptions[members[0] if is_homogeneous else member]
            if rows not in orders:
                orders[rows] = _map_order(topics_of[member], rows, hashes, is_homogeneous=is_homogeneous)
            assigned[member] = tuple(
                partition_key(topic, partition) for topic in orders[rows] for partition in ranges[topic]
            )
        return ConsumerAssignment(tuple(assigned))


def _map_order(
    topics: tuple[int, ...], subscription: tuple[int, ...], hashes: list[int], *, is_homogeneous: bool
) -> list[int]:
    """Return the order of the HashMap of a member's topics, which is created for them and never grows."""
    size = len(topics) if is_homogeneous else len(set(subscription))
    return in_hash_order(topics, hashes, table_size_for(int(size / 0.75) + 1))
