"""The tables of a chunk of runs as one binary value each, so that Java moves them without reading their rows.

Does not import Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.sweep.chunk_runs import ChunkRuns, chunk_rows
from simulator.results.tables import SCHEMAS

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
        packed = [_to_bytes(_rows(outcomes, name)) for name in tables]
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


def _rows(outcomes: pa.RecordBatch, name: str) -> pa.RecordBatch:
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
