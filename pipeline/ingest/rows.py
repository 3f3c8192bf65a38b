"""Raw rows of any source and format, mapped to common columns and validated.

Rows are not filtered here: a bad row gets a reason and the columns that could be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from pipeline.errors import IngestError
from pipeline.ingest.document_worker import DOCUMENT_ROWS, document_rows
from pipeline.ingest.documents import FORMATS, MAX_BYTES
from pipeline.ingest.mapping import SourceMapping
from pipeline.ingest.row_mapping import RowMapper
from pipeline.ingest.sources import FileGroup

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_BROKEN = "_broken"


def read_rows(spark: SparkSession, group: FileGroup, mapping: SourceMapping) -> DataFrame:
    """Read files into rows with common columns.

    Returns `topic`, `partition` (WHOLE_TOPIC if measured per topic), `broker`, `metric` (null if wide), `time`,
    `received` (ms), `bytes`, `messages`, `size` (null if not measured), `counter`, `brokers` (see `MappedMetric`),
    `ignored` (a metric that the mapping does not contain), `reason` (null if the row is good), the position `file`,
    `block`, `row` (the last two grow along a file), and `raw`, the text of the row. Raises IngestError if a column of
    the mapping is missing.
    """
    if group.format == "parquet":
        raw = _from_columns(spark, group, mapping)
    elif group.format in FORMATS:
        raw = _from_documents(spark, group, mapping)
    else:
        raw = _from_lines(spark, group, mapping)
    return RowMapper.of(raw, mapping).apply(raw)


def parquet_columns(spark: SparkSession, group: FileGroup) -> tuple[tuple[str, str], ...]:
    """Return the names and types of the columns of Parquet files, in the order in which the text of a row has them."""
    schema = spark.read.option("mergeSchema", True).parquet(*group.uris).schema
    return tuple((field.name, field.dataType.simpleString()) for field in schema.fields)


def _from_columns(spark: SparkSession, group: FileGroup, mapping: SourceMapping) -> DataFrame:
    from pyspark.sql import functions as fn

    rows = spark.read.option("mergeSchema", True).parquet(*group.uris)
    _check_columns(tuple(rows.columns), group, mapping)
    present = [name for name in (*mapping.required, *mapping.optional) if name in rows.columns]
    fields = fn.struct(*(rows[f"`{name}`"].alias(name) for name in present))
    text = fn.to_json(fn.struct(*(fn.col(f"`{name}`") for name in rows.columns)))
    return rows.select(
        *_position_columns(), fields.alias("fields"), fn.lit(None).cast("string").alias("broken"), text.alias("raw")
    )


def _from_lines(spark: SparkSession, group: FileGroup, mapping: SourceMapping) -> DataFrame:
    from pyspark.sql import functions as fn

    lines = spark.read.text(group.uris).select(*_position_columns(), fn.col("value").alias("raw"))
    wanted = (*mapping.required, *mapping.optional)
    if group.format == "csv":
        _check_columns(group.columns, group, mapping)
        lines = lines.where(fn.col("raw") != fn.lit(group.header))
        names, fault = group.columns, f"not {len(group.columns)} fields"
    else:
        names, fault = wanted, "not JSON"
    schema = _ddl((*names, _BROKEN))
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _BROKEN}
    if group.format == "csv":
        parsed = fn.from_csv("raw", schema, {**options, "sep": group.separator, "escape": '"'})
    else:
        parsed = fn.from_json("raw", schema, options)
    rows = lines.where(fn.trim("raw") != "").select("*", parsed.alias("fields"))
    broken = fn.when(fn.col("fields").isNull() | fn.col(f"fields.{_BROKEN}").isNotNull(), fn.lit(fault))
    return rows.select("file", "written", "block", "row", "fields", broken.alias("broken"), "raw")


def _from_documents(spark: SparkSession, group: FileGroup, mapping: SourceMapping) -> DataFrame:
    from pyspark.sql import functions as fn

    too_large = next((file for file in group.files if file.size > MAX_BYTES), None)
    if too_large is not None:
        raise IngestError(
            f"{too_large.uri}: {too_large.size:,} bytes in one document (maximum: {MAX_BYTES:,}); query shorter ranges"
        )
    if not mapping.is_long:
        raise IngestError(
            f"{group.uris[0]}: names its metrics in each series; --map has to name a mapping with metrics, such as "
            "jmx-exporter"
        )
    written = fn.unix_micros("_metadata.file_modification_time").alias("written")
    texts = spark.read.text(group.uris, wholetext=True)
    texts = texts.select(fn.col("_metadata.file_path").alias("file"), written, "value")
    format_ = group.format

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return document_rows(batches, format_)

    rows = texts.mapInArrow(read, DOCUMENT_ROWS)
    names = (*mapping.required, *mapping.optional)
    fields = fn.from_json("raw", _ddl((*names, _BROKEN)), {"columnNameOfCorruptRecord": _BROKEN})
    position = "file", fn.timestamp_micros("written").alias("written"), fn.lit(0).cast("bigint").alias("block"), "row"
    return rows.select(*position, fields.alias("fields"), "broken", "raw")


def _ddl(names: Sequence[str]) -> str:
    return ", ".join(f"`{name.replace('`', '``')}` string" for name in names)


def _position_columns() -> list[Column]:
    from pyspark.sql import functions as fn

    return [
        fn.col("_metadata.file_path").alias("file"),
        fn.col("_metadata.file_modification_time").alias("written"),
        fn.col("_metadata.file_block_start").alias("block"),
        fn.monotonically_increasing_id().alias("row"),
    ]


def _check_columns(present: tuple[str, ...], group: FileGroup, mapping: SourceMapping) -> None:
    missing = [name for name in mapping.required if name not in present]
    if missing:
        raise IngestError(
            f"{group.uris[0]}: no column '{missing[0]}' (columns: {', '.join(present)}); map columns with --map"
        )
