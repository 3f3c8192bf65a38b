"""Samples aggregated by hour of the day as NumPy arrays; does not import Spark."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pipeline.ingest.sample_arrays import HOUR_MS, Flags, Integers, Numbers, Samples

COUNTS = ("duplicates", "conflicts", "late", "resets", "gaps", "missing")

PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}

RATES = ("bytes_per_s", "messages_per_s")

HOURS = 24

_SHARES = np.array(list(PERCENTILES.values()))
_UNKNOWN = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Groups:
    """The group of each value; values keep their order within a group.

    Attributes:
        group: number of the group; shape (values,).
        order: the values by group; shape (values,).
        sizes: number of values; shape (groups,).
    """

    group: Integers
    order: Integers
    sizes: Integers

    @classmethod
    def of(cls, group: Integers, count: int) -> Groups:
        """Sort values by group."""
        # NumPy sorts small numbers by radix.
        small = group.astype(np.uint16) if count <= np.iinfo(np.uint16).max else group
        return cls(group, np.argsort(small, kind="stable"), np.bincount(group, minlength=count))

    def sum(self, values: npt.NDArray[np.generic]) -> Integers:
        """Return the sum of whole numbers by group."""
        return np.bincount(self.group, values, len(self.sizes)).astype(np.int64)

    def extreme(self, function: np.ufunc, values: Integers, default: int) -> Integers:
        """Return the minimum or maximum by group; the default without values."""
        extremes = np.full(len(self.sizes), default)
        present = self.sizes > 0
        if present.any():
            starts = (np.cumsum(self.sizes) - self.sizes)[present]
            extremes[present] = function.reduceat(values[self.order], starts)
        return extremes


@dataclass(frozen=True, slots=True)
class RatesByHour:
    """Rates of intervals, divided by hour of the day; all arrays have shape (parts,).

    Attributes:
        key: number of the topic and partition, times 24, plus the hour.
        rates: bytes and messages per second; NaN where not measured.
        duration_ms: how much of the interval is in the hour, on all its days.
        counts: whether percentiles count the interval: if half of it is in the hour, or half of the hour is in it.
    """

    key: Integers
    rates: tuple[Numbers, Numbers]
    duration_ms: Integers
    counts: Flags

    @classmethod
    def divide(
        cls, number: Integers, start: Integers, end: Integers, span_ms: Integers, rates: tuple[Numbers, Numbers]
    ) -> RatesByHour:
        """Divide intervals by the hours of the day that they cover.

        `number`: number of the topic and partition of each interval; shape (intervals,). `start`: where it starts, in
        ms since 1970. `end`: where it ends, after its start. `span_ms`: its length, or that of the interval that it is
        a part of. `rates`: bytes and messages per second in it. Returns one part per interval and hour of the day.
        """
        first = start // HOUR_MS
        count = np.minimum((end - 1) // HOUR_MS - first + 1, HOURS)
        of = np.repeat(np.arange(len(count)), count)
        hour = (first[of] + np.arange(len(of)) - np.repeat(np.cumsum(count) - count, count)) % HOURS
        duration = _time_in_hour(end[of], hour) - _time_in_hour(start[of], hour)
        counts = 2 * duration >= np.minimum(span_ms[of], HOUR_MS)
        return cls(number[of] * HOURS + hour, (rates[0][of], rates[1][of]), duration, counts)


def _time_in_hour(time: Integers, hour: Integers) -> Integers:
    """Return how long it was an hour of the day from 1970 to a time."""
    day, within = np.divmod(time, HOURS * HOUR_MS)
    return day * HOUR_MS + np.clip(within - hour * HOUR_MS, 0, HOUR_MS)


def aggregate_by_hour(samples: Samples, number: Integers, hourly: RatesByHour) -> tuple[Integers, dict[str, pa.Array]]:
    """Aggregate samples by topic, partition and hour of the day.

    Percentiles are exact (linear interpolation between the two nearest rates) over the intervals that count in the
    hour, or all if none does; means weight each rate by its time in the hour. `samples`: the samples; they count in the
    hour in which their interval ends. Returns the keys of `RatesByHour` that occur, ascending; and by name, the columns
    of `hourly_worker.SCHEMA` from `rows` on.
    """
    own = number * HOURS + (samples.end - 1) // HOUR_MS % HOURS
    keys, group = np.unique(np.concatenate([own, hourly.key]), return_inverse=True)
    readings, parts = Groups.of(group[: len(own)], len(keys)), group[len(own) :]
    is_sample = ~np.isnan(samples.rates[0]) | ~np.isnan(samples.rates[1])
    columns = {"rows": pa.array(readings.sizes), "intervals": pa.array(readings.sum(is_sample))}
    sampled = []
    distributions = {}
    for name, rate in zip(RATES, hourly.rates, strict=True):
        valid = ~np.isnan(rate)
        of, rate_of, duration = parts[valid], rate[valid], hourly.duration_ms[valid]
        time = np.bincount(of, duration, len(keys))
        mean = np.bincount(of, rate_of * duration, len(keys)) / np.maximum(time, 1)
        counts = hourly.counts[valid]
        counts |= np.bincount(of[counts], minlength=len(keys))[of] == 0
        counted = Groups.of(of[counts], len(keys))
        sampled.append(counted.sizes)
        distributions[f"{name}_mean"] = pa.array(mean, mask=time == 0)
        distributions[f"{name}_percentiles"] = _percentiles(rate_of[counts][counted.order], counted.sizes)
    columns["samples"] = pa.array(np.maximum(*sampled))
    columns |= distributions
    columns |= {name: pa.array(readings.sum(samples.counts[name])) for name in COUNTS}
    interval = np.where(samples.interval_known, samples.interval_ms, _UNKNOWN)
    shortest = readings.extreme(np.minimum, interval, _UNKNOWN)
    columns["interval_ms"] = pa.array(shortest, mask=shortest == _UNKNOWN)
    ahead, behind = (readings.extreme(function, samples.skew_ms, 0) for function in (np.maximum, np.minimum))
    columns["skew_ms"] = pa.array(np.where(-behind > ahead, behind, ahead))
    empty = readings.sizes == 0
    columns["first_ms"] = pa.array(readings.extreme(np.minimum, samples.time, 0), mask=empty)
    columns["last_ms"] = pa.array(readings.extreme(np.maximum, samples.time, 0), mask=empty)
    return keys, columns


def _percentiles(values: Numbers, sizes: Integers) -> pa.Array:
    """Return the percentiles of each group, null without values.

    `values`: rates by group, which are sorted in place; shape (samples,). `sizes`: number of samples of each group;
    shape (groups,).
    """
    ends = np.cumsum(sizes)
    starts = ends - sizes
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        values[start:end].sort()
    present = sizes > 0
    position = (sizes[present, None] - 1) * _SHARES
    lower, higher = np.floor(position).astype(np.int64), np.ceil(position).astype(np.int64)
    first = starts[present, None]
    below, above = values[first + lower], values[first + higher]
    with np.errstate(invalid="ignore"):
        between = below + (position - lower) * (above - below)
    percentiles = np.where((lower == higher) | (below == above), below, between)
    offsets = np.append(0, np.cumsum(present * len(_SHARES))).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(percentiles.ravel()), mask=pa.array(~present))
