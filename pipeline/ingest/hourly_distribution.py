"""Samples by hour of the day: the table from which rates and quality are made.

Percentiles are exact (linear between the two nearest samples), of all days' samples of an hour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.ingest.series import SERIES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

COUNTS = ("duplicates", "conflicts", "late", "resets", "gaps", "missing")

PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}

_RATES = ("bytes_per_s", "messages_per_s")
_HOUR_MS = 3_600_000


def aggregate_by_hour(samples: DataFrame, combined: bool) -> DataFrame:
    """Bring samples down to one row for each topic, partition and hour of the day, UTC.

    Args:
        samples: as of `series.samples`.
        combined: whether the values of several brokers at a time make one: see `Metric.brokers`.

    Returns:
        `topic`, `partition`, `hour`, `rows`, `samples`, for bytes and messages the mean and percentiles, COUNTS,
        `interval_ms` (shortest), `skew_ms` (largest either way), `first_ms`, `last_ms` (times of readings).
    """
    from pyspark.sql import functions as fn

    readings = samples.withColumn("rows", fn.lit(1))
    readings = _over_brokers(readings) if combined else readings
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

    ordered = fn.percentile(rate, list(PERCENTILES.values())).alias(f"{rate}_of")
    return [fn.mean(rate).alias(f"{rate}_mean"), ordered]


def expand_percentiles(hours: DataFrame) -> DataFrame:
    """The same with a column for each percentile."""
    from pyspark.sql import functions as fn

    for rate in _RATES:
        for at, name in enumerate(PERCENTILES):
            hours = hours.withColumn(f"{rate}_{name}", fn.get(f"{rate}_of", fn.lit(at)))
        hours = hours.drop(f"{rate}_of")
    return hours


def _over_brokers(readings: DataFrame) -> DataFrame:
    """One row for all brokers of a topic or partition at a time; null where one of them was not measured.

    Brokers are not measured at the same moment. The readings of each are numbered along its own grid, and readings of
    one number belong together.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as fn

    step = fn.greatest(fn.col("interval_ms"), fn.lit(1))
    first = fn.min("middle").over(Window.partitionBy(*SERIES))
    number = fn.round((fn.col("middle") - first) / step) + fn.round(first / step)
    numbered = readings.withColumn("slot", number.cast("bigint"))
    upto = fn.sequence(fn.lit(0), fn.least("missing", fn.lit(_MOST_MISSING)).cast("int"))
    numbered = numbered.withColumn("back", fn.explode(upto)).withColumn("slot", fn.col("slot") - fn.col("back"))
    for column in (*COUNTS, "rows"):
        numbered = numbered.withColumn(column, fn.when(fn.col("back") == 0, fn.col(column)).otherwise(0))
    carried = [
        *(fn.sum(count).alias(count) for count in (*COUNTS, "rows")),
        fn.min("interval_ms").alias("interval_ms"),
        fn.max_by("skew_ms", fn.abs("skew_ms")).alias("skew_ms"),
    ]
    kept = fn.col("duplicates") == 0
    each = numbered.groupBy(*SERIES, "brokers", "slot").agg(
        *(fn.when(fn.count(fn.when(kept, 1)) == fn.count(rate), fn.mean(rate)).alias(rate) for rate in _RATES),
        *carried,
        fn.min("time").alias("first_ms"),
        fn.max("time").alias("last_ms"),
    )
    whole = fn.count(fn.lit(1))
    return each.groupBy("topic", "partition", "metric", "slot").agg(
        *(fn.when(fn.count(rate) == whole, _one_of_all(rate)).alias(rate) for rate in _RATES),
        *carried,
        (fn.col("slot") * fn.min("interval_ms")).alias("middle"),
        fn.min("first_ms").alias("first_ms"),
        fn.max("last_ms").alias("last_ms"),
    )


_MOST_MISSING = 10_000


def _one_of_all(rate: str) -> Column:
    from pyspark.sql import functions as fn

    return fn.when(fn.first("brokers") == "largest", fn.max(rate)).otherwise(fn.sum(rate))
