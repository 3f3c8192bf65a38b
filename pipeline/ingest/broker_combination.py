"""The traffic of a partition or topic from the readings of several brokers; does not import Spark.

Brokers are not read at the same moment, so their traffic is divided at common times and combined between them.

Guarantees:
    The traffic between two common times is that of the intervals of all brokers, each in proportion to its time.
    Before its first interval and after its last one, plus the usual time between its readings, a broker has no traffic.
Complexity:
    O(b n log n) for b brokers with n readings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.ingest.mapping import BrokerCombination
from pipeline.ingest.sample_arrays import HOUR_MS, Flags, Integers, Numbers, Samples


@dataclass(frozen=True, slots=True)
class Rates:
    """A rate over time; all arrays have shape (intervals,).

    Attributes:
        start: where each interval starts, in ms since 1970; ascending, without overlap.
        end: where it ends, after its start.
        rate: the rate in it; NaN if unknown.
    """

    start: Integers
    end: Integers
    rate: Numbers

    @classmethod
    def of_series(cls, samples: Samples, rows: slice, measure: int) -> Rates:
        """Return the rates of one series; NaN over gaps and resets, and around its first and last reading."""
        kept = ~samples.counts["duplicates"][rows].astype(np.bool_)
        since, start, end = (times[rows][kept] for times in (samples.since, samples.start, samples.end))
        rate, margin = samples.rates[measure][rows][kept], samples.interval_ms[rows][:1]
        unknown = np.full(len(end), np.nan)
        before = np.where(np.isnan(rate), end, start)
        starts = np.concatenate([np.stack([since, before], axis=1).ravel(), end[-1:]])
        ends = np.concatenate([np.stack([before, end], axis=1).ravel(), end[-1:] + margin])
        rates = np.concatenate([np.stack([unknown, rate], axis=1).ravel(), [np.nan]])
        long = ends > starts
        return cls(starts[long], ends[long], rates[long])

    @property
    def known(self) -> Flags:
        """Return whether the rate of each interval is known."""
        return ~np.isnan(self.rate)


def combine_brokers(brokers: Sequence[Rates], combination: BrokerCombination) -> tuple[Rates, Integers]:
    """Combine the rates of brokers.

    Args:
        brokers: the rates of each broker; at least one with an interval.
        combination: how they are combined, see `MappedMetric.brokers`.

    Returns:
        The known rates of all brokers, in intervals within an hour; and for each, the length of the interval before it
        was divided by hour.
    """
    uncut = _bounds(sorted(brokers, key=lambda rates: -int(rates.known.sum())))
    bounds = np.union1d(uncut, np.arange(uncut[0] // HOUR_MS + 1, uncut[-1] // HOUR_MS + 1) * HOUR_MS)
    bounds = bounds[bounds <= uncut[-1]]
    start, end = bounds[:-1], bounds[1:]
    total, unknown, measured = np.zeros(len(start)), np.zeros(len(start), np.bool_), np.zeros(len(start), np.bool_)
    for rates in brokers:
        rate, is_known, is_unknown = _between(rates, bounds)
        total = np.maximum(total, rate) if combination == "largest" else total + rate
        unknown |= is_unknown
        measured |= is_known
    # A partition has one leader: if a broker counts traffic, no other one does, whether or not it is measured.
    left_out = unknown & (total == 0) if combination == "each" else unknown
    kept = measured & ~left_out
    spans = np.diff(uncut)[np.searchsorted(uncut, start[kept], "right") - 1]
    return Rates(start[kept], end[kept], total[kept]), spans


def _bounds(brokers: Sequence[Rates]) -> Integers:
    """Return the times at which all rates are divided.

    These are the bounds of every interval that is unknown, and those of the known intervals of the first broker that
    has any at that time: so there are as many parts as readings of one broker, not of all.
    """
    bounds = []
    before: list[Rates] = []
    for rates in brokers:
        known = rates.known
        bounds += [rates.start[~known], rates.end[~known]]
        times = np.unique(np.concatenate([rates.start[known], rates.end[known]]))
        for other in before:
            times = times[~_is_inside(other, times)]
        bounds.append(times)
        before.append(_joined(rates))
    return np.unique(np.concatenate(bounds))


def _joined(rates: Rates) -> Rates:
    """Return the known intervals, of which those that follow each other are one."""
    if not rates.known.any():
        return rates
    start, end = rates.start[rates.known], rates.end[rates.known]
    apart = start[1:] != end[:-1]
    return Rates(start[np.append(True, apart)], end[np.append(apart, True)], np.zeros(int(apart.sum()) + 1))


def _is_inside(rates: Rates, times: Integers) -> Flags:
    """Return whether each time is within an interval, not at its bounds."""
    index = np.searchsorted(rates.start, times, "left") - 1
    return (index >= 0) & (times < rates.end[np.maximum(index, 0)])


def _between(rates: Rates, bounds: Integers) -> tuple[Numbers, Flags, Flags]:
    """Return the mean rate between each two bounds; whether any of that time is known, and whether any is unknown."""
    times = np.unique(np.concatenate([bounds, rates.start, rates.end]))
    times = times[(times >= bounds[0]) & (times <= bounds[-1])]
    length = np.diff(times)
    interval = np.searchsorted(rates.start, times[:-1], "right") - 1
    covered = (interval >= 0) & (times[:-1] < rates.end[np.maximum(interval, 0)])
    rate = np.where(covered, rates.rate[np.maximum(interval, 0)], 0.0)
    unknown = np.isnan(rate)
    rate[unknown] = 0.0
    part = np.searchsorted(bounds, times[:-1], "right") - 1
    count = len(bounds) - 1
    mean = np.bincount(part, rate * length, count) / np.diff(bounds)
    single = np.bincount(part, minlength=count)[part] == 1
    # Without a rounding error, where nothing is divided.
    mean[part[single]] = rate[single]
    is_known = np.bincount(part[covered & ~unknown], minlength=count) > 0
    return mean, is_known, np.bincount(part[unknown], minlength=count) > 0
