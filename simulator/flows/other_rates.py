"""The rates of other producers and consumer groups between pairs of racks, with the leaders and ISRs of one moment.

Guarantees: the bytes that producers write to a topic are those that it stores, and in-sync followers fetch the same
bytes. A partition that takes no writes with `acks=all` (Kafka's default) is neither written nor read. A group reads
each partition from a rack in proportion to its members there: from a replica in that rack if brokers select the nearest
and the group announces its racks, else from the leader. Rack-aware producers spread their bytes evenly over the
partitions of a topic whose leaders are in their rack; without any, over all partitions that take writes.

Complexity: O(P · R) per producer, group and rack, for P partitions and R racks.
Source: `BuiltInPartitioner` (KIP-1123, Kafka 4.4), `RackAwareReplicaSelector` (KIP-392).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from assignors.model.columns import IntArray
from assignors.model.ids import TopicPartition
from simulator.brokers.partition_locations import PartitionLocations
from simulator.flows.traffic import TrafficKind
from simulator.world.layout import FloatArray, sum_by_row
from simulator.world.other_traffic import OtherGroup, OtherProducer, OtherTraffic
from simulator.world.world import World, topics_written_by


@dataclass(frozen=True, slots=True)
class OtherFlow:
    """One part of the other traffic.

    Attributes:
        kind: PRODUCE, PRODUCE_REPLICATION or OTHER_READ.
        name: the producer or group; None for replication.
    """

    kind: TrafficKind
    name: str | None
    topic: str


def flows_of(other: OtherTraffic, replicated: Sequence[str]) -> tuple[OtherFlow, ...]:
    """Return the parts of the other traffic.

    `other`: the producers and groups; `replicated`: the topics that the application does not write.
    """
    return (
        *(OtherFlow(TrafficKind.PRODUCE, user.name, topic) for user in other.producers for topic in user.share_of),
        *(OtherFlow(TrafficKind.PRODUCE_REPLICATION, None, topic) for topic in replicated),
        *(OtherFlow(TrafficKind.OTHER_READ, user.name, topic) for user in other.groups for topic in user.topics),
    )


def topics_of_others(world: World, other: OtherTraffic) -> tuple[list[str], list[str]]:
    """Return the topics that are replicated for others than the application, and all topics of the other traffic."""
    own = frozenset(topics_written_by(world.application.subtopologies))
    replicated = [name for name in world.cluster.topics if name not in own]
    read_by_groups = dict.fromkeys(topic for group in other.groups for topic in group.topics)
    return replicated, [*replicated, *(name for name in read_by_groups if name in own)]


class OtherRates:
    """Computes the rates of F flows between C = R + 1 racks; the last one is for no rack."""

    def __init__(self, other: OtherTraffic, racks: Sequence[str], partitions: Sequence[TopicPartition]) -> None:
        """Prepare the rows.

        `other`: the producers and groups; `partitions`: the P partitions, those of one topic in a row.
        """
        self._other = other
        self._count = len(racks) + 1
        self._column_of = {rack: column for column, rack in enumerate(racks)}
        names = list(dict.fromkeys(name.topic for name in partitions))
        row_of = {name: row for row, name in enumerate(names)}
        self._num_topics = len(names)
        self._topic: IntArray = np.array([row_of[name.topic] for name in partitions], dtype=np.int64)
        self._rows_of = {name: np.flatnonzero(self._topic == row) for name, row in row_of.items()}
        self._topic_names = names

    def stored(self, usual: FloatArray, locations: PartitionLocations) -> FloatArray:
        """Return the bytes per second that each partition stores, shape (P,).

        `usual`, shape (P,): the rates that the scenario states, without the preferences of rack-aware producers.
        `locations`: the current leaders.
        """
        stored = usual * locations.takes_writes
        for producer in self._other.producers:
            if producer.is_rack_aware:
                for topic, share in producer.share_of.items():
                    rows = self._rows_of[topic]
                    stored[rows] += share * (self._spread(producer, rows, usual, locations).sum(axis=0) - usual[rows])
                    stored[rows] = np.maximum(stored[rows], 0.0) * locations.takes_writes[rows]
        return stored

    def rates(
        self,
        flows: Sequence[OtherFlow],
        usual: FloatArray,
        stored: FloatArray,
        locations: PartitionLocations,
        *,
        from_nearest: bool,
    ) -> FloatArray:
        """Return bytes per second by flow, from rack and to rack, shape (F, C, C).

        `usual` and `stored`, shape (P,): see `stored`. `from_nearest` says whether brokers select the replica in the
        rack that a consumer announces.
        """
        producers = {producer.name: producer for producer in self._other.producers}
        groups = {group.name: group for group in self._other.groups}
        matrices = np.zeros((len(flows), self._count, self._count), dtype=np.float64)
        for index, flow in enumerate(flows):
            rows = self._rows_of[flow.topic]
            match flow.kind:
                case TrafficKind.PRODUCE:
                    cells = self._produced(producers[str(flow.name)], flow.topic, rows, usual, locations)
                case TrafficKind.OTHER_READ:
                    cells = self._read(groups[str(flow.name)], flow.topic, rows, stored, locations, from_nearest)
                case _:
                    cells = self._replicated(rows, stored, locations)
            for sources, targets, amounts in cells:
                flat = sum_by_row(sources * self._count + targets, amounts, self._count**2)
                matrices[index] += flat.reshape(self._count, self._count)
        return matrices

    def _spread(
        self, producer: OtherProducer, rows: IntArray, usual: FloatArray, locations: PartitionLocations
    ) -> FloatArray:
        """Return how a producer's share of a topic is spread, as if the share were 1: by rack of the producer and row.

        The result has shape (places of the producer, rows): bytes per second.
        """
        is_writable, leader = locations.takes_writes[rows], locations.leader_rack[rows]
        spread = np.zeros((len(producer.racks), len(rows)), dtype=np.float64)
        for place, (rack, share) in enumerate(producer.racks):
            if not producer.is_rack_aware:
                spread[place] = share * usual[rows] * is_writable
                continue
            near = is_writable & (leader == self._column_of[rack])
            chosen = near if near.any() else is_writable
            if chosen.any():
                spread[place] = share * usual[rows].sum() * chosen / np.count_nonzero(chosen)
        return spread

    def _produced(
        self, producer: OtherProducer, topic: str, rows: IntArray, usual: FloatArray, locations: PartitionLocations
    ) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
        sent = producer.share_of[topic] * (self._other.sent_per_stored_byte(producer, topic) or 1.0)
        leader = locations.leader_rack[rows] % self._count
        for (rack, _), amounts in zip(producer.racks, self._spread(producer, rows, usual, locations), strict=True):
            yield np.full(len(rows), self._column_of[rack]), leader, sent * amounts

    def _read(
        self,
        group: OtherGroup,
        topic: str,
        rows: IntArray,
        stored: FloatArray,
        locations: PartitionLocations,
        from_nearest: bool,
    ) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
        leader = locations.leader_rack[rows] % self._count
        for rack, share in group.racks:
            column = self._column_of[rack]
            served_from = leader
            if from_nearest and group.announces_rack:
                served_from = np.where(locations.served_in[rows, column], column, leader)
            yield served_from, np.full(len(rows), column), group.reads_of(topic) * share * stored[rows]

    def _replicated(
        self, rows: IntArray, stored: FloatArray, locations: PartitionLocations
    ) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
        leader = locations.leader_rack[rows] % self._count
        for column in range(self._count):
            followers = locations.followers[rows, column]
            if followers.any():
                yield leader, np.full(len(rows), column), stored[rows] * followers
