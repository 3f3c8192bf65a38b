"""A run of tests that is ended by a signal leaves no process and no file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = [pytest.mark.kafka]

ROOT = Path(__file__).parents[2]
START_S = 300
"""Enough for a server on a busy machine, with its compilation."""
END_S = 60

CASES = {
    "kafka": ("tests/real_kafka/test_custom_broker_assignor.py::test_broker_assigns_as_predicted", "kafka.Kafka"),
    "spark": ("tests/pipeline/test_storage.py", "org.apache.spark.deploy.SparkSubmit"),
    "spark-cluster": (
        "tests/pipeline/sweep/test_run_on_cluster.py::test_killed_worker_does_not_change_bytes",
        "org.apache.spark.deploy.worker.Worker",
    ),
    "object-store": ("tests/object_store/test_storage.py", "assignorsim.ObjectStore"),
    "yarn": ("tests/yarn/test_sweep.py", "assignorsim.HadoopCluster"),
    "connect": ("tests/connect/test_server.py::test_cores_are_those_of_the_server", "SparkConnectServer"),
    "chromium": ("tests/browser/test_page.py", "--remote-debugging-pipe"),
}
"""A test, and what the command of its last process contains, by server."""


@pytest.mark.parametrize(
    "ending",
    [pytest.param(signal.SIGTERM, marks=pytest.mark.slow, id="SIGTERM"), pytest.param(signal.SIGKILL, id="SIGKILL")],
)
@pytest.mark.parametrize(
    "case", [case if case == "kafka" else pytest.param(case, marks=pytest.mark.slow) for case in CASES]
)
def test_nothing_is_left(case: str, ending: signal.Signals, tmp_path: Path) -> None:
    test, last = CASES[case]
    folder = tmp_path / "temporary"
    folder.mkdir()
    with (tmp_path / "log").open("w") as log:
        run = subprocess.Popen(
            [sys.executable, "-m", "pytest", "-q", "-n1", "--maxfail=1", "-p", "tests.waiting", test],
            cwd=ROOT,
            env={**os.environ, "TMPDIR": str(folder)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        await_true(lambda: any(last in command_of(pid) for pid in started_by(run.pid)), START_S, run)
        started = started_by(run.pid)
        assert len(started) > 2
    finally:
        run.send_signal(ending)
        run.wait()
    await_true(lambda: not [pid for pid, since in started.items() if started_at(pid) == since], END_S)
    await_true(lambda: not list(folder.iterdir()), END_S)


def await_true(condition: Callable[[], bool], limit_s: float, run: subprocess.Popen[bytes] | None = None) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline
        assert run is None or run.poll() is None, "the run ended before it waited"
        time.sleep(0.1)


def started_by(pid: int) -> dict[int, str]:
    """Return when a process's descendants that have not ended started, by their ids."""
    descendants: dict[int, str] = {}
    for child in children_of(pid):
        if since := started_at(child):
            descendants |= {child: since, **started_by(child)}
    return descendants


def started_at(pid: int) -> str:
    """Return the start of a process in ticks since the start of the system; nothing if it has ended."""
    state, *fields = read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split() or ["Z"]
    return "" if state == "Z" else fields[18]


def children_of(pid: int) -> list[int]:
    """Return the children of a process; none if it has ended."""
    try:
        threads = [*Path(f"/proc/{pid}/task").glob("*/children")]
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [int(child) for file in threads for child in read(file).split()]


def command_of(pid: int) -> str:
    """Return the command line of a process; nothing if it has ended."""
    return read(Path(f"/proc/{pid}/cmdline")).replace("\0", " ")


def read(file: Path) -> str:
    try:
        return file.read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""
