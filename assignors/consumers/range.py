"""Kafka's range assignor of clients, with racks (KIP-881), and its round-robin assignor."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from assignors.consumers.classic_group import ClassicGroup, PartitionRacks, needs_racks, racks_of_partitions
from assignors.model.consumer_group import ConsumerAssignment, ConsumerGroupState, partition_key, partition_of, topic_of


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


@dataclass(frozen=True, slots=True)
class ConsumerRange:
    """Gives each subscriber of a topic a range of its partitions.

    Guarantees: of each topic, shares differ by at most one partition. Topics with as many partitions and the same
    subscribers are co-partitioned: a member gets the same partitions of all of them.
    Priority: balance within topics, co-partitioning, racks. Members by instance id, then by member id; the first get
    the larger shares. If some replicas are not in every rack, partitions in the racks of consumers are assigned first,
    and shares are not contiguous. Ignores what members own.
    Complexity: O(R P + S) for P partitions, R racks and S subscriptions of members to topics.
    Source: `org.apache.kafka.clients.consumer.RangeAssignor`, kafka-clients 3.8 to 4.3.
    """

    def assign(self, state: ConsumerGroupState) -> ConsumerAssignment:
        """Return the partitions of each member."""
        group = ClassicGroup.of(state)
        subscribers: dict[int, list[int]] = {topic: [] for topic in group.topics}
        for member in group.static_first():
            for topic in dict.fromkeys(state.subscriptions[member]):
                if topic in subscribers:
                    subscribers[topic].append(member)
        assigned: list[list[int]] = [[] for _ in state.member_ids]
        topics = [_TopicRanges(group, topic, subscribers[topic], assigned) for topic in group.topics]
        if uses_racks := any(ranges.needs_racks for ranges in topics):
            _assign_within_racks(topics, group.racks)
        for ranges in topics:
            ranges.assign_ranges(within_racks=False)
        if uses_racks:
            for keys in assigned:
                keys.sort(key=lambda key: (group.topic_rank[topic_of(key)], partition_of(key)))
        return ConsumerAssignment(tuple(map(tuple, assigned)))


class _TopicRanges:
    """The partitions of a topic that are not yet assigned, and the shares of its subscribers."""

    def __init__(self, group: ClassicGroup, topic: int, consumers: Sequence[int], assigned: list[list[int]]) -> None:
        self.consumers = consumers
        self.partitions = group.state.topics[topic].partitions
        self._assigned = assigned
        self._topic = topic
        self._racks = group.racks
        self._is_taken = bytearray(self.partitions)
        self._left = self.partitions
        self._count = dict.fromkeys(consumers, 0)
        self._share, self._extra = divmod(self.partitions, len(consumers))
        consumer_racks = {rack for consumer in consumers if (rack := group.racks[consumer])}
        self.partition_racks: PartitionRacks = racks_of_partitions(group.state.topics[topic]) if consumer_racks else ()
        self.needs_racks = needs_racks(consumer_racks, {topic: self.partition_racks})
        self._everywhere = _Partitions(range(self.partitions))
        self._in_rack: dict[str, _Partitions] = {}

    @property
    def co_partitioned_with(self) -> tuple[frozenset[int], int]:
        """Topics with the same value are co-partitioned."""
        return frozenset(self.consumers), len(self.partition_racks)

    def room(self, consumer: int) -> int:
        """Return how many more partitions the consumer may get."""
        return max(0, self._share + (self._extra > 0) - self._count[consumer])

    def give(self, consumer: int, partitions: Sequence[int]) -> None:
        """Assign partitions to a consumer."""
        self._assigned[consumer].extend(partition_key(self._topic, partition) for partition in partitions)
        self._count[consumer] += len(partitions)
        if self._count[consumer] > self._share:
            self._extra -= 1
        for partition in partitions:
            self._is_taken[partition] = True
        self._left -= len(partitions)

    def assign_ranges(self, *, within_racks: bool) -> None:
        """Assign unassigned partitions from the first to the last subscriber."""
        for consumer in self.consumers:
            if not self._left:
                break
            choice = self._within(self._racks[consumer]) if within_racks else self._everywhere
            if chosen := choice.take(self.room(consumer), self._is_taken):
                self.give(consumer, chosen)

    def _within(self, rack: str | None) -> _Partitions:
        """Return the partitions with a replica in a rack; all if the consumer has none."""
        if rack is None:
            return self._everywhere
        if rack not in self._in_rack:
            self._in_rack[rack] = _Partitions([p for p, racks in enumerate(self.partition_racks) if rack in racks])
        return self._in_rack[rack]


class _Partitions:
    """Partitions from which the first unassigned ones are taken; those before `_position` are assigned."""

    def __init__(self, partitions: Sequence[int]) -> None:
        self._partitions = partitions
        self._position = 0

    def take(self, limit: int, is_taken: bytearray) -> list[int]:
        """Return the first unassigned partitions, at most `limit`; the caller assigns them."""
        chosen: list[int] = []
        while len(chosen) < limit and self._position < len(self._partitions):
            partition = self._partitions[self._position]
            self._position += 1
            if not is_taken[partition]:
                chosen.append(partition)
        return chosen


def _assign_within_racks(topics: Sequence[_TopicRanges], racks: Sequence[str | None]) -> None:
    """Assign what is in the racks of subscribers; the order of groups of topics does not matter."""
    groups: dict[tuple[frozenset[int], int], list[_TopicRanges]] = {}
    for topic in topics:
        groups.setdefault(topic.co_partitioned_with, []).append(topic)
    for (_, partitions), together in groups.items():
        if len(together) > 1:
            _assign_co_partitioned(together, partitions, racks)
        elif together[0].needs_racks:
            together[0].assign_ranges(within_racks=True)


def _assign_co_partitioned(topics: Sequence[_TopicRanges], partitions: int, racks: Sequence[str | None]) -> None:
    """Assign each partition of all topics to the first subscriber whose rack has a replica in all of them.

    All topics have the same shares, so a subscriber has the same room in all of them, which only decreases.
    """
    first = topics[0]
    waiting: dict[str | None, list[int]] = {}
    for position in reversed(range(len(first.consumers))):
        waiting.setdefault(racks[first.consumers[position]], []).append(position)
    for partition in range(partitions):
        common = frozenset.intersection(*(topic.partition_racks[partition] for topic in topics))
        positions = []
        for rack in (None, *common):
            of_rack = waiting.get(rack, [])
            while of_rack and not first.room(first.consumers[of_rack[-1]]):
                of_rack.pop()
            positions += of_rack[-1:]
        if positions:
            consumer = first.consumers[min(positions)]
            for topic in topics:
                topic.give(consumer, [partition])
