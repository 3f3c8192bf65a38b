"""One setting takes much longer than the others: they are saved before it ends, and not run again after a kill."""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pipeline.sweep.job import SweepJob
from scenarios.sweeps.design import load_sweep
from scenarios.sweeps.prepared import prepare_sweep
from tests.pipeline.sweep.awaiting_assignor import FILE, LARGE, Awaiting
from tests.pipeline.sweep.driver import SMALL_BATCHES
from tests.pipeline.sweep.driver_process import ROOT, DriverProcess
from tests.pipeline.sweep.examples import write_sweep
from tests.spark_cluster import cluster

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ASSIGNOR = f"{Awaiting.__module__}:{Awaiting.__name__}"
PARTITIONS = [*range(4, 16), 3 * LARGE, *range(16, 32)]
COSTLY = PARTITIONS.index(3 * LARGE)
SKEWED = f"""
name: skewed
scenario: shop.yaml
factors:
  - {{name: partitions, path: 'cluster.topics[0].partitions', values: {PARTITIONS}}}
seeds: 1
"""


def test_other_runs_are_saved_while_the_costly_one_runs_and_only_it_is_repeated(tmp_path: Path) -> None:
    file, out = write_sweep(tmp_path / "shop", SKEWED), tmp_path / "out"
    job = SweepJob.of(prepare_sweep(load_sweep(file), [ASSIGNOR]), SMALL_BATCHES)
    first, *others = job.batches
    # Among the first to start: what takes longest must not start last.
    assert first.chunks[0].start == COSTLY
    assert len(others) > 3
    awaited = tmp_path / "end-of-the-costly-run"
    settings = {"assignor": ASSIGNOR, f"spark.executorEnv.{FILE}": str(awaited)}
    settings["spark.executorEnv.PYTHONPATH"] = str(ROOT)
    with cluster(workers=2) as running:
        driver = DriverProcess(file, out, running.url, settings)
        await_files(out, {batch.name for batch in others})
        # The costly run has not ended, and its batch is the only one without runs.
        driver.kill_with_java()
        before = {path: path.stat().st_mtime_ns for path in saved(out)}
        assert {path.parent.name for path in before} == {batch.name for batch in others}
        awaited.touch()
        finished_before, done, failed = DriverProcess(file, out, running.url, settings).finish()
    assert (finished_before, done, failed) == (len(PARTITIONS) - first.runs, len(PARTITIONS), 0)
    assert {path: path.stat().st_mtime_ns for path in saved(out) if path in before} == before
    assert sorted(pq.read_table(out / "runs")["setting"].to_pylist()) == list(range(len(PARTITIONS)))


def saved(out: Path) -> list[Path]:
    return list(out.glob("runs/batch=*/*.parquet"))


def await_files(out: Path, names: set[str], timeout_s: float = 280.0) -> None:
    """Wait until some batches are saved; the costly run waits longer, so it does not end before."""
    deadline = time.monotonic() + timeout_s
    while {path.parent.name for path in saved(out)} != names:
        assert time.monotonic() < deadline, f"runs wait behind the costly one: only {sorted(saved(out))}"
        time.sleep(0.1)
