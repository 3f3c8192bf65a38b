"""What flows in one hour of the day, where that was measured partition by partition.

Work stays in seconds of usual input whatever the hour, so that what waits from one hour to the next keeps its bytes. So
an hour changes two things: how many seconds of usual input come in a second, and what a task reads and writes for one.

Guarantees: a task that keeps up reads of every partition what was measured, and writes to each topic that was measured
what was measured, in that hour. A topic that it writes and that was not measured goes up and down with what its writers
read. Input that waits has the mix of partitions of the hour in which it is processed. A task without usual input has
always the usual; where a task gets nothing in an hour, what it still has to catch up on has the usual mix.
Complexity: O(T + P) an hour for each topic on the longest way from a source through topics that tasks write.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from assignors.model.columns import BoolArray, IntArray
from simulator.world.layout import Changelogs, FloatArray, Layout, OutputTopics, row_of_values, shares, total
from simulator.world.world import World


@dataclass(frozen=True, slots=True, eq=False)
class HourlyRates:
    """What flows at some time of the day.

    Attributes:
        layout: the rows; its rates are for a second of usual input.
        factor: shape (T,); how many seconds of usual input come in a second.
    """

    layout: Layout
    factor: FloatArray


class HourlyTraffic:
    """The hours of a day in a world, of whose topics some have hourly rates."""

    def __init__(self, world: World, layout: Layout) -> None:
        self._topics = world.cluster.topics
        self._layout = layout
        self._reader = row_of_values(layout.tasks.source)

    def flow(self, hour: int | None) -> HourlyRates:
        """What flows in an hour from 0 to 23; None for the usual."""
        layout = self._layout
        if hour is None:
            return HourlyRates(layout, np.ones(len(layout.tasks), dtype=np.float64))
        rate = self._follow(np.where(self._is_measured, self._hourly[hour], layout.bytes_per_s))
        factor = self._factor(rate)
        per_second = self._per_second(rate, factor)
        return HourlyRates(
            replace(
                layout,
                bytes_per_s=per_second,
                input_records_per_s=self._input(per_second / self._record_bytes),
                state_bytes_per_s=total(layout.changelogs.task, per_second[layout.changelogs.partition], len(factor)),
                changelogs=self._changelogs(per_second),
                written=self._written(rate, factor),
            ),
            factor,
        )

    @cached_property
    def _is_measured(self) -> BoolArray:
        """Shape (P,)."""
        names = self._layout.partitions
        return np.array([bool(self._topics[name.topic].hourly_bytes_per_s) for name in names], dtype=np.bool_)

    @cached_property
    def _hourly(self) -> FloatArray:
        """Shape (24, P); 0 where nothing was measured."""
        hourly = np.zeros((24, len(self._layout.partitions)), dtype=np.float64)
        of_topic = {name: np.array(topic.hourly_bytes_per_s) for name, topic in self._topics.items()}
        rows = np.flatnonzero(self._is_measured).tolist()
        names = [self._layout.partitions[row] for row in rows]
        for row, name in zip(rows, names, strict=True):
            hourly[:, row] = of_topic[name.topic][:, name.partition]
        return hourly

    @cached_property
    def _record_bytes(self) -> IntArray:
        """Shape (P,)."""
        return np.array([self._topics[name.topic].record_bytes for name in self._layout.partitions], dtype=np.int64)

    def _input(self, rate: FloatArray) -> FloatArray:
        """What comes in to each task, shape (T,), from what is produced to each partition, shape (P,)."""
        return total(self._reader, rate[self._layout.tasks.source.values], len(self._layout.tasks))

    def _factor(self, rate: FloatArray) -> FloatArray:
        usual = self._layout.input_bytes_per_s
        return np.divide(self._input(rate), usual, out=np.ones_like(usual), where=usual > 0)

    def _follow(self, rate: FloatArray) -> FloatArray:
        """Let topics that tasks write follow what these read; one that feeds itself is followed a few times round."""
        written = self._layout.written
        partition, topic = written.partitions.values, row_of_values(written.partitions)
        follows = ~self._is_measured[partition]
        for _ in range(len(written.topics) + 1):
            of_task = written.bytes_per_s * self._factor(rate)[written.task]
            of_topic = total(written.topic, of_task, len(written.topics))
            followed = rate.copy()
            followed[partition[follows]] = (of_topic[topic] * written.partition_share)[follows]
            if np.array_equal(followed, rate):
                break
            rate = followed
        return rate

    def _per_second(self, rate: FloatArray, factor: FloatArray) -> FloatArray:
        """Shape (P,); bytes for a second of usual input of the task that reads a partition, or logs to it."""
        layout, changelogs = self._layout, self._layout.changelogs
        logged = self._is_measured[changelogs.partition]
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

    def _written(self, rate: FloatArray, factor: FloatArray) -> OutputTopics:
        """What was measured of a topic comes from its writers, in proportion to what they get in this hour."""
        usual = self._layout.written
        partition, topic = usual.partitions.values, row_of_values(usual.partitions)
        is_measured = total(topic, self._is_measured[partition].astype(np.float64), len(usual.topics)) > 0
        of_topic = total(topic, rate[partition], len(usual.topics))
        of_task = of_topic[usual.topic] * shares(usual.topic, self._input(rate)[usual.task])
        measured = _divide(of_task, factor[usual.task], usual.bytes_per_s)
        share = shares(topic, rate[partition], usual.partition_share)
        return replace(
            usual,
            partition_share=np.where(is_measured[topic], share, usual.partition_share),
            bytes_per_s=np.where(is_measured[usual.topic], measured, usual.bytes_per_s),
        )


def _divide(amount: FloatArray, factor: FloatArray, otherwise: FloatArray) -> FloatArray:
    """The quotient; otherwise something else where the factor is 0."""
    return np.divide(amount, factor, out=otherwise.copy(), where=factor > 0)
