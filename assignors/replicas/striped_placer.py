"""The placement of a KRaft controller: new topics in stripes over racks, and over the brokers of each rack.

Guarantees: a partition's replicas are in as many racks as possible, spread evenly if the racks have enough brokers.
Leaders rotate over racks, not brokers: a broker in a small rack leads more partitions than one in a large rack.
Priority: racks in rotation; then brokers in rotation within the rack.
Complexity: O(partitions · (replicas + racks)).
Source: `org.apache.kafka.metadata.placement.StripedReplicaPlacer`, without fenced brokers: a reassignment lists only
available brokers.
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

    `racks`: the rack of every broker by id, None for a broker without a rack; such brokers count as one rack.
    `num_partitions`: at least 1. `replication_factor`: at least 1. `random`: the generator for the initial offsets, and
    for the order after each round over all brokers. Returns broker ids of each partition.
    """
    check_numbers(len(racks), num_partitions, replication_factor)
    stripes = _Stripes(racks, random)
    return tuple(stripes.place(replication_factor) for _ in range(num_partitions))


class _Rack:
    """The brokers of a rack in rotation: each once per partition; every partition starts one broker further."""

    def __init__(self, brokers: list[int], random: JavaRandom) -> None:
        self.brokers = sorted(brokers)
        self._offset = random.next_int(len(brokers))
        self._partition_number = 0
        self._num_taken = 0

    def take(self, partition_number: int) -> int | None:
        """Return the next broker for this partition; None if the partition has all of them."""
        if partition_number != self._partition_number:
            self._partition_number, self._num_taken = partition_number, 0
            self._offset = (self._offset + 1) % len(self.brokers)
        if self._num_taken == len(self.brokers):
            return None
        self._num_taken += 1
        return self.brokers[(self._num_taken - 1 + self._offset) % len(self.brokers)]


class _Stripes:
    """The racks in rotation."""

    def __init__(self, racks: Mapping[int, str | None], random: JavaRandom) -> None:
        by_rack: dict[str | None, list[int]] = {}
        for broker, rack in sorted(racks.items()):
            by_rack.setdefault(rack, []).append(broker)
        names = list(by_rack)
        # Kafka draws offsets in the order of a HashMap of racks, and takes brokers in the order of rack names.
        self._draw_order = [names[i] for i in hash_order([string_hash(name or "") for name in names])]
        self._racks = {name: _Rack(by_rack[name], random) for name in self._draw_order}
        self._names = sorted(names, key=lambda name: (name is not None, name or ""))
        self._num_brokers = len(racks)
        self._random = random
        self._partition_number = 0
        self._offset = random.next_int(len(names))

    def place(self, replication_factor: int) -> tuple[int, ...]:
        """Return the brokers of the next partition."""
        if self._partition_number == self._num_brokers > 1:
            self._shuffle()
        first, leader = self._take_leader()
        brokers = [leader]
        rack_index: int = self._offset
        skips_first = True
        while len(brokers) < replication_factor:
            if skips_first and rack_index == first:
                skips_first = False
            elif (broker := self._take(rack_index)) is not None:
                brokers.append(broker)
            rack_index = (rack_index + 1) % len(self._names)
        self._partition_number += 1
        self._offset = (self._offset + 1) % len(self._names)
        return tuple(brokers)

    def _take_leader(self) -> tuple[int, int]:
        """Return the first rack from the offset on with a broker left, and that broker."""
        rack_index = self._offset
        while (leader := self._take(rack_index)) is None:
            rack_index = (rack_index + 1) % len(self._names)
        return rack_index, leader

    def _take(self, rack_index: int) -> int | None:
        return self._racks[self._names[rack_index]].take(self._partition_number)

    def _shuffle(self) -> None:
        """Shuffle once every broker had a turn, so that partitions do not repeat the same brokers."""
        self._random.shuffle(self._names)
        for name in self._draw_order:
            self._random.shuffle(self._racks[name].brokers)
        self._partition_number = 0
