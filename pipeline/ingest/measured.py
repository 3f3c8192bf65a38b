"""Ingest of time series: from readings to rates, sizes, quality and quarantine."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from pipeline.ingest.batches import METRICS, QUARANTINED, ROWS, IngestBatch, RowCounts, groups_of
from pipeline.ingest.errors import IngestError
from pipeline.ingest.hourly_arrays import COUNTS
from pipeline.ingest.hourly_distribution import aggregate_by_hour, expand_percentiles
from pipeline.ingest.in_workers import aggregate_in_workers
from pipeline.ingest.mapping import SourceMapping
from pipeline.ingest.parquet_files import aggregate_parquet, plan_parquet
from pipeline.ingest.rows import read_rows
from pipeline.ingest.series import samples
from pipeline.ingest.sources import FileGroup, names_in_rows
from pipeline.parquet import write_parquet
from pipeline.spark_jobs import default_parallelism

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Observation, SparkSession

_BYTES_PER_ROW = {"parquet": 10, "csv": 64, "jsonl": 150}
_COMPRESSION_RATIO = 6
_ROWS_PER_TASK = 1_000_000
"""Rows that one core sorts in memory without spilling to disk, at Spark's default of 1 GB."""
_VALID = "reason is null and not ignored"
_MEASURED = "(bytes is not null or messages is not null)"
_SIZED = "reason is null and size is not null"

_KEPT = {
    "topic": "string",
    "partition": "int",
    "broker": "string",
    "metric": "string",
    "time": "bigint",
    "received": "bigint",
    "bytes": "double",
    "messages": "double",
    "size": "double",
    "counter": "boolean",
    "brokers": "string",
    "file": "string",
    "block": "bigint",
    "row": "bigint",
}
"""Columns of the rows of a batch with their types; see `rows.read_rows`."""

_KEPT_DDL = ", ".join(f"`{name}` {type_}" for name, type_ in _KEPT.items())


@dataclass(frozen=True, slots=True)
class Measured:
    """Result of the ingest of time series.

    Attributes:
        hours: rows as returned by `hourly_distribution.expand_percentiles`, read from disk.
        sizes: topic, partition, size_bytes, replicas; None if the mapping has no sizes.
        quarantine: file, reason, raw; None if every row is good.
        counts: counts of rows.
    """

    hours: DataFrame
    sizes: DataFrame | None
    quarantine: DataFrame | None
    counts: RowCounts


def measure(
    spark: SparkSession, groups: list[FileGroup], mapping: SourceMapping, interval_ms: int | None, scratch: str
) -> Measured:
    """Read all files once, aggregate them by hour of the day, and write the result to `scratch`.

    Args:
        spark: the session.
        groups: the files.
        mapping: the meaning of their columns.
        interval_ms: time between readings; the median of each series by default.
        scratch: URI of the temporary folder.

    Returns:
        The aggregated rows and their counts.

    Raises:
        IngestError: a column of the mapping is missing, or no row is good.
    """
    plan = plan_parquet(spark, groups, mapping)
    if plan is not None:
        hours, bad, counted = aggregate_parquet(spark, plan, _tasks(spark, groups), interval_ms, mapping, scratch)
        if not counted.negative_zeros and counted.rows > counted.malformed:
            quarantine = _without_nulls(bad) if counted.malformed else None
            return Measured(expand_percentiles(hours), None, quarantine, counted)
    uris = [uri for group in groups for uri in group.uris]
    rows = _read_groups(spark, groups, mapping)
    tasks, combined = _tasks(spark, groups), _is_combined(mapping)
    row_counts, counts = _count_rows()
    good = rows.observe(row_counts, *counts).where(f"{_VALID} and {_MEASURED}")
    if combined:
        hours = _aggregate_by_windows(good, tasks, mapping, interval_ms)
    else:
        names = names_in_rows(spark, uris).values()
        hours = aggregate_in_workers(good, list(names), tasks, interval_ms, mapping)
    hours.write.mode("overwrite").parquet(scratch)
    hours = spark.read.parquet(scratch)
    # If no row is good, Spark prunes the plan together with the observation.
    counted = RowCounts(**(rows.agg(*counts).collect()[0].asDict() if hours.isEmpty() else dict(row_counts.get)))
    if counted.negative_zeros and not combined:
        # The sign of a zero among percentiles depends on Spark's hash table.
        again = rows.where(f"{_VALID} and {_MEASURED}")
        _aggregate_by_windows(again, tasks, mapping, interval_ms).write.mode("overwrite").parquet(scratch)
        hours = spark.read.parquet(scratch)
    bad = rows.where("reason is not null").select("file", "reason", "raw")
    _check_good_rows(bad, counted)
    sizes = _sizes(rows.where(_SIZED)) if _has_sizes(mapping) else None
    return Measured(expand_percentiles(hours), sizes, bad if counted.malformed else None, counted)


