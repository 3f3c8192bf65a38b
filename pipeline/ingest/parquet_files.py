"""Parquet files that Spark's Python workers read by themselves, without rows in Java.

Workers read row groups as columns and divide their readings into chunks of one series (`series_chunks`). Spark shuffles
and sorts the chunks, and workers aggregate them as `in_workers` does with rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING

import pyarrow as pa

from pipeline.connect_session import runs_on_this_machine
from pipeline.ingest.batches import RowCounts
from pipeline.ingest.hourly_worker import SCHEMA, hours_of_readings
from pipeline.ingest.mapping import SourceMapping
from pipeline.ingest.parquet_worker import (
    BAD,
    ReadingsFile,
    RowGroup,
    describe_file,
    is_supported,
    output_schema,
    read_row_groups,
)
from pipeline.ingest.series_chunks import read_chunks
from pipeline.ingest.sources import FileGroup, names_in_rows
from pipeline.spark_jobs import default_parallelism

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ROWS_PER_TASK = 1_000_000
_SCHEME = "file:"


@dataclass(frozen=True, slots=True)
class ParquetPlan:
    """Which row groups each task reads.

    Attributes:
        tasks: row groups by task, in the order of their positions.
        schema: the schema of all files.
    """

    tasks: tuple[tuple[RowGroup, ...], ...]
    schema: pa.Schema


def plan_parquet(spark: SparkSession, groups: Sequence[FileGroup], mapping: SourceMapping) -> ParquetPlan | None:
    """Plan the reading of files by workers.

    Returns the plan; None if Spark has to read the files: if they are not Parquet with equal columns of supported
    types, or on a file system that the workers do not reach.
    """
    if len(groups) > 1 or groups[0].format != "parquet":
        return None
    found = groups[0].files
    if mapping.is_long or not all(is_local(file.uri) for file in found):
        return None
    names = names_in_rows(spark, groups[0].uris)
    ordered = sorted(found, key=lambda file: names[file.uri].encode())
    paths = [local_path(file.uri) for file in ordered]
    described = _describe(spark, paths)
    if None in described:
        return None
    known = [description for description in described if description is not None]
    schemas = {schema for schema, _ in known}
    schema = pa.ipc.read_schema(pa.py_buffer(next(iter(schemas))))
    if len(schemas) > 1 or not is_supported(schema, mapping):
        return None
    units, position = [], 0
    for number, (file, path, (_, counts)) in enumerate(zip(ordered, paths, known, strict=True)):
        readings = ReadingsFile(path, names[file.uri], number, file.modified_ms)
        for index, rows in enumerate(counts):
            units.append(RowGroup(readings, index, position))
            position += rows
    if not position:
        return None
    tasks = max(default_parallelism(spark), math.ceil(position / _ROWS_PER_TASK))
    bounds = [round(len(units) * task / tasks) for task in range(tasks + 1)]
    return ParquetPlan(tuple(tuple(units[start:end]) for start, end in pairwise(bounds) if start < end), schema)


def is_local(uri: str) -> bool:
    """Return whether the URI of a file is a path on this machine."""
    return uri.startswith(_SCHEME)


def local_path(uri: str) -> str:
    """Return the path of a URI for which `is_local` is true."""
    return "/" + uri.removeprefix(_SCHEME).lstrip("/")


def column_types(schema: pa.Schema) -> tuple[tuple[str, str], ...]:
    """Return the names and types of the columns of a plan, as `rows.parquet_columns` does."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return tuple((field.name, field.dataType.simpleString()) for field in from_arrow_schema(schema).fields)


