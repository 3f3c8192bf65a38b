"""Progress, interruption, and the end of the server."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline import connect_session
from pipeline.errors import SparkError
from pipeline.session import connect
from pipeline.spark_jobs import default_parallelism, spark_jobs
from tests.connect.conftest import PROJECT
from tests.connect.server import ConnectServer, connect_server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.connect, pytest.mark.slow]

BEATING = """
import sys
from pipeline.session import connect

def beats(file):
    def run(batches):
        import time
        from pathlib import Path
        for _ in range(600):
            Path(file).write_text(str(time.time()))
            time.sleep(0.1)
        yield from batches
    return run

with connect(sys.argv[1]) as spark:
    spark.range(1).mapInArrow(beats(sys.argv[2]), "id long").collect()
"""


def test_cores_are_those_of_the_server(remote: SparkSession) -> None:
    assert default_parallelism(remote) == 2


def test_completed_tasks_are_counted_by_name(remote: SparkSession) -> None:
    def wait(batches):  # type: ignore[no-untyped-def]
        import time

        time.sleep(0.8)
        yield from batches

    jobs = spark_jobs(remote)
    jobs.begin("counted", "a job of 5 tasks")
    remote.range(0, 5, 1, 5).mapInArrow(wait, "id long").collect()
    assert 0 < jobs.completed_tasks("counted", 5) <= 5
    assert jobs.completed_tasks("counted", 7) == 0
    assert jobs.completed_tasks("another") == 0


def test_failed_job_is_one_line(server: ConnectServer) -> None:
    with pytest.raises(SparkError) as error, connect(server.url) as spark:
        spark.read.parquet("/missing/folder").count()
    assert "PATH_NOT_FOUND" in str(error.value)
    assert "\n" not in str(error.value)
    assert "JVM" not in str(error.value)


def test_ctrl_c_ends_the_job_on_the_server(server: ConnectServer, tmp_path: Path) -> None:
    file = tmp_path / "beat"
    process = subprocess.Popen(
        [sys.executable, "-c", BEATING, server.url, str(file)], cwd=PROJECT, stderr=subprocess.PIPE, text=True
    )
    await_true(file.exists)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGINT, error
    assert "KeyboardInterrupt" in error

    def stopped() -> bool:
        before = file.read_text()
        time.sleep(0.5)
        return file.read_text() == before

    await_true(stopped)


def test_server_that_does_not_run_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect_session, "_START_TIMEOUT_S", 1.0)
    message = r"^the Spark Connect server at sc://127.0.0.1:1 does not answer"
    with pytest.raises(SparkError, match=message), connect("sc://127.0.0.1:1/;token=secret"):
        pytest.fail("connected")


def test_server_that_ends_is_one_error() -> None:
    code = """
import os, signal, sys
from pipeline.session import connect
from pipeline.errors import SparkError
try:
    with connect(sys.argv[1]) as spark:
        os.kill(int(sys.argv[2]), signal.SIGKILL)
        spark.range(5).count()
except SparkError as error:
    print(error)
"""
    with connect_server(1) as own:
        command = [sys.executable, "-c", code, own.url, str(own.pid)]
        done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    [line] = done.stdout.splitlines()
    assert line.startswith(f"the Spark Connect server at {own.url} does not answer")


def await_true(condition: Callable[[], bool], timeout_s: float = 20.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)