def keep_rows(
    spark: SparkSession, groups: Sequence[FileGroup], mapping: SourceMapping, rows_folder: str, bad_folder: str
) -> RowCounts:
    """Read files, and write their valid rows to one folder and the malformed ones to another.

    Returns:
        The counts of rows.

    Raises:
        IngestError: a column of the mapping is missing.
    """
    rows = _read_groups(spark, groups, mapping)
    row_counts, counts = _count_rows()
    write_parquet(rows.observe(row_counts, *counts).where(f"{_VALID} or {_SIZED}").select(*_KEPT), rows_folder)
    empty = spark.read.schema(_KEPT_DDL).parquet(rows_folder).isEmpty()
    counted = RowCounts(**(rows.agg(*counts).collect()[0].asDict() if empty else dict(row_counts.get)))
    bad = rows.where("reason is not null").select("file", "reason", "raw")
    if counted.malformed:
        write_parquet(bad.repartition(1).sortWithinPartitions("file", "reason"), bad_folder)
    return counted


def measure_kept(
    spark: SparkSession,
    batches: Sequence[IngestBatch],
    path: Callable[..., str],
    mapping: SourceMapping,
    interval_ms: int | None,
    scratch: str,
) -> Measured:
    """Aggregate the rows of batches by hour of the day, and write the result to `scratch`.

    Args:
        spark: the session.
        batches: those with time series; at least one.
        path: function that returns the URI of a place in the output folder.
        mapping: the meaning of the columns of their files.
        interval_ms: time between readings; the median of each series by default.
        scratch: URI of the temporary folder.

    Returns:
        What `measure` returns for all their files.

    Raises:
        IngestError: no row is valid.
    """
    counted = sum((batch.counts for batch in batches), RowCounts())
    rows = spark.read.schema(_KEPT_DDL).parquet(*(path(*batch.place(ROWS)) for batch in batches))
    with_bad = [path(*batch.place(QUARANTINED)) for batch in batches if batch.counts.malformed]
    bad = _without_nulls(spark.read.parquet(*with_bad)) if with_bad else None
    _check_good_rows(bad, counted)
    tasks, good = _tasks(spark, groups_of(batches)), rows.where(_MEASURED)
    if _is_combined(mapping) or counted.negative_zeros:
        hours = _aggregate_by_windows(good, tasks, mapping, interval_ms)
    else:
        names = [file.name for batch in batches for file in batch.files if file.kind == METRICS]
        hours = aggregate_in_workers(good, names, tasks, interval_ms, mapping)
    hours.write.parquet(scratch)
    sizes = _sizes(rows.where("size is not null")) if _has_sizes(mapping) else None
    return Measured(expand_percentiles(spark.read.parquet(scratch)), sizes, bad, counted)


def _without_nulls(bad: DataFrame) -> DataFrame:
    """Mark the columns without nulls as such, as they are in rows from sources; the schema of the table has it."""
    from pyspark.sql import functions as fn

    return bad.where("reason is not null").withColumn("file", fn.coalesce("file", fn.lit("")))


