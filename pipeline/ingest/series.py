"""Samples from readings: the traffic between two readings of a series, and faults of the readings.

A series has the readings of one partition (or topic) by one broker under one metric. All steps work within a series:
one shuffle brings its rows together, and everything else sorts within it.

Guarantees:
    Every row is a sample or counted as a fault. Traffic over a gap or a reset is not estimated; such an interval is
    left out, so percentiles contain measured values only.
Priority:
    Of several readings at the same time, the largest counts; the others are duplicates. A reading below the previous
    one is a counter reset, even after a gap.
Complexity:
    O(n log n) in the rows: two sorts per series; Spark spills them to disk if they exceed memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.ingest.sample_arrays import GAP, SKEW_MS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SERIES = ("topic", "partition", "broker", "metric")


def samples(rows: DataFrame, interval_ms: int | None = None, clocks: bool = False) -> DataFrame:
    """Compute samples from readings.

    Args:
        rows: good rows as returned by `rows.read_rows`.
        interval_ms: time between readings; the median of each series by default.
        clocks: whether to correct wrong clocks, which requires `received`.

    Returns:
        One row per reading: the series; `brokers`, `time`, `interval_ms`; `middle` (middle of the interval that ends
        with the reading, by the corrected clock, in ms); `bytes_per_s`, `messages_per_s` (null if it is not a sample);
        `skew_ms` (how far the clock was ahead; 0 if within SKEW_MS); the counts `duplicates`, `conflicts` (duplicates
        with another value), `late`, `resets`, `gaps`; and the number of readings `missing` before it.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as fn

    keys = [*SERIES, "brokers", "counter"]
    file_order = Window.partitionBy(*SERIES, "file").orderBy("block", "row")
    time_order = Window.partitionBy(*SERIES).orderBy("time", fn.desc("bytes"), fn.desc("messages"))
    before, whole = time_order.rowsBetween(Window.unboundedPreceding, -1), Window.partitionBy(*SERIES)

    newest = fn.max("time").over(file_order.rowsBetween(Window.unboundedPreceding, -1))
    rows = rows.select(*keys, "time", "received", "bytes", "messages", (fn.col("time") < newest).alias("late"))
    reading = fn.struct("time", "bytes", "messages")
    rows = rows.withColumn("previous", fn.lag(reading).over(time_order))
    duplicate = fn.coalesce(fn.col("time") == fn.col("previous.time"), fn.lit(False))
    rows = rows.withColumn("duplicate", duplicate).withColumn(
        "conflict", duplicate & ~reading.eqNullSafe(fn.col("previous"))
    )
    kept = fn.when(~fn.col("duplicate"), reading)
    rows = rows.drop("previous").withColumn("last", fn.when(~fn.col("duplicate"), fn.last(kept, True).over(before)))
    rows = rows.withColumn("took", fn.col("time") - fn.col("last.time"))
    usual_interval = fn.percentile_approx("took", 0.5, 100).over(whole) if interval_ms is None else fn.lit(interval_ms)
    ahead = fn.percentile_approx(fn.col("time") - fn.col("received"), 0.5, 100).over(whole) if clocks else fn.lit(None)
    rows = rows.withColumn("interval_ms", usual_interval.cast("bigint")).withColumn("ahead", ahead.cast("bigint"))
    return _mark_faults(rows)


def _mark_faults(rows: DataFrame) -> DataFrame:
    from pyspark.sql import functions as fn

    no = fn.lit(False)
    gap = fn.coalesce(fn.col("took") > GAP * fn.col("interval_ms"), no)
    decreased = [fn.coalesce(fn.col(measure) < fn.col(f"last.{measure}"), no) for measure in ("bytes", "messages")]
    rows = rows.withColumn("gap", gap).withColumn("reset", fn.col("counter") & (decreased[0] | decreased[1]))
    skew = fn.when(fn.abs("ahead") > SKEW_MS, fn.col("ahead"))
    rows = rows.withColumn("skew_ms", fn.coalesce(skew, fn.lit(0)))
    interval = fn.when(fn.col("gap"), fn.col("interval_ms")).otherwise(fn.coalesce("took", "interval_ms", fn.lit(0)))
    missing = fn.when(fn.col("gap"), fn.round(fn.col("took") / fn.col("interval_ms")).cast("bigint") - 1).otherwise(0)
    return rows.select(
        *SERIES,
        "brokers",
        "time",
        "interval_ms",
        (fn.col("time") - fn.col("skew_ms") - (interval / 2).cast("bigint")).alias("middle"),
        _rate("bytes").alias("bytes_per_s"),
        _rate("messages").alias("messages_per_s"),
        "skew_ms",
        fn.col("duplicate").cast("int").alias("duplicates"),
        fn.col("conflict").cast("int").alias("conflicts"),
        fn.coalesce("late", no).cast("int").alias("late"),
        fn.col("reset").cast("int").alias("resets"),
        fn.col("gap").cast("int").alias("gaps"),
        missing.alias("missing"),
    )


def _rate(measure: str) -> Column:
    from pyspark.sql import functions as fn

    rate = (fn.col(measure) - fn.col(f"last.{measure}")) / (fn.col("took") / 1_000)
    is_sample = ~fn.col("gap") & ~fn.col("reset")
    return (
        fn.when(fn.col("duplicate"), None).when(fn.col("counter"), fn.when(is_sample, rate)).otherwise(fn.col(measure))
    )
