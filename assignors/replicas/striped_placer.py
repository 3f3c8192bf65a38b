"""Where a KRaft controller puts the replicas of a new topic: in stripes over racks, and over the brokers of each.

Guarantees: a partition's replicas lie in as many racks as possible; they are spread over racks evenly as far as racks
have brokers. Leaders go round racks, not brokers: a broker in a small rack leads more than one in a large rack.
Priority: racks, by turns; the turn within the rack.
Complexity: O(partitions · (replicas + racks)).
Source: `org.apache.kafka.metadata.placement.StripedReplicaPlacer`, of which only fenced brokers are left out: whoever
reassigns replicas names brokers that are there.
"""

from __future__ import annotations

from collections.abc import Mapping

from assignors.java.hash_order import hash_order, string_hash
from assignors.java.java_random import JavaRandom
from assignors.replicas.admin_utils import check_numbers


def place_striped(
    racks: Mapping[int, str | None], num_partitions: int, replication_factor: int, random: JavaRandom
) -> tuple[tuple[int, ...], ...]:
    """Choose the brokers of each partition, the preferred leader first.

    Args:
        racks: the rack of every broker by its id, None where it has none; those without are a rack of their own.
        num_partitions: at least 1.
        replication_factor: at least 1.
        random: where in each rack, and in which rack, stripes start; and the order of a round after the first.

    Raises:
        PlacementError: fewer brokers than replicas.
    """
    check_numbers(len(racks), num_partitions, replication_factor)
    stripes = _Stripes(racks, random)
    return tuple(stripes.place(replication_factor) for _ in range(num_partitions))


class _Rack:
    """Brokers that are handed out in turn, each once a partition; every partition starts one broker further."""

    def __init__(self, brokers: list[int], random: JavaRandom) -> None:
        self.brokers = sorted(brokers)
        self._offset = random.next_int(len(brokers))
        self._turn = 0
        self._taken = 0

    def take(self, turn: int) -> int | None:
        """The next broker for the partition whose turn it is, None if that has them all."""
        if turn != self._turn:
            self._turn, self._taken = turn, 0
            self._offset = (self._offset + 1) % len(self.brokers)
        if self._taken == len(self.brokers):
            return None
        self._taken += 1
        return self.brokers[(self._taken - 1 + self._offset) % len(self.brokers)]


class _Stripes:
    def __init__(self, racks: Mapping[int, str | None], random: JavaRandom) -> None:
        by_rack: dict[str | None, list[int]] = {}
        for broker, rack in sorted(racks.items()):
            by_rack.setdefault(rack, []).append(broker)
        names = list(by_rack)
        # Kafka draws for one rack after the other in the order of a HashMap, and deals in the order of their names.
        self._drawing = [names[i] for i in hash_order([string_hash(name or "") for name in names])]
        self._racks = {name: _Rack(by_rack[name], random) for name in self._drawing}
        self._names = sorted(names, key=lambda name: (name is not None, name or ""))
        self._num_brokers = len(racks)
        self._random = random
        self._turn = 0
        self._offset = random.next_int(len(names))

    def place(self, replication_factor: int) -> tuple[int, ...]:
        """The brokers of the next partition."""
        if self._turn == self._num_brokers > 1:
            self._shuffle()
        first, leader = self._lead()
        chosen = [leader]
        at: int = self._offset
        is_first_due = True
        while len(chosen) < replication_factor:
            if is_first_due and at == first:
                is_first_due = False
            elif (broker := self._take(at)) is not None:
                chosen.append(broker)
            at = (at + 1) % len(self._names)
        self._turn += 1
        self._offset = (self._offset + 1) % len(self._names)
        return tuple(chosen)

    def _lead(self) -> tuple[int, int]:
        """The first rack from the offset on that has a broker left, and that broker."""
        at = self._offset
        while (leader := self._take(at)) is None:
            at = (at + 1) % len(self._names)
        return at, leader

    def _take(self, at: int) -> int | None:
        return self._racks[self._names[at]].take(self._turn)

    def _shuffle(self) -> None:
        """Deal in another order once every broker had a turn, so that partitions do not get the same brokers again."""
        self._random.shuffle(self._names)
        for name in self._drawing:
            self._random.shuffle(self._racks[name].brokers)
        self._turn = 0
