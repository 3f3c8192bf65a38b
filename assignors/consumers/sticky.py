"""Kafka's sticky assignor of clients, and what both sticky assignors have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assignors.consumers.classic_group import ClassicGroup
from assignors.consumers.constrained_assignment import ConstrainedAssignment
from assignors.consumers.general_assignment import GeneralAssignment
from assignors.consumers.previous_owners import MemberReport, PartitionClaims, owners_of_older_generations
from assignors.consumers.sticky_racks import StickyRacks
from assignors.java.hash_map import JavaHashMap
from assignors.java.hash_order import string_hash
from assignors.model.consumer_group import ConsumerAssignment, ConsumerGroupState, topic_of


@dataclass(frozen=True, slots=True)
class ConsumerSticky:
    """Keeps the previous assignment where balance permits, under the eager protocol.

    Guarantees: shares differ by at most one partition if all members subscribe to the same topics; otherwise, no single
    move improves the balance. Members report what they owned in their user data.
    Priority: balance, racks (only if some replicas are not in every rack), stickiness. The newest generation wins where
    two members claim a partition.
    Complexity: O(P log P + M log M) for P partitions and M members with the same subscription; otherwise
    O(P S) per pass over the partitions, for S subscriptions of members to topics.
    Source: `org.apache.kafka.clients.consumer.StickyAssignor`, KIP-54, KIP-341, KIP-881; kafka-clients 3.8 to 4.3.
    """

    def assign(self, state: ConsumerGroupState) -> ConsumerAssignment:
        """Return the partitions of each member; raise KafkaError if Kafka's assignor throws for this state."""
        group = ClassicGroup.of(state)
        hashes = [string_hash(topic.name) for topic in state.topics]
        reports = [
            MemberReport(_grouped_by_topic(keys, hashes), generation)
            for keys, generation in zip(state.owned, state.user_data_generations, strict=True)
        ]
        assigned, _ = assign_sticky(group, reports)
        return ConsumerAssignment(tuple(map(tuple, assigned)))


def assign_sticky(
    group: ClassicGroup, reports: Sequence[MemberReport]
) -> tuple[list[list[int]], dict[int, int] | None]:
    """Return the partitions of each member, and the next owner of each partition that must be revoked first.

    The second is None if the members subscribe to different topics: Kafka's general algorithm does not track it.
    """
    if not group.members:
        return [], {}
    racks = StickyRacks.of(group)
    owners = PartitionClaims.of(group, reports)
    if owners.is_homogeneous:
        constrained = ConstrainedAssignment(group, owners, racks)
        constrained.build()
        return constrained.assigned, constrained.transferred
    older = owners_of_older_generations(group, reports, owners.max_generation)
    return GeneralAssignment(group, owners, racks, older).build(), None


def _grouped_by_topic(keys: tuple[int, ...], hashes: Sequence[int]) -> tuple[int, ...]:
    """Return partitions in the order of user data: grouped by topic, topics in the order of a HashMap.

    Source: `CollectionUtils.groupPartitionsByTopic`.
    """
    by_topic: dict[int, list[int]] = {}
    topics = JavaHashMap()
    for key in keys:
        topic = topic_of(key)
        topics.compute_if_absent(topic, hashes[topic])
        by_topic.setdefault(topic, []).append(key)
    return tuple(key for topic in topics for key in by_topic[topic])
