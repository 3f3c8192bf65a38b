"""The racks of consumers and partitions, as the sticky assignors of clients use them (KIP-881).

Source: `AbstractStickyAssignor.RackInfo`, kafka-clients 3.8 to 4.3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assignors.consumers.classic_group import ClassicGroup
from assignors.consumers.rack_matching import NO_RACKS, PartitionRacks, needs_racks, racks_of_partitions
from assignors.model.consumer_group import partition_of, topic_of


@dataclass(frozen=True, slots=True)
class StickyRacks:
    """The racks of a group.

    Attributes:
        is_used: whether racks matter at all.
        consumers: rack of each member by row; None for all if racks do not matter.
        partitions: racks of the replicas of each partition, by topic; empty if racks do not matter.
        consumers_in: number of members in each rack; empty if no member has a rack.
        replicas: racks of the replicas of each partition, by topic, whether racks matter or not.
    """

    is_used: bool
    consumers: Sequence[str | None]
    partitions: Mapping[int, PartitionRacks]
    consumers_in: Mapping[str, int]
    replicas: Mapping[int, PartitionRacks]

    @classmethod
    def of(cls, group: ClassicGroup) -> StickyRacks:
        """Compare the racks of members and replicas."""
        consumers_in = Counter(rack for rack in group.racks if rack is not None)
        if not consumers_in:
            return cls(False, (None,) * len(group.racks), {}, consumers_in, {})
        replicas = {topic: racks_of_partitions(group.state.topics[topic]) for topic in group.topics}
        if not needs_racks(consumers_in, replicas):
            return cls(False, (None,) * len(group.racks), {}, consumers_in, replicas)
        return cls(True, group.racks, replicas, consumers_in, replicas)

    def of_partition(self, key: int) -> frozenset[str]:
        """Return the racks of the replicas of a partition; none if it is unknown or racks do not matter."""
        racks = self.partitions.get(topic_of(key), ())
        partition = partition_of(key)
        return racks[partition] if partition < len(racks) else NO_RACKS

    def mismatch(self, consumer: int, key: int) -> bool:
        """Return whether the consumer has a rack, and no replica of the partition is in it."""
        rack = self.consumers[consumer]
        return rack is not None and rack not in self.of_partition(key)

    def fewest_consumers_first(self, keys: Sequence[int]) -> list[int]:
        """Return partitions sorted by the number of consumers in the racks of their replicas.

        Kafka sorts whenever a consumer has a rack, even if racks do not matter.
        """
        if not self.replicas:
            return list(keys)
        count = {
            racks: sum(self.consumers_in.get(rack, 0) for rack in racks)
            for of_topic in self.replicas.values()
            for racks in set(of_topic)
        }
        return sorted(keys, key=lambda key: count[self.replicas[topic_of(key)][partition_of(key)]])
