"""One batch of a sweep as a Spark job."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from pipeline.parquet import write_parquet
from pipeline.spark_jobs import SparkJobs
from pipeline.storage import Storage
from pipeline.sweep.chunk_runs import CellRuns, ChunkRuns, chunk_rows
from pipeline.sweep.job import SweepJob
from pipeline.sweep.packed_tables import (
    RUNS,
    packed_schema,
    rows_column,
    simulate_packed,
    table_schema,
    unpack,
)
from pipeline.sweep.run_batches import Batch, Chunk
from pipeline.sweep.run_groups import RunGroup
from pipeline.worker import RUN_SCHEMA, simulate_chunks_on_executor

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

UNFINISHED = "_unfinished"
"""Folder for the tables of unfinished batches; Spark readers ignore names that begin with an underscore."""

_ROWS_PER_FILE = 2_000_000


def count_finished_chunks(jobs: SparkJobs, batch: Batch) -> int:
    """Return the approximate number of finished chunks of a batch."""
    return min(jobs.completed_tasks(batch.name, len(batch.chunks)), len(batch.chunks))


def finished_batches(storage: Storage) -> set[str]:
    """Return the names of the batches whose `runs` exist.

    Their folder alone is not enough: on an object store, Spark's empty `_SUCCESS` may have been copied without them.
    """
    return {file.split("/")[0] for file in storage.files(RUNS) if _holds_runs(file)}


def _holds_runs(file: str) -> bool:
    return file.endswith(".parquet")


def run_batch(
    spark: SparkSession,
    jobs: SparkJobs,
    storage: Storage,
    job: SweepJob,
    group: RunGroup,
    batch: Batch,
    attempt: str,
) -> int:
    """Simulate a batch and move its tables to the output folder.

    `attempt`: a name that no other process uses: jobs of a killed client of Spark Connect go on for some minutes.
    Returns the number of runs that raised an error.
    """
    from pyspark import StorageLevel
    from pyspark.sql import functions as sql
    from pyspark.sql.pandas.types import from_arrow_schema

    jobs.begin(batch.name, f"{job.prepared.sweep.name}, {batch.name}")
    tables = job.sweep_inputs.tables
    simulate = partial(simulate_chunks_on_executor, job.sweep_inputs)
    pack = partial(simulate_packed, simulate, job.manifest["world"], chunk_runs(job, batch, group), tables)
    # A range has exactly the given number of partitions, in order. The runs are part of the function: a join with them
    # would delay the first chunk by what Java needs to plan and compile it.
    chunks = spark.range(0, len(batch.chunks), 1, len(batch.chunks))
    outcomes = chunks.mapInArrow(pack, from_arrow_schema(packed_schema(tables))).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        counts = outcomes.agg(
            sql.sum("errors").alias("errors"), *(sql.sum(rows_column(name)).alias(name) for name in tables)
        ).first()
        assert counts is not None

        def write(name: str) -> None:
            jobs.begin(batch.name, f"{job.prepared.sweep.name}, {batch.name}, {name}")
            # The runs of a batch are one file: they appear in one operation on an object store, too.
            files = 1 if name == RUNS else 1 + (counts[name] or 0) // _ROWS_PER_FILE
            write_parquet(_rows(outcomes, name, files), storage.path(UNFINISHED, attempt, batch.name, name))

        with ThreadPoolExecutor(len(tables)) as threads:
            list(threads.map(write, tables))
    finally:
        outcomes.unpersist()
    # On an object store without a lock, another process may have finished the batch.
    if any(_holds_runs(file) for file in storage.files(RUNS, batch.name)):
        return int(counts["errors"])
    for name in reversed(tables):
        # Part of it may be there, from a process that was killed.
        storage.remove(name, batch.name)
        storage.move((UNFINISHED, attempt, batch.name, name), (name, batch.name))
    return int(counts["errors"])


def _rows(outcomes: DataFrame, name: str, files: int) -> DataFrame:
    """Return one table of a batch, sorted, in a given number of files."""
    from pyspark.sql.pandas.types import from_arrow_schema

    packed = outcomes.selectExpr("position", f"`{name}` as packed")
    schema = table_schema(name, ordered=files > 1)
    if files == 1:
        # Chunks are consecutive runs, and the rows of a chunk are sorted.
        packed = packed.coalesce(1).sortWithinPartitions("position")
    rows = packed.select("packed").mapInArrow(partial(unpack, schema), from_arrow_schema(schema))
    if files == 1:
        return rows
    return rows.repartition(files, "position").sortWithinPartitions("position", "row").drop("position", "row")


def chunk_runs(job: SweepJob, batch: Batch, group: RunGroup | None = None) -> tuple[ChunkRuns, ...]:
    """Return the runs of each chunk of a batch.

    `group`: the group of the batch; all runs by default.
    """
    group = group or job.all_runs
    labels, seeds, sweep = job.prepared.labels, job.prepared.sweep.seeds, job.prepared.sweep
    known: dict[int, str] = {}

    def overrides(setting: int) -> str:
        if setting not in known:
            known[setting] = json.dumps(sweep.overrides(sweep.settings[setting]), ensure_ascii=False)
        return known[setting]

    def cells(chunk: Chunk) -> Iterator[CellRuns]:
        for position, cell, places in group.cells_of(chunk):
            setting, assignor = divmod(cell, len(labels))
            in_cell = tuple(seeds[place] for place in places)
            yield CellRuns(position, setting, overrides(setting), labels[assignor], in_cell)

    return tuple(tuple(cells(chunk)) for chunk in batch.chunks)


def run_table(job: SweepJob, batch: Batch, group: RunGroup | None = None) -> pa.Table:
    """Return the rows of `RUN_SCHEMA` of a batch, chunk by chunk; arguments as those of `chunk_runs`."""
    world = job.manifest["world"]
    chunks = enumerate(chunk_runs(job, batch, group))
    return pa.Table.from_batches([chunk_rows(world, number, cells) for number, cells in chunks], RUN_SCHEMA)
