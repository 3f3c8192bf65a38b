"""Subscriptions of the members of a consumer group, which Kafka's tools do not print, from their partitions.

Source: the distribution of partitions over members with the same subscription in
`org.apache.kafka.clients.consumer.RangeAssignor`, `RoundRobinAssignor` and `AbstractStickyAssignor`, and
`org.apache.kafka.coordinator.group.assignor.RangeAssignor` and `UniformAssignor`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from scenarios.kafka.observation.observation import ObservedConsumer

_EVEN_BY_TOPIC: Final = ("range",)
"""Assignors that distribute each topic evenly over its subscribers."""

_EVEN: Final = ("roundrobin", "sticky", "cooperative-sticky", "uniform")
"""Assignors that distribute all partitions evenly over members with the same subscription."""


def infer_subscriptions(members: Sequence[ObservedConsumer], assignor: str) -> Mapping[str, frozenset[str]]:
    """Return the topics of each member, by member id: all topics that a member reads, unless this is impossible.

    It is impossible if members with the same subscription would have about as many partitions, but have not. Then a
    member subscribes only to the topics that it reads; a member without partitions still subscribes to all.

    Args:
        members: Members of a stable group, with their partitions.
        assignor: Name of its assignor; any number of partitions is possible with one that is not Kafka's.
    """
    read = {member.member_id: frozenset(one.topic for one in member.partitions) for member in members}
    every_topic = frozenset(topic for topics in read.values() for topic in topics)
    if assignor in _EVEN_BY_TOPIC:
        # A member with two partitions of a topic implies that each subscriber has one.
        exclusive = {topic for topic in every_topic if _max_partitions(members, topic) > 1}
    else:
        counts = [len(member.partitions) for member in members]
        is_even = assignor not in _EVEN or max(counts, default=0) - min(counts, default=0) <= 1
        exclusive = set() if is_even else set(every_topic)
    return {member: topics | (every_topic - exclusive) if topics else every_topic for member, topics in read.items()}


def _max_partitions(members: Sequence[ObservedConsumer], topic: str) -> int:
    return max(sum(partition.topic == topic for partition in member.partitions) for member in members)
