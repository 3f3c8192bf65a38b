"""Spark jobs over files with chunks of readings: no row passes through Java, and nothing is shuffled.

For folders of this machine or shared by all workers: the tasks of one job write chunks to files, and those of another
select the chunks of their Spark partitions. The tables have the bytes of a shuffle (`parquet_files.aggregate_parquet`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.ingest.batches import RowCounts
from pipeline.ingest.chunk_files import ROWS_SCHEMA, ChunkFile, read_partition, read_rows, whole_file, write_chunk_file
from pipeline.ingest.hourly_worker import SCHEMA, hours_of_readings
from pipeline.ingest.mapping import SourceMapping
from pipeline.ingest.parquet_files import ParquetPlan, bad_rows
from pipeline.ingest.parquet_worker import BAD, RowGroup, output_schema, read_row_groups

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_COUNTS = ("readings", "malformed")
_BAD_ROWS = "bad.parquet"


@dataclass(frozen=True, slots=True)
class WrittenChunks:
    """Chunks of some Parquet files.

    Attributes:
        files: the files with chunks.
        bad: file with the bad rows, in the order of their positions; None without any.
    """

    files: tuple[Path, ...]
    bad: Path | None
    counts: RowCounts

    def bad_rows(self, spark: SparkSession, plan: ParquetPlan) -> DataFrame | None:
        """Return `file`, `reason` and `raw` of the bad rows; None without any."""
        from pyspark.sql.pandas.types import from_arrow_schema

        if self.bad is None:
            return None
        return bad_rows(spark.read.schema(from_arrow_schema(_bad_schema(plan.schema))).parquet(self.bad.as_uri()))


def write_chunks(
    spark: SparkSession, plan: ParquetPlan, mapping: SourceMapping, folder: Path, scratch: Path
) -> WrittenChunks:
    """Divide the readings of files into chunks, and write them.

    `plan`: which row groups each task reads. `mapping`: the meaning of the columns. `folder`: the folder of the files,
    which all workers see; created. `scratch`: a temporary folder, which all workers see; created. Returns the files of
    the chunks, and the bad rows.
    """
    for place in (folder, scratch):
        place.mkdir(parents=True, exist_ok=True)
    row_groups, schema = plan.tasks, plan.schema

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for task in batch["id"].to_pylist():
                writer = _TaskWriter(mapping, schema, scratch / f"bad-{task}.arrow")
                write_chunk_file(_chunk_file(folder, task), writer.chunks(row_groups[task]))
                yield pa.RecordBatch.from_pylist([{name: writer.counts[name] for name in _COUNTS}])

    numbers = spark.range(0, len(row_groups), 1, len(row_groups))
    rows = numbers.mapInArrow(write, ", ".join(f"{name} bigint" for name in _COUNTS)).collect()
    readings, malformed = (sum(row[name] for row in rows) for name in _COUNTS)
    bad = _merge_bad(scratch, len(row_groups), _bad_schema(schema)) if malformed else None
    files = tuple(_chunk_file(folder, task) for task in range(len(row_groups)))
    return WrittenChunks(files, bad, RowCounts(readings + malformed, malformed))


def _chunk_file(folder: Path, task: int) -> Path:
    return folder / f"{task}.arrow"


def _bad_schema(schema: pa.Schema) -> pa.Schema:
    return pa.schema([field for field in output_schema(schema) if field.name.startswith(BAD)])


class _TaskWriter:
    """Reads the row groups of a task, writes their bad rows and counts all.

    `mapping`: the meaning of the columns.
    """

    def __init__(self, mapping: SourceMapping, schema: pa.Schema, bad: Path) -> None:
        self._mapping, self._schema, self._bad = mapping, schema, bad
        self.counts = dict.fromkeys(_COUNTS, 0)

    def chunks(self, row_groups: Sequence[RowGroup]) -> Iterator[pa.RecordBatch]:
        """Yield the chunks of row groups."""
        schema = _bad_schema(self._schema)
        by_file = groupby(row_groups, key=lambda group: group.file.number)
        with whole_file(self._bad) as sink, pa.ipc.new_stream(sink, schema) as writer:
            for _, of_file in by_file:
                for batch in read_row_groups(list(of_file), self._mapping, self._schema):
                    for name in _COUNTS:
                        self.counts[name] += batch[name].sum().as_py() or 0
                    if batch["topic"].null_count:
                        writer.write_batch(batch.select(schema.names))
                    else:
                        yield batch


def _merge_bad(scratch: Path, tasks: int, schema: pa.Schema) -> Path:
    """Write the bad rows of all tasks to one file, which Spark reads in their order."""
    merged = scratch / _BAD_ROWS
    with pq.ParquetWriter(merged, schema) as writer:
        for task in range(tasks):
            with pa.OSFile(str(scratch / f"bad-{task}.arrow")) as source:
                for batch in pa.ipc.open_stream(source):
                    writer.write_batch(batch)
    return merged


def aggregate_chunks(
    spark: SparkSession, files: Sequence[ChunkFile], tasks: int, interval_ms: int | None, counters: bool, scratch: str
) -> DataFrame:
    """Aggregate the readings of chunks by hour of the day, and write the result to `scratch`.

    `tasks`: number of Spark partitions. `interval_ms`: time between readings; the median of each series by default.
    `counters` says whether readings are counters, not rates. `scratch`: URI of the temporary folder. Returns rows of
    `hourly_worker.SCHEMA`.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    aggregate = partial(_aggregate, tuple(files), tasks, interval_ms, counters)
    hours = spark.range(0, tasks, 1, tasks).mapInArrow(aggregate, from_arrow_schema(SCHEMA))
    hours.write.parquet(scratch)
    return spark.read.schema(from_arrow_schema(SCHEMA)).parquet(scratch)


def _aggregate(
    files: Sequence[ChunkFile],
    tasks: int,
    interval_ms: int | None,
    counters: bool,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for task in batch["id"].to_pylist():
            yield from hours_of_readings(read_partition(files, task, tasks), interval_ms, counters)


_NOT_IN_CHUNKS: Final = {
    "metric": "string",
    "size": "double",
    "bytes_out": "double",
    "lag": "double",
    "group": "string",
}
"""Columns of rows that chunks lack, with their types: only files with a metric per row have values in them."""


def rows_of_chunks(spark: SparkSession, uris: Sequence[str], names: Sequence[str], counters: bool) -> DataFrame:
    """Return the readings of chunks as rows, from any file system of Spark.

    `counters` says whether readings are counters, not rates. Returns the columns of `rows.read_rows` that valid rows
    have.
    """
    from pyspark.sql import functions as fn
    from pyspark.sql.pandas.types import from_arrow_schema

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for content in batch["content"]:
                yield from read_rows(content.as_buffer(), names)

    files = spark.read.format("binaryFile").load(list(uris)).select("content")
    rows = files.mapInArrow(read, from_arrow_schema(ROWS_SCHEMA))
    unknown = {name: fn.lit(None).cast(type_) for name, type_ in _NOT_IN_CHUNKS.items()}
    constant = {"counter": fn.lit(counters), "brokers": fn.lit("each"), "block": fn.lit(0).cast("bigint")}
    return rows.withColumns({**unknown, **constant})
