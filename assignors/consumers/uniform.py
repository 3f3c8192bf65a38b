"""Kafka's uniform assignor of brokers (KIP-848).

The uniform assignment of a group whose members all subscribe to the same topics.

Source: `UniformHomogeneousAssignmentBuilder`, Kafka 4.0.0 to 4.4.0.
"""

from __future__ import annotations

from dataclasses import dataclass

from assignors.consumers.broker_group import BrokerGroup
from assignors.consumers.stored_assignment import AssignmentCopy, keys_of, stored_topics, topic_hashes
from assignors.consumers.uniform_heterogeneous import HeterogeneousAssignment
from assignors.errors import PartitionAssignorError
from assignors.java.hash_order import DEFAULT_CAPACITY, copied_capacity, in_hash_order
from assignors.model.consumer_group import (
    ConsumerAssignment,
    ConsumerGroupState,
    SubscriptionType,
    partition_key,
    partition_of,
    topic_of,
)


class HomogeneousAssignment:
    """Builds the assignment: members keep up to their share, and get free partitions in the order of the map.

    Args:
        group: the group.
        gives_up_extra: whether a member that owns less than the larger share leaves it to members that own more, as
            from Kafka 4.0.1.
    """

    def __init__(self, group: BrokerGroup, *, gives_up_extra: bool) -> None:
        self._group, self._gives_up_extra = group, gives_up_extra
        self._hashes = topic_hashes(group.state)
        subscription = group.state.subscriptions[group.members[0]]
        self._topics = in_hash_order(
            group.subscribed[subscription], self._hashes, copied_capacity(len(frozenset(subscription)))
        )
        self._subscribed = frozenset(self._topics)
        self._stored: list[tuple[int, ...]] = [()] * len(group.members)
        self._copies: dict[int, AssignmentCopy] = {}
        self._free: list[int] = []
        self._unfilled: list[tuple[int, int]] = []
        self._share = self._larger_shares = 0

    def build(self) -> tuple[tuple[int, ...], ...]:
        """Return the partitions of each member, by row.

        Raises:
            PartitionAssignorError: partitions are left.
        """
        if not self._topics:
            return tuple(self._stored)
        topics = self._group.state.topics
        taken = {key for keys in self._group.state.owned for key in keys}
        every = [partition_key(topic, p) for topic in self._topics for p in range(topics[topic].partitions)]
        self._free = [key for key in every if key not in taken]
        self._share, self._larger_shares = divmod(len(every), len(self._group.members))
        for position, member in enumerate(self._group.members):
            self._keep(member, len(self._group.members) - position)
        self._fill()
        for member, copy in self._copies.items():
            self._stored[member] = keys_of(list(copy))
        return tuple(self._stored)

    def _keep(self, member: int, members_left: int) -> None:
        """Revoke what exceeds the share of a member; `members_left` counts it and those after it."""
        topics = stored_topics(self._group.state.owned[member], self._hashes)
        takes_extra = self._larger_shares > 0
        quota = self._share + takes_extra
        copy: AssignmentCopy | None = None
        for topic, partitions in topics:
            if topic not in self._subscribed:
                copy = copy or AssignmentCopy(topics, self._hashes)
                copy.remove_topic(topic)
                continue
            kept = min(quota, len(partitions))
            quota -= kept
            for partition in partitions[kept:]:
                copy = copy or AssignmentCopy(topics, self._hashes)
                copy.remove(topic, partition)
                self._free.append(partition_key(topic, partition))
        if quota > 0 and takes_extra and self._gives_up_extra and members_left > self._larger_shares:
            quota -= 1
            takes_extra = False
        if quota > 0:
            self._unfilled.append((member, quota))
        self._larger_shares -= takes_extra
        if copy is None:
            self._stored[member] = keys_of(topics)
        else:
            self._copies[member] = copy

    def _fill(self) -> None:
        """Give the free partitions to the members with room, each of which gets consecutive ones."""
        position = 0
        for member, quota in self._unfilled:
            copy = self._copies.get(member)
            if copy is None:
                topics = stored_topics(self._group.state.owned[member], self._hashes)
                copy = self._copies[member] = AssignmentCopy(topics, self._hashes)
            for key in self._free[position : position + quota]:
                copy.add(topic_of(key), partition_of(key), DEFAULT_CAPACITY)
            position += quota
        if position < len(self._free):
            raise PartitionAssignorError("Partitions were left unassigned")


_FIRST_RELEASE = "4.0.0"


@dataclass(frozen=True, slots=True)
class BrokerUniform:
    """Keeps the target assignment where balance permits.

    Guarantees: shares differ by at most one partition if all members subscribe to the same topics. Otherwise, the loads
    of the subscribers of each topic differ by at most one partition that could move, unless 16 passes do not suffice.
    Priority: balance, stickiness. Ignores racks (KAFKA-16694 removed what KIP-848 planned). Kafka 4.0.0 reserves the
    larger shares for the first members of its map, although others own more partitions.
    Complexity: O(P + M) if all members subscribe to the same topics; otherwise O(S log M + P) per pass, for P
    partitions, M members and S subscriptions of members to topics.
    Source: `org.apache.kafka.coordinator.group.assignor.UniformAssignor`, KIP-848; Kafka 4.0.0 to 4.4.0.

    Attributes:
        release: Kafka release: 4.0.0, or any later one, which all give the same answers.
    """

    release: str = "4.4"

    def assign(self, state: ConsumerGroupState) -> ConsumerAssignment:
        """Return the partitions of each member.

        Raises:
            KafkaError: Kafka's assignor throws for this state.
        """
        if not state.member_ids:
            return ConsumerAssignment(())
        group = BrokerGroup.of(state)
        if state.subscription_type is SubscriptionType.HOMOGENEOUS:
            gives_up_extra = self.release != _FIRST_RELEASE
            return ConsumerAssignment(HomogeneousAssignment(group, gives_up_extra=gives_up_extra).build())
        return ConsumerAssignment(HeterogeneousAssignment(group).build())
