"""Measurement of the costs of runs: in this process, by a pool of processes, by Spark, and by Spark without simulation.

Figures are CPU time of all processes, which other work on the machine changes less than elapsed time. Each measurement
runs in a process of its own: `python -m tools.sweep_costs.measuring NAME [RUNS [BATCH_MS]]` prints it as JSON.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

import numpy as np
import pyarrow as pa

from pipeline.parquet import write_parquet
from pipeline.session import connect
from pipeline.sweep import batch_job
from pipeline.sweep.batch_job import chunk_runs, run_table
from pipeline.sweep.batches import BATCH_MS, BatchSizes
from pipeline.sweep.job import SweepJob
from pipeline.sweep.run import run_sweep
from pipeline.worker import (
    SweepInputs,
    exclude_modules_from_collection,
    simulate_chunks,
    simulate_chunks_on_executor,
)
from scenarios.sweeps.design import load_sweep
from scenarios.sweeps.prepared import prepare_sweep
from tools.large_applications import workloads
from tools.pipeline_benchmark import CORES, by_pool, prepare_benchmark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROOT = Path(__file__).parents[2]
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_FIRST_OUTCOME: dict[str, pa.RecordBatch] = {}


@dataclass(frozen=True, slots=True)
class RunCosts:
    """A measurement.

    Attributes:
        cpu_s: CPU time of all processes, without the start of Spark.
        elapsed_s: elapsed time of the same.
        table_s: CPU time of the driver to describe the runs to the workers.
        driver_bytes: peak memory of the driver's Python.
        java_bytes: peak memory of the driver's Java; 0 without Spark.
        batches: runs and time to write the tables of each batch.
    """

    runs: int
    cpu_s: float
    elapsed_s: float
    table_s: float = 0.0
    driver_bytes: int = 0
    java_bytes: int = 0
    batches: tuple[tuple[int, float], ...] = ()


def measure(name: str, *arguments: object) -> RunCosts:
    """Return a measurement of this module, made in another process."""
    command = [sys.executable, "-m", __name__, name, *map(str, arguments)]
    # Spark's workers import this module, too.
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": path}
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
    return RunCosts(**json.loads(output.splitlines()[-1]))


def in_process(runs: int) -> RunCosts:
    """Runs of the small scenario in one process that has made others."""
    with tempfile.TemporaryDirectory() as folder:
        job = prepare_benchmark(runs, Path(folder))
        tables = [run_table(job, batch).combine_chunks() for batch in job.batches]
        list(simulate_chunks(job.sweep_inputs, iter(tables[0].slice(0, 40).to_batches())))
        return _timed(runs, lambda: [list(simulate_chunks(job.sweep_inputs, iter(t.to_batches()))) for t in tables])


def by_processes(runs: int) -> RunCosts:
    """The same runs by a pool of processes, with its start and all files."""
    with tempfile.TemporaryDirectory() as folder:
        job = prepare_benchmark(runs, Path(folder))
        return _timed(runs, partial(by_pool, job, Path(folder, "pool")))


def large(runs: int) -> RunCosts:
    """A day with 1,000 tasks on 100 clients and more than a thousand rebalances, in one process."""
    return _timed(runs, lambda: [workloads.day() for _ in range(runs)])


def by_spark_itself(runs: int, batch_ms: float = BATCH_MS, *, simulate: bool = True) -> RunCosts:
    """The runs of the small scenario by Spark; without simulation, every run has the tables of the first one."""
    writing: dict[str, float] = {}

    def timed_write(table: DataFrame, path: str) -> None:
        started = time.monotonic()
        write_parquet(table, path)
        batch = path.split("/")[-2]
        writing[batch] = writing.get(batch, 0.0) + time.monotonic() - started

    with tempfile.TemporaryDirectory() as folder:
        job = replace(prepare_benchmark(runs, Path(folder)), batch_sizes=BatchSizes(batch_ms=batch_ms))
        started = time.process_time()
        for batch in job.batches:
            chunk_runs(job, batch)
        table_s = time.process_time() - started
        work = simulate_chunks_on_executor if simulate else first_outcome_repeated
        with (
            connect(f"local[{CORES}]", fast_start=True) as spark,
            patch.object(batch_job, "write_parquet", timed_write),
            patch.object(batch_job, "simulate_chunks_on_executor", work),
        ):
            measured = _timed(runs, lambda: run_sweep(spark, job, str(Path(folder, "out"))))
            java = [pid for pid, (name, *_) in _processes().items() if name == "java"]
            return replace(
                measured,
                table_s=table_s,
                driver_bytes=_peak_bytes(os.getpid()),
                java_bytes=max(map(_peak_bytes, java), default=0),
                batches=tuple((batch.runs, writing[batch.name]) for batch in job.batches),
            )


def first_outcome_repeated(sweep_inputs: SweepInputs, chunks: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the tables of the first run for every run, as `simulate_chunks_on_executor` does."""
    for chunk in chunks:
        if sweep_inputs.text not in _FIRST_OUTCOME:
            (_FIRST_OUTCOME[sweep_inputs.text],) = simulate_chunks(sweep_inputs, iter([chunk.slice(0, 1)]))
        rows = chunk.sort_by("position")
        same = _FIRST_OUTCOME[sweep_inputs.text].take(pa.array(np.zeros(len(rows), dtype=np.int64)))
        for name in ("position", "run_id", "setting"):
            same = same.set_column(same.schema.get_field_index(name), same.schema.field(name), rows[name])
        yield same
    exclude_modules_from_collection(len(sys.modules))


