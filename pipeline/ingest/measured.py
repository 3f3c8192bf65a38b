"""What an ingest measures: readings aggregated by hour of the day, sizes, bytes out and lags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.errors import IngestError
from pipeline.ingest.batches import RowCounts
from pipeline.ingest.consumption import bytes_out_by_hour, lags_by_hour
from pipeline.ingest.hourly_arrays import COUNTS, PERCENTILES, RATES
from pipeline.ingest.in_workers import aggregate_in_workers
from pipeline.ingest.mapping import SourceMapping

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SIZED = "size is not null and topic is not null"
"""The condition of valid rows with sizes; folders of earlier releases keep sizes without a topic."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Result of the ingest of time series.

    Attributes:
        hours: rows as returned by `expand_percentiles`, read from disk.
        sizes: topic, partition, size_bytes, replicas; None if the mapping has no sizes.
        quarantine: file, reason, raw; None if every row is good.
        measures_topics: whether some hours can be those of a topic as a whole.
        has_topic_sizes: whether some sizes are those of whole topics, with partition WHOLE_TOPIC.
        bytes_out: bytes out by hour, as `hours`, read from disk; None if not measured.
        lags: the table `lags`; None if not measured.
    """

    hours: DataFrame
    sizes: DataFrame | None
    quarantine: DataFrame | None
    counts: RowCounts
    measures_topics: bool
    has_topic_sizes: bool = False
    bytes_out: DataFrame | None = None
    lags: DataFrame | None = None


@dataclass(frozen=True, slots=True)
class Aggregation:
    """How rows of time series are aggregated by hour of the day.

    Attributes:
        mapping: the meaning of their columns.
        interval_ms: time between readings; the median of each series by default.
        tasks: number of Spark partitions.
        scratch: URI of the temporary folder for the result.
    """

    mapping: SourceMapping
    interval_ms: int | None
    tasks: int
    scratch: str

    def in_workers(self, good: DataFrame, names: Sequence[str]) -> DataFrame:
        """Aggregate rows by arrays, and write the result.

        `good`: good rows as returned by `rows.read_rows`. Returns rows of `hourly_worker.SCHEMA`.
        """
        return self._written(aggregate_in_workers(good, names, self.tasks, self.interval_ms, self.mapping))

    def _written(self, hours: DataFrame) -> DataFrame:
        hours.write.mode("overwrite").parquet(self.scratch)
        return hours.sparkSession.read.parquet(self.scratch)

    def measured_hours(self, hours: DataFrame, quarantine: DataFrame | None, counts: RowCounts) -> Measured:
        """Return the result for rows that have incoming traffic only."""
        return Measured(expand_percentiles(hours), None, quarantine, counts, self.mapping.measures_topics)

    def measured(
        self,
        rows: DataFrame,
        names: Sequence[str],
        hours: DataFrame,
        quarantine: DataFrame | None,
        counts: RowCounts,
    ) -> Measured:
        """Return the result; the rows are read again for sizes, bytes out and lags, which few sources have.

        `hours`: their hours, as returned by `in_workers`. `quarantine`: file, reason, raw; None if every row is good.
        """
        bytes_out = None
        if counts.bytes_out:
            place = f"{self.scratch}_out"
            by_hour = bytes_out_by_hour(rows, names, self.tasks, self.mapping, self.interval_ms)
            by_hour.write.mode("overwrite").parquet(place)
            bytes_out = expand_percentiles(rows.sparkSession.read.parquet(place))
        sized = [metric for metric in self.mapping.metrics.values() if metric.measures == "size"]
        return Measured(
            hours=expand_percentiles(hours),
            sizes=_sizes(rows.where(_SIZED)) if sized else None,
            quarantine=quarantine,
            counts=counts,
            measures_topics=self.mapping.measures_topics,
            has_topic_sizes=any(metric.per == "topic" for metric in sized),
            bytes_out=bytes_out,
            lags=lags_by_hour(rows, self.tasks, self.mapping, self.interval_ms) if counts.lags else None,
        )


def _sizes(rows: DataFrame) -> DataFrame:
    from pyspark.sql import functions as fn

    replicas = rows.groupBy("topic", "partition", "broker")
    # Of sizes at the same time, the last one in the last file counts, however Spark divides the files.
    newest = fn.struct("time", "file", "block", "row")
    latest = replicas.agg(fn.max_by("size", newest).alias("size"), fn.first("broker").alias("at"))
    return latest.groupBy("topic", "partition").agg(
        fn.max("size").alias("size_bytes"), fn.nullif(fn.count("at"), fn.lit(0)).alias("replicas")
    )


def expand_percentiles(hours: DataFrame) -> DataFrame:
    """Replace the percentile arrays of rows of `hourly_worker.SCHEMA` by one column per percentile."""
    from pyspark.sql import functions as fn

    for rate in RATES:
        for index, name in enumerate(PERCENTILES):
            hours = hours.withColumn(f"{rate}_{name}", fn.get(f"{rate}_percentiles", fn.lit(index)))
        hours = hours.drop(f"{rate}_percentiles")
    return hours


def quality(measured: Measured) -> DataFrame:
    """Sum the counts of all hours of incoming traffic and bytes out per partition."""
    from pyspark.sql import functions as fn

    hours = measured.hours if measured.bytes_out is None else measured.hours.unionByName(measured.bytes_out)
    return hours.groupBy("topic", "partition").agg(
        fn.sum("rows").alias("rows"),
        fn.sum("intervals").alias("samples"),
        *(fn.sum(count).alias(count) for count in COUNTS),
        fn.min("interval_ms").alias("interval_ms"),
        fn.max_by("skew_ms", fn.abs("skew_ms")).alias("skew_ms"),
        fn.min("first_ms").alias("first_ms"),
        fn.max("last_ms").alias("last_ms"),
    )


def without_nulls(bad: DataFrame) -> DataFrame:
    """Mark the columns without nulls as such, as they are in rows from sources; the schema of the table has it."""
    from pyspark.sql import functions as fn

    return bad.where("reason is not null").withColumn("file", fn.coalesce("file", fn.lit("")))


def check_good_rows(bad: DataFrame | None, counted: RowCounts) -> None:
    """Check that a row is good.

    `bad`: file, reason, raw of the malformed rows; None without any. Raises IngestError if none is.
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
