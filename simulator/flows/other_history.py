"""The traffic of other producers and consumer groups over a whole run.

It depends on the cluster, the hour and the events, never on the assignor or the group. So it is computed before the run
from the timeline: rates that are constant between two changes, and bytes that replicas fetch at once when their brokers
return.

Guarantees: a replica that is out of sync fetches nothing, and what its partition stored until then when it is in sync
again, which is immediately when its broker is back (as for all replicas; see `simulator.brokers.replication_control`).
Complexity: O(S · P) for S changes of leaders, replicas or hours; changes of the factor alone cost O(1).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from assignors.model.columns import IntArray
from assignors.model.ids import TopicPartition
from simulator.brokers.partition_locations import ClusterMetadata, PartitionLocations
from simulator.flows.other_rates import OtherRates, flows_of, topics_of_others
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
from simulator.world.layout import FloatArray, Layout, lay_out
from simulator.world.other_traffic import OtherTraffic
from simulator.world.world import World

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
        from_ms: its start.
        factor: the multiple of the rates.
        moment: the rates.
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
        cells = np.unique(rows * self._num_brokers + brokers)
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
