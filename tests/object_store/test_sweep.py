"""Sweeps on an object store whose driver is killed, and what is made of them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.aggregate import aggregate
from pipeline.storage import Storage
from pipeline.sweep.batch_job import finished_batches
from pipeline.sweep.job import SweepJob
from pipeline.sweep.run import run_sweep
from scenarios.language.errors import SweepError
from scenarios.sweeps.design import load_sweep
from scenarios.sweeps.prepared import prepare_sweep
from tests.object_store.conftest import ROOT
from tests.object_store.server import ObjectStore
from tests.pipeline.sweep.driver import SMALL_BATCHES
from tests.pipeline.sweep.driver_process import DriverProcess
from tests.pipeline.sweep.examples import SWEEP, write_sweep
from tests.pipeline.sweep.parquet_contents import contents

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.object_store, pytest.mark.slow]

PROJECT = Path(__file__).parents[2]
RUNS = 24
KILLED = "killed"
# When all tables of a batch but its runs are published, and when only Spark's last file is missing.
MOMENTS = (f"copy {KILLED}/runs/batch=[0-9]+/part-", f"(copy|put) {KILLED}/runs/batch=[0-9]+/_SUCCESS")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sweep(tmp_path_factory.mktemp("shop"), SWEEP)


@pytest.fixture(scope="module")
def job(file: Path) -> SweepJob:
    return SweepJob.of(prepare_sweep(load_sweep(file)), SMALL_BATCHES)


@pytest.fixture(scope="module")
def local(spark: SparkSession, job: SweepJob, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the output of the sweep and its aggregate in a local folder."""
    out = tmp_path_factory.mktemp("local") / "out"
    run_sweep(spark, job, str(out))
    aggregate(spark, [str(out)])
    return out


def test_sweep_of_killed_driver_is_resumed(
    store: ObjectStore,
    spark: SparkSession,
    file: Path,
    job: SweepJob,
    local: Path,
    download: Callable[[str], Path],
    tmp_path: Path,
) -> None:
    out, settings = f"{ROOT}/{KILLED}", store.spark_settings()
    expected = contents(local)
    storage = Storage(spark, out)
    seen = 0
    for moment in MOMENTS:
        store.hold(moment)
        driver = DriverProcess(file, out, "local[2]", settings)
        store.await_line(f"held {moment}")
        driver.kill_with_java()
        store.release()
        finished = finished_batches(storage)
        assert len(finished) >= seen
        seen = len(finished)
        written = contents(download(KILLED))
        for batch in finished:
            for table in ("rounds", "runs"):
                assert written[f"{table}/{batch}"] == expected[f"{table}/{batch}"], (moment, batch)
    assert 0 < seen < len(job.batches)
    with pytest.raises(SweepError, match="continue it with --resume"):
        run_sweep(spark, job, out)
    end = run_sweep(spark, job, out, resume=True)
    assert 0 < end.finished_before < RUNS
    assert (end.done, end.failed) == (RUNS, 0)
    # Not their folders: the server may list empty ones, which an object store does not have.
    assert {file.split("/")[0] for file in storage.files()} == {"manifest.json", "settings", "runs", "rounds"}
    code, output = _command(store, tmp_path, "aggregate", out, "--master", "local[2]")
    assert code == 0, output
    copy = download(KILLED)
    assert contents(copy) == expected
    assert storage.read_text("aggregate", "summary.json") == (local / "aggregate" / "summary.json").read_text()
    code, output = _command(store, tmp_path, "report", out, "-o", "remote.html")
    assert code == 0, output
    code, output = _command(store, tmp_path, "report", str(copy), "-o", "local.html")
    assert code == 0, output
    page = (tmp_path / "remote.html").read_text()
    assert "shop-sweep" in page
    # The pages differ in the name of the directory only.
    assert (tmp_path / "local.html").read_text().replace(str(copy), out) == page


def _command(store: ObjectStore, folder: Path, *arguments: str) -> tuple[int, str]:
    """Run a command with the configs of the server; return its exit code and output."""
    configs = [part for key, value in store.spark_settings().items() for part in ("--conf", f"{key}={value}")]
    completed = subprocess.run(
        [sys.executable, "-m", "assignor_sim", *arguments, *configs],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    return completed.returncode, completed.stdout + completed.stderr


def test_marker_without_runs_is_no_finished_batch(
    spark: SparkSession, job: SweepJob, local: Path, download: Callable[[str], Path]
) -> None:
    storage = Storage(spark, f"{ROOT}/marker")
    run_sweep(spark, job, storage.root)
    batch = job.batches[0].name
    for file in storage.files("runs", batch):
        if file != "_SUCCESS":
            storage.remove("runs", batch, file)
    assert storage.children("runs", batch) == ["_SUCCESS"]
    assert finished_batches(storage) == {other.name for other in job.batches[1:]}
    assert run_sweep(spark, job, storage.root, resume=True).finished_before == RUNS - job.batches[0].runs
    assert len(finished_batches(storage)) == len(job.batches)
    expected = {name: digest for name, digest in contents(local).items() if not name.startswith("aggregate/")}
    assert contents(download("marker")) == expected
