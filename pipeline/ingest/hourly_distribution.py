"""Samples aggregated by hour of the day: the basis of the tables `rates` and `quality`.

Percentiles are exact (linear interpolation between the two nearest samples) over the samples of an hour on all days.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.ingest.hourly_arrays import COUNTS, PERCENTILES
from pipeline.ingest.hourly_arrays import RATES as _RATES
from pipeline.ingest.series import SERIES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_HOUR_MS = 3_600_000

_MAX_MISSING = 10_000
"""Maximum number of missing readings in a gap that are matched with those of other brokers."""


def aggregate_by_hour(samples: DataFrame, combined: bool) -> DataFrame:
    """Aggregate samples into one row per topic, partition and hour of the day (UTC).

    Args:
        samples: samples as returned by `series.samples`.
        combined: whether values of several brokers at one time are combined; see `MappedMetric.brokers`.

    Returns:
        `topic`, `partition`, `hour`, `rows`, `samples`, mean and percentiles of bytes and messages, the columns COUNTS,
        `interval_ms` (shortest), `skew_ms` (largest in absolute value), `first_ms`, `last_ms` (times of readings).
    """
    from pyspark.sql import functions as fn

    readings = samples.withColumn("rows", fn.lit(1))
    readings = _combine_over_brokers(readings) if combined else readings
    readings = readings.withColumn("hour", fn.pmod(fn.floor(fn.col("middle") / _HOUR_MS), fn.lit(24)).cast("tinyint"))
    first, last = ("first_ms", "last_ms") if combined else ("time", "time")
    return readings.groupBy("topic", "partition", "hour").agg(
        fn.sum("rows").alias("rows"),
        fn.greatest(*(fn.count(rate) for rate in _RATES)).alias("samples"),
        *(column for rate in _RATES for column in _distribution(rate)),
        *(fn.sum(count).alias(count) for count in COUNTS),
        fn.min("interval_ms").alias("interval_ms"),
        fn.max_by("skew_ms", fn.abs("skew_ms")).alias("skew_ms"),
        fn.min(first).alias("first_ms"),
        fn.max(last).alias("last_ms"),
    )


def _distribution(rate: str) -> list[Column]:
    from pyspark.sql import functions as fn

    percentiles = fn.percentile(rate, list(PERCENTILES.values())).alias(f"{rate}_percentiles")
    return [fn.mean(rate).alias(f"{rate}_mean"), percentiles]


def expand_percentiles(hours: DataFrame) -> DataFrame:
    """Replace the percentile arrays by one column per percentile."""
    from pyspark.sql import functions as fn

    for rate in _RATES:
        for index, name in enumerate(PERCENTILES):
            hours = hours.withColumn(f"{rate}_{name}", fn.get(f"{rate}_percentiles", fn.lit(index)))
        hours = hours.drop(f"{rate}_percentiles")
    return hours


def _combine_over_brokers(readings: DataFrame) -> DataFrame:
    """Combine the brokers of a topic or partition.

    Brokers are not measured at the same moment. The readings of each broker are numbered on its own time grid; readings
    with equal numbers are combined.

    Returns:
        One row per time; null where a broker has no measurement.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as fn

    step = fn.greatest(fn.col("interval_ms"), fn.lit(1))
    first = fn.min("middle").over(Window.partitionBy(*SERIES))
    number = fn.round((fn.col("middle") - first) / step) + fn.round(first / step)
    numbered = readings.withColumn("slot", number.cast("bigint"))
    missing_before = fn.sequence(fn.lit(0), fn.least("missing", fn.lit(_MAX_MISSING)).cast("int"))
    numbered = numbered.withColumn("back", fn.explode(missing_before)).withColumn(
        "slot", fn.col("slot") - fn.col("back")
    )
    for column in (*COUNTS, "rows"):
        numbered = numbered.withColumn(column, fn.when(fn.col("back") == 0, fn.col(column)).otherwise(0))
    aggregates = [
        *(fn.sum(count).alias(count) for count in (*COUNTS, "rows")),
        fn.min("interval_ms").alias("interval_ms"),
        fn.max_by("skew_ms", fn.abs("skew_ms")).alias("skew_ms"),
    ]
    kept = fn.col("duplicates") == 0
    per_broker = numbered.groupBy(*SERIES, "brokers", "slot").agg(
        *(fn.when(fn.count(fn.when(kept, 1)) == fn.count(rate), fn.mean(rate)).alias(rate) for rate in _RATES),
        *aggregates,
        fn.min("time").alias("first_ms"),
        fn.max("time").alias("last_ms"),
    )
    brokers = fn.count(fn.lit(1))
    return per_broker.groupBy("topic", "partition", "metric", "slot").agg(
        *(fn.when(fn.count(rate) == brokers, _combined_rate(rate)).alias(rate) for rate in _RATES),
        *aggregates,
        (fn.col("slot") * fn.min("interval_ms")).alias("middle"),
        fn.min("first_ms").alias("first_ms"),
        fn.max("last_ms").alias("last_ms"),
    )


def _combined_rate(rate: str) -> Column:
    from pyspark.sql import functions as fn

    return fn.when(fn.first("brokers") == "largest", fn.max(rate)).otherwise(fn.sum(rate))
