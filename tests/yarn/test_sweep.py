"""A sweep on YARN whose driver is killed, and what is made of it on HDFS."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.aggregate import aggregate
from pipeline.storage import Storage
from pipeline.sweep.batch_job import finished_batches
from pipeline.sweep.job import SweepJob
from pipeline.sweep.run import run_sweep
from scenarios.sweeps.design import load_sweep
from scenarios.sweeps.prepared import prepare_sweep
from tests.pipeline.sweep.driver import SMALL_BATCHES
from tests.pipeline.sweep.driver_process import DriverProcess
from tests.pipeline.sweep.examples import SWEEP, write_sweep
from tests.pipeline.sweep.parquet_contents import contents
from tests.yarn.hadoop_cluster import HadoopCluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.yarn, pytest.mark.slow]

PROJECT = Path(__file__).parents[2]
RUNS = 24


def test_killed_sweep_is_resumed_aggregated_and_shown(
    hadoop: HadoopCluster, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_sweep(tmp_path, SWEEP)
    for name, value in hadoop.environment().items():
        monkeypatch.setenv(name, value)
    out, settings = f"{hadoop.uri}/sweeps/killed", hadoop.spark_settings()
    driver = DriverProcess(file, out, "yarn", settings)
    driver.wait_until(0)
    storage = Storage(spark, out)
    deadline = time.monotonic() + 300
    while not finished_batches(storage):
        assert time.monotonic() < deadline, "no batch was finished in 300 s"
        time.sleep(0.1)
    driver.kill_with_java()
    job = SweepJob.of(prepare_sweep(load_sweep(file)), SMALL_BATCHES)
    # A path without a scheme is on this machine, although HDFS is the default file system.
    local = tmp_path / "local"
    run_sweep(spark, job, str(local))
    aggregate(spark, [str(local)])
    expected = contents(local)
    assert expected
    assert 0 < len(finished_batches(storage)) < len(job.batches)
    finished_before, done, failed = DriverProcess(file, out, "yarn", settings).finish()
    assert 0 < finished_before < done == RUNS
    assert failed == 0
    _run(tmp_path, "aggregate", out, "--master", "yarn", *_conf(settings))
    Storage(spark, f"{hadoop.uri}/sweeps").download(tmp_path / "copy", "killed")
    copy = tmp_path / "copy" / "killed"
    assert contents(copy) == expected
    summary = storage.read_text("aggregate", "summary.json")
    assert summary == (local / "aggregate" / "summary.json").read_text()
    _run(tmp_path, "report", out, "-o", "remote.html")
    _run(tmp_path, "report", str(copy), "-o", "copy.html")
    page = (tmp_path / "remote.html").read_text()
    assert "shop-sweep" in page
    assert (tmp_path / "copy.html").read_text().replace(str(copy), out) == page


def _conf(settings: dict[str, str]) -> list[str]:
    return [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]


def _run(folder: Path, *arguments: str) -> None:
    completed = subprocess.run(
        [sys.executable, "-m", "assignor_sim", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert completed.returncode == 0, completed.stdout + completed.stderr