SKEWED = """name: skewed
scenario: cold_start
set: {{duration: 2h}}
factors:
  - {{name: warmups, path: application.configs.max.warmup.replicas, values: {values}}}
assignors: [high_availability]
seeds: 1
"""
SKEW = 1_000


def skewed(runs: int, run_s: float) -> RunCosts:
    """Runs by Spark that sleep instead of a simulation, one of them 1,000 times longer than each of the others.

    Sleeping takes no core, so the elapsed time says how the runs were scheduled, on a busy machine, too.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "skewed.yaml")
        file.write_text(SKEWED.format(values=list(range(1, runs + 1))))
        prepared = prepare_sweep(load_sweep(file))
        run_ms = np.full_like(prepared.run_ms, run_s * 1_000)
        run_ms[runs // 2] *= SKEW
        job = SweepJob.of(replace(prepared, run_ms=run_ms))
        work = partial(sleep_for_runs, runs // 2, run_s)
        with (
            connect(f"local[{CORES}]", fast_start=True) as spark,
            patch.object(batch_job, "simulate_chunks_on_executor", work),
        ):
            return _timed(runs, lambda: run_sweep(spark, job, str(Path(folder, "out"))))


def sleep_for_runs(
    costly: int, run_s: float, sweep_inputs: SweepInputs, chunks: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Return the tables of the first run for every run, after the time that the runs of `skewed` take."""
    for chunk in chunks:
        settings = chunk["setting"].to_pylist()
        time.sleep(sum(run_s * (SKEW if setting == costly else 1) for setting in settings))
        yield from first_outcome_repeated(sweep_inputs, iter([chunk]))


def _timed(runs: int, work: Callable[[], object]) -> RunCosts:
    cpu_s, elapsed_s = _cpu_s(), time.monotonic()
    ended = os.times()
    work()
    of_ended = os.times()
    ended_s = of_ended.children_user + of_ended.children_system - ended.children_user - ended.children_system
    return RunCosts(runs, _cpu_s() - cpu_s + ended_s, time.monotonic() - elapsed_s)


def _cpu_s() -> float:
    """Return the CPU time of this process and of the running processes that it started."""
    processes = _processes()
    return sum(seconds for pid, (_, _, seconds) in processes.items() if _is_ours(pid, processes))


def _is_ours(pid: int, processes: dict[int, tuple[str, int, float]]) -> bool:
    while pid in processes and pid != os.getpid():
        pid = processes[pid][1]
    return pid == os.getpid()


def _processes() -> dict[int, tuple[str, int, float]]:
    """Return name, parent and CPU time of the processes of this machine, as Linux reports them."""
    processes = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            before, _, after = (folder / "stat").read_text().rpartition(") ")
        except OSError:  # It has ended.
            continue
        fields = after.split()
        ticks = int(fields[11]) + int(fields[12])
        processes[int(folder.name)] = (before.partition("(")[2], int(fields[1]), ticks / _TICKS_PER_S)
    return processes


def _peak_bytes(pid: int) -> int:
    [kibibytes] = re.findall(r"^VmHWM:\s+(\d+) kB$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return int(kibibytes) * 1024


MEASUREMENTS: dict[str, Callable[..., RunCosts]] = {
    "process": in_process,
    "pool": by_processes,
    "spark": by_spark_itself,
    "overhead": partial(by_spark_itself, simulate=False),
    "large": large,
    "skewed": skewed,
}

if __name__ == "__main__":
    # Functions of `__main__` and of this module's own name must not be two.
    from tools.sweep_costs import measuring

    name, runs, *rest = sys.argv[1:]
    print(json.dumps(asdict(measuring.MEASUREMENTS[name](int(runs), *map(float, rest)))))
