"""A sweep has the same tables, byte for byte, in this process, in a pool of processes and on Spark."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from pipeline.sweep.batch_job import run_table
from pipeline.sweep.job import SweepJob
from pipeline.sweep.run import run_sweep
from pipeline.worker import SweepInputs, simulate_chunks
from scenarios.sweeps.design import load_sweep
from scenarios.sweeps.prepared import prepare_sweep
from simulator.results.tables import SCHEMAS
from tests.pipeline.sweep.driver import SMALL_BATCHES
from tests.pipeline.sweep.examples import SWEEP, write_sweep

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TABLES = ["tasks", "assignments", "moves", "task_states", "traffic", "losses", "events", "convergence", "clients"]
RACK_AWARE = SWEEP.replace("seeds: 3", "seeds: 2").replace(
    "scenario: shop.yaml", "scenario: shop.yaml\nset: {application.configs.rack.aware.assignment.strategy: min_traffic}"
)

Simulate = Callable[[SweepInputs, list[pa.RecordBatch]], Iterable[pa.RecordBatch]]


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> SweepJob:
    text = RACK_AWARE + f"tables: [{', '.join(TABLES)}]\n"
    prepared = prepare_sweep(load_sweep(write_sweep(tmp_path_factory.mktemp("shop"), text)))
    return SweepJob.of(prepared, SMALL_BATCHES)


def serialized(job: SweepJob, simulate: Simulate) -> dict[str, bytes]:
    """Return each table of all runs, in order, as Arrow writes it to a file."""
    outcomes: list[pa.RecordBatch] = []
    for batch in job.batches:
        table = run_table(job, batch)
        chunks = [table.filter(pc.equal(table["chunk"], i)).combine_chunks() for i in range(len(batch.chunks))]
        outcomes += simulate(job.sweep_inputs, [chunk.to_batches()[0] for chunk in chunks])
    rows = sorted((row for batch in outcomes for row in batch.to_pylist()), key=lambda row: int(row["position"]))
    assert len(rows) == job.prepared.total
    assert {row["error"] for row in rows} == {None}
    return {name: arrow(name, [line for row in rows for line in row[name]]) for name in job.sweep_inputs.tables}


def arrow(name: str, rows: list[dict[str, object]]) -> bytes:
    sink = pa.BufferOutputStream()
    table = pa.Table.from_pylist(rows, schema=SCHEMAS[name].remove_metadata())
    with pa.ipc.new_file(sink, table.schema) as file:
        file.write_table(table)
    return bytes(sink.getvalue())


def in_this_process(sweep_inputs: SweepInputs, chunks: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return simulate_chunks(sweep_inputs, iter(chunks))


def in_pool(pool: ProcessPoolExecutor) -> Simulate:
    def simulate(sweep_inputs: SweepInputs, chunks: list[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        return [batch for batches in pool.map(partial(_simulate, sweep_inputs), reversed(chunks)) for batch in batches]

    return simulate


def _simulate(sweep_inputs: SweepInputs, chunk: pa.RecordBatch) -> list[pa.RecordBatch]:
    return list(simulate_chunks(sweep_inputs, iter([chunk])))


@pytest.fixture(scope="module")
def expected(job: SweepJob) -> dict[str, bytes]:
    return serialized(job, in_this_process)


def test_sweep_fills_all_tables(job: SweepJob, expected: dict[str, bytes]) -> None:
    assert set(expected) == {"runs", "rounds", *TABLES}
    assert [name for name, content in expected.items() if not pa.ipc.open_file(content).read_all().num_rows] == []
    assert len(job.batches) > 1


def test_pool_of_processes_has_the_same_bytes(job: SweepJob, expected: dict[str, bytes]) -> None:
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        assert serialized(job, in_pool(pool)) == expected


def test_spark_has_the_same_bytes(
    spark: SparkSession, job: SweepJob, expected: dict[str, bytes], tmp_path: Path
) -> None:
    run_sweep(spark, job, str(tmp_path))
    written = {}
    for name in job.sweep_inputs.tables:
        files = [file for batch in job.batches for file in sorted((tmp_path / name / batch.name).glob("*.parquet"))]
        rows = [row for file in files for row in pq.read_table(file).to_pylist()]
        keys = {"run_id", "setting", "error"} - set(SCHEMAS[name].names)
        written[name] = arrow(name, [{key: value for key, value in row.items() if key not in keys} for row in rows])
    assert [name for name in expected if written[name] != expected[name]] == []
