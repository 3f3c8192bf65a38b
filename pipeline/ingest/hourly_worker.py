"""Readings aggregated by hour of the day in Spark workers, vectorized; does not import Spark.

Guarantees:
    The rows of `hourly_distribution.aggregate_by_hour` over those of `series.samples`, in the same order and to the
    last bit. A worker holds the readings of one topic and partition at a time, or _READINGS of several.
Complexity:
    O(n log n) in the readings of a topic and partition.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.ingest.hourly_arrays import COUNTS, RATES, Groups, aggregate_samples
from pipeline.ingest.sample_arrays import Flags, Integers, Numbers, Readings, compute_samples

_HOUR_MS = 3_600_000
_HOURS = 24
_READINGS = 200_000
"""Readings that are computed at a time: enough for NumPy, and their arrays remain in the processor's cache."""

_HELD_GROUPS = 128
"""Number of groups at which Spark's aggregation in memory changes to sorting, as `spark.sql.objectHashAggregate.
sortBased.fallbackThreshold` says. It sums the rows before and after that apart, which affects the last bit."""

SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("hour", pa.int8()),
        ("rows", pa.int64()),
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
"""One row per topic, partition and hour of the day."""


def hours_of_readings(
    batches: Iterator[pa.RecordBatch], interval_ms: int | None, counters: bool
) -> Iterator[pa.RecordBatch]:
    """Aggregate the readings of one Spark partition by topic, partition and hour of the day.

    Args:
        batches: `topic`, `partition`, `broker`, `metric`, `file` (a number) and `time`, `bytes`, `messages`, `ahead`
            (ms) and `counter`; sorted by the first five and then by position in the file. `metric`, `bytes`,
            `messages`, `ahead` and `counter` can be missing.
        interval_ms: time between readings; the median of each series by default.
        counters: whether readings are counters, not rates, if `counter` is missing.

    Yields:
        Rows of SCHEMA.
    """
    output = _Output()
    for table in _whole_groups(batches):
        yield from output.add(table, interval_ms, counters)
    yield from output.finish()


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
    numbers: Numbers = pc.fill_null(column, float("nan")).to_numpy()
    return numbers


def _column(table: pa.Table, name: str, default: pa.Scalar) -> pa.ChunkedArray:
    """Return a column, or the default for all rows."""
    if name in table.column_names:
        return table[name]
    return pa.chunked_array([pa.repeat(default, table.num_rows)])


@dataclass(slots=True)
class _Output:
    """Rows in the order in which Spark would aggregate them.

    Attributes:
        groups: number of rows so far.
        held: rows that are not returned yet, with the order of their first readings.
    """

    groups: int = 0
    held: list[tuple[pa.RecordBatch, Integers]] = field(default_factory=list)

    def add(self, table: pa.Table, interval_ms: int | None, counters: bool) -> Iterator[pa.RecordBatch]:
        """Aggregate whole groups; rows are held until it is clear whether they are sorted."""
        group_starts = _starts(table, "topic", "partition")
        samples = compute_samples(_readings(table, group_starts, counters), interval_ms)
        hour = np.floor(samples.middle / _HOUR_MS).astype(np.int64) % _HOURS
        # Readings are sorted within their group, so its bounds are those of its samples.
        key = (np.cumsum(group_starts) - 1) * _HOURS + hour
        keys, first, number = _number(key)
        by_appearance = np.argsort(first)
        left = _HELD_GROUPS - self.groups
        apart = int(first[by_appearance[left - 1]]) + 1 if 0 < left <= len(keys) else 0
        columns = aggregate_samples(samples, Groups.of(number), apart)
        of_group = pa.array(np.flatnonzero(group_starts)[keys // _HOURS])
        for name in ("topic", "partition"):
            columns[name] = table[name].combine_chunks().take(of_group).cast(SCHEMA.field(name).type)
        columns["hour"] = pa.array((keys % _HOURS).astype(np.int8))
        batch = pa.RecordBatch.from_arrays([columns[name] for name in SCHEMA.names], schema=SCHEMA)
        self.groups += batch.num_rows
        self.held.append((batch, by_appearance))
        if self.groups >= _HELD_GROUPS:
            yield from (batch for batch, _ in self.held)
            self.held.clear()

    def finish(self) -> Iterator[pa.RecordBatch]:
        """Return the rows that are held: so few that Spark does not sort them."""
        for batch, by_appearance in self.held:
            yield batch.take(pa.array(by_appearance))


def _number(key: Integers) -> tuple[Integers, Integers, Integers]:
    """Assign numbers to the keys that occur.

    Returns:
        The keys, sorted, and the first row of each, of shape (keys,); the number of the key of each row.
    """
    first = np.full(int(key.max()) + 1, -1)
    # The last assignment counts.
    first[key[::-1]] = np.arange(len(key))[::-1]
    occurs = first >= 0
    return np.flatnonzero(occurs), first[occurs], (np.cumsum(occurs) - 1)[key]
