"""Tables of runs as binary values, without Spark."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from pipeline.sweep.batch_job import (
    ChunkRuns,
    chunk_rows,
    chunk_runs,
    packed_schema,
    rows_column,
    simulate_packed,
    table_schema,
    unpack,
)
from pipeline.sweep.job import SweepJob
from pipeline.worker import simulate_chunks
from scenarios.sweeps.design import load_sweep
from scenarios.sweeps.prepared import prepare_sweep
from tests.pipeline.sweep.driver import SMALL_BATCHES
from tests.pipeline.sweep.examples import SWEEP, write_sweep

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> SweepJob:
    file = write_sweep(tmp_path_factory.mktemp("shop"), SWEEP + "tables: [moves]\n")
    return SweepJob.of(prepare_sweep(load_sweep(file)), SMALL_BATCHES)


@pytest.fixture(scope="module")
def chunks(job: SweepJob) -> tuple[ChunkRuns, ...]:
    """Return the runs of some chunks; the last one has a run that fails."""
    chunks = chunk_runs(job, job.batches[0])
    *others, last = chunks[0]
    broken = replace(last, overrides=json.dumps([["duration", "-5"]]), seeds=last.seeds[-1:])
    return (*chunks, (*others, replace(last, seeds=last.seeds[:-1]), broken))


def rows_of(job: SweepJob, chunks: Sequence[ChunkRuns]) -> list[pa.RecordBatch]:
    return [chunk_rows(job.manifest["world"], number, chunk) for number, chunk in enumerate(chunks)]


def packed_rows(job: SweepJob, chunks: Sequence[ChunkRuns]) -> list[pa.RecordBatch]:
    numbers = iter([pa.RecordBatch.from_pydict({"id": [number]}) for number in range(len(chunks))])
    simulate = partial(simulate_chunks, job.sweep_inputs)
    return list(simulate_packed(simulate, job.manifest["world"], chunks, job.sweep_inputs.tables, numbers))


def expected_rows(outcomes: list[pa.RecordBatch], name: str) -> Iterator[dict[str, object]]:
    for batch in outcomes:
        for run in batch.to_pylist():
            for number, row in enumerate(run[name]):
                key = {"position": run["position"], "row": number, "run_id": run["run_id"], "setting": run["setting"]}
                yield key | row | ({"error": run["error"]} if name == "runs" else {})


def test_unpacked_tables_are_those_of_the_runs(job: SweepJob, chunks: tuple[ChunkRuns, ...]) -> None:
    outcomes = [batch for chunk in rows_of(job, chunks) for batch in simulate_chunks(job.sweep_inputs, iter([chunk]))]
    packed = packed_rows(job, chunks)
    assert all(batch.schema == packed_schema(job.sweep_inputs.tables) for batch in packed)
    assert [batch["position"].to_pylist() for batch in packed] == [[batch["position"][0].as_py()] for batch in outcomes]
    assert [batch["errors"].to_pylist() for batch in packed] == [[0]] * (len(chunks) - 1) + [[1]]
    for name in job.sweep_inputs.tables:
        schema = table_schema(name, ordered=True)
        values = iter([pa.RecordBatch.from_arrays([batch[name]], ["packed"]) for batch in packed])
        table = pa.Table.from_batches(list(unpack(schema, values)), schema)
        expected = list(expected_rows(outcomes, name))
        assert table.to_pylist() == expected, name
        assert expected, name
        assert sum(batch[rows_column(name)][0].as_py() for batch in packed) == len(expected)


def test_rows_without_order_lack_only_the_two_columns(job: SweepJob, chunks: tuple[ChunkRuns, ...]) -> None:
    [packed] = packed_rows(job, chunks[:1])
    values = [pa.RecordBatch.from_arrays([packed["runs"]], ["packed"])]
    [ordered] = unpack(table_schema("runs", ordered=True), iter(values))
    [plain] = unpack(table_schema("runs"), iter(values))
    assert plain == ordered.select(ordered.schema.names[2:])
    assert plain.schema.names[:2] == ["run_id", "setting"]


def test_packing_does_not_import_spark(tmp_path: Path) -> None:

    code = "import sys, pipeline.sweep.batch_job; print([name for name in sys.modules if 'pyspark' in name])"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert output.stdout.strip() == "[]"
