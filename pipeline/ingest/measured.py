"""Ingest of time series: from readings to rates, sizes, quality and quarantine."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from pipeline.ingest.errors import IngestError
from pipeline.ingest.hourly_distribution import COUNTS, aggregate_by_hour, expand_percentiles
from pipeline.ingest.mapping import SourceMapping
from pipeline.ingest.rows import read_rows
from pipeline.ingest.series import samples
from pipeline.ingest.sources import FileGroup

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_BYTES_PER_ROW = {"parquet": 10, "csv": 64, "jsonl": 150}
_COMPRESSION_RATIO = 6
_ROWS_PER_TASK = 1_000_000
"""Rows that one core sorts in memory without spilling to disk, at Spark's default of 1 GB."""


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
    ]
    good = rows.observe(row_counts, *counts).where(
        "reason is null and not ignored and (bytes is not null or messages is not null)"
    )
    series = good.repartition(_tasks(spark, groups), "topic", "partition")
    combined = any(metric.brokers != "each" for metric in mapping.metrics.values())
    clocks = mapping.received is not None
    aggregate_by_hour(samples(series, interval_ms, clocks), combined).write.parquet(scratch)
    hours = spark.read.parquet(scratch)
    # If no row is good, Spark prunes the plan together with the observation.
    counted = rows.agg(*counts).collect()[0].asDict() if hours.isEmpty() else row_counts.get
    if counted["rows"] == counted["malformed"] + counted["ignored"]:
        raise IngestError(_no_good_row(rows, counted))
    bad = rows.where("reason is not null").select("file", "reason", "raw") if counted["malformed"] else None
    sizes = _sizes(rows) if any(metric.measures == "size" for metric in mapping.metrics.values()) else None
    return Measured(expand_percentiles(hours), sizes, bad, **counted)


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
    return max(spark.sparkContext.defaultParallelism, math.ceil(rows / _ROWS_PER_TASK))


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
