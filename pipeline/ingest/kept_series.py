"""Time series that an output folder keeps: written by each ingest with `--add`, aggregated from all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.connect_session import is_connect
from pipeline.ingest.batches import METRICS, QUARANTINED, ROWS, IngestBatch, RowCounts, groups_of
from pipeline.ingest.chunk_files import ChunkFile
from pipeline.ingest.chunk_jobs import WrittenChunks, aggregate_chunks, rows_of_chunks, write_chunks
from pipeline.ingest.mapping import SourceMapping
from pipeline.ingest.measured import Aggregation, Measured, check_good_rows, without_nulls
from pipeline.ingest.parquet_files import ParquetPlan, is_local, local_path
from pipeline.ingest.series_rows import MEASURED, VALID, CountedRows, bad_rows, read_groups, task_count
from pipeline.ingest.sources import FileGroup
from pipeline.storage import write_parquet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_KEPT = {
    "topic": "string",
    "partition": "int",
    "broker": "string",
    "metric": "string",
    "time": "bigint",
    "received": "bigint",
    "bytes": "double",
    "messages": "double",
    "size": "double",
    "bytes_out": "double",
    "lag": "double",
    "group": "string",
    "counter": "boolean",
    "brokers": "string",
    "file": "string",
    "block": "bigint",
    "row": "bigint",
}
"""Columns of the rows of a batch with their types; see `rows.read_rows`."""

_KEPT_DDL = ", ".join(f"`{name}` {type_}" for name, type_ in _KEPT.items())


def keep_rows(
    spark: SparkSession, groups: Sequence[FileGroup], mapping: SourceMapping, rows_folder: str, bad_folder: str
) -> RowCounts:
    """Read files, and write their valid rows to one folder and the malformed ones to another."""
    rows = read_groups(spark, groups, mapping)
    observed = CountedRows(rows)
    write_parquet(observed.rows.where(VALID).select(*_KEPT), rows_folder)
    counted = observed.counts(spark.read.schema(_KEPT_DDL).parquet(rows_folder).isEmpty())
    if counted.malformed:
        _write_bad(bad_rows(rows), bad_folder)
    return counted


def keep_chunks(
    spark: SparkSession, plan: ParquetPlan, mapping: SourceMapping, folder: Path, scratch: Path, bad_folder: str
) -> WrittenChunks:
    """Read Parquet files, and write their good rows as chunks to one folder and the malformed ones to another.

    Returns the files of the chunks and the counts of rows.
    """
    written = write_chunks(spark, plan, mapping, folder, scratch)
    if (bad := written.bad_rows(spark, plan)) is not None:
        _write_bad(bad, bad_folder)
    return written


def _write_bad(bad: DataFrame, folder: str) -> None:
    write_parquet(bad.repartition(1).sortWithinPartitions("file", "reason"), folder)


def measure_kept(
    spark: SparkSession,
    batches: Sequence[IngestBatch],
    path: Callable[..., str],
    mapping: SourceMapping,
    interval_ms: int | None,
    scratch: str,
) -> Measured:
    """Aggregate the rows of batches by hour of the day, and write the result to `scratch`.

    `batches`: those with time series; at least one. `path`: function that returns the URI of a place in the output
    folder. `mapping`: the meaning of the columns of their files. `interval_ms`: time between readings; the median of
    each series by default. `scratch`: URI of the temporary folder. Returns what `source_series.measure` returns for all
    their files.
    """
    counted = sum((batch.counts for batch in batches), RowCounts())
    with_bad = [path(*batch.place(QUARANTINED)) for batch in batches if batch.counts.malformed]
    bad = without_nulls(spark.read.parquet(*with_bad)) if with_bad else None
    check_good_rows(bad, counted)
    aggregation = Aggregation(mapping, interval_ms, task_count(spark, groups_of(batches)), scratch)
    names = _names_of(batches)
    files = _chunk_files(batches, path, names)
    if files and not is_connect(spark):
        hours = aggregate_chunks(spark, files, aggregation.tasks, interval_ms, mapping.kind == "counter", scratch)
        return aggregation.measured_hours(hours, bad, counted)
    rows = _read_kept(spark, batches, path, mapping)
    hours = aggregation.in_workers(rows.where(MEASURED), names)
    return aggregation.measured(rows, names, hours, bad, counted)


def _names_of(batches: Sequence[IngestBatch]) -> list[str]:
    """Return the names in rows of the files with time series."""
    return [file.name for batch in batches for file in batch.files if file.kind == METRICS]


def _chunk_files(
    batches: Sequence[IngestBatch], path: Callable[..., str], names: Sequence[str]
) -> list[ChunkFile] | None:
    """Return the files with chunks; None if a batch has rows instead, or its files are not on this machine."""
    ranks = {name: rank for rank, name in enumerate(sorted(set(names), key=str.encode))}
    files = []
    for batch in batches:
        numbers = tuple(ranks[name] for name in sorted(_names_of([batch]), key=str.encode))
        uris = [path(*place) for place in batch.chunk_places]
        if not uris or not all(is_local(uri) for uri in uris):
            return None
        files += [ChunkFile(local_path(uri), numbers) for uri in uris]
    return files


def _read_kept(
    spark: SparkSession, batches: Sequence[IngestBatch], path: Callable[..., str], mapping: SourceMapping
) -> DataFrame:
    """Return the valid rows of batches."""
    parts = []
    if folders := [path(*batch.place(ROWS)) for batch in batches if not batch.chunks]:
        parts.append(spark.read.schema(_KEPT_DDL).parquet(*folders))
    for batch in batches:
        if batch.chunks:
            names = sorted(_names_of([batch]), key=str.encode)
            uris = [path(*place) for place in batch.chunk_places]
            parts.append(rows_of_chunks(spark, uris, names, mapping.kind == "counter").selectExpr(*_KEPT))
    return reduce(lambda rows, more: rows.unionByName(more), parts)
