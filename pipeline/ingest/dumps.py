"""Dumps of Kafka's tools and logs of group leaders, parsed file by file in Spark workers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from pipeline.ingest.dump_worker import RotatedLogs, describe_bounds, parse_texts
from pipeline.ingest.sources import SourceFile, names_in_rows
from pipeline.ingest.tables import HISTORY, PLACEMENTS, SIZES, Table
from scenarios.kafka.formats.logs import RELEVANT_LINE, LogBounds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TABLE_OF = {"topics": PLACEMENTS, "log_dirs": SIZES, "groups": HISTORY, "leader_logs": HISTORY}
"""The table of each kind of dump."""

_ARROW = {
    "string": pa.string(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "array<int>": pa.list_(pa.int32()),
}


def read_dumps(spark: SparkSession, kind: str, texts: DataFrame, scratch: str) -> DataFrame:
    """Parse dumps of one kind and write the rows to `scratch`.

    `texts`: `file` and `text`, as returned by `dump_texts` or `texts_of_copies`; `scratch`: URI of the temporary
    folder. Returns the columns of the table, `file`, `reason` and `raw`; a dump that cannot be parsed is one row with a
    reason.
    """
    columns = _columns(TABLE_OF[kind])
    schema = pa.schema([(name, _ARROW[type_]) for name, type_ in columns.items()])

    rotated = None
    if kind == "leader_logs":
        # Logs are large, and their relevant lines are read twice.
        texts.write.parquet(f"{scratch}_texts")
        texts = spark.read.parquet(f"{scratch}_texts")
        rotated = _find_rotated(texts)

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return parse_texts(kind, batches, schema, rotated)

    ddl = ", ".join(f"`{name}` {type_}" for name, type_ in columns.items())
    texts.mapInArrow(read, ddl).write.parquet(scratch)
    return spark.read.parquet(scratch)


def _find_rotated(texts: DataFrame) -> RotatedLogs:
    rows = texts.mapInArrow(describe_bounds, "file string, bounds string").collect()
    bounds = {row["file"]: LogBounds(**json.loads(row["bounds"])) for row in rows}
    return RotatedLogs.of(bounds)


def dump_texts(spark: SparkSession, kind: str, files: Sequence[SourceFile]) -> DataFrame:
    """Return the texts of dumps of one kind; of logs, the relevant lines only."""
    uris = sorted(file.uri for file in files)
    return _log_texts(spark, uris) if kind == "leader_logs" else _texts(spark, uris)


def texts_of_copies(spark: SparkSession, names: Mapping[str, str]) -> DataFrame:
    """Return the texts of copies of dumps.

    `names`: names of the dumps, as rows have them, by the URIs of their copies; in the order of the dumps, because rows
    of several dumps are in the order in which Spark reads them.
    """
    from pyspark.sql import functions as fn

    by_uri = names_in_rows(spark, list(names))
    rows = [(by_uri[uri], name) for uri, name in names.items()]
    originals = spark.createDataFrame(rows, "file string, original string")
    texts = _texts(spark, list(names)).join(fn.broadcast(originals), "file")
    return texts.select(fn.col("original").alias("file"), "text")


def _columns(table: Table) -> dict[str, str]:
    """Return the columns of a table and those of unreadable dumps, with their types."""
    return {column.name: column.type for column in table.columns} | dict.fromkeys(("file", "reason", "raw"), "string")


def _texts(spark: SparkSession, uris: list[str]) -> DataFrame:
    from pyspark.sql import functions as fn

    whole = spark.read.text(uris, wholetext=True)
    return whole.select(fn.col("_metadata.file_path").alias("file"), fn.col("value").alias("text"))


def _log_texts(spark: SparkSession, uris: list[str]) -> DataFrame:
    """Return the relevant lines of each log as one text; logs are large, and few lines matter."""
    from pyspark.sql import functions as fn

    lines = spark.read.text(uris).select(
        fn.col("_metadata.file_path").alias("file"),
        fn.struct(
            fn.col("_metadata.file_block_start").alias("block"), fn.monotonically_increasing_id().alias("row"), "value"
        ).alias("line"),
    )
    kept = fn.array_sort(fn.collect_list(fn.when(fn.col("line.value").rlike(RELEVANT_LINE), fn.col("line"))))
    text = fn.array_join(fn.transform(kept, lambda line: line["value"]), "\n")
    return lines.groupBy("file").agg(text.alias("text"))
