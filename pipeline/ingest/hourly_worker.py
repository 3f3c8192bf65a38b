"""Readings aggregated by hour of the day in Spark workers, vectorized; does not import Spark.

Guarantees:
    An interval between two readings is divided among the hours that it covers. A worker holds the readings of one topic
    and partition at a time, or _READINGS of several.
Complexity:
    O(n log n) in the readings of a topic and partition; O(b n log n) if b brokers report it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assignors.model.columns import distinct
from pipeline.ingest.hourly_arrays import COUNTS, HOURS, RATES, RatesByHour, aggregate_by_hour
from pipeline.ingest.mapping import BrokerCombination
from pipeline.ingest.row_mapping import WHOLE_TOPIC
from pipeline.ingest.sample_arrays import HOUR_MS, Flags, Integers, Numbers, Readings, Samples, compute_samples


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
    """Combine the rates of brokers, which are not read at the same moment: divided at common times.

    The traffic between two common times is that of the intervals of all brokers, each in proportion to its time. Before
    its first interval and after its last one, plus the usual time between its readings, a broker has no traffic.
    `brokers`: the rates of each broker; at least one with an interval. `combination`: how they are combined, see
    `MappedMetric.brokers`. Returns the known rates of all brokers, in intervals within an hour; and for each, the
    length of the interval before it was divided by hour.
    """
    uncut = _bounds(sorted(brokers, key=lambda rates: -int(rates.known.sum())))
    hours = np.arange(uncut[0] // HOUR_MS + 1, uncut[-1] // HOUR_MS + 1) * HOUR_MS
    bounds = distinct(np.concatenate([uncut, hours]))
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
        times = distinct(np.concatenate([rates.start[known], rates.end[known]]))
        for other in before:
            times = times[~_is_inside(other, times)]
        bounds.append(times)
        before.append(_joined(rates))
    return distinct(np.concatenate(bounds))


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
    times = distinct(np.concatenate([bounds, rates.start, rates.end]))
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


_READINGS = 200_000
"""Readings that are computed at a time: enough for NumPy, and their arrays remain in the processor's cache."""

SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("hour", pa.int8()),
        ("rows", pa.int64()),
        ("intervals", pa.int64()),
        ("samples", pa.int64()),
        *(
            column
            for rate in RATES
            for column in ((f"{rate}_mean", pa.float64()), (f"{rate}_percentiles", pa.list_(pa.float64())))
        ),
        *((count, pa.int64()) for count in COUNTS),
        ("interval_ms", pa.int64()),
        ("skew_ms", pa.int64()),
        ("first_ms", pa.int64()),
        ("last_ms", pa.int64()),
    ]
)
"""One row per topic, partition and hour of the day (UTC).

The readings of the hour: `rows`; `intervals`, how many of them end an interval with a rate; the columns COUNTS;
`interval_ms` (shortest), `skew_ms` (largest in absolute value), `first_ms`, `last_ms`. The rates in the hour:
`samples`, mean and percentiles of bytes and messages.
"""


