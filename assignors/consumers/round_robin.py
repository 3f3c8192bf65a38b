"""Kafka's round-robin assignor of clients."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from assignors.consumers.classic_group import ClassicGroup
from assignors.model.consumer_group import ConsumerAssignment, ConsumerGroupState, partition_key


@dataclass(frozen=True, slots=True)
class ConsumerRoundRobin:
    """Deals all partitions to the members in turn, skipping members that do not subscribe to the topic.

    Guarantees: shares differ by at most one partition if all members have the same subscription. Ignores racks and what
    members own.
    Priority: topics by name, partitions by number; members by instance id, then by member id.
    Complexity: O(P log M) for P partitions and M members.
    Source: `org.apache.kafka.clients.consumer.RoundRobinAssignor`, kafka-clients 3.8 to 4.3.
    """

    def assign(self, state: ConsumerGroupState) -> ConsumerAssignment:
        """Return the partitions of each member."""
        group = ClassicGroup.of(state)
        members = group.static_first()
        subscribers: dict[int, list[int]] = {topic: [] for topic in group.topics}
        for position, member in enumerate(members):
            for topic in dict.fromkeys(state.subscriptions[member]):
                if topic in subscribers:
                    subscribers[topic].append(position)
        assigned: list[list[int]] = [[] for _ in members]
        turn = 0
        for topic in sorted(group.topics, key=group.topic_rank.__getitem__):
            positions = subscribers[topic]
            for partition in range(state.topics[topic].partitions):
                following = bisect_left(positions, turn)
                position = positions[following if following < len(positions) else 0]
                assigned[members[position]].append(partition_key(topic, partition))
                turn = position + 1 if position + 1 < len(members) else 0
        return ConsumerAssignment(tuple(map(tuple, assigned)))
