"""A run in a Spark worker has the same tables as in this process, although workers use another hash seed."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.sweep.job import SweepJob
from scenarios.sweeps.design import load_sweep
from scenarios.sweeps.prepared import prepare_sweep
from tests.pipeline.sweep.examples import write_sweep
from tests.simulator.results.test_result_directory import digest, run_tables

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]


@pytest.mark.filterwarnings("ignore")
def test_run_in_spark_worker_has_same_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[2]")
        .appName("same bytes")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .getOrCreate()
    )

    def simulate(_: Iterator[int]) -> Iterator[tuple[str, int]]:
        import tests.simulator.results.test_result_directory as in_worker

        yield in_worker.digest(in_worker.run_tables()), hash("a string")

    try:
        rows = spark.sparkContext.parallelize(range(2), 2).mapPartitions(simulate).collect()
    finally:
        spark.stop()
    assert {table_digest for table_digest, _ in rows} == {digest(run_tables())}
    assert hash("a string") not in {hashed for _, hashed in rows}, (
        "the worker has the same hash seed, so that the test proves nothing"
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_worker_that_spark_kills_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    from pyspark.sql import SparkSession

    local, seen = tmp_path / "local", tmp_path / "seen"
    local.mkdir()
    sweep = load_sweep(write_sweep(tmp_path, "scenario: order_processing\n"))
    sweep_inputs = SweepJob.of(prepare_sweep(sweep)).sweep_inputs
    spark = (
        SparkSession.builder.master("local[1]")
        .appName("killed worker")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.local.dir", str(local))
        .getOrCreate()
    )
    before = sorted(tmp_path.iterdir())

    def load_and_die(_: Iterator[int]) -> Iterator[int]:
        from pipeline import worker

        def die(*arguments: object) -> None:
            seen.write_text(str(sorted(local.rglob("assignor-sim-*"))))
            os.kill(os.getpid(), signal.SIGKILL)

        vars(worker)["loads"] = die
        yield len(worker._scenario(sweep_inputs, "[]").text)

    try:
        with pytest.raises(Exception, match=r"worker exited unexpectedly|crashed"):
            spark.sparkContext.parallelize(range(1), 1).mapPartitions(load_and_die).collect()
    finally:
        spark.stop()
    assert "assignor-sim-" in seen.read_text()
    assert not list(local.rglob("assignor-sim-*"))
    assert sorted(path for path in tmp_path.iterdir() if path != seen) == before
