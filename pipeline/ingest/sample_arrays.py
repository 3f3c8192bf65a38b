"""Samples from readings: the traffic between two readings of a series, and faults; does not import Spark.

A series has the readings of one partition (or topic) by one broker under one metric.

Guarantees:
    Every reading ends a sample or is counted as a fault. Traffic over a gap or a reset is not estimated; such an
    interval is left out, so percentiles contain measured values only.
Priority:
    Of several readings at the same time, the largest counts; the others are duplicates. A reading below the previous
    one is a counter reset, even after a gap.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

_BUFFERED = 50_000
"""Values that Spark sorts at a time."""

_ERROR = 1.0 / 100

Entry = tuple[float, int, int]
"""A value, the ranks since the entry before it, and the uncertainty of its rank."""


def approximate_median(values: npt.NDArray[np.int64]) -> int | None:
    """Return the element that Spark's `percentile_approx(value, 0.5, 100)` takes for the median.

    Its rank differs from that of the median by at most 1 %. Of a series, it gives the usual time between readings, and
    how far the clock of the broker is ahead. It takes O(n) for the first series of each length, then O(1) plus a
    selection; O(n) always from _BUFFERED values on. `values`: the values in the order in which Spark reads them; shape
    (n,). The result is None without values.

    Source: Greenwald and Khanna, "Space-Efficient Online Computation of Quantile Summaries", SIGMOD 2001, as in Spark's
    `QuantileSummaries`.
    """
    if not len(values):
        return None
    # Spark converts to double and back.
    numbers = values.astype(np.float64)
    if len(numbers) < _BUFFERED:
        rank = _selected_rank(len(numbers))
        usual = numbers[rank]
        # NumPy's selection is slow where most values are equal.
        if np.count_nonzero(numbers < usual) <= rank < np.count_nonzero(numbers <= usual):
            return int(usual)
        return int(np.partition(numbers, rank)[rank])
    return int(_select(numbers))


@lru_cache(maxsize=4096)
def _selected_rank(count: int) -> int:
    """Return the rank of the element that Spark selects; below _BUFFERED it depends on the number of values only."""
    return int(_select(np.arange(count, dtype=np.float64)))


def _select(numbers: npt.NDArray[np.float64]) -> float:
    entries: list[Entry] = []
    count = 0
    for start in range(0, len(numbers), _BUFFERED):
        part = np.sort(numbers[start : start + _BUFFERED]).tolist()
        entries = _insert(entries, part, count)
        count += len(part)
        entries = _compress(entries, count)
    if count % _BUFFERED == 0:
        # Spark compresses a full buffer at once, and again before it selects.
        entries = _compress(entries, count)
    return _middle(entries, count)


def _insert(entries: list[Entry], part: list[float], count: int) -> list[Entry]:
    """Insert sorted values."""
    merged: list[Entry] = []
    position, last = 0, len(part) - 1
    for index, value in enumerate(part):
        while position < len(entries) and entries[position][0] <= value:
            merged.append(entries[position])
            position += 1
        count += 1
        is_extreme = not merged or (position == len(entries) and index == last)
        merged.append((value, 1, 0 if is_extreme else math.floor(2 * _ERROR * count)))
    return merged + entries[position:]


def _compress(entries: list[Entry], count: int) -> list[Entry]:
    """Merge entries as long as ranks remain certain enough; the smallest and the largest value remain."""
    limit = 2 * _ERROR * count
    kept: list[Entry] = []
    value, ranks, uncertainty = entries[-1]
    for entry in reversed(entries[1:-1]):
        if entry[1] + ranks + uncertainty < limit:
            ranks += entry[1]
        else:
            kept.append((value, ranks, uncertainty))
            value, ranks, uncertainty = entry
    kept.append((value, ranks, uncertainty))
    if len(entries) > 1 and entries[0][0] <= value:
        kept.append(entries[0])
    return kept[::-1]


def _middle(entries: list[Entry], count: int) -> float:
    """Return the first value whose rank may be that of the median."""
    rank = math.ceil(0.5 * count)
    error = max(_uncertainties(entries)) // 2
    least = 0
    for value, ranks, uncertainty in entries[:-1]:
        least += ranks
        if least + uncertainty - error <= rank <= least + error:
            return value
    return entries[-1][0]


def _uncertainties(entries: list[Entry]) -> Iterable[int]:
    return (ranks + uncertainty for _, ranks, uncertainty in entries)


GAP = 1.5
"""Number of intervals between two readings above which there is a gap."""

HOUR_MS = 3_600_000

SKEW_MS = 5_000
"""A clock that differs by more is wrong, and its times are corrected; a smaller difference may be latency."""

Integers = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Readings:
    """Good readings, sorted by series, file and position in the file; all arrays have shape (readings,).

    Attributes:
        series_starts: whether the reading is the first of its series.
        file_starts: whether the reading is the first of its series in its file.
        time: time in ms since 1970 by the clock of the broker.
        ahead: how far that clock is ahead of the collector's, in ms; 0 where unknown.
        ahead_known: whether it is known.
        measured: bytes and messages; NaN where not measured.
        counter: whether they are counters, not rates.
    """

    series_starts: Flags
    file_starts: Flags
    time: Integers
    ahead: Integers
    ahead_known: Flags
    measured: tuple[Numbers, Numbers]
    counter: Flags


@dataclass(frozen=True, slots=True)
class Samples:
    """One entry per reading, sorted by series and time; all arrays have shape (readings,).

    Attributes:
        rows: index of the reading in `Readings`.
        time: its time in ms since 1970.
        since: the reading before it, by the corrected clock in ms since 1970; at the first one, the usual interval ago.
        start: start of the interval that it measures; after `since` if it is a rate after a gap.
        end: end of that interval, its time by the corrected clock.
        interval_ms: usual interval of its series; 0 where unknown.
        interval_known: whether it is known.
        rates: bytes and messages per second; NaN where it is not a sample.
        skew_ms: how far the clock of its series is ahead; 0 if within SKEW_MS.
        counts: by name, whether the reading is a duplicate, in conflict with the one before, late, after a reset or
            after a gap; and the number of readings missing before it.
    """

    rows: Integers
    time: Integers
    since: Integers
    start: Integers
    end: Integers
    interval_ms: Integers
    interval_known: Flags
    rates: tuple[Numbers, Numbers]
    skew_ms: Integers
    counts: dict[str, npt.NDArray[np.generic]]


def compute_samples(readings: Readings, interval_ms: int | None) -> Samples:
    """Compute samples from readings.

    `readings`: all readings of some series. `interval_ms`: time between readings; the median of each series by default.
    Returns one entry per reading.
    """
    rows = _time_order(readings)
    # The order of the series does not change, and neither do their bounds.
    starts = readings.series_starts
    series = np.cumsum(starts) - 1
    time = readings.time[rows]
    measured = tuple(values[rows] for values in readings.measured)
    duplicate = np.append(False, time[1:] == time[:-1]) & ~starts
    conflict = duplicate & ~_equal_to_previous(measured)
    kept = np.flatnonzero(~duplicate)
    follows = np.append(False, ~starts[kept][1:])
    row, last = kept[follows], kept[np.flatnonzero(follows) - 1]
    took = np.zeros(len(rows), np.int64)
    took[row] = time[row] - time[last]
    interval, known = _medians(took[row], series[row], series[-1] + 1)
    if interval_ms is not None:
        interval, known = np.full_like(interval, interval_ms), np.ones_like(known)
    ahead_known = readings.ahead_known[rows]
    ahead, _ = _medians(readings.ahead[rows][ahead_known], series[ahead_known], series[-1] + 1)
    skew = np.where(np.abs(ahead) > SKEW_MS, ahead, 0)[series]
    usual, usual_known = interval[series], known[series]

    has_last = np.zeros(len(rows), np.bool_)
    has_last[row] = True
    gap = has_last & usual_known & (took > GAP * usual)
    counter = readings.counter[rows]
    reset = np.zeros(len(rows), np.bool_)
    for values in measured:
        reset[row] |= values[row] < values[last]
    reset &= counter
    end = time - skew
    since = end - np.where(has_last, took, np.maximum(usual, 1))
    rates = tuple(_rate(values, row, last, took, counter, gap | reset, duplicate) for values in measured)
    return Samples(
        rows,
        time,
        since,
        np.where(gap, end - usual, since),
        end,
        usual,
        usual_known,
        (rates[0], rates[1]),
        skew,
        {
            "duplicates": duplicate,
            "conflicts": conflict,
            "late": _late(readings)[rows],
            "resets": reset,
            "gaps": gap,
            "missing": _missing(took, usual, gap),
        },
    )


def _time_order(readings: Readings) -> Integers:
    """Return the readings by series and time; at equal times the largest first, those that are not measured last."""
    series = np.cumsum(readings.series_starts) - 1
    earliest = int(readings.time.min())
    span = int(readings.time.max()) - earliest + 1
    if span * (int(series[-1]) + 1) < np.iinfo(np.int64).max:
        # One key for both; it is almost sorted already, which a stable sort makes use of.
        key = series * span + (readings.time - earliest)
        order = np.argsort(key, kind="stable")
    else:
        order = np.lexsort((readings.time, series))
    time, starts = readings.time[order], readings.series_starts
    same = (time[1:] == time[:-1]) & ~starts[1:]
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    if len(tied):
        rows = order[tied]
        size, messages = (-values[rows] for values in readings.measured)
        # NumPy sorts NaN last, and equal readings as in the files.
        order[tied] = rows[np.lexsort((messages, size, time[tied], series[tied]))]
    return order


def _equal_to_previous(measured: tuple[Numbers, ...]) -> Flags:
    equal = np.ones(len(measured[0]), np.bool_)
    for values in measured:
        equal[1:] &= (values[1:] == values[:-1]) | (np.isnan(values[1:]) & np.isnan(values[:-1]))
    return equal


def _medians(values: Integers, series: Integers, count: int) -> tuple[Integers, Flags]:
    """Return the approximate median of the values of each series, and whether it has any; shape (count,)."""
    medians = np.zeros(count, np.int64)
    sizes = np.bincount(series, minlength=count)
    known = sizes > 0
    if len(values):
        ends = np.cumsum(sizes)
        starts = ends - sizes
        lowest = np.minimum.reduceat(values, starts[known])
        equal = lowest == np.maximum.reduceat(values, starts[known])
        # Spark converts to double and back.
        medians[known] = lowest.astype(np.float64).astype(np.int64)
        for index in np.flatnonzero(known)[~equal]:
            medians[index] = approximate_median(values[starts[index] : ends[index]]) or 0
    return medians, known


def _rate(
    values: Numbers, row: Integers, last: Integers, took: Integers, counter: Flags, faulty: Flags, duplicate: Flags
) -> Numbers:
    """Return the rates of readings; NaN where they are not samples."""
    rates = np.where(counter | duplicate, np.nan, values)
    sample = counter[row] & ~faulty[row]
    row, last = row[sample], last[sample]
    with np.errstate(over="ignore"):
        rates[row] = (values[row] - values[last]) / (took[row] / 1_000)
    return rates


def _missing(took: Integers, usual: Integers, gap: Flags) -> Integers:
    missing = np.zeros(len(took), np.int64)
    intervals = took[gap] / usual[gap]
    whole = np.floor(intervals)
    # Spark rounds halves up.
    missing[gap] = (whole + (intervals - whole >= 0.5)).astype(np.int64) - 1
    return missing


def _late(readings: Readings) -> Flags:
    """Return whether each reading is after a later one of its series in its file."""
    time = readings.time
    late = np.zeros(len(time), np.bool_)
    starts = np.flatnonzero(readings.file_starts)
    ends = np.append(starts[1:], len(time))
    part = np.cumsum(readings.file_starts) - 1
    decreases = np.append(False, time[1:] < time[:-1]) & ~readings.file_starts
    for index in np.unique(part[decreases]):
        times = time[starts[index] : ends[index]]
        late[starts[index] + 1 : ends[index]] = times[1:] < np.maximum.accumulate(times)[:-1]
    return late
