"""Raw rows of any source and format as rows of one form, each with what is wrong with it, if anything.

Nothing is filtered here: a bad row has a reason, and the columns that could be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pipeline.ingest.errors import IngestError
from pipeline.ingest.mapping import SourceMapping
from pipeline.ingest.row_mapping import RowMapper
from pipeline.ingest.sources import FileGroup

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_BROKEN = "_broken"


def read_rows(spark: SparkSession, group: FileGroup, mapping: SourceMapping) -> DataFrame:
    """Read files as rows of one form.

    Returns:
        `topic`, `partition` (WHOLE_TOPIC if measured by topic), `broker`, `metric` (null if wide), `time`, `received`
        (ms), `bytes`, `messages`, `size` (what is not measured is null), `counter`, `brokers` (see `Metric`),
        `passed_over` (not a metric that the mapping knows), `reason` (null if the row is good), where it stood: `file`,
        `block`, `row`, of which the last two grow along a file, and `raw`, its text.

    Raises:
        IngestError: a column that the mapping names is not there.
    """
    raw = _from_columns(spark, group, mapping) if group.format == "parquet" else _from_lines(spark, group, mapping)
    return RowMapper.of(raw, mapping).applied(raw)


def _from_columns(spark: SparkSession, group: FileGroup, mapping: SourceMapping) -> DataFrame:
    from pyspark.sql import functions as fn

    rows = spark.read.option("mergeSchema", True).parquet(*group.uris)
    _check_columns(tuple(rows.columns), group, mapping)
    there = [name for name in (*mapping.required, *mapping.optional) if name in rows.columns]
    fields = fn.struct(*(rows[f"`{name}`"].alias(name) for name in there))
    text = fn.to_json(fn.struct(*(fn.col(f"`{name}`") for name in rows.columns)))
    return rows.select(
        *_where(), fields.alias("fields"), fn.lit(None).cast("string").alias("broken"), text.alias("raw")
    )


def _from_lines(spark: SparkSession, group: FileGroup, mapping: SourceMapping) -> DataFrame:
    from pyspark.sql import functions as fn

    lines = spark.read.text(group.uris).select(*_where(), fn.col("value").alias("raw"))
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


def _ddl(names: Sequence[str]) -> str:
    return ", ".join(f"`{name.replace('`', '``')}` string" for name in names)


def _where() -> list[Column]:
    from pyspark.sql import functions as fn

    return [
        fn.col("_metadata.file_path").alias("file"),
        fn.col("_metadata.file_modification_time").alias("written"),
        fn.col("_metadata.file_block_start").alias("block"),
        fn.monotonically_increasing_id().alias("row"),
    ]


def _check_columns(there: tuple[str, ...], group: FileGroup, mapping: SourceMapping) -> None:
    missing = [name for name in mapping.required if name not in there]
    if missing:
        raise IngestError(
            f"{group.uris[0]}: no column '{missing[0]}' (columns: {', '.join(there)}); "
            "say with --map which column means what"
        )
