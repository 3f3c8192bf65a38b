"""What the members of a group own after they adopted an assignment: the input of the next rebalance.

Source: `SubscriptionState.assignFromSubscribed` and `PartitionStates.set` of kafka-clients 3.8 to 4.3 (cooperative);
`TargetAssignmentBuilder.build`, Kafka 4.0 to 4.4 (consumer).
"""

from __future__ import annotations

from collections.abc import Sequence

from assignors.consumers.registry import ConsumerAssignorInfo, ConsumerProtocol
from assignors.java.hash_map import JavaHashMap, table_size_for
from assignors.java.hash_order import string_hash
from assignors.model.consumer_group import ConsumerAssignment, ConsumerGroupState, partition_of, topic_of


def owned_after(
    info: ConsumerAssignorInfo, state: ConsumerGroupState, assignment: ConsumerAssignment
) -> tuple[tuple[int, ...], ...]:
    """Return `ConsumerGroupState.owned` of the next rebalance, if all members adopt the assignment and stay.

    `state`: the group before; `assignment`: the assignor's answer. Returns the keys of the partitions of each member.
    Members of eager assignors that are not sticky report none.
    """
    if info.protocol is ConsumerProtocol.CONSUMER:
        return assignment.stored_after(state)
    if not info.is_sticky:
        return ((),) * len(state.member_ids)
    if not info.is_cooperative:
        return assignment.partitions
    hashes = [string_hash(topic.name) for topic in state.topics]
    return tuple(_subscription_order(keys, hashes) for keys in assignment.partitions)


def _subscription_order(keys: Sequence[int], hashes: Sequence[int]) -> tuple[int, ...]:
    """Return partitions in the order in which a consumer lists its assignment: of a HashMap, grouped by topic."""
    assigned = JavaHashMap(table_size_for(len(keys)))
    for key in keys:
        assigned.put(key, (31 * (31 + partition_of(key)) + hashes[topic_of(key)]) & 0xFFFFFFFF)
    by_topic: dict[int, list[int]] = {}
    for key in assigned:
        by_topic.setdefault(topic_of(key), []).append(key)
    return tuple(key for listed in by_topic.values() for key in listed)
