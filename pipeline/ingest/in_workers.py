"""Readings aggregated by hour of the day by one shuffle, one sort, and arrays in Spark's Python workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from pipeline.ingest.hourly_worker import SCHEMA, hours_of_readings
from pipeline.ingest.mapping import SourceMapping
from pipeline.ingest.series import SERIES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_DDL = {
    pa.string(): "string",
    pa.int8(): "tinyint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float64(): "double",
    pa.list_(pa.float64()): "array<double>",
}


def aggregate_in_workers(
    rows: DataFrame, names: Sequence[str], tasks: int, interval_ms: int | None, mapping: SourceMapping
) -> DataFrame:
    """Aggregate readings into one row per topic, partition and hour of the day (UTC).

    `rows`: good rows as returned by `rows.read_rows`. `interval_ms`: time between readings; the median of each series
    by default. `mapping`: the meaning of their columns. Returns rows of `hourly_worker.SCHEMA`.
    """
    from pyspark.sql import functions as fn

    numbered = rows.join(fn.broadcast(_file_numbers(rows.sparkSession, names)), "file")
    # Columns that are the same in all rows are left out: the shuffle costs more than everything after it.
    columns = {
        "bytes": mapping.is_long or mapping.bytes is not None,
        "messages": mapping.is_long or mapping.messages is not None,
        "ahead": mapping.received is not None,
        "counter": mapping.is_long,
    }
    series = [key for key in SERIES if mapping.is_long or key != "metric"]
    ahead = fn.col("time") - fn.col("received")
    readings = numbered.withColumn("ahead", ahead).select(
        *series,
        fn.col("number").alias("file"),
        "block",
        "row",
        "time",
        *(name for name, present in columns.items() if present),
    )
    ordered = readings.repartition(tasks, "topic", "partition").sortWithinPartitions(*series, "file", "block", "row")
    counters = mapping.kind == "counter"
    brokers = {name: metric.brokers for name, metric in mapping.metrics.items()}

    def aggregate(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return hours_of_readings(batches, interval_ms, counters, brokers)

    ddl = ", ".join(f"`{column.name}` {_DDL[column.type]}" for column in SCHEMA)
    return ordered.drop("block", "row").mapInArrow(aggregate, ddl)


def _file_numbers(spark: SparkSession, names: Sequence[str]) -> DataFrame:
    """Assign numbers to files in the order of their names, which is that of equal readings; a number takes less space.

    Returns `file`, as rows have it, and `number`.
    """
    ordered = sorted(set(names), key=str.encode)
    return spark.createDataFrame(list(enumerate(ordered)), "number int, file string")
