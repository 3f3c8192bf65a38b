"""Overhead of Spark: the same runs by Spark and by a pool of processes on one machine.

`python -m tools.pipeline_benchmark [--runs 1000] [--write]` measures the runs of a small scenario with a pool of two
processes, with Spark on two cores, and with Spark on one core. All three write the same tables as Parquet; `--write`
writes the figures into docs/development/pipeline-performance.md. `--costs FILE` measures the costs of large sweeps
instead, or reads them from the file, and computes what they take on many cores.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.session import connect
from pipeline.sweep.batch_job import run_table
from pipeline.sweep.job import SweepJob
from pipeline.sweep.run import run_sweep
from pipeline.worker import SweepInputs, simulate_chunks
from scenarios.sweeps.design import load_sweep
from scenarios.sweeps.prepared import prepare_sweep

CORES = 2
PAGE = Path(__file__).parent.parent / "docs" / "development" / "pipeline-performance.md"
MARK = "<!-- Measured by `python -m tools.pipeline_benchmark --write`. -->"
SWEEP = """name: overhead
scenario: {scenario}
set: {{duration: 2h}}
factors:
  - {{name: warmups, path: application.configs.max.warmup.replicas, values: [2, 4]}}
assignors: [high_availability, legacy_sticky]
seeds: {seeds}
"""


def prepare_benchmark(runs: int, folder: Path) -> SweepJob:
    """Return a sweep with this number of runs of a small scenario."""
    file = folder / "overhead.yaml"
    file.write_text(SWEEP.format(scenario="cold_start", seeds=runs // 4))
    return SweepJob.of(prepare_sweep(load_sweep(file)))


def by_pool(job: SweepJob, out: Path) -> float:
    """Return the run time in seconds of a pool of processes, including its start and all files."""
    started = time.monotonic()
    out.mkdir(parents=True)
    with ProcessPoolExecutor(CORES) as pool:
        for batch in job.batches:
            table = run_table(job, batch)
            chunks = [table.filter(pc.equal(table["chunk"], i)) for i in range(len(batch.chunks))]
            tables = list(pool.map(partial(_simulate, job.sweep_inputs), chunks))
            pq.write_table(pa.concat_tables(tables), out / f"{batch.name}.parquet", compression="zstd")
    return time.monotonic() - started


def _simulate(sweep_inputs: SweepInputs, chunk: pa.Table) -> pa.Table:
    return pa.Table.from_batches(list(simulate_chunks(sweep_inputs, iter(chunk.combine_chunks().to_batches()))))


def by_spark(job: SweepJob, out: Path, cores: int) -> tuple[float, float]:
    """Return the run time of a sweep on a started Spark, and the time to start Spark, in seconds.

    With one core, Java and the worker share that core; `local[1]` alone would let Java use the others.
    """
    all_cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(all_cores)[:cores])
    started = time.monotonic()
    try:
        with connect(f"local[{cores}]", fast_start=True) as spark:
            started_at = time.monotonic()
            run_sweep(spark, job, str(out))
            finished_at = time.monotonic()
    finally:
        os.sched_setaffinity(0, all_cores)
    return finished_at - started_at, started_at - started


def measure(runs: int) -> dict[str, float]:
    """Return all figures; a first run by a pool fills Numba's cache, so that no measurement includes compilation."""
    with tempfile.TemporaryDirectory() as folder:
        work_folder = Path(folder)
        job = prepare_benchmark(runs, work_folder)
        by_pool(prepare_benchmark(40, work_folder), work_folder / "warm-up")
        job = prepare_benchmark(runs, work_folder)
        two_cores_s, start_s = by_spark(job, work_folder / "spark-2", CORES)
        one_core_s, _ = by_spark(job, work_folder / "spark-1", 1)
        pool_s = by_pool(job, work_folder / "pool")
        size = sum(file.stat().st_size for file in (work_folder / "spark-2").rglob("*.parquet"))
    return {
        "runs": job.prepared.total,
        "batches": len(job.batches),
        "pool_s": pool_s,
        "spark_two_cores_s": two_cores_s,
        "spark_one_core_s": one_core_s,
        "spark_start_s": start_s,
        "overhead": two_cores_s / pool_s,
        "overhead_with_start": (two_cores_s + start_s) / pool_s,
        "efficiency": one_core_s / (CORES * two_cores_s),
        "bytes_per_run": size / job.prepared.total,
    }


def page(text: str, figures: list[dict[str, float]]) -> str:
    """Return the page with new figures after its mark."""
    head, _, _ = text.partition(MARK)
    rows = [
        f"| {row['runs']:,.0f} | {row['pool_s']:.1f} s | {row['spark_two_cores_s']:.1f} s | "
        f"{row['spark_one_core_s']:.1f} s | {row['overhead']:.2f} | {row['overhead_with_start']:.2f} | "
        f"{row['efficiency']:.2f} | {row['runs'] / row['spark_two_cores_s'] / CORES:.1f} | "
        f"{row['bytes_per_run']:,.0f} |"
        for row in figures
    ]
    return "\n".join(
        [
            f"{head}{MARK}",
            "",
            f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}.",
            "",
            "| runs | pool of 2 processes | Spark, 2 cores | Spark, 1 core | Spark / pool | with Spark's start "
            "| efficiency of 2 cores | runs/s per core | bytes per run |",
            "|---|---|---|---|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, nargs="+", default=[1_000])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--costs", type=Path, help="costs of large sweeps; measured if the file does not exist")
    options = parser.parse_args()
    if options.costs is not None:
        from tools.sweep_costs.page import measured_figures, with_costs

        text = with_costs(PAGE.read_text(encoding="utf-8"), measured_figures(options.costs))
        if options.write:
            PAGE.write_text(text, encoding="utf-8")
        return
    figures = [measure(runs) for runs in options.runs]
    print(json.dumps(figures, indent=2))
    if options.write:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), figures), encoding="utf-8")


if __name__ == "__main__":
    main()
