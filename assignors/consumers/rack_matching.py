"""Which replicas of partitions are in the rack of a consumer (KIP-881).

Source: `AbstractPartitionAssignor.useRackAwareAssignment`, `AbstractStickyAssignor.RackInfo`, kafka-clients 3.8 to 4.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from assignors.model.consumer_group import ConsumerTopic

NO_RACKS: frozenset[str] = frozenset()

PartitionRacks = tuple[frozenset[str], ...]
"""The known racks of the replicas of each partition of a topic."""


def racks_of_partitions(topic: ConsumerTopic) -> PartitionRacks:
    """Return the racks of each partition of a topic, without brokers that have no rack."""
    if not topic.racks:
        return (NO_RACKS,) * topic.partitions
    distinct = {racks: frozenset(rack for rack in racks if rack is not None) for racks in dict.fromkeys(topic.racks)}
    return tuple(distinct[racks] for racks in topic.racks)


def needs_racks(consumer_racks: Iterable[str], racks_by_topic: Mapping[int, PartitionRacks]) -> bool:
    """Return whether racks matter: consumers and replicas share a rack, and some partition is not in every rack."""
    distinct = {racks for of_topic in racks_by_topic.values() for racks in of_topic}
    everywhere = frozenset().union(*distinct)
    return not everywhere.isdisjoint(consumer_racks) and distinct != {everywhere}
