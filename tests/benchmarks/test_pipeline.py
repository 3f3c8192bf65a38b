"""Time of ingests beside DuckDB, and of sweeps by Spark beside a pool of processes, on two cores: `make bench`."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from pipeline.generate import Faults, Population, Schedule, generate
from pipeline.ingest.mapping import find_mapping
from pipeline.ingest.run import IngestSources, ingest
from pipeline.session import connect
from pipeline.sweep.batch_job import run_table
from pipeline.sweep.job import SweepJob
from pipeline.sweep.run import run_sweep
from pipeline.worker import SweepInputs, simulate_chunks
from scenarios.sweeps.design import load_sweep
from scenarios.sweeps.prepared import prepare_sweep
from tests.benchmarks.duckdb_rates import rates_by_duckdb

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.bench

CORES = 2
FAULTS = Faults(gaps=0.002, duplicates=0.002, late=0.002, malformed=0.0005, resets=0.001, skew=0.3)
PARTITIONS = 1_000
INTERVAL_S = 300
READINGS_PER_S = 500_000
LARGE_SWEEP = 1_000
"""Runs from which on the start of Spark is small enough for a goal."""

SWEEP = """name: overhead
scenario: cold_start
set: {{duration: 2h}}
factors:
  - {{name: warmups, path: application.configs.max.warmup.replicas, values: [2, 4]}}
assignors: [high_availability, legacy_sticky]
seeds: {seeds}
"""


@pytest.mark.parametrize(("what", "times"), [("ingest", 1), ("ingest of a longer history", 10)])
def test_an_ingest(
    benchmark: BenchmarkFixture, request: pytest.FixtureRequest, tmp_path: Path, what: str, times: int
) -> None:
    schedule = Schedule(times * request.config.getoption("days"), INTERVAL_S)
    with connect(f"local[{CORES}]") as spark:
        population = Population(PARTITIONS, seed=7, skewed=FAULTS.skew)
        readings = generate(spark, str(tmp_path / "readings"), population, schedule, FAULTS).metrics
    with connect(f"local[{CORES}]", fast_start=True) as spark:
        spark.range(10).count()
        sources = IngestSources(metrics=(readings,))
        arguments = (spark, sources, str(tmp_path / "tables"), find_mapping("plain"))
        rows = benchmark.pedantic(ingest, args=arguments, rounds=1).rows
    started = time.perf_counter()
    rates_by_duckdb(readings)
    duckdb_s, own_s = time.perf_counter() - started, benchmark.stats.stats.median
    benchmark.extra_info |= {
        "what": f"{what} by Spark, 2 cores, {rows:,} readings",
        "goal_ms": 1_000 * min(1.5 * duckdb_s, rows / READINGS_PER_S),
        "peak_bytes": None,
        "peer": f"DuckDB {duckdb_s:.3g} s, ratio {own_s / duckdb_s:.2f}",
    }


# Spark's client in this process has threads, of which Python 3.12 warns before it forks the pool.
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("runs", [400, LARGE_SWEEP])
def test_a_sweep(benchmark: BenchmarkFixture, tmp_path: Path, runs: int) -> None:
    by_pool(prepare(40, tmp_path), tmp_path / "warm-up")  # It fills Numba's cache.
    job = prepare(runs, tmp_path)
    pool_s = by_pool(job, tmp_path / "pool")
    with spark_on(1) as (spark, _):
        started = time.perf_counter()
        run_sweep(spark, job, str(tmp_path / "spark-1"))
        one_core_s = time.perf_counter() - started
    with spark_on(CORES) as (spark, start_s):
        benchmark.pedantic(run_sweep, args=(spark, job, str(tmp_path / "spark-2")), rounds=1)
    size = sum(file.stat().st_size for file in (tmp_path / "spark-2").rglob("*.parquet"))
    benchmark.extra_info |= {
        "runs": job.prepared.total,
        "pool_s": pool_s,
        "one_core_s": one_core_s,
        "start_s": start_s,
        "bytes_per_run": size / job.prepared.total,
    }
    if runs >= LARGE_SWEEP:
        benchmark.extra_info |= {
            "what": f"a sweep of {runs:,} small runs by Spark, 2 cores",
            "goal_ms": 1_050 * pool_s,
            "peak_bytes": None,
            "peer": f"pool {pool_s:.3g} s, ratio {benchmark.stats.stats.median / pool_s:.2f}",
        }


@contextmanager
def spark_on(cores: int) -> Iterator[tuple[SparkSession, float]]:
    """Yield a session and the time in seconds to start it; with one core, Java and the worker share that core.

    `local[1]` alone would let Java use the others.
    """
    all_cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(all_cores)[:cores])
    started = time.perf_counter()
    try:
        with connect(f"local[{cores}]", fast_start=True) as spark:
            yield spark, time.perf_counter() - started
    finally:
        os.sched_setaffinity(0, all_cores)


def prepare(runs: int, folder: Path) -> SweepJob:
    """Return a sweep with this number of runs of a small scenario."""
    file = folder / "overhead.yaml"
    file.write_text(SWEEP.format(seeds=runs // 4))
    return SweepJob.of(prepare_sweep(load_sweep(file)))


def by_pool(job: SweepJob, out: Path) -> float:
    """Return the run time in seconds of a pool of processes, including its start and all files."""
    started = time.perf_counter()
    out.mkdir(parents=True)
    with ProcessPoolExecutor(CORES) as pool:
        for batch in job.batches:
            table = run_table(job, batch)
            chunks = [table.filter(pc.equal(table["chunk"], i)) for i in range(len(batch.chunks))]
            tables = list(pool.map(partial(_simulate, job.sweep_inputs), chunks))
            pq.write_table(pa.concat_tables(tables), out / f"{batch.name}.parquet", compression="zstd")
    return time.perf_counter() - started


def _simulate(sweep_inputs: SweepInputs, chunk: pa.Table) -> pa.Table:
    return pa.Table.from_batches(list(simulate_chunks(sweep_inputs, iter(chunk.combine_chunks().to_batches()))))
