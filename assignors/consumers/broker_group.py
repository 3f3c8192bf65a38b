"""A group of the consumer protocol as its coordinator's assignor sees it, in the iteration orders of Java's maps.

Source: `TargetAssignmentBuilder.build`, `GroupSpecImpl` and `TopicIds`, Kafka 4.0 to 4.4.
"""

from __future__ import annotations

from dataclasses import dataclass

from assignors.java.hash_order import copied_capacity, hash_order, string_hash
from assignors.model.consumer_group import ConsumerGroupState


@dataclass(frozen=True, slots=True)
class BrokerGroup:
    """The orders of a group's members and subscriptions.

    Attributes:
        members: rows of the members in the order of the coordinator's HashMap.
        subscribed: the topics that exist of each distinct subscription, in the order of the HashSet of its names.
    """

    state: ConsumerGroupState
    members: tuple[int, ...]
    subscribed: dict[tuple[int, ...], tuple[int, ...]]

    @classmethod
    def of(cls, state: ConsumerGroupState) -> BrokerGroup:
        """Compute the orders."""
        members = hash_order([string_hash(member_id) for member_id in state.member_ids])
        hashes = [string_hash(topic.name) for topic in state.topics]
        subscribed = {}
        for rows in dict.fromkeys(state.subscriptions):
            names = list(dict.fromkeys(rows))
            order = hash_order([hashes[topic] for topic in names], copied_capacity(len(rows)))
            subscribed[rows] = tuple(names[at] for at in order if state.topics[names[at]].partitions)
        return cls(state, tuple(members), subscribed)

    def topics_of(self, member: int) -> tuple[int, ...]:
        """Return the existing topics to which a member subscribes."""
        return self.subscribed[self.state.subscriptions[member]]
