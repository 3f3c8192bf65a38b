"""One batch of a sweep as a Spark job.

The driver sends the runs of a chunk in a short form, and the workers make their rows, so that its memory does not grow
with the number of runs. Each table of a chunk is one binary value, so that Java moves it without reading its rows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.storage import Storage, write_parquet
from pipeline.sweep.job import Batch, Chunk, RunGroup, SweepJob
from pipeline.worker import RUN_SCHEMA, simulate_chunks_on_executor
from simulator.results.tables import SCHEMAS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from pipeline.spark_jobs import SparkJobs


def run_ids(world: str, overrides: str, assignor: str) -> Callable[[int], str]:
    """Return the function that returns the hash of a run by its seed, equal in every sweep that contains the run.

    `world`: hash of the scenario, from the manifest of the sweep; `overrides`: overrides of the scenario, as JSON.
    """
    common = json.dumps([world, overrides, assignor], ensure_ascii=False).removesuffix("]")
    common_hash = hashlib.sha256(common.encode())  # The common part of the text is hashed once.

    def of_seed(seed: int) -> str:
        whole = common_hash.copy()
        whole.update(f", {seed}]".encode())
        return whole.hexdigest()[:32]

    return of_seed


@dataclass(frozen=True, slots=True)
class CellRuns:
    """Consecutive runs of a cell: a setting and an assignor with some seeds.

    Attributes:
        position: number of the first run in the whole sweep; those of the others follow.
        overrides: overrides of the scenario, as JSON.
    """

    position: int
    setting: int
    overrides: str
    assignor: str
    seeds: tuple[int, ...]


ChunkRuns = tuple[CellRuns, ...]
"""The runs of a chunk, by position."""


def chunk_rows(world: str, number: int, cells: Sequence[CellRuns]) -> pa.RecordBatch:
    """Return the runs of a chunk as rows of `RUN_SCHEMA`.

    `world`: hash of the scenario, from the manifest of the sweep.
    """
    rows = []
    for cell in cells:
        id_of_seed = run_ids(world, cell.overrides, cell.assignor)
        for place, seed in enumerate(cell.seeds):
            position = cell.position + place
            rows.append((number, position, id_of_seed(seed), cell.setting, cell.overrides, cell.assignor, seed))
    columns = zip(*rows, strict=True)
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, RUN_SCHEMA, strict=True)], schema=RUN_SCHEMA
    )


RUNS = "runs"
"""The table whose rows have the errors of runs."""

_ORDER = (("position", pa.int64()), ("row", pa.int64()))
_WRITE = pa.ipc.IpcWriteOptions(compression="lz4")

Simulate = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""A function from rows of `worker.RUN_SCHEMA` to those of `worker.outcome_schema`."""


def table_schema(name: str, ordered: bool = False) -> pa.Schema:
    """Return the columns of a table of a sweep.

    `ordered` says whether the position of the run and the number of the row within the run come first.
    """
    columns = [("run_id", pa.string()), ("setting", pa.int64())]
    columns += [(field.name, field.type) for field in SCHEMAS[name]]
    errors = [("error", pa.string())] if name == RUNS else []
    return pa.schema([*(_ORDER if ordered else ()), *columns, *errors])


def packed_schema(tables: Sequence[str]) -> pa.Schema:
    """Return the columns of packed chunks: the first position, the number of errors, and each table with its rows."""
    counts = [("position", pa.int64()), ("errors", pa.int64())]
    rows = [(rows_column(name), pa.int64()) for name in tables]
    return pa.schema([*counts, *rows, *((name, pa.binary()) for name in tables)])


def rows_column(name: str) -> str:
    """Return the column of packed chunks with the number of rows of a table."""
    return f"{name}_rows"


def simulate_packed(
    simulate: Simulate,
    world: str,
    chunks: Sequence[ChunkRuns],
    tables: Sequence[str],
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Simulate chunks and pack their tables.

    `world`: hash of the scenario, from the manifest of the sweep; `batches`: rows with `id`, the number of the chunk.
    Yields rows of `packed_schema(tables)`.
    """
    numbers = (number for batch in batches for number in batch["id"].to_pylist())
    for outcomes in simulate(chunk_rows(world, number, chunks[number]) for number in numbers):
        packed = [_to_bytes(_rows_of_table(outcomes, name)) for name in tables]
        counts = [len(outcomes[name].flatten()) for name in tables]
        first, errors = outcomes["position"][0].as_py(), len(outcomes) - outcomes["error"].null_count
        arrays = [pa.array([value]) for value in (first, errors, *counts)]
        yield pa.RecordBatch.from_arrays(
            [*arrays, *(pa.array([value], pa.binary()) for value in packed)], schema=packed_schema(tables)
        )


def unpack(schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the rows of a table.

    `schema`: the columns to return, of `table_schema`; `batches`: rows with `packed`, as written by `simulate_packed`.
    Yields the rows, in the order of the chunks.
    """
    for batch in batches:
        for packed in batch["packed"]:
            for rows in _from_bytes(packed.as_buffer()):
                yield rows.select(schema.names)


def _rows_of_table(outcomes: pa.RecordBatch, name: str) -> pa.RecordBatch:
    """Return the rows of a table of all runs, by position and number."""
    lists = outcomes[name]
    run = pc.list_parent_indices(lists)
    offsets = lists.offsets.to_numpy()
    number = np.arange(len(run)) - (offsets[:-1] - offsets[0])[run.to_numpy()]
    columns = [outcomes["position"].take(run), pa.array(number), outcomes["run_id"].take(run)]
    columns += [outcomes["setting"].take(run), *lists.flatten().flatten()]
    if name == RUNS:
        columns.append(outcomes["error"].take(run))
    return pa.RecordBatch.from_arrays(columns, schema=table_schema(name, ordered=True))


def _to_bytes(rows: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=_WRITE) as stream:
        stream.write_batch(rows)
    return bytes(sink.getvalue())


def _from_bytes(packed: bytes | pa.Buffer) -> Iterator[pa.RecordBatch]:
    with pa.ipc.open_stream(packed) as stream:
        yield from stream


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