def _describe(spark: SparkSession, paths: Sequence[str]) -> list[tuple[bytes, list[int]] | None]:
    """Describe files by workers, in their order; by this process if workers see the same files."""
    if runs_on_this_machine(spark):
        return [describe_file(path) for path in paths]

    def describe(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            described = [describe_file(path) for path in batch["path"].to_pylist()]
            yield pa.RecordBatch.from_pydict(
                {
                    "number": batch["number"],
                    "schema": pa.array([item and item[0] for item in described], pa.binary()),
                    "counts": pa.array([item and item[1] for item in described], pa.list_(pa.int64())),
                }
            )

    files = spark.createDataFrame(list(enumerate(paths)), "number int, path string")
    rows = files.mapInArrow(describe, "number int, schema binary, counts array<bigint>").collect()
    described = {
        row["number"]: None if row["schema"] is None else (bytes(row["schema"]), row["counts"]) for row in rows
    }
    return [described[number] for number in range(len(paths))]


def aggregate_parquet(
    spark: SparkSession, plan: ParquetPlan, tasks: int, interval_ms: int | None, mapping: SourceMapping, scratch: str
) -> tuple[DataFrame, DataFrame, RowCounts]:
    """Aggregate the readings of files by hour of the day, and write the result to `scratch`.

    `plan`: which row groups each task reads. `tasks`: number of Spark partitions after the shuffle. `interval_ms`: time
    between readings; the median of each series by default. `mapping`: the meaning of the columns. `scratch`: URI of the
    temporary folder. Returns rows of `hourly_worker.SCHEMA`; `file`, `reason` and `raw` of bad rows; the counts.
    """
    from pyspark.sql import Observation
    from pyspark.sql import functions as fn
    from pyspark.sql.pandas.types import from_arrow_schema

    read_schema = output_schema(plan.schema)
    bad_columns = [field for field in read_schema if field.name.startswith(BAD)]
    hours_schema = pa.schema([*SCHEMA, *bad_columns])
    row_groups, schema, counters = plan.tasks, plan.schema, mapping.kind == "counter"

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for task in batch["id"].to_pylist():
                yield from read_row_groups(row_groups[task], mapping, schema)

    def aggregate(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _hours_of_chunks(batches, interval_ms, counters, hours_schema)

    numbers = spark.range(0, len(row_groups), 1, len(row_groups))
    row_counts = Observation("rows")
    chunks = numbers.mapInArrow(read, from_arrow_schema(read_schema)).observe(
        row_counts,
        *(fn.sum(name).alias(name) for name in ("readings", "malformed")),
    )
    shuffled = chunks.drop("malformed").repartition(tasks, "topic", "partition")
    # Bad rows have no topic, so they come first.
    ordered = shuffled.sortWithinPartitions("topic", "partition", "broker", "position")
    ordered.mapInArrow(aggregate, from_arrow_schema(hours_schema)).write.parquet(scratch)
    counts = {name: count or 0 for name, count in row_counts.get.items()}
    written = spark.read.parquet(scratch)
    is_bad = fn.col(f"{BAD}name").isNotNull()
    hours = written.where(~is_bad).select(*SCHEMA.names)
    bad = bad_rows(written.where(is_bad))
    readings, malformed = counts["readings"], counts["malformed"]
    return hours, bad, RowCounts(readings + malformed, malformed)


def bad_rows(rows: DataFrame) -> DataFrame:
    """Return `file`, `reason` and `raw` of bad rows, from their columns in `parquet_worker.output_schema`."""
    from pyspark.sql import functions as fn

    return rows.select(
        fn.col(f"{BAD}name").alias("file"),
        fn.col(f"{BAD}reason").alias("reason"),
        fn.to_json(f"{BAD}row").alias("raw"),
    )


def _hours_of_chunks(
    batches: Iterator[pa.RecordBatch], interval_ms: int | None, counters: bool, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Pass on the bad rows of a Spark partition, and aggregate its chunks."""
    for batch in batches:
        bad = batch["topic"].null_count
        if bad:
            yield _with_nulls(batch.slice(0, bad), schema, BAD)
        if bad < batch.num_rows:
            chunks = chain([batch.slice(bad)], batches)
            readings = (part for chunk in chunks for part in read_chunks(chunk).to_batches())
            for hours in hours_of_readings(readings, interval_ms, counters):
                yield _with_nulls(hours, schema)


def _with_nulls(batch: pa.RecordBatch, schema: pa.Schema, prefix: str = "") -> pa.RecordBatch:
    """Return the columns of a batch whose names begin with a prefix, and nulls for the others of a schema."""
    names = set(batch.schema.names)
    arrays = [
        batch[field.name] if field.name in names and field.name.startswith(prefix) else pa.nulls(len(batch), field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
