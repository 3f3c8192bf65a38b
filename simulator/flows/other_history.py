"""The traffic of other producers and consumer groups over a whole run.

It depends on the cluster, the hour and the events, never on the assignor or the group. So it is computed before the run
from the timeline: rates that are constant between two changes, and bytes that replicas fetch at once when their brokers
return.

Guarantees: a replica that is out of sync fetches nothing, and what its partition stored until then when it is in sync
again, which is immediately when its broker is back (as for all replicas; see `simulator.brokers.replication_control`).
Complexity: O(S · P) for S changes of leaders, replicas or hours; changes of the factor alone cost O(1).

Rates hold between pairs of racks, with the leaders and ISRs of one moment: the bytes that producers write to a topic
are those that it stores, and in-sync followers fetch the same bytes. A partition that takes no writes with `acks=all`
(Kafka's default) is neither written nor read. A group reads each partition from a rack in proportion to its members
there: from a replica in that rack if brokers select the nearest and the group announces its racks, else from the
leader. Rack-aware producers spread their bytes evenly over the partitions of a topic whose leaders are in their rack;
without any, over all partitions that take writes.

Complexity: O(P · R) per producer, group and rack, for P partitions and R racks.
Source: `BuiltInPartitioner` (KIP-1123, Kafka 4.4), `RackAwareReplicaSelector` (KIP-392).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assignors.model.columns import IntArray, distinct
from assignors.model.ids import TopicPartition
from simulator.brokers.partition_locations import ClusterMetadata, PartitionLocations
from simulator.flows.traffic import TrafficBytes, TrafficKind
from simulator.world.changes import (
    BrokersDown,
    BrokersUp,
    ReplicasSet,
    ReplicaStates,
    ReplicationStep,
    TimedChange,
    TrafficScaled,
)
from simulator.world.layout import FloatArray, Layout, lay_out, sum_by_row
from simulator.world.world import OtherGroup, OtherProducer, OtherTraffic, World, topics_written_by


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
        row_of = {name: row for row, name in enumerate(dict.fromkeys(name.topic for name in partitions))}
        self._topic: IntArray = np.array([row_of[name.topic] for name in partitions], dtype=np.int64)
        self._rows_of = {name: np.flatnonzero(self._topic == row) for name, row in row_of.items()}

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


_KINDS = (TrafficKind.PRODUCE, TrafficKind.PRODUCE_REPLICATION, TrafficKind.OTHER_READ)
_USUAL = 24
"""The row of the usual rates, after those of the 24 hours."""


@dataclass(frozen=True, slots=True, eq=False)
class _Moment:
    """The rates at usual leaders and replicas of a moment, at one hour.

    Attributes:
        locations: the leaders and replicas.
        stored: shape (P,); bytes per second that each partition stores.
        by_flow: shape (F, C, C).
        by_kind: shape (3, C, C).
    """

    locations: PartitionLocations
    stored: FloatArray
    by_flow: FloatArray
    by_kind: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class _Interval:
    """A time during which rates are constant.

    Attributes:
        factor: the multiple of the rates.
        steady: the rates of a usual hour.
        before: shape (3, C, C); bytes by kind up to its start, with what replicas caught up at that time.
    """

    from_ms: int
    factor: float
    moment: _Moment
    steady: _Moment
    before: FloatArray


class OtherTrafficHistory:
    """The bytes of F flows between C racks, R of the layout and no rack, at any time of a run."""

    def __init__(self, world: World, other: OtherTraffic, layout: Layout, changes: Iterable[TimedChange]) -> None:
        """Compute the history.

        `world`: the cluster and its topics; `other`: the producers and groups; `layout`: the racks of the run;
        `changes`: the timeline of the run.
        """
        replicated, topics = topics_of_others(world, other)
        self._topics = [world.cluster.topics[name] for name in topics]
        names = [TopicPartition(topic.name, p) for topic in self._topics for p in range(topic.num_partitions)]
        self.flows = flows_of(other, replicated)
        self._count = len(layout.racks) + 1
        self._from_nearest = world.cluster.reads_from_nearest_replica
        self._metadata = ClusterMetadata(world, _layout_of(world, names))
        self._rates = OtherRates(other, layout.racks, names)
        self._kind: IntArray = np.array([_KINDS.index(flow.kind) for flow in self.flows], dtype=np.int64)
        flow_of = {flow.topic: i for i, flow in enumerate(self.flows) if flow.kind is TrafficKind.PRODUCE_REPLICATION}
        self._replication_flow: IntArray = np.array([flow_of.get(name.topic, -1) for name in names], dtype=np.int64)
        self._num_brokers = len(world.cluster.brokers) + 1  # The last row is for brokers that the cluster lacks.
        self._factor, self._hour = 1.0, _USUAL
        self._usual_of: dict[int, FloatArray] = {}
        self._cached: dict[int, _Moment] = {}
        self._lagging: IntArray = np.zeros(0, dtype=np.int64)
        self._behind: FloatArray = np.zeros(0, dtype=np.float64)
        self._intervals: list[_Interval] = []
        self._caught_up: list[tuple[int, FloatArray]] = []
        self._update_lagging(0)
        self._begin(0, np.zeros((len(_KINDS), self._count, self._count), dtype=np.float64))
        for timed in changes:
            if timed.at_ms >= world.duration_ms:
                break
            self._apply(timed)
        self._times = [interval.from_ms for interval in self._intervals]

    def between(self, from_ms: int, until_ms: int) -> TrafficBytes:
        """Return the bytes from one time, inclusive, to another by kind."""
        passed = np.maximum(self._until(until_ms) - self._until(from_ms), 0.0)
        return dict(zip(_KINDS, passed, strict=True))

    def steady_state(self, at_ms: int) -> TrafficBytes:
        """Return bytes per second by kind at the usual traffic, with the leaders and replicas of a time."""
        interval = self._intervals[bisect_right(self._times, at_ms) - 1]
        return dict(zip(_KINDS, interval.steady.by_kind, strict=True))

    def flow_bytes(self, until_ms: int) -> FloatArray:
        """Return the bytes from the start to a time by flow, from rack and to rack, shape (F, C, C)."""
        total = self._zeros()
        ends = [*self._times[1:], until_ms]
        for interval, end_ms in zip(self._intervals, ends, strict=True):
            passed_s = max(min(end_ms, until_ms) - interval.from_ms, 0) / 1000
            total += interval.moment.by_flow * (interval.factor * passed_s)
        for at_ms, fetched in self._caught_up:
            if at_ms < until_ms:
                total += fetched
        return total

    def _until(self, at_ms: int) -> FloatArray:
        """Return the bytes by kind up to a time, without what replicas catch up at that time."""
        interval = self._intervals[max(bisect_right(self._times, at_ms - 1) - 1, 0)]
        passed_s = (at_ms - interval.from_ms) / 1000
        passed: FloatArray = interval.before + interval.moment.by_kind * (interval.factor * passed_s)
        return passed

    def _zeros(self) -> FloatArray:
        return np.zeros((len(self.flows), self._count, self._count), dtype=np.float64)

    def _by_kind(self, by_flow: FloatArray) -> FloatArray:
        totals = np.zeros((len(_KINDS), self._count, self._count), dtype=np.float64)
        np.add.at(totals, self._kind, by_flow)
        return totals

    def _apply(self, timed: TimedChange) -> None:
        at_ms, before = timed.at_ms, self._advanced(timed.at_ms)
        match timed.change:
            case TrafficScaled(factor=factor, hour=hour):
                self._factor, self._hour = factor, _USUAL if hour is None else hour
            case BrokersDown(brokers=brokers, states=states):
                self._metadata.stop_brokers(brokers)
                self._metadata.apply(states)
            case BrokersUp(brokers=brokers, states=states):
                self._metadata.start_brokers(brokers)
                self._metadata.apply(states)
            case ReplicasSet(states=states):
                self._metadata.apply(states)
            case ReplicationStep(states=ReplicaStates() as states):
                self._metadata.apply(states)
            case _:
                return
        last = self._intervals[-1]
        stored = last.moment.stored * last.factor
        self._behind = self._behind + stored[self._lagging // self._num_brokers] * ((at_ms - last.from_ms) / 1000)
        if at_ms == last.from_ms:
            del self._intervals[-1]
        self._begin(at_ms, before + self._update_lagging(at_ms))

    def _advanced(self, at_ms: int) -> FloatArray:
        """Return the bytes by kind up to a time, with what replicas caught up at that time already."""
        last = self._intervals[-1]
        passed: FloatArray = last.before + last.moment.by_kind * (last.factor * (at_ms - last.from_ms) / 1000)
        return passed

    def _begin(self, at_ms: int, before: FloatArray) -> None:
        """Begin an interval."""
        moment, steady = self._moment(self._hour), self._moment(_USUAL)
        self._intervals.append(_Interval(at_ms, self._factor, moment, steady, before))

    def _moment(self, hour: int) -> _Moment:
        """Return the rates in an hour; they are computed again when locations have changed."""
        locations, cached = self._metadata.locations(), self._cached.get(hour)
        if cached is None or cached.locations is not locations:
            usual = self._usual(hour)
            stored = self._rates.stored(usual, locations)
            by_flow = self._rates.rates(self.flows, usual, stored, locations, from_nearest=self._from_nearest)
            cached = self._cached[hour] = _Moment(locations, stored, by_flow, self._by_kind(by_flow))
        return cached

    def _usual(self, hour: int) -> FloatArray:
        if hour not in self._usual_of:
            rates = [
                topic.bytes_per_s if hour == _USUAL or not topic.hourly_bytes_per_s else topic.hourly_bytes_per_s[hour]
                for topic in self._topics
            ]
            self._usual_of[hour] = np.array([rate for of_topic in rates for rate in of_topic], dtype=np.float64)
        return self._usual_of[hour]

    def _update_lagging(self, now_ms: int) -> FloatArray:
        """Update which replicas are out of sync; return what those fetch that are back, by kind, shape (3, C, C)."""
        rows, brokers = self._metadata.lagging_replicas()
        cells = distinct(rows * self._num_brokers + brokers)
        has_returned = ~np.isin(self._lagging, cells)
        fetched = self._fetched(self._lagging[has_returned], self._behind[has_returned])
        if fetched.any():
            self._caught_up.append((now_ms, fetched))
        behind = np.zeros(len(cells), dtype=np.float64)
        behind[np.searchsorted(cells, self._lagging[~has_returned])] = self._behind[~has_returned]
        self._lagging, self._behind = cells, behind
        return self._by_kind(fetched)

    def _fetched(self, cells: IntArray, amounts: FloatArray) -> FloatArray:
        """Return what replicas that are in sync again fetch from the leaders, shape (F, C, C); moved ones do not."""
        fetched = self._zeros()
        rows, brokers = cells // self._num_brokers, cells % self._num_brokers
        kept = np.flatnonzero(self._metadata.holds(rows, brokers))
        rows, brokers, amounts = rows[kept], brokers[kept], amounts[kept]
        flows = self._replication_flow[rows]
        sources = self._metadata.locations().leader_rack[rows] % self._count
        targets = self._metadata.racks_of(brokers) % self._count
        known = flows >= 0
        np.add.at(fetched, (flows[known], sources[known], targets[known]), amounts[known])
        return fetched


def _layout_of(world: World, names: list[TopicPartition]) -> Layout:
    """Return a layout without tasks that has other partitions, for the metadata of the cluster."""
    without_tasks = lay_out(replace(world, application=replace(world.application, subtopologies=())))
    return replace(without_tasks, partitions=tuple(names), num_read=0)
