"""The partitions that consumers fetch from another rack: from leaders, or from the nearest replica (KIP-392)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assignors.model.assignment import UNASSIGNED
from assignors.model.ids import TopicPartition
from simulator.results.trace import Trace

_SECONDS_PER_DAY = 86_400
_GIGABYTE = 1e9


@dataclass(frozen=True, slots=True)
class CrossRackFetches:
    """How many partitions of the source topics are fetched across racks.

    Attributes:
        partitions: partitions whose consumer is in another rack than the broker from which it fetches.
        bound: partitions without a replica in the rack of any client, which each assignment fetches across racks.
        avoidable_usd_per_day: cost of the other ones at their usual traffic; None without a price.
    """

    partitions: int
    bound: int
    avoidable_usd_per_day: float | None


def cross_rack_fetches(trace: Trace) -> CrossRackFetches | None:
    """Count the partitions that the last assignment of a run fetches across racks.

    In `trace`, leaders, replicas and `client.rack` must not change. The result is None if nothing was assigned, or a
    rack of a client or a broker is unknown.
    """
    rack_of = {broker.id: broker.rack for broker in trace.world.cluster.brokers}
    if not trace.rounds or not trace.knows_racks(trace.rounds[-1]) or None in rack_of.values():
        return None
    last = trace.rounds[-1]
    clients = trace.world.clients
    racks = {clients[row].rack for row in last.members.tolist()}
    price = trace.world.price
    partitions = bound = 0
    usd_per_day = 0.0
    for row, key in _source_partitions(trace):
        topic = trace.world.cluster.topics[key.topic]
        replicas = {rack_of[broker] for broker in topic.replicas[key.partition]}
        is_avoidable = bool(replicas & racks)
        bound += not is_avoidable
        if last.owner[row] == UNASSIGNED:
            continue
        client = clients[int(last.owner[row])]
        is_near = client.announces_rack and trace.world.cluster.reads_from_nearest_replica and client.rack in replicas
        leader_rack = rack_of[topic.leaders[key.partition]]
        if is_near or leader_rack == client.rack:
            continue
        partitions += 1
        if price is not None and is_avoidable:
            day_bytes = topic.bytes_per_s[key.partition] * _SECONDS_PER_DAY
            usd_per_day += day_bytes / _GIGABYTE * price.between(str(leader_rack), str(client.rack)).usd_per_gb
    return CrossRackFetches(partitions, bound, None if price is None else usd_per_day)


def _source_partitions(trace: Trace) -> Iterator[tuple[int, TopicPartition]]:
    """Yield the partitions that tasks read, with the row of the task."""
    layout = trace.layout
    for row in range(len(layout.tasks)):
        yield from ((row, layout.partitions[number]) for number in layout.tasks.source.row(row).tolist())
