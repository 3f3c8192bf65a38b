"""Which partitions a sticky rebalance moved between which consumers, so that it does not move them back and forth.

Source: `AbstractStickyAssignor.PartitionMovements`, kafka-clients 3.8 to 4.3.
"""

from __future__ import annotations

from collections.abc import Callable

from assignors.java.hash_map import JavaHashMap
from assignors.model.consumer_group import topic_of

ConsumerPair = tuple[int, int]
"""The consumers from which and to which partitions moved."""


class PartitionMovements:
    """The moves since the start of the rebalance.

    Args:
        hash_of: hash code of a `TopicPartition`; the order of a HashSet of moved partitions depends on it.
    """

    def __init__(self, hash_of: Callable[[int], int]) -> None:
        self._hash_of = hash_of
        self._pair_of: dict[int, ConsumerPair] = {}
        self._moved: dict[int, dict[ConsumerPair, JavaHashMap]] = {}

    def to_be_moved(self, key: int, old: int, new: int) -> int:
        """Return the partition to move instead: one of the same topic that moved the other way before."""
        of_topic = self._moved.get(topic_of(key))
        if of_topic is None:
            return key
        if key in self._pair_of:
            old = self._pair_of[key][0]
        reverse = of_topic.get((new, old))
        return key if reverse is None else next(iter(reverse))

    def move(self, key: int, old: int, new: int) -> None:
        """Record a move; two moves of a partition become one, and one that returns none."""
        if key not in self._pair_of:
            self._add(key, (old, new))
            return
        pair = self._pair_of.pop(key)
        of_topic = self._moved[topic_of(key)]
        of_topic[pair].remove(key)
        if not of_topic[pair]:
            del of_topic[pair]
        if not of_topic:
            del self._moved[topic_of(key)]
        if pair[0] != new:
            self._add(key, (pair[0], new))

    def snapshot(self) -> tuple[object, ...]:
        """Return a value that is equal for equal moves in the same order."""
        return tuple((pair, *moved) for of_topic in self._moved.values() for pair, moved in of_topic.items())

    def _add(self, key: int, pair: ConsumerPair) -> None:
        self._pair_of[key] = pair
        of_topic = self._moved.setdefault(topic_of(key), {})
        of_topic.setdefault(pair, JavaHashMap()).put(key, self._hash_of(key))
