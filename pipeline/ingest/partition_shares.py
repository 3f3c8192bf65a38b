"""Distribution of topic measurements over partitions.

Kafka's brokers count bytes per topic only. They are distributed over the partitions in proportion to messages, if these
are known for every partition of the topic; otherwise in proportion to size; otherwise equally.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.ingest.hourly_arrays import PERCENTILES
from pipeline.ingest.row_mapping import WHOLE_TOPIC

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_SHAPES = ("mean", *PERCENTILES)


def distribute_over_partitions(hours: DataFrame, sizes: DataFrame | None, placements: DataFrame | None) -> DataFrame:
    """Fill in the hours of partitions that were not measured themselves from those of their topic.

    `hours`: rows as returned by `measured.expand_percentiles`, some with partition WHOLE_TOPIC. `sizes`: topic,
    partition, size_bytes; None if unknown. `placements`: topic, partition; None if unknown. Returns hours of partitions
    that have samples. Topics without a known partition are left out.
    """
    from pyspark.sql import functions as fn

    hours = hours.where("samples > 0")
    topics = hours.where(fn.col("partition") == WHOLE_TOPIC).drop("partition")
    own = hours.where(fn.col("partition") != WHOLE_TOPIC)
    shares = _shares(own, sizes, placements)
    rates = [f"{what}_per_s_{shape}" for what in ("bytes", "messages") for shape in _SHAPES]
    spread = topics.join(fn.broadcast(shares), "topic").select(
        "topic",
        "partition",
        "hour",
        fn.col("samples").alias("topic_samples"),
        *((fn.col(rate) * fn.col("share")).alias(f"topic_{rate}") for rate in rates),
    )
    both = own.join(spread, ["topic", "partition", "hour"], "full")
    return both.select(
        "topic",
        "partition",
        "hour",
        fn.coalesce("samples", "topic_samples").alias("samples"),
        *(fn.coalesce(rate, f"topic_{rate}").alias(rate) for rate in rates),
    )


def distribute_sizes(sizes: DataFrame, placements: DataFrame | None) -> DataFrame:
    """Fill in the sizes of partitions that were not measured themselves from those of their topic.

    `sizes`: topic, partition, size_bytes, replicas; with partition WHOLE_TOPIC, size_bytes is the sum over all replicas
    of all partitions. `placements`: topic, partition, replicas; None if unknown. Returns sizes of partitions; a topic
    is distributed equally over its replicas. Topics without placements are left out.
    """
    from pyspark.sql import functions as fn

    own = sizes.where(fn.col("partition") != WHOLE_TOPIC)
    if placements is None:
        return own
    whole = sizes.where(fn.col("partition") == WHOLE_TOPIC).select("topic", fn.col("size_bytes").alias("total"))
    placed = placements.select("topic", "partition", fn.size("replicas").alias("copies"))
    copies = placed.groupBy("topic").agg(fn.sum("copies").alias("all_copies"))
    spread = placed.join(whole.join(copies, "topic"), "topic").select(
        "topic",
        "partition",
        fn.floor(fn.col("total") / fn.col("all_copies")).cast("bigint").alias("of_topic"),
        fn.col("copies").cast("int").alias("topic_replicas"),
    )
    return own.join(spread, ["topic", "partition"], "full").select(
        "topic",
        "partition",
        fn.coalesce("size_bytes", "of_topic").alias("size_bytes"),
        fn.when(fn.col("size_bytes").isNull(), fn.col("topic_replicas"))
        .otherwise(fn.col("replicas"))
        .alias("replicas"),
    )


def _shares(own: DataFrame, sizes: DataFrame | None, placements: DataFrame | None) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as fn

    known = own.groupBy("topic", "partition").agg(fn.mean("messages_per_s_mean").alias("messages"))
    known = known.withColumn("size", fn.lit(None).cast("double"))
    if sizes is not None:
        known = known.unionByName(sizes.select("topic", "partition", fn.col("size_bytes").alias("size")), True)
    if placements is not None:
        known = known.unionByName(placements.select("topic", "partition"), True)
    known = known.groupBy("topic", "partition").agg(fn.max("messages").alias("messages"), fn.max("size").alias("size"))
    topic = Window.partitionBy("topic")

    def share(of: str) -> Column:
        total, whole = fn.sum(of).over(topic), fn.count(of).over(topic) == fn.count(fn.lit(1)).over(topic)
        return fn.when(whole & (total > 0), fn.col(of) / total)

    even = 1 / fn.count(fn.lit(1)).over(topic)
    return known.select("topic", "partition", fn.coalesce(share("messages"), share("size"), even).alias("share"))