def _read_groups(spark: SparkSession, groups: Sequence[FileGroup], mapping: SourceMapping) -> DataFrame:
    return reduce(lambda rows, more: rows.unionByName(more), (read_rows(spark, group, mapping) for group in groups))


def _count_rows() -> tuple[Observation, list[Column]]:
    from pyspark.sql import Observation
    from pyspark.sql import functions as fn

    return Observation("rows"), [
        fn.count(fn.lit(1)).alias("rows"),
        fn.count(fn.col("reason")).alias("malformed"),
        fn.count_if(fn.col("ignored")).alias("ignored"),
        fn.count_if(_is_negative_zero("bytes") | _is_negative_zero("messages")).alias("negative_zeros"),
    ]


def _is_combined(mapping: SourceMapping) -> bool:
    return any(metric.brokers != "each" for metric in mapping.metrics.values())


def _has_sizes(mapping: SourceMapping) -> bool:
    return any(metric.measures == "size" for metric in mapping.metrics.values())


def _is_negative_zero(measure: str) -> Column:
    from pyspark.sql import functions as fn

    value = fn.col(measure)
    return (value == 0) & (value.cast("string") == "-0.0")


def _aggregate_by_windows(good: DataFrame, tasks: int, mapping: SourceMapping, interval_ms: int | None) -> DataFrame:
    series = good.repartition(tasks, "topic", "partition")
    return aggregate_by_hour(samples(series, interval_ms, mapping.received is not None), _is_combined(mapping))


def quality(hours: DataFrame) -> DataFrame:
    """Sum the counts of all hours per partition."""
    from pyspark.sql import functions as fn

    return hours.groupBy("topic", "partition").agg(
        *(fn.sum(count).alias(count) for count in ("rows", "samples", *COUNTS)),
        fn.min("interval_ms").alias("interval_ms"),
        fn.max_by("skew_ms", fn.abs("skew_ms")).alias("skew_ms"),
        fn.min("first_ms").alias("first_ms"),
        fn.max("last_ms").alias("last_ms"),
    )


def _tasks(spark: SparkSession, groups: list[FileGroup]) -> int:
    """Return the number of Spark partitions: few enough rows to sort in memory, and work for every core."""
    rows = 0.0
    for group in groups:
        ratio = (
            _COMPRESSION_RATIO if group.format != "parquet" and group.uris[0].endswith((".gz", ".bz2", ".zst")) else 1
        )
        rows += group.size * ratio / _BYTES_PER_ROW[group.format]
    return max(default_parallelism(spark), math.ceil(rows / _ROWS_PER_TASK))


def _sizes(rows: DataFrame) -> DataFrame:
    from pyspark.sql import functions as fn

    replicas = rows.groupBy("topic", "partition", "broker")
    # Of sizes at the same time, the last one in the last file counts, however Spark divides the files.
    newest = fn.struct("time", "file", "block", "row")
    latest = replicas.agg(fn.max_by("size", newest).alias("size"), fn.first("broker").alias("at"))
    return latest.groupBy("topic", "partition").agg(
        fn.max("size").alias("size_bytes"), fn.nullif(fn.count("at"), fn.lit(0)).alias("replicas")
    )


def _check_good_rows(bad: DataFrame | None, counted: RowCounts) -> None:
    """Check that a row is good.

    Raises:
        IngestError: none is.
    """
    if counted.rows > counted.malformed + counted.ignored:
        return
    first = bad.head() if bad is not None and counted.malformed else None
    if first is None:
        raise IngestError(f"none of the {counted.rows:,} rows has a metric that the mapping knows; see --map")
    raise IngestError(
        f"none of {counted.rows:,} rows can be read; the first, of {first['file']}: {first['reason']}: "
        f"{first['raw'][:200]}"
    )
