"""From readings to samples: what flowed between two readings of a series, and what is wrong with the readings.

A series is what one broker reports of one partition (or topic) under one metric. All of this works on the rows of one
series after another: one shuffle brings them together, and all else sorts within.

Guarantees:
    Every row is a sample, or counted as the reason why it is none. What flowed over a gap or a reset is not guessed:
    that interval is left out, so percentiles see nothing but what was measured.
Priority:
    Of readings of one time the largest counts, the others are duplicates. A reading that is smaller than the one before
    is a reset, also over a gap.
Complexity:
    O(n log n) in the rows, two sorts a series, of which Spark spills to disk what does not fit into memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SERIES = ("topic", "partition", "broker", "metric")

GAP = 1.5
"""From how many intervals between two readings on there is a gap."""

SKEW_MS = 5_000
"""From which difference on a clock is off and its times are corrected; less may be the time a measurement is under
way."""


def samples(rows: DataFrame, interval_ms: int | None = None, clocks: bool = False) -> DataFrame:
    """Make samples of readings.

    Args:
        rows: good rows as of `rows.read_rows`.
        interval_ms: time from one reading to the next; if None, the median of the series.
        clocks: whether `received` is known.

    Returns:
        A row a reading: the series; `brokers`, `time`, `interval_ms`; `middle` (of the interval that ended with the
        reading, by the corrected clock), in ms; `bytes_per_s`,
        `messages_per_s` (null where it is no sample); `skew_ms` (how far the clock was ahead, 0 if within SKEW_MS); and
        how many it is of `duplicates`, `conflicts` (duplicates with another value), `late`, `resets`, `gaps`, and how
        many readings are `missing` before it.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as fn

    keys = [*SERIES, "brokers", "counter"]
    stood = Window.partitionBy(*SERIES, "file").orderBy("block", "row")
    ran = Window.partitionBy(*SERIES).orderBy("time", fn.desc("bytes"), fn.desc("messages"))
    before, whole = ran.rowsBetween(Window.unboundedPreceding, -1), Window.partitionBy(*SERIES)

    newest = fn.max("time").over(stood.rowsBetween(Window.unboundedPreceding, -1))
    rows = rows.select(*keys, "time", "received", "bytes", "messages", (fn.col("time") < newest).alias("late"))
    reading = fn.struct("time", "bytes", "messages")
    rows = rows.withColumn("above", fn.lag(reading).over(ran))
    duplicate = fn.coalesce(fn.col("time") == fn.col("above.time"), fn.lit(False))
    rows = rows.withColumn("duplicate", duplicate).withColumn(
        "conflict", duplicate & ~reading.eqNullSafe(fn.col("above"))
    )
    kept = fn.when(~fn.col("duplicate"), reading)
    rows = rows.drop("above").withColumn("last", fn.when(~fn.col("duplicate"), fn.last(kept, True).over(before)))
    rows = rows.withColumn("took", fn.col("time") - fn.col("last.time"))
    usual = fn.percentile_approx("took", 0.5, 100).over(whole) if interval_ms is None else fn.lit(interval_ms)
    ahead = fn.percentile_approx(fn.col("time") - fn.col("received"), 0.5, 100).over(whole) if clocks else fn.lit(None)
    rows = rows.withColumn("interval_ms", usual.cast("bigint")).withColumn("ahead", ahead.cast("bigint"))
    return _judged(rows)


def _judged(rows: DataFrame) -> DataFrame:
    from pyspark.sql import functions as fn

    no = fn.lit(False)
    gap = fn.coalesce(fn.col("took") > GAP * fn.col("interval_ms"), no)
    fell = [fn.coalesce(fn.col(measure) < fn.col(f"last.{measure}"), no) for measure in ("bytes", "messages")]
    rows = rows.withColumn("gap", gap).withColumn("reset", fn.col("counter") & (fell[0] | fell[1]))
    skew = fn.when(fn.abs("ahead") > SKEW_MS, fn.col("ahead"))
    rows = rows.withColumn("skew_ms", fn.coalesce(skew, fn.lit(0)))
    lasted = fn.when(fn.col("gap"), fn.col("interval_ms")).otherwise(fn.coalesce("took", "interval_ms", fn.lit(0)))
    missing = fn.when(fn.col("gap"), fn.round(fn.col("took") / fn.col("interval_ms")).cast("bigint") - 1).otherwise(0)
    return rows.select(
        *SERIES,
        "brokers",
        "time",
        "interval_ms",
        (fn.col("time") - fn.col("skew_ms") - (lasted / 2).cast("bigint")).alias("middle"),
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

    flowed = (fn.col(measure) - fn.col(f"last.{measure}")) / (fn.col("took") / 1_000)
    whole = ~fn.col("gap") & ~fn.col("reset")
    return fn.when(fn.col("duplicate"), None).when(fn.col("counter"), fn.when(whole, flowed)).otherwise(fn.col(measure))
