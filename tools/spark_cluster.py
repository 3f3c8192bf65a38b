"""A standalone Spark cluster on this machine, from the installed pyspark: a master and workers, each a process.

`python -m tools.spark_cluster --workers 2` starts one, says its URL and stops it on Ctrl-C.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
HOST = "127.0.0.1"
PATIENCE_S = 120


class ClusterError(Exception):
    """A process of the cluster did not come up; has the end of its log."""


class Node:
    """A master or worker with its log; a worker's executors are in its process group and end with it."""

    def __init__(self, name: str, folder: Path, *arguments: str) -> None:
        self.name = name
        self._log = folder / f"{name}.log"
        environment = {**os.environ, "SPARK_LOCAL_IP": HOST, "SPARK_NO_DAEMONIZE": "1"}
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                ["bash", str(SPARK_CLASS), *arguments],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env=environment,
                cwd=folder,
                start_new_session=True,
            )

    def await_line(self, pattern: str) -> re.Match[str]:
        """Wait for a line of the log.

        Raises:
            ClusterError: it does not come.
        """
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline and self._process.poll() is None:
            found = re.search(pattern, self._log.read_text(errors="replace"))
            if found:
                return found
            time.sleep(0.1)
        raise ClusterError(f"{self.name} did not start:\n{self._log.read_text(errors='replace')[-2_000:]}")

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End it and what it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, how)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self.stop(signal.SIGKILL)


class Cluster:
    """A running cluster: its URL, and its workers, which can be killed one by one."""

    def __init__(self, url: str, workers: list[Node]) -> None:
        self.url = url
        self.workers = workers


@contextlib.contextmanager
def cluster(workers: int = 2, cores: int = 1, memory: str = "1g") -> Iterator[Cluster]:
    """Start a cluster, and stop it at the end whatever happens.

    Args:
        workers: how many.
        cores: of each worker.
        memory: of each worker, for its executors.
    """
    nodes: list[Node] = []
    with tempfile.TemporaryDirectory(prefix="spark-cluster-", ignore_cleanup_errors=True) as folder:
        here = Path(folder)
        try:
            nodes.append(Node("master", here, MASTER, "--host", HOST, "--port", "0", "--webui-port", "0"))
            url = nodes[0].await_line(rf"Starting Spark master at (spark://{HOST}:[0-9]+)")[1]
            said = ("--host", HOST, "--cores", str(cores), "--memory", memory, "--webui-port", "0")
            for number in range(workers):
                work = ("--work-dir", str(here / f"work-{number}"))
                nodes.append(Node(f"worker-{number}", here, WORKER, *said, *work, url))
            for node in nodes[1:]:
                node.await_line("Successfully registered with master")
            yield Cluster(url, nodes[1:])
        finally:
            for node in reversed(nodes):
                node.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--cores", type=int, default=1, help="of each worker")
    parser.add_argument("--memory", default="1g", help="of each worker")
    told = parser.parse_args()
    with cluster(told.workers, told.cores, told.memory) as running:
        print(f"{running.url} ({told.workers} workers of {told.cores} cores); Ctrl-C stops it", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            signal.pause()


if __name__ == "__main__":
    main()
