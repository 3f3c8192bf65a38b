"""What consumers fetch, and how far they are behind: bytes out of topics, and lags of consumer groups.

Kafka's `BytesOutPerSec` of a topic counts fetches of consumers at the broker that serves them, leader or follower.
Fetches of followers are counted apart, and for all topics together.

Source: `BrokerTopicStats.updateBytesOut` of Kafka.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.ingest.hourly_arrays import PERCENTILES
from pipeline.ingest.in_workers import aggregate_in_workers
from pipeline.ingest.mapping import SourceMapping
from pipeline.ingest.row_mapping import WHOLE_TOPIC
from pipeline.ingest.series import mark_faults

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_HOUR_MS = 3_600_000
_COUNTS_OF_LAGS = ("duplicates", "conflicts", "late", "gaps", "missing")


@dataclass(frozen=True, slots=True)
class GroupLag:
    """How far a consumer group is behind.

    Attributes:
        topics: number of topics that it reads.
        mean_records: mean lag over all readings, summed over its partitions.
        max_records: highest lag of a partition, or of a topic whose partitions are not measured.
    """

    group: str
    topics: int
    mean_records: int
    max_records: int


def bytes_out_by_hour(
    rows: DataFrame, names: Sequence[str], tasks: int, mapping: SourceMapping, interval_ms: int | None
) -> DataFrame:
    """Aggregate readings of bytes out as those of incoming bytes.

    `rows`: good rows as returned by `rows.read_rows`; those without bytes out are left out. `names`: names of their
    files, as in the rows. `tasks`: number of Spark partitions. `mapping`: the meaning of their metrics. `interval_ms`:
    time between readings; the median of each series by default. Returns rows of `hourly_worker.SCHEMA`; `bytes_per_s`
    are bytes out.
    """
    from pyspark.sql import functions as fn

    good = rows.where("bytes_out is not null")
    readings = good.withColumn("bytes", fn.col("bytes_out")).withColumn("messages", fn.lit(None).cast("double"))
    return aggregate_in_workers(readings, names, tasks, interval_ms, mapping)


def bytes_out_of_topics(hours: DataFrame) -> DataFrame:
    """Return the table `bytes_out` of rows of `bytes_out_by_hour` with expanded percentiles."""
    from pyspark.sql import functions as fn

    rates = [fn.col(f"bytes_per_s_{shape}").alias(f"bytes_out_per_s_{shape}") for shape in ("mean", *PERCENTILES)]
    return hours.where("samples > 0").select("topic", "hour", "samples", *rates)


def lags_by_hour(rows: DataFrame, tasks: int, mapping: SourceMapping, interval_ms: int | None) -> DataFrame:
    """Return the table `lags`.

    `rows`: good rows as returned by `rows.read_rows`; those without a lag are left out. `tasks`: number of Spark
    partitions. `mapping`: the meaning of their metrics. `interval_ms`: time between readings; the median of each series
    by default. Returns one row per group, topic, partition and hour of the day. Of several readings of a group and
    partition at the same time, such as those of two exporters, the largest counts.
    """
    from pyspark.sql import functions as fn

    readings = (
        rows.where("lag is not null").withColumn("broker", fn.col("group")).repartition(tasks, "topic", "partition")
    )
    measured = mark_faults(readings, "lag", interval_ms, mapping.received is not None)
    # A lag is that of a moment, not of the interval before it.
    hour = fn.pmod(fn.floor(fn.col("time") / _HOUR_MS), fn.lit(24)).cast("tinyint")
    lag = fn.col("value")
    return (
        measured.groupBy(fn.col("broker").alias("group"), "topic", "partition", hour.alias("hour"))
        .agg(
            fn.count(lag).alias("samples"),
            fn.mean(lag).alias("lag_mean"),
            *(fn.percentile(lag, share).alias(f"lag_{name}") for name, share in PERCENTILES.items()),
            fn.max(lag).alias("lag_max"),
            *(fn.sum(count).alias(count) for count in _COUNTS_OF_LAGS),
        )
        .where("samples > 0")
    )


def summarize_lags(lags: DataFrame) -> tuple[GroupLag, ...]:
    """Return the lag of each group, by name.

    `lags`: the table `lags`; sums over a topic count only where its partitions are not measured.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as fn

    last = fn.max("partition").over(Window.partitionBy("group", "topic"))
    counted = lags.withColumn("last", last).where(f"partition != {WHOLE_TOPIC} or last = {WHOLE_TOPIC}")
    means = counted.groupBy("group", "topic", "partition").agg(
        (_weighted("lag_mean") / fn.sum("samples")).alias("mean"), fn.max("lag_max").alias("highest")
    )
    groups = means.groupBy("group").agg(
        fn.count_distinct("topic").alias("topics"), fn.sum("mean").alias("mean"), fn.max("highest").alias("highest")
    )
    return tuple(
        GroupLag(row["group"], row["topics"], round(row["mean"]), round(row["highest"]))
        for row in groups.orderBy("group").collect()
    )


def _weighted(column: str) -> Column:
    from pyspark.sql import functions as fn

    return fn.sum(fn.col(column) * fn.col("samples"))
