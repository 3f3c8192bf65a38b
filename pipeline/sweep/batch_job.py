"""One batch of a sweep as a Spark job."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pipeline.parquet import write_parquet
from pipeline.spark_jobs import SparkJobs
from pipeline.storage import Storage
from pipeline.sweep.batches import Batch
from pipeline.sweep.job import SweepJob
from pipeline.sweep.manifest import run_ids
from pipeline.sweep.run_groups import RunGroup
from pipeline.worker import RUN_SCHEMA, outcome_schema, simulate_chunks_on_executor

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

UNFINISHED = "_unfinished"
"""Folder for the tables of unfinished batches; Spark readers ignore names that begin with an underscore."""

RUNS = "runs"
"""The table that is moved last."""

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

    Args:
        spark: the session.
        jobs: the jobs of the session.
        storage: the output folder.
        job: the sweep.
        group: the group of the batch.
        batch: the batch.
        attempt: a name that no other process uses: jobs of a killed client of Spark Connect go on for some minutes.

    Returns:
        The number of runs that raised an error.
    """
    from pyspark import StorageLevel
    from pyspark.sql import functions as sql
    from pyspark.sql.pandas.types import from_arrow_schema

    jobs.begin(batch.name, f"{job.prepared.sweep.name}, {batch.name}")
    sweep_inputs = job.sweep_inputs
    runs = spark.createDataFrame(run_table(job, batch, group))
    # A range has exactly the given number of partitions, in order, and a broadcast join preserves them.
    chunks = spark.range(0, len(batch.chunks), 1, len(batch.chunks)).withColumnRenamed("id", "chunk")
    simulate = partial(simulate_chunks_on_executor, sweep_inputs)
    outcomes = (
        chunks.join(sql.broadcast(runs), "chunk")
        .mapInArrow(simulate, from_arrow_schema(outcome_schema(sweep_inputs.tables)))
        .persist(StorageLevel.MEMORY_AND_DISK)
    )
    try:
        counts = outcomes.agg(
            sql.count("error").alias("errors"), *(sql.sum(sql.size(name)).alias(name) for name in sweep_inputs.tables)
        ).first()
        assert counts is not None
        for name in sweep_inputs.tables:
            # The runs of a batch are one file: they appear in one operation on an object store, too.
            files = 1 if name == RUNS else 1 + (counts[name] or 0) // _ROWS_PER_FILE
            write_parquet(_rows(outcomes, name, files), storage.path(UNFINISHED, attempt, batch.name, name))
    finally:
        outcomes.unpersist()
    # On an object store without a lock, another process may have finished the batch.
    if any(_holds_runs(file) for file in storage.files(RUNS, batch.name)):
        return int(counts["errors"])
    for name in reversed(sweep_inputs.tables):
        # Part of it may be there, from a process that was killed.
        storage.remove(name, batch.name)
        storage.move((UNFINISHED, attempt, batch.name, name), (name, batch.name))
    return int(counts["errors"])


def _rows(outcomes: DataFrame, name: str, files: int) -> DataFrame:
    """Return one table of a batch, sorted, in a given number of files."""
    from pyspark.sql import functions as sql

    errors = ["error"] if name == "runs" else []
    rows = outcomes.select("position", "run_id", "setting", *errors, sql.posexplode(name).alias("row", "of_table"))
    spread = rows.coalesce(1) if files == 1 else rows.repartition(files, "position")
    return spread.sortWithinPartitions("position", "row").select("run_id", "setting", "of_table.*", *errors)


def run_table(job: SweepJob, batch: Batch, group: RunGroup | None = None) -> pa.Table:
    """Return the rows of `RUN_SCHEMA` of a batch, chunk by chunk.

    Args:
        job: the sweep.
        batch: the batch.
        group: the group of the batch; all runs by default.
    """
    group = group or job.all_runs
    labels, seeds = job.prepared.labels, job.prepared.sweep.seeds
    # Columns, because a dictionary per run would take most of the driver's memory, and its overrides most of the time.
    columns: dict[str, list[Any]] = {name: [] for name in RUN_SCHEMA.names}
    known: dict[int, tuple[str, Callable[[int], str]]] = {}
    for number, chunk in enumerate(batch.chunks):
        for run in range(chunk.start, chunk.stop):
            cell, seed = group.place(run)
            setting, assignor = divmod(cell, len(labels))
            if cell not in known:
                known[cell] = _overrides_and_ids(job, setting, labels[assignor])
            overrides, id_of_seed = known[cell]
            values = (
                number,
                group.position(run),
                id_of_seed(seeds[seed]),
                setting,
                overrides,
                labels[assignor],
                seeds[seed],
            )
            for column, value in zip(columns.values(), values, strict=True):
                column.append(value)
    return pa.Table.from_pydict(columns, schema=RUN_SCHEMA)


def _overrides_and_ids(job: SweepJob, setting: int, assignor: str) -> tuple[str, Callable[[int], str]]:
    """Return the overrides of a cell as JSON, and the function that returns the id of its run by seed."""
    sweep = job.prepared.sweep
    overrides = json.dumps(sweep.overrides(sweep.settings[setting]), ensure_ascii=False)
    return overrides, run_ids(job.manifest["world"], overrides, assignor)
