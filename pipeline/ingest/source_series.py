"""Time series in source files, read once and aggregated by hour of the day."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.connect_session import runs_on_this_machine
from pipeline.ingest.batches import RowCounts
from pipeline.ingest.chunk_files import ChunkFile
from pipeline.ingest.chunk_jobs import aggregate_chunks, write_chunks
from pipeline.ingest.mapping import SourceMapping
from pipeline.ingest.measured import Aggregation, Measured, check_good_rows, without_nulls
from pipeline.ingest.parquet_files import ParquetPlan, aggregate_parquet, plan_parquet
from pipeline.ingest.series_rows import MEASURED, VALID, CountedRows, bad_rows, read_groups, task_count
from pipeline.ingest.sources import FileGroup, names_in_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def measure(
    spark: SparkSession,
    groups: list[FileGroup],
    mapping: SourceMapping,
    interval_ms: int | None,
    scratch: str,
    chunks: Path | None = None,
) -> Measured:
    """Read all files once, aggregate them by hour of the day, and write the result to `scratch`.

    `mapping`: the meaning of their columns. `interval_ms`: time between readings; the median of each series by default.
    `scratch`: URI of the temporary folder. `chunks`: another temporary folder, on this machine; None to shuffle by
    Spark. Returns the aggregated rows and their counts.
    """
    aggregation = Aggregation(mapping, interval_ms, task_count(spark, groups), scratch)
    plan = plan_parquet(spark, groups, mapping)
    if plan is not None:
        # Without a shuffle, all workers read what the others wrote, so a network would carry it more often.
        if chunks is not None and runs_on_this_machine(spark):
            measured = _by_files(spark, plan, aggregation, chunks)
        else:
            measured = _by_shuffle(spark, plan, aggregation)
        if measured is not None:
            return measured
    return _by_spark(spark, groups, aggregation)


def _by_shuffle(spark: SparkSession, plan: ParquetPlan, aggregation: Aggregation) -> Measured | None:
    """Measure Parquet files; return None if Spark has to read them."""
    hours, bad, counted = aggregate_parquet(
        spark, plan, aggregation.tasks, aggregation.interval_ms, aggregation.mapping, aggregation.scratch
    )
    if not _can_aggregate(counted):
        return None
    return aggregation.measured_hours(hours, without_nulls(bad) if counted.malformed else None, counted)


def _by_files(spark: SparkSession, plan: ParquetPlan, aggregation: Aggregation, chunks: Path) -> Measured | None:
    """Measure Parquet files like `_by_shuffle`, with files that workers write and read instead."""
    written = write_chunks(spark, plan, aggregation.mapping, chunks, chunks)
    if not _can_aggregate(written.counts):
        return None
    files = [ChunkFile(str(path)) for path in written.files]
    counters = aggregation.mapping.kind == "counter"
    hours = aggregate_chunks(spark, files, aggregation.tasks, aggregation.interval_ms, counters, aggregation.scratch)
    bad = written.bad_rows(spark, plan)
    return aggregation.measured_hours(hours, None if bad is None else without_nulls(bad), written.counts)


def _can_aggregate(counted: RowCounts) -> bool:
    """Return whether there are good rows."""
    return counted.rows > counted.malformed


def _by_spark(spark: SparkSession, groups: list[FileGroup], aggregation: Aggregation) -> Measured:
    """Measure files of any format; return the aggregated rows and their counts."""
    rows = read_groups(spark, groups, aggregation.mapping)
    observed = CountedRows(rows)
    good = observed.rows.where(f"{VALID} and {MEASURED}")
    names = list(names_in_rows(spark, [uri for group in groups for uri in group.uris]).values())
    hours = aggregation.in_workers(good, names)
    counted = observed.counts(hours.isEmpty())
    bad = bad_rows(rows)
    check_good_rows(bad, counted)
    return aggregation.measured(rows.where(VALID), names, hours, bad if counted.malformed else None, counted)
