"""A Spark Connect server on this machine, from the installed pyspark.

`python -m tests.connect.server` starts it on a free port, prints its URL, and stops it at the end of its standard input
or at Ctrl-C. The server therefore ends with the process that starts it, however that ends.
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

SPARK_SUBMIT = Path(pyspark.__file__).parent / "bin" / "spark-submit"
SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
HOST = "127.0.0.1"
START_TIMEOUT_S = 120
_STARTED = rf"Spark Connect server started at: {re.escape(HOST)}:([0-9]+)"
_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class ConnectServerError(Exception):
    """The server did not start; the message contains the end of its log."""


class ConnectServer:
    """A running server.

    Attributes:
        url: Its URL.
        pid: Its process.
    """

    def __init__(self, url: str, pid: int) -> None:
        self.url = url
        self.pid = pid

    def kill(self) -> None:
        """End the server as a lack of memory would."""
        os.kill(self.pid, signal.SIGKILL)


@contextlib.contextmanager
def connect_server(cores: int = 2, settings: dict[str, str] | None = None) -> Iterator[ConnectServer]:
    """Start a server for the duration of the block, in a process that outlives no kill of this one.

    Args:
        cores: Cores of the server.
        settings: Spark configuration of the server.
    """
    command = [sys.executable, "-m", "tests.connect.server", "--cores", str(cores)]
    for key, value in (settings or {}).items():
        command += ["--conf", f"{key}={value}"]
    keeper = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert keeper.stdin is not None
    assert keeper.stdout is not None
    try:
        answer = keeper.stdout.readline().split()
        if len(answer) != 2:
            raise ConnectServerError("the Spark Connect server did not start; see the lines above")
        yield ConnectServer(answer[0], int(answer[1]))
    finally:
        keeper.stdin.close()
        keeper.wait()
        keeper.stdout.close()


@contextlib.contextmanager
def _server(cores: int, settings: list[str]) -> Iterator[tuple[str, int]]:
    with tempfile.TemporaryDirectory(prefix="connect-server-", ignore_cleanup_errors=True) as folder:
        configuration = {
            "spark.connect.grpc.binding.address": HOST,
            "spark.connect.grpc.binding.port": "0",
            "spark.connect.progress.reportInterval": "500ms",
            "spark.driver.host": HOST,
            "spark.driver.bindAddress": HOST,
            "spark.driver.extraJavaOptions": f"{_JAVA} -Djava.io.tmpdir={folder}",
            "spark.local.dir": folder,
            "spark.sql.catalogImplementation": "in-memory",
            "spark.sql.warehouse.dir": f"{folder}/warehouse",
            "spark.ui.enabled": "false",
        } | dict(setting.split("=", 1) for setting in settings)
        command = ["bash", str(SPARK_SUBMIT), "--master", f"local[{cores}]", "--class", SERVER]
        for key, value in configuration.items():
            command += ["--conf", f"{key}={value}"]
        environment = {**os.environ, "SPARK_LOCAL_IP": HOST, "PYSPARK_PYTHON": sys.executable}
        log = Path(folder) / "server.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*command, "spark-internal"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environment,
                cwd=folder,
                start_new_session=True,
            )
        try:
            yield f"sc://{HOST}:{_port(process, log)}", process.pid
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _port(process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline and process.poll() is None:
        started = re.search(_STARTED, log.read_text(errors="replace"))
        if started:
            return started[1]
        time.sleep(0.1)
    raise ConnectServerError(f"the Spark Connect server did not start:\n{log.read_text(errors='replace')[-2_000:]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--conf", action="append", default=[], help="a setting of Spark, as NAME=VALUE; repeatable")
    options = parser.parse_args()
    with _server(options.cores, options.conf) as (url, pid):
        print(url, pid, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            sys.stdin.read()


if __name__ == "__main__":
    main()
