"""What Spark costs: the same runs by Spark and by a plain pool of processes, in one go on one machine.

`python -m tools.pipeline_benchmark [--runs 1000] [--write]` times a small scenario's runs three ways: a pool of two
processes, Spark with two cores, Spark with one. All three make the same tables and write them as Parquet; `--write`
puts the figures into docs/reference/pipeline-performance.md.
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
from pipeline.sweep.design import load_sweep
from pipeline.sweep.prepared import PreparedSweep, prepare_sweep
from pipeline.sweep.run import run_sweep
from pipeline.worker import SweepInputs, simulate_chunks

CORES = 2
PAGE = Path(__file__).parent.parent / "docs" / "reference" / "pipeline-performance.md"
MARK = "<!-- Measured by `python -m tools.pipeline_benchmark --write`. -->"
SWEEP = """name: overhead
scenario: {scenario}
set: {{duration: 2h}}
factors:
  - {{name: warmups, path: application.configs.max.warmup.replicas, values: [2, 4]}}
assignors: [high_availability, legacy_sticky]
seeds: {seeds}
"""


def prepared_of(runs: int, folder: Path) -> PreparedSweep:
    """A sweep of so many runs of a small scenario."""
    file = folder / "overhead.yaml"
    file.write_text(SWEEP.format(scenario="cold_start", seeds=runs // 4))
    return prepare_sweep(load_sweep(file))


def by_pool(prepared: PreparedSweep, out: Path) -> float:
    """Seconds that a pool of processes takes, its start and all files included."""
    started = time.monotonic()
    out.mkdir(parents=True)
    with ProcessPoolExecutor(CORES) as pool:
        for batch in prepared.batches:
            table = run_table(prepared, batch)
            chunks = [table.filter(pc.equal(table["chunk"], i)) for i in range(len(batch.chunks))]
            made = list(pool.map(partial(_simulate, prepared.sweep_inputs), chunks))
            pq.write_table(pa.concat_tables(made), out / f"{batch.name}.parquet", compression="zstd")
    return time.monotonic() - started


def _simulate(sweep_inputs: SweepInputs, chunk: pa.Table) -> pa.Table:
    return pa.Table.from_batches(list(simulate_chunks(sweep_inputs, iter(chunk.combine_chunks().to_batches()))))


def by_spark(prepared: PreparedSweep, out: Path, cores: int) -> tuple[float, float]:
    """Seconds that a sweep takes once Spark is there, and that Spark takes to be there.

    With one core, Java and the worker share that core: Spark's `local[1]` alone would let Java use the others.
    """
    every = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(every)[:cores])
    started = time.monotonic()
    try:
        with connect(f"local[{cores}]", java_works_little=True) as spark:
            there = time.monotonic()
            run_sweep(spark, prepared, str(out))
            done = time.monotonic()
    finally:
        os.sched_setaffinity(0, every)
    return done - there, there - started


def measure(runs: int) -> dict[str, float]:
    """All figures, in seconds; every way has warm kernels, since the pool goes first and last."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        prepared = prepared_of(runs, here)
        by_pool(prepared_of(40, here), here / "warming")
        prepared = prepared_of(runs, here)
        two, start = by_spark(prepared, here / "spark-2", CORES)
        one, _ = by_spark(prepared, here / "spark-1", 1)
        pool = by_pool(prepared, here / "pool")
        size = sum(file.stat().st_size for file in (here / "spark-2").rglob("*.parquet"))
    return {
        "runs": prepared.total,
        "batches": len(prepared.batches),
        "pool_s": pool,
        "spark_two_cores_s": two,
        "spark_one_core_s": one,
        "spark_start_s": start,
        "overhead": two / pool,
        "overhead_with_start": (two + start) / pool,
        "efficiency": one / (CORES * two),
        "bytes_per_run": size / prepared.total,
    }


def page(text: str, figures: list[dict[str, float]]) -> str:
    """The page with new figures behind its mark."""
    head, _, _ = text.partition(MARK)
    rows = [
        f"| {each['runs']:,.0f} | {each['pool_s']:.1f} s | {each['spark_two_cores_s']:.1f} s | "
        f"{each['spark_one_core_s']:.1f} s | {each['overhead']:.2f} | {each['overhead_with_start']:.2f} | "
        f"{each['efficiency']:.2f} | {each['runs'] / each['spark_two_cores_s'] / CORES:.1f} | "
        f"{each['bytes_per_run']:,.0f} |"
        for each in figures
    ]
    return "\n".join(
        [
            f"{head}{MARK}",
            "",
            f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}.",
            "",
            "| runs | pool of 2 processes | Spark, 2 cores | Spark, 1 core | Spark : pool | with Spark's start "
            "| efficiency of 2 cores | runs/s a core | bytes a run |",
            "|---|---|---|---|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, nargs="+", default=[1_000])
    parser.add_argument("--write", action="store_true")
    told = parser.parse_args()
    figures = [measure(runs) for runs in told.runs]
    print(json.dumps(figures, indent=2))
    if told.write:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), figures), encoding="utf-8")


if __name__ == "__main__":
    main()
