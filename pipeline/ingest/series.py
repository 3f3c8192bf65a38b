"""Readings of a value at a moment, such as a lag, and their faults, by Spark's window functions.

Of traffic, which is that of an interval, `sample_arrays` computes the same faults.

Priority:
    Of several readings at the same time, the largest counts; the others are duplicates.
Complexity:
    O(n log n) in the rows: two sorts per series; Spark spills them to disk if they exceed memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.ingest.sample_arrays import GAP, SKEW_MS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SERIES = ("topic", "partition", "broker", "metric")


def mark_faults(rows: DataFrame, value: str, interval_ms: int | None = None, clocks: bool = False) -> DataFrame:
    """Mark the faults of readings.

    `rows`: good rows as returned by `rows.read_rows`. `interval_ms`: time between readings; the median of each series
    by default. `clocks` says whether to correct wrong clocks, which requires `received`. Returns one row per reading:
    the series; `time`, by the corrected clock; `value` (null if it is a duplicate); the counts `duplicates`,
    `conflicts` (duplicates with another value), `late`, `gaps`; and the number of readings `missing` before it.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as fn

    no = fn.lit(False)
    file_order = Window.partitionBy(*SERIES, "file").orderBy("block", "row")
    time_order = Window.partitionBy(*SERIES).orderBy("time", fn.desc("value"))
    before, whole = time_order.rowsBetween(Window.unboundedPreceding, -1), Window.partitionBy(*SERIES)

    newest = fn.max("time").over(file_order.rowsBetween(Window.unboundedPreceding, -1))
    rows = rows.select(
        *SERIES, "time", "received", fn.col(value).alias("value"), (fn.col("time") < newest).alias("late")
    )
    reading = fn.struct("time", "value")
    rows = rows.withColumn("previous", fn.lag(reading).over(time_order))
    duplicate = fn.coalesce(fn.col("time") == fn.col("previous.time"), no)
    rows = rows.withColumn("duplicate", duplicate).withColumn(
        "conflict", duplicate & ~reading.eqNullSafe(fn.col("previous"))
    )
    kept = fn.when(~fn.col("duplicate"), fn.col("time"))
    took = fn.when(~fn.col("duplicate"), fn.col("time") - fn.last(kept, True).over(before))
    rows = rows.withColumn("took", took)
    usual_interval = fn.percentile_approx("took", 0.5, 100).over(whole) if interval_ms is None else fn.lit(interval_ms)
    ahead = fn.percentile_approx(fn.col("time") - fn.col("received"), 0.5, 100).over(whole) if clocks else fn.lit(0)
    rows = rows.withColumn("usual", usual_interval.cast("bigint")).withColumn("ahead", ahead.cast("bigint"))
    gap = fn.coalesce(fn.col("took") > GAP * fn.col("usual"), no)
    skew = fn.coalesce(fn.when(fn.abs("ahead") > SKEW_MS, fn.col("ahead")), fn.lit(0))
    return rows.select(
        *SERIES,
        (fn.col("time") - skew).alias("time"),
        fn.when(~fn.col("duplicate"), fn.col("value")).alias("value"),
        fn.col("duplicate").cast("int").alias("duplicates"),
        fn.col("conflict").cast("int").alias("conflicts"),
        fn.coalesce("late", no).cast("int").alias("late"),
        gap.cast("int").alias("gaps"),
        fn.when(gap, fn.round(fn.col("took") / fn.col("usual")).cast("bigint") - 1).otherwise(0).alias("missing"),
    )
