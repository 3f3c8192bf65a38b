"""Sweeps on a real cluster: a master and two workers, each a process of its own, of which some are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.pipeline.sweep.examples import SWEEP, write_sweep
from tests.pipeline.sweep.files import contents
from tools.spark_cluster import SparkCluster, cluster

ROOT = Path(__file__).parents[3]
LONGER = SWEEP.replace("seeds: 3", "seeds: 12")


class Driver:
    """A sweep in a process of its own."""

    def __init__(self, file: Path, out: Path, master: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.pipeline.sweep.driver", str(file), str(out), master],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "7"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def until(self, done: int) -> None:
        """Wait until so many runs are done, and fail if it ends before."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if int(line.split()[0]) >= done:
                return
        pytest.fail(f"ended before {done} runs were done:\n{self._error()}")

    def finish(self) -> list[int]:
        """Wait for its end: how many runs were done at first, in the end, and failed."""
        said, error = self._process.communicate(timeout=300)
        assert self._process.returncode == 0, error
        lines = [[int(word) for word in line.split()] for line in said.splitlines()]
        return [lines[0][0], lines[-1][0], lines[-1][2]]

    def kill(self) -> None:
        """End it without a chance to tidy up."""
        self._process.send_signal(signal.SIGKILL)
        self._process.communicate(timeout=60)

    def _error(self) -> str:
        return self._process.communicate(timeout=60)[1]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sweep(tmp_path_factory.mktemp("shop"), LONGER)


@pytest.fixture(scope="module")
def undisturbed(file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sweep in local mode, on one core."""
    out = tmp_path_factory.mktemp("local") / "out"
    Driver(file, out, "local[1]").finish()
    return out


@pytest.fixture
def running() -> Iterator[SparkCluster]:
    with cluster(workers=2) as started:
        yield started


def test_a_killed_worker_costs_time_only_and_the_bytes_are_those_of_local_mode(
    file: Path, undisturbed: Path, running: SparkCluster, tmp_path: Path
) -> None:
    driver = Driver(file, tmp_path / "out", running.url)
    driver.until(10)
    running.workers[0].stop(signal.SIGKILL)
    _, done, failed = driver.finish()
    assert (done, failed) == (96, 0)
    assert contents(tmp_path / "out") == contents(undisturbed)


def test_a_killed_driver_is_resumed_and_the_bytes_are_those_of_an_undisturbed_sweep(
    file: Path, undisturbed: Path, tmp_path: Path
) -> None:
    driver = Driver(file, tmp_path / "out", "local[2]")
    driver.until(30)
    driver.kill()
    assert contents(tmp_path / "out") != contents(undisturbed)
    found, done, failed = Driver(file, tmp_path / "out", "local[2]").finish()
    assert 0 < found < 96
    assert (done, failed) == (96, 0)
    assert contents(tmp_path / "out") == contents(undisturbed)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Our packages as they lie in a wheel."""
    file = tmp_path_factory.mktemp("dist") / "assignor_sim-0-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as archive:
        for package in ("assignor_sim", "assignors", "pipeline", "reports", "scenarios", "simulator"):
            for source in sorted((ROOT / package).rglob("*.py")):
                archive.write(source, source.relative_to(ROOT))
    return file


def sweep_where_executors_lack_our_code(file: Path, out: Path, master: str, *more: str) -> tuple[int, str]:
    """The command, with executors whose Python has the dependencies and not this project."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "assignor_sim", "sweep", str(file), "--out", str(out), "--master", master),
            *("--conf", f"spark.executorEnv.PYTHONPATH={Path(pytest.__file__).parents[1]}", *more),
        ],
        env={**os.environ, "PYSPARK_PYTHON": os.path.realpath(sys.executable)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done.returncode, done.stdout + done.stderr


def test_shipped_code_is_all_that_executors_need_beside_their_libraries(
    file: Path, undisturbed: Path, running: SparkCluster, wheel: Path, tmp_path: Path
) -> None:
    code, said = sweep_where_executors_lack_our_code(file, tmp_path / "without", running.url)
    assert code == 2
    assert "No module named" in said
    code, said = sweep_where_executors_lack_our_code(file, tmp_path / "out", running.url, "--py-files", str(wheel))
    assert code == 0, said
    assert "96 runs" in said
    rows = sorted(pq.read_table(tmp_path / "out" / "runs").to_pylist(), key=lambda row: row["run_id"])
    expected = sorted(pq.read_table(undisturbed / "runs").to_pylist(), key=lambda row: row["run_id"])
    assert [row | {"batch": 0} for row in rows] == [row | {"batch": 0} for row in expected]