def hours_of_readings(
    batches: Iterator[pa.RecordBatch],
    interval_ms: int | None,
    counters: bool,
    brokers: Mapping[str, BrokerCombination] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Aggregate the readings of one Spark partition by topic, partition and hour of the day.

    `batches`: `topic`, `partition`, `broker`, `metric`, `file` (a number) and `time`, `bytes`, `messages`, `ahead` (ms)
    and `counter`; sorted by the first five and then by position in the file. `metric`, `bytes`, `messages`, `ahead` and
    `counter` can be missing. `interval_ms`: time between readings; the median of each series by default. `counters`
    says whether readings are counters, not rates, if `counter` is missing. `brokers`: how brokers are combined, by
    metric; see `MappedMetric.brokers`. Yields rows of SCHEMA.
    """
    for table in _whole_groups(batches):
        yield _hours(table, interval_ms, counters, brokers or {})


def _whole_groups(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Divide sorted rows into tables of about _READINGS rows that contain whole groups of topic and partition."""
    held: list[pa.RecordBatch] = []
    rows, limit = 0, _READINGS
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows < limit:
            continue
        table = pa.Table.from_batches(held)
        last = int(np.flatnonzero(_starts(table, "topic", "partition"))[-1])
        if last:
            yield table.slice(0, last)
        held = table.slice(last).to_batches()
        rows -= last
        # A group larger than the limit is looked at again only when it has doubled.
        limit = max(_READINGS, 2 * rows)
    if rows:
        yield pa.Table.from_batches(held)


def _starts(table: pa.Table, *columns: str) -> Flags:
    """Return whether each row differs from the one before it in any of the columns; the first row does."""
    starts = np.zeros(table.num_rows, np.bool_)
    starts[0] = True
    for name in columns:
        column = table[name].combine_chunks()
        if not pa.types.is_integer(column.type):
            column = column.dictionary_encode().indices
        codes = column.fill_null(-1).to_numpy(zero_copy_only=False)
        starts[1:] |= codes[1:] != codes[:-1]
    return starts


def _readings(table: pa.Table, group_starts: Flags, counters: bool) -> Readings:
    series_starts = group_starts | _starts(table, *(key for key in ("broker", "metric") if key in table.column_names))
    ahead = _column(table, "ahead", pa.scalar(None, pa.int64()))
    return Readings(
        series_starts=series_starts,
        file_starts=series_starts | _starts(table, "file"),
        time=table["time"].to_numpy(),
        ahead=pc.fill_null(ahead, 0).to_numpy(),
        ahead_known=pc.is_valid(ahead).to_numpy(),
        measured=(_numbers(table, "bytes"), _numbers(table, "messages")),
        counter=_column(table, "counter", pa.scalar(counters)).to_numpy(),
    )


def _numbers(table: pa.Table, name: str) -> Numbers:
    column = _column(table, name, pa.scalar(None, pa.float64()))
    numbers: Numbers = pc.fill_null(column, float("nan")).to_numpy() + 0.0  # A negative zero is zero.
    return numbers


def _column(table: pa.Table, name: str, default: pa.Scalar) -> pa.ChunkedArray:
    """Return a column, or the default for all rows."""
    if name in table.column_names:
        return table[name]
    return pa.chunked_array([pa.repeat(default, table.num_rows)])


def _hours(
    table: pa.Table, interval_ms: int | None, counters: bool, brokers: Mapping[str, BrokerCombination]
) -> pa.RecordBatch:
    """Aggregate whole groups of topic and partition."""
    group_starts = _starts(table, "topic", "partition")
    readings = _readings(table, group_starts, counters)
    samples = _without_merged_brokers(table, readings, compute_samples(readings, interval_ms))
    # Readings are sorted within their series, so its bounds are those of its samples.
    number = np.cumsum(group_starts) - 1
    hourly = _hourly_rates(table, readings, samples, number, brokers)
    keys, columns = aggregate_by_hour(samples, number, hourly)
    of_group = pa.array(np.flatnonzero(group_starts)[keys // HOURS])
    for name in ("topic", "partition"):
        columns[name] = table[name].combine_chunks().take(of_group).cast(SCHEMA.field(name).type)
    columns["hour"] = pa.array((keys % HOURS).astype(np.int8))
    return pa.RecordBatch.from_arrays([columns[name] for name in SCHEMA.names], schema=SCHEMA)


def _without_merged_brokers(table: pa.Table, readings: Readings, samples: Samples) -> Samples:
    """Return the samples without the rates of series without a broker that have several values at most times.

    Several brokers report such a partition; the largest value may be the flat counter of a former leader. `table`: the
    readings, as columns. Returns the samples; the rates that are left out are NaN.
    """
    series = np.cumsum(readings.series_starts) - 1
    times = np.bincount(series, np.logical_not(samples.counts["duplicates"]))
    merged = 2 * np.bincount(series, samples.counts["conflicts"]) > times
    if "broker" in table.column_names:
        merged &= pc.is_null(table["broker"]).to_numpy()[readings.series_starts]
    if not merged.any():
        return samples
    size, messages = (np.where(merged[series], np.nan, rate) for rate in samples.rates)
    return replace(samples, rates=(size, messages))


def _hourly_rates(
    table: pa.Table,
    readings: Readings,
    samples: Samples,
    number: Integers,
    brokers: Mapping[str, BrokerCombination],
) -> RatesByHour:
    """Divide the rates of groups by hour; those of several brokers are combined before."""
    single = ~np.isnan(samples.rates[0]) | ~np.isnan(samples.rates[1])
    numbers: list[Integers] = []
    parts: list[tuple[Integers, Integers, Integers, Numbers, Numbers]] = []
    for of, series, combination in _several_brokers(table, number, np.flatnonzero(readings.series_starts), brokers):
        for rows in series:
            single[rows] = False
        for measure, values in enumerate(readings.measured):
            measuring = [rows for rows in series if not np.isnan(values[rows]).all()]
            if measuring:
                combined, spans = combine_brokers(
                    [Rates.of_series(samples, rows, measure) for rows in measuring], combination
                )
                rates = [np.full(len(combined.rate), np.nan) for _ in readings.measured]
                rates[measure] = combined.rate
                numbers.append(np.full(len(combined.rate), of))
                parts.append((combined.start, combined.end, spans, rates[0], rates[1]))
    numbers.append(number[single])
    start, end = samples.start[single], samples.end[single]
    parts.append((start, end, end - start, samples.rates[0][single], samples.rates[1][single]))
    start, end, spans, size, messages = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return RatesByHour.divide(np.concatenate(numbers), start, end, spans, (size, messages))


def _several_brokers(
    table: pa.Table, number: Integers, starts: Integers, brokers: Mapping[str, BrokerCombination]
) -> Iterator[tuple[int, list[slice], BrokerCombination]]:
    """Yield the groups that several brokers measure under one metric: number, series, and how they are combined."""
    group = number[starts]
    several = np.flatnonzero(np.bincount(group) > 1)
    if not len(several):
        return
    ends = np.append(starts[1:], len(number))
    first, last = np.searchsorted(group, several, "left"), np.searchsorted(group, several, "right")
    for of, low, high in zip(several.tolist(), first.tolist(), last.tolist(), strict=True):
        by_metric: dict[str | None, list[slice]] = defaultdict(list)
        for start, end in zip(starts[low:high].tolist(), ends[low:high].tolist(), strict=True):
            metric = table["metric"][start].as_py() if "metric" in table.column_names else None
            by_metric[metric].append(slice(start, end))
        is_topic = table["partition"][int(starts[low])].as_py() == WHOLE_TOPIC
        for metric, series in by_metric.items():
            if len(series) > 1:
                combination = brokers.get(metric or "", "each")
                # Each broker leads other partitions of a topic.
                yield of, series, "sum" if is_topic and combination == "each" else combination
