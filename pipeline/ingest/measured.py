"""Ingest of time series: from readings to rates, sizes, quality and quarantine."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from pipeline.ingest.errors import IngestError
from pipeline.ingest.hourly_arrays import COUNTS
from pipeline.ingest.hourly_distribution import aggregate_by_hour, expand_percentiles
from pipeline.ingest.in_workers import aggregate_in_workers
from pipeline.ingest.mapping import SourceMapping
from pipeline.ingest.rows import read_rows
from pipeline.ingest.series import samples
from pipeline.ingest.sources import FileGroup
from pipeline.spark_jobs import default_parallelism

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_BYTES_PER_ROW = {"parquet": 10, "csv": 64, "jsonl": 150}
_COMPRESSION_RATIO = 6
_ROWS_PER_TASK = 1_000_000
"""Rows that one core sorts in memory without spilling to disk, at Spark's default of 1 GB."""
_GOOD = "reason is null and not ignored and (bytes is not null or messages is not null)"


@dataclass(frozen=True, slots=True)
class Measured:
    """Result of the ingest of time series.

    Attributes:
        hours: rows as returned by `hourly_distribution.expand_percentiles`, read from disk.
        sizes: topic, partition, size_bytes, replicas; None if the mapping has no sizes.
        quarantine: file, reason, raw; None if every row is good.
        rows: number of rows read, including malformed and ignored ones.
        malformed: number of rows in quarantine.
        ignored: number of rows whose metric the mapping does not contain.
    """

    hours: DataFrame
    sizes: DataFrame | None
    quarantine: DataFrame | None
    rows: int
    malformed: int
    ignored: int


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
    from pyspark.sql import Observation
    from pyspark.sql import functions as fn

    rows = reduce(lambda rows, more: rows.unionByName(more), (read_rows(spark, group, mapping) for group in groups))
    row_counts = Observation("rows")
    counts = [
        fn.count(fn.lit(1)).alias("rows"),
        fn.count(fn.col("reason")).alias("malformed"),
        fn.count_if(fn.col("ignored")).alias("ignored"),
        fn.count_if(_is_negative_zero("bytes") | _is_negative_zero("messages")).alias("negative_zeros"),
    ]
    tasks, combined = _tasks(spark, groups), any(metric.brokers != "each" for metric in mapping.metrics.values())
    good = rows.observe(row_counts, *counts).where(_GOOD)
    if combined:
        hours = _aggregate_by_windows(good, tasks, mapping, interval_ms)
    else:
        uris = [uri for group in groups for uri in group.uris]
        hours = aggregate_in_workers(good, uris, tasks, interval_ms, mapping)
    hours.write.parquet(scratch)
    hours = spark.read.parquet(scratch)
    # If no row is good, Spark prunes the plan together with the observation.
    counted = rows.agg(*counts).collect()[0].asDict() if hours.isEmpty() else dict(row_counts.get)
    if counted.pop("negative_zeros") and not combined:
        # The sign of a zero among percentiles depends on Spark's hash table.
        _aggregate_by_windows(rows.where(_GOOD), tasks, mapping, interval_ms).write.mode("overwrite").parquet(scratch)
        hours = spark.read.parquet(scratch)
    if counted["rows"] == counted["malformed"] + counted["ignored"]:
        raise IngestError(_no_good_row(rows, counted))
    bad = rows.where("reason is not null").select("file", "reason", "raw") if counted["malformed"] else None
    sizes = _sizes(rows) if any(metric.measures == "size" for metric in mapping.metrics.values()) else None
    return Measured(expand_percentiles(hours), sizes, bad, **counted)


def _is_negative_zero(measure: str) -> Column:
    from pyspark.sql import functions as fn

    value = fn.col(measure)
    return (value == 0) & (value.cast("string") == "-0.0")


def _aggregate_by_windows(good: DataFrame, tasks: int, mapping: SourceMapping, interval_ms: int | None) -> DataFrame:
    combined = any(metric.brokers != "each" for metric in mapping.metrics.values())
    series = good.repartition(tasks, "topic", "partition")
    return aggregate_by_hour(samples(series, interval_ms, mapping.received is not None), combined)


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

    replicas = rows.where("reason is null and size is not null").groupBy("topic", "partition", "broker")
    latest = replicas.agg(fn.max_by("size", "time").alias("size"), fn.first("broker").alias("at"))
    return latest.groupBy("topic", "partition").agg(
        fn.max("size").alias("size_bytes"), fn.nullif(fn.count("at"), fn.lit(0)).alias("replicas")
    )


def _no_good_row(rows: DataFrame, counted: dict[str, int]) -> str:
    if not counted["malformed"]:
        return f"none of the {counted['rows']:,} rows has a metric that the mapping knows; see --map"
    first = rows.where("reason is not null").select("file", "reason", "raw").head()
    assert first is not None
    return (
        f"none of {counted['rows']:,} rows can be read; the first, of {first['file']}: {first['reason']}: "
        f"{first['raw'][:200]}"
    )
