"""The recorded traffic of an application: bytes by kind and pair of racks, with the routes of each moment.

For partitions whose hourly rates were measured, traffic has the rates of the hour of the day. Work is in seconds of
usual input in every hour, so that input that waits from one hour to the next keeps its bytes. An hour therefore changes
two things: how many seconds of usual input arrive per second, and what a task reads and writes for one second of usual
input.

Guarantees: in each hour, a task that keeps up reads from every measured partition the measured rate, and writes to each
measured topic the measured rate. A topic that tasks write and that was not measured follows the input of its writers.
The rate of a topic to which partitions are added is distributed over those that exist.
Waiting input has the mix of partitions of the hour in which it is processed. A task without usual input always has the
usual rates; a task without input in an hour catches up with the usual mix.
Complexity: O(T + P) per hour for each topic on the longest path from a source through written topics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from assignors.model.assignment import UNASSIGNED
from assignors.model.columns import BoolArray, IntArray
from simulator.brokers.partition_locations import PartitionLocations
from simulator.flows.processing import Processing
from simulator.flows.restoration import Restoration
from simulator.flows.traffic import Routes, TrafficBytes, TrafficKind, TrafficTotals, rack_matrix
from simulator.group.fleet import Fleet
from simulator.world.changes import RackTransfer
from simulator.world.disturbances import PartitionsAdded
from simulator.world.layout import (
    Changelogs,
    FloatArray,
    Layout,
    OutputTopics,
    rate_shares,
    row_of_values,
    shares,
    sum_by_row,
)
from simulator.world.world import World


@dataclass(frozen=True, slots=True, eq=False)
class HourlyRates:
    """The rates in an hour of the day.

    Attributes:
        layout: the layout of the run with the rates for a second of usual input in this hour.
        factor: shape (T,); how many seconds of usual input arrive per second.
    """

    layout: Layout
    factor: FloatArray


class HourlyTraffic:
    """The hourly rates of a world, in which some topics have measured hourly rates, and some get more partitions."""

    def __init__(self, world: World, layout: Layout) -> None:
        self._topics = world.cluster.topics
        self._growing = {event.topic for event in world.disturbances if isinstance(event, PartitionsAdded)}
        self._layout = layout
        self._reader = row_of_values(layout.tasks.source)

    def rates(self, hour: int | None, shares: FloatArray | None = None) -> HourlyRates:
        """Return the rates in an hour.

        `hour`: from 0 to 23; None for the usual rates. `shares`: as `simulator.world.layout.rate_shares`.
        """
        layout = self._layout
        if hour is None and shares is None:
            return HourlyRates(layout, np.ones(len(layout.tasks), dtype=np.float64))
        stated = layout.bytes_per_s
        if hour is not None:
            stated = np.where(self._is_measured, self._hourly[hour], stated)
        rate = self._follow(stated if shares is None else stated * shares)
        factor = self._factor(rate)
        per_second = self._per_second(rate, factor)
        return HourlyRates(
            replace(
                layout,
                bytes_per_s=per_second,
                input_records_per_s=self._input(per_second / self._record_bytes),
                state_bytes_per_s=sum_by_row(
                    layout.changelogs.task, per_second[layout.changelogs.partition], len(factor)
                ),
                changelogs=self._changelogs(per_second),
                outputs=self._output_topics(rate, factor),
            ),
            factor,
        )

    @cached_property
    def _is_measured(self) -> BoolArray:
        """Return whether hourly rates of each partition were measured, shape (P,)."""
        names = self._layout.partitions
        return np.array([bool(self._topics[name.topic].hourly_bytes_per_s) for name in names], dtype=np.bool_)

    @cached_property
    def _is_stated(self) -> BoolArray:
        """Return whether the rate of each partition follows from what is stated of its own topic, shape (P,)."""
        grows = [name.topic in self._growing for name in self._layout.partitions]
        return self._is_measured | np.array(grows, dtype=np.bool_)

    @cached_property
    def _hourly(self) -> FloatArray:
        """Return the measured rates, shape (24, P); 0 where nothing was measured."""
        hourly = np.zeros((24, len(self._layout.partitions)), dtype=np.float64)
        of_topic = {name: np.array(topic.hourly_bytes_per_s) for name, topic in self._topics.items()}
        rows = np.flatnonzero(self._is_measured).tolist()
        names = [self._layout.partitions[row] for row in rows]
        for row, name in zip(rows, names, strict=True):
            hourly[:, row] = of_topic[name.topic][:, name.partition]
        return hourly

    @cached_property
    def _record_bytes(self) -> IntArray:
        """Return the mean record size of each partition, shape (P,)."""
        return np.array([self._topics[name.topic].record_bytes for name in self._layout.partitions], dtype=np.int64)

    def _input(self, rate: FloatArray) -> FloatArray:
        """Return the input of each task, shape (T,), from the production rate of each partition, shape (P,)."""
        return sum_by_row(self._reader, rate[self._layout.tasks.source.values], len(self._layout.tasks))

    def _factor(self, rate: FloatArray) -> FloatArray:
        usual = self._layout.input_bytes_per_s
        return np.divide(self._input(rate), usual, out=np.ones_like(usual), where=usual > 0)

    def _follow(self, rate: FloatArray) -> FloatArray:
        """Return the rates where unmeasured written topics follow the input of their writers.

        A topic that feeds itself is followed a limited number of times.
        """
        outputs = self._layout.outputs
        partition, topic = outputs.partitions.values, row_of_values(outputs.partitions)
        follows = ~self._is_stated[partition]
        for _ in range(len(outputs.topics) + 1):
            of_task = outputs.bytes_per_s * self._factor(rate)[outputs.task]
            of_topic = sum_by_row(outputs.topic, of_task, len(outputs.topics))
            followed = rate.copy()
            followed[partition[follows]] = (of_topic[topic] * outputs.partition_share)[follows]
            if np.array_equal(followed, rate):
                break
            rate = followed
        return rate

    def _per_second(self, rate: FloatArray, factor: FloatArray) -> FloatArray:
        """Return bytes per second of usual input of the task that reads a partition or logs to it, shape (P,)."""
        layout, changelogs = self._layout, self._layout.changelogs
        logged = self._is_stated[changelogs.partition]
        partition = np.concatenate((layout.tasks.source.values, changelogs.partition[logged]))
        task = np.concatenate((self._reader, changelogs.task[logged]))
        per_second = layout.bytes_per_s.copy()
        per_second[partition] = _divide(rate[partition], factor[task], per_second[partition])
        return per_second

    def _changelogs(self, per_second: FloatArray) -> Changelogs:
        usual = self._layout.changelogs
        rate = per_second[usual.partition]
        return replace(
            usual,
            followed_share=shares(usual.task, rate, usual.followed_share),
            written_bytes_per_s=np.where(usual.written_bytes_per_s > 0, rate, 0.0),
        )

    def _output_topics(self, rate: FloatArray, factor: FloatArray) -> OutputTopics:
        """Distribute the measured rate of each topic over its writers, in proportion to their input in this hour."""
        usual = self._layout.outputs
        partition, topic = usual.partitions.values, row_of_values(usual.partitions)
        is_measured = sum_by_row(topic, self._is_stated[partition].astype(np.float64), len(usual.topics)) > 0
        of_topic = sum_by_row(topic, rate[partition], len(usual.topics))
        of_task = of_topic[usual.topic] * shares(usual.topic, self._input(rate)[usual.task])
        measured = _divide(of_task, factor[usual.task], usual.bytes_per_s)
        share = shares(topic, rate[partition], usual.partition_share)
        return replace(
            usual,
            partition_share=np.where(is_measured[topic], share, usual.partition_share),
            bytes_per_s=np.where(is_measured[usual.topic], measured, usual.bytes_per_s),
        )


def _divide(amount: FloatArray, factor: FloatArray, otherwise: FloatArray) -> FloatArray:
    """Return amount / factor, or `otherwise` where the factor is 0."""
    return np.divide(amount, factor, out=otherwise.copy(), where=factor > 0)


class TrafficRecord:
    """Adds up what tasks and copies have read and written, before their owners or the routes of bytes change.

    Attributes:
        rates: the rates of the current hour of the day.
        usual: the rates at the usual traffic, with the partitions that exist.
        routes: the routes of bytes between racks with the current leaders and replicas, at the usual traffic.
    """

    def __init__(self, world: World, layout: Layout, locations: PartitionLocations) -> None:
        self._layout = layout
        self._locations = locations
        self._from_nearest = world.cluster.reads_from_nearest_replica
        self._hourly_traffic = HourlyTraffic(world, layout)
        self._hour: int | None = None
        self._shares = rate_shares(world, layout, 0)
        self.rates = self.usual = self._hourly_traffic.rates(None, self._shares)
        self.routes = self._hourly_routes = self._routes(self.usual)
        self._totals = TrafficTotals(len(layout.racks))
        self._reassignment_bytes_per_s = rack_matrix(layout.racks, ())
        self._reassignment_bytes = rack_matrix(layout.racks, ())
        self._is_reassigning = False
        self._has_flowed = False

    def note_flow(self, seconds: Sequence[float]) -> None:
        """Note that work may have been done in some steps in time, in which reassignments went on."""
        self._has_flowed = self._has_flowed or bool(seconds)
        if self._is_reassigning:
            for duration_s in seconds:
                self._reassignment_bytes += self._reassignment_bytes_per_s * duration_s

    def record(self, processing: Processing, restoration: Restoration, owner: IntArray, fleet: Fleet) -> None:
        """Record the traffic since the last call.

        `processing`: the work of the tasks. `restoration`: the reads of the copies. `owner`, shape (T,): the client of
        each task in that time, UNASSIGNED if none. `fleet`: the racks of the clients.
        """
        if not self._has_flowed:
            return
        self._has_flowed = False
        work, routes, racks, announces = processing.take_work(), self._hourly_routes, fleet.rack, fleet.announces
        (tasks,) = ((work > 0) & (owner != UNASSIGNED)).nonzero()
        if len(tasks):
            clients = owner[tasks]
            self._totals.add(routes.processing(work[tasks], tasks, racks[clients], announces[clients]))
        for kind, read, read_tasks, clients in restoration.reads.take():
            self._totals.add(routes.changelog_reads(kind, read, read_tasks, racks[clients], announces[clients]))

    def take(self) -> TrafficBytes:
        """Return the recorded bytes since the last call, by kind and pair of racks, and start counting anew."""
        self._totals.add({TrafficKind.REASSIGNMENT: self._reassignment_bytes})
        self._reassignment_bytes = np.zeros_like(self._reassignment_bytes)
        return self._totals.take()

    def update_locations(self, locations: PartitionLocations) -> None:
        """Use other leaders and replicas from now on."""
        self._locations = locations
        self.routes = self._routes(self.usual)
        self._update_hourly_routes()

    def set_hour(self, hour: int | None) -> None:
        """Use the rates of an hour of the day from now on; None for the usual ones."""
        self._hour, self.rates = hour, self._hourly_traffic.rates(hour, self._shares)
        self._update_hourly_routes()

    def set_shares(self, shares: FloatArray | None) -> None:
        """Distribute the rates of topics over partitions from now on as `rate_shares` says."""
        self._shares = shares
        self.usual = self._hourly_traffic.rates(None, shares)
        self.routes = self._routes(self.usual)
        self.set_hour(self._hour)

    def is_hour(self, hour: int | None) -> bool:
        """Return whether the rates are those of an hour, or the usual ones."""
        return hour == self._hour

    def set_reassignment(self, copied: Sequence[RackTransfer], copying: Sequence[RackTransfer]) -> None:
        """Set the traffic of reassignments.

        `copied`: bytes that unthrottled replicas copied instantly; `copying`: bytes per second that are copied from now
        on.
        """
        self._reassignment_bytes += rack_matrix(self._layout.racks, copied)
        self._reassignment_bytes_per_s = rack_matrix(self._layout.racks, copying)
        self._is_reassigning = bool(self._reassignment_bytes_per_s.any())

    def _update_hourly_routes(self) -> None:
        """Recompute the routes for the current hour."""
        is_usual = self.rates.layout is self.usual.layout
        self._hourly_routes = self.routes if is_usual else self._routes(self.rates)

    def _routes(self, rates: HourlyRates) -> Routes:
        return Routes(rates.layout, self._locations, from_nearest=self._from_nearest)
