"""The mean traffic of a world, as input of rate-aware assignors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from assignors.model.ids import TaskId
from assignors.model.traffic_rates import PartitionRate, TrafficRates
from simulator.world.layout import Layout, row_of_values
from simulator.world.world import World


def mean_traffic(world: World, layout: Layout) -> TrafficRates:
    """Return the rates, leader racks and prices of a world.

    Leaders are those at the start. Rates are the configured ones, or the daily mean of measured ones. Later broker
    failures and the hour of the day have no influence. `layout`: its tasks and partitions.

    Complexity: O(P + T·X) for P partitions and T tasks that write to X topics.
    """
    racks = {broker.id: broker.rack for broker in world.cluster.brokers}
    topics = world.cluster.topics
    partitions = {}
    for name in layout.partitions:
        topic = topics[name.topic]
        partitions[name] = PartitionRate(
            bytes_per_s=topic.bytes_per_s[name.partition],
            leader_rack=racks.get(topic.leaders[name.partition]),
            size_bytes=topic.size_bytes[name.partition],
            record_bytes=topic.record_bytes,
        )
    return TrafficRates(
        partitions=partitions,
        writes=_write_rates(layout, [partitions[name].leader_rack for name in layout.partitions]),
        reads_from_nearest=world.cluster.reads_from_nearest_replica,
        usd_per_gb=None if world.price is None else world.price.usd_per_gb,
    )


def _write_rates(layout: Layout, leader_racks: list[str | None]) -> Mapping[TaskId, Mapping[str, int]]:
    """Return the rate at which each task writes to leaders in each rack, in bytes per second, without changelogs."""
    written = layout.outputs
    shares: list[dict[str, float]] = [{} for _ in written.topics]
    topic_of, partition_of = row_of_values(written.partitions).tolist(), written.partitions.values.tolist()
    for topic, partition, share in zip(topic_of, partition_of, written.partition_share.tolist(), strict=True):
        rack = leader_racks[partition]
        if rack is not None:
            shares[topic][rack] = shares[topic].get(rack, 0.0) + share
    totals: dict[TaskId, dict[str, float]] = defaultdict(dict)
    for task, topic, bytes_per_s in zip(written.task, written.topic, written.bytes_per_s, strict=True):
        rates = totals[layout.tasks.ids[int(task)]]
        for rack, share in shares[int(topic)].items():
            rates[rack] = rates.get(rack, 0.0) + share * float(bytes_per_s)
    return {task: {rack: round(rates[rack]) for rack in sorted(rates)} for task, rates in totals.items()}
