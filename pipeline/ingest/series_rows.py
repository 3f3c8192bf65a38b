"""Rows of time series from all files of an ingest: how they are read, which are good, and how many there are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

from pipeline.ingest.batches import RowCounts
from pipeline.ingest.mapping import SourceMapping
from pipeline.ingest.rows import read_rows
from pipeline.ingest.sources import FileGroup
from pipeline.spark_jobs import default_parallelism

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Observation, SparkSession

VALID = "reason is null and not ignored"
"""The condition, in Spark SQL, of rows with a value."""

MEASURED = "(bytes is not null or messages is not null)"
"""The condition of valid rows with readings of incoming traffic."""

_BYTES_PER_ROW = {"parquet": 10, "csv": 64, "jsonl": 150}
_BYTES_PER_POINT = 25
"""Bytes of a row in a document of a monitoring system."""
_COMPRESSION_RATIO = 6
_ROWS_PER_TASK = 1_000_000
"""Rows that one core sorts in memory without spilling to disk, at Spark's default of 1 GB."""


def read_groups(spark: SparkSession, groups: Sequence[FileGroup], mapping: SourceMapping) -> DataFrame:
    """Read files into rows.

    Returns the columns of `rows.read_rows`.
    """
    return reduce(lambda rows, more: rows.unionByName(more), (read_rows(spark, group, mapping) for group in groups))


def task_count(spark: SparkSession, groups: Sequence[FileGroup]) -> int:
    """Return the number of Spark partitions: few enough rows to sort in memory, and work for every core."""
    rows = 0.0
    for group in groups:
        ratio = (
            _COMPRESSION_RATIO if group.format != "parquet" and group.uris[0].endswith((".gz", ".bz2", ".zst")) else 1
        )
        rows += group.size * ratio / _BYTES_PER_ROW.get(group.format, _BYTES_PER_POINT)
    return max(default_parallelism(spark), math.ceil(rows / _ROWS_PER_TASK))


class CountedRows:
    """Rows that Spark counts while it computes something else from them.

    `rows`: the rows; the first action on what follows from them counts them.
    """

    def __init__(self, rows: DataFrame) -> None:
        from pyspark.sql import Observation

        self._plain, self._counts = rows, _counts()
        self._observation: Observation = Observation("rows")
        self.rows = rows.observe(self._observation, *self._counts)

    def counts(self, no_result: bool) -> RowCounts:
        """Return the counts, after the action.

        `no_result` says whether the action had no rows; Spark then removes its plan together with the counts.
        """
        counted = self._plain.agg(*self._counts).collect()[0].asDict() if no_result else dict(self._observation.get)
        return RowCounts(**counted)


def _counts() -> list[Column]:
    from pyspark.sql import functions as fn

    return [
        fn.count(fn.lit(1)).alias("rows"),
        fn.count(fn.col("reason")).alias("malformed"),
        fn.count_if(fn.col("ignored")).alias("ignored"),
        *(
            fn.count_if(fn.expr(f"{VALID} and {column} is not null")).alias(name)
            for column, name in (("bytes_out", "bytes_out"), ("lag", "lags"))
        ),
    ]


def bad_rows(rows: DataFrame) -> DataFrame:
    """Return `file`, `reason` and `raw` of the malformed rows."""
    return rows.where("reason is not null").select("file", "reason", "raw")
