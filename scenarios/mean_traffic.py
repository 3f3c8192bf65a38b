"""What flows in a world at the start and usually, as assignors are told it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from assignors.model.ids import TaskId
from assignors.model.traffic_rates import PartitionRate, TrafficRates
from simulator.world.layout import Layout, lay_out, row_of_values
from simulator.world.world import World


def mean_traffic(world: World) -> TrafficRates:
    """The rates, leaders and prices of a world.

    Leaders are those at the start, and rates the usual ones: the mean of a day where it was measured. What brokers lose
    later, and at which hour, changes neither.

    Complexity: O(P + T·X) for P partitions and T tasks that write to X topics.
    """
    layout = lay_out(world)
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
        writes=_written(layout, [partitions[name].leader_rack for name in layout.partitions]),
        reads_from_nearest=world.cluster.reads_from_nearest_replica,
        usd_per_gb=None if world.price is None else world.price.usd_per_gb,
    )


def _written(layout: Layout, leader_racks: list[str | None]) -> Mapping[TaskId, Mapping[str, int]]:
    """What each task writes to leaders in each rack, in bytes per second; changelogs are left out."""
    written = layout.outputs
    shares: list[dict[str, float]] = [{} for _ in written.topics]
    topic_of, partition_of = row_of_values(written.partitions).tolist(), written.partitions.values.tolist()
    for topic, partition, share in zip(topic_of, partition_of, written.partition_share.tolist(), strict=True):
        rack = leader_racks[partition]
        if rack is not None:
            shares[topic][rack] = shares[topic].get(rack, 0.0) + share
    totals: dict[TaskId, dict[str, float]] = defaultdict(dict)
    for task, topic, bytes_per_s in zip(written.task, written.topic, written.bytes_per_s, strict=True):
        of_task = totals[layout.tasks.ids[int(task)]]
        for rack, share in shares[int(topic)].items():
            of_task[rack] = of_task.get(rack, 0.0) + share * float(bytes_per_s)
    return {task: {rack: round(of_task[rack]) for rack in sorted(of_task)} for task, of_task in totals.items()}
