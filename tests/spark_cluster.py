"""A standalone Spark cluster on this machine, from the installed pyspark: a master and workers, each a process.

`python -m tests.spark_cluster --workers 2` starts a cluster, prints its URL and stops it on Ctrl-C.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
HOST = "127.0.0.1"
START_TIMEOUT_S = 120

TETHER = """
import os, signal, subprocess, sys, threading
def kill_at_end_of_input():
    while sys.stdin.buffer.read(1):
        pass
    os.killpg(0, signal.SIGKILL)
signal.signal(signal.SIGTERM, lambda *_: None)
process = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
threading.Thread(target=kill_at_end_of_input, daemon=True).start()
sys.exit(process.wait())
"""
"""A program that runs a command in its process group, and kills the group when the process that started it ends.

The end of standard input shows that. The command gets the signals of the group, too, and decides when to end.
"""


class SparkClusterError(Exception):
    """A process of the cluster did not start; the message contains the end of its log."""


class Node:
    """A master or worker with its log; a worker's executors are in its process group and stop with it."""

    def __init__(self, name: str, folder: Path, *arguments: str) -> None:
        self.name = name
        self._log = folder / f"{name}.log"
        environment = {**os.environ, "SPARK_LOCAL_IP": HOST, "SPARK_NO_DAEMONIZE": "1"}
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", TETHER, "bash", str(SPARK_CLASS), *arguments],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=environment,
                cwd=folder,
                start_new_session=True,
            )

    def await_line(self, pattern: str) -> re.Match[str]:
        """Wait for a line of the log and return its match.

        Raises:
            SparkClusterError: The process exits or does not log the line in time.
        """
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline and self._process.poll() is None:
            match = re.search(pattern, self._log.read_text(errors="replace"))
            if match:
                return match
            time.sleep(0.1)
        raise SparkClusterError(f"{self.name} did not start:\n{self._log.read_text(errors='replace')[-2_000:]}")

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Stop the process and its child processes."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, how)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self.stop(signal.SIGKILL)
        assert self._process.stdin is not None
        self._process.stdin.close()


class SparkCluster:
    """A running cluster: its URL, and its workers, which can be killed individually."""

    def __init__(self, url: str, workers: list[Node]) -> None:
        self.url = url
        self.workers = workers


@contextlib.contextmanager
def cluster(workers: int = 2, cores: int = 1, memory: str = "1g") -> Iterator[SparkCluster]:
    """Start a cluster for the duration of the block.

    Args:
        workers: Number of workers.
        cores: Cores of each worker.
        memory: Memory of each worker for its executors.
    """
    nodes: list[Node] = []
    with tempfile.TemporaryDirectory(prefix="spark-cluster-", ignore_cleanup_errors=True) as folder:
        work_folder = Path(folder)
        try:
            nodes.append(Node("master", work_folder, MASTER, "--host", HOST, "--port", "0", "--webui-port", "0"))
            url = nodes[0].await_line(rf"Starting Spark master at (spark://{HOST}:[0-9]+)")[1]
            arguments = ("--host", HOST, "--cores", str(cores), "--memory", memory, "--webui-port", "0")
            for number in range(workers):
                work = ("--work-dir", str(work_folder / f"work-{number}"))
                nodes.append(Node(f"worker-{number}", work_folder, WORKER, *arguments, *work, url))
            for node in nodes[1:]:
                node.await_line("Successfully registered with master")
            yield SparkCluster(url, nodes[1:])
        finally:
            for node in reversed(nodes):
                node.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--cores", type=int, default=1, help="cores of each worker")
    parser.add_argument("--memory", default="1g", help="memory of each worker")
    options = parser.parse_args()
    with cluster(options.workers, options.cores, options.memory) as running:
        print(f"{running.url} ({options.workers} workers of {options.cores} cores); Ctrl-C stops it", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            signal.pause()


if __name__ == "__main__":
    main()
