"""Sweeps on a standalone Spark cluster of a master and two workers, with processes that are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.pipeline.sweep.driver_process import DriverProcess
from tests.pipeline.sweep.examples import SWEEP, write_sweep
from tests.pipeline.sweep.parquet_contents import contents
from tests.spark_cluster import SparkCluster, cluster

pytestmark = [pytest.mark.spark, pytest.mark.slow]

LONGER = SWEEP.replace("seeds: 3", "seeds: 9")
RUNS = 72


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sweep(tmp_path_factory.mktemp("shop"), LONGER)


@pytest.fixture(scope="module")
def undisturbed(file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the output of the sweep in local mode on one core."""
    out = tmp_path_factory.mktemp("local") / "out"
    DriverProcess(file, out, "local[1]").finish()
    return out


@pytest.fixture
def running() -> Iterator[SparkCluster]:
    with cluster(workers=2) as started:
        yield started


def test_killed_worker_does_not_change_bytes(
    file: Path, undisturbed: Path, running: SparkCluster, tmp_path: Path
) -> None:
    driver = DriverProcess(file, tmp_path / "out", running.url)
    driver.wait_until(10)
    running.workers[0].stop(signal.SIGKILL)
    _, done, failed = driver.finish()
    assert (done, failed) == (RUNS, 0)
    assert contents(tmp_path / "out") == contents(undisturbed)


def test_resumed_sweep_of_killed_driver_has_same_bytes(file: Path, undisturbed: Path, tmp_path: Path) -> None:
    driver = DriverProcess(file, tmp_path / "out", "local[2]")
    # More runs than two concurrent batches have, so that at least one batch is complete.
    driver.wait_until(30)
    driver.kill()
    assert contents(tmp_path / "out") != contents(undisturbed)
    done_before, done, failed = DriverProcess(file, tmp_path / "out", "local[2]").finish()
    assert 0 < done_before < RUNS
    assert (done, failed) == (RUNS, 0)
    assert contents(tmp_path / "out") == contents(undisturbed)


def sweep_from_wheel(installed: Path, file: Path, out: Path, master: str, *options: str) -> tuple[int, str]:
    """Run the command of an installed wheel; return code and output.

    The Python of the executors has the dependencies, but not this project.
    """
    completed = subprocess.run(
        [
            *(sys.executable, "-m", "assignor_sim", "sweep", str(file), "--out", str(out), "--master", master),
            *("--conf", f"spark.executorEnv.PYTHONPATH={Path(pytest.__file__).parents[1]}", *options),
        ],
        cwd=out.parent,
        env={**os.environ, "PYTHONPATH": str(installed), "PYSPARK_PYTHON": os.path.realpath(sys.executable)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    return completed.returncode, completed.stdout + completed.stderr


def test_executors_need_only_the_wheel_and_libraries(
    file: Path, undisturbed: Path, running: SparkCluster, wheel: Path, installed: Path, tmp_path: Path
) -> None:
    code, output = sweep_from_wheel(installed, file, tmp_path / "without", running.url)
    assert code == 2
    assert "No module named 'assignor_sim'" in output
    code, output = sweep_from_wheel(installed, file, tmp_path / "out", running.url, "--py-files", str(wheel))
    assert code == 0, output
    assert f"{RUNS} runs" in output
    rows = sorted(pq.read_table(tmp_path / "out" / "runs").to_pylist(), key=lambda row: row["run_id"])
    expected = sorted(pq.read_table(undisturbed / "runs").to_pylist(), key=lambda row: row["run_id"])
    assert [row | {"batch": 0} for row in rows] == [row | {"batch": 0} for row in expected]
