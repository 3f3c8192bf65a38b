"""Target assignments as a group coordinator stores and copies them: maps of sets, in Java's iteration orders.

The order decides which partitions a member gives up, and in which order the next record lists them.

Source: `org.apache.kafka.coordinator.group.modern.Assignment.fromRecord`, `AssignorHelpers.deepCopyAssignment`,
`GroupCoordinatorRecordHelpers.newConsumerGroupTargetAssignmentRecord`, Kafka 4.0 to 4.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assignors.java.hash_map import JavaHashMap, table_size_for
from assignors.java.hash_order import copied_capacity, hash_order
from assignors.model.consumer_group import ConsumerGroupState, partition_key, partition_of, topic_of
from assignors.model.ids import TopicId

_MASK_32 = 0xFFFFFFFF
_MASK_64 = 0xFFFFFFFFFFFFFFFF


def topic_id_hash(topic_id: TopicId) -> int:
    """Return `Uuid.hashCode()` as an unsigned 32-bit number."""
    folded = (topic_id.most_significant_bits ^ topic_id.least_significant_bits) & _MASK_64
    return (folded >> 32) ^ (folded & _MASK_32)


def topic_hashes(state: ConsumerGroupState) -> list[int]:
    """Return the hash code of each topic's id, by row."""
    return [topic_id_hash(topic.id_or_default()) for topic in state.topics]


def set_order(partitions: Sequence[int], capacity: int) -> Sequence[int]:
    """Return partitions in the order of a HashSet of `capacity` bins that is filled with them."""
    if all(partition < capacity for partition in partitions):
        return sorted(partitions)
    filled = JavaHashMap(capacity)
    filled.add_all(partitions)
    return list(filled)


Topics = list[tuple[int, Sequence[int]]]
"""Topics with their partitions, in iteration order."""


def stored_topics(keys: Sequence[int], hashes: Sequence[int]) -> Topics:
    """Return the topics and partitions of a record in the order in which the coordinator iterates them."""
    by_topic: dict[int, list[int]] = {}
    for key in keys:
        by_topic.setdefault(topic_of(key), []).append(partition_of(key))
    topics = list(by_topic)
    order = hash_order([hashes[topic] for topic in topics]) if len(topics) > 1 else range(len(topics))
    return [(topics[at], set_order(by_topic[topics[at]], copied_capacity(len(by_topic[topics[at]])))) for at in order]


def keys_of(topics: Topics) -> tuple[int, ...]:
    """Return the keys of partitions in iteration order."""
    return tuple(partition_key(topic, partition) for topic, partitions in topics for partition in partitions)


class AssignmentCopy:
    """A deep copy of a member's assignment, which can be changed.

    `hashes`: hash codes of all topics.
    """

    def __init__(self, topics: Topics, hashes: Sequence[int]) -> None:
        self._hashes = hashes
        self._topics = JavaHashMap(table_size_for(len(topics)))
        self._partitions: dict[int, JavaHashMap] = {}
        for topic, partitions in topics:
            self._topics.put(topic, hashes[topic])
            copy = self._partitions[topic] = JavaHashMap(copied_capacity(len(partitions)))
            copy.add_all(partitions)

    def add(self, topic: int, partition: int, capacity: int) -> None:
        """Add a partition; the set of a topic without partitions starts with `capacity` bins."""
        if self._topics.compute_if_absent(topic, self._hashes[topic]):
            self._partitions[topic] = JavaHashMap(capacity)
        self._partitions[topic].put(partition, partition)

    def remove(self, topic: int, partition: int) -> None:
        """Remove a partition, and its topic if it was the last one."""
        if topic in self._partitions:
            self._partitions[topic].remove(partition)
            if not len(self._partitions[topic]):
                self.remove_topic(topic)

    def remove_topic(self, topic: int) -> None:
        """Remove all partitions of a topic."""
        self._topics.remove(topic)
        self._partitions.pop(topic, None)

    def __iter__(self) -> Iterator[tuple[int, list[int]]]:
        return ((topic, list(self._partitions[topic])) for topic in self._topics)
