"""An S3-compatible server on this machine (S3Proxy), and Hadoop's connector for it, both through Maven.

The server keeps its objects in memory and ends with the process that starts it, however that ends.
"""

from __future__ import annotations

import os
import queue
import re
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tools.artifacts import OBJECT_STORE, S3_CONNECTOR
from tools.java import ClusterError, build_classpath, find_executable, find_jars, tail

BUCKET: Final = "sweeps"
USER: Final = "user"
PASSWORD: Final = "password"
START_TIMEOUT_S: Final = 60.0

_JAVA_OPTIONS = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true")


class ObjectStore:
    """A running server.

    Attributes:
        endpoint: its URL.
    """

    def __init__(self, process: subprocess.Popen[str], endpoint: str, lines: queue.Queue[str]) -> None:
        self.endpoint = endpoint
        self._process = process
        self._lines = lines

    def spark_settings(self) -> dict[str, str]:
        """Return the Spark configuration with which `s3a://sweeps` is on this server."""
        return {
            "spark.jars": ",".join(connector_jars()),
            "spark.hadoop.fs.s3a.endpoint": self.endpoint,
            "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
            "spark.hadoop.fs.s3a.path.style.access": "true",
            "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
            "spark.hadoop.fs.s3a.access.key": USER,
            "spark.hadoop.fs.s3a.secret.key": PASSWORD,
        }

    def changes(self) -> list[str]:
        """Return the changes of objects since the last call: `put KEY`, `copy KEY` or `delete KEY`."""
        lines = []
        while not self._lines.empty():
            lines.append(self._lines.get_nowait())
        return lines

    def hold(self, change: str) -> None:
        """Keep waiting the first change that matches a regular expression, and all changes after it, until `release`.

        They are never made: this is the state that a client leaves if it is killed at this moment.
        """
        self._obey(f"hold {change}")

    def reject(self, change: str, after: int = 0) -> None:
        """Reject all changes from one that matches a regular expression, until `release`.

        Args:
            change: The regular expression.
            after: Number of matching changes that are made before.
        """
        self._obey(f"reject {after} {change}")

    def release(self) -> None:
        """Accept changes again."""
        self._obey("release")

    def await_line(self, pattern: str, timeout_s: float = 120.0) -> str:
        """Wait until the server logs a line that matches a regular expression; return it.

        Raises:
            ClusterError: It does not log such a line in time.
        """
        deadline = time.monotonic() + timeout_s
        while (remaining := deadline - time.monotonic()) > 0:
            try:
                line = self._lines.get(timeout=remaining)
            except queue.Empty:
                break
            if re.search(pattern, line):
                return line
        raise ClusterError(f"the object store did not log '{pattern}' in {timeout_s:g} s")

    def _obey(self, command: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()
        self.await_line(f"^{re.escape(command)}$")


@contextmanager
def object_store() -> Iterator[ObjectStore]:
    """Start a server with an empty bucket `sweeps` for the duration of the block.

    Raises:
        ClusterError: Java or Maven is missing, or the server does not start.
    """
    classpath = build_classpath(OBJECT_STORE)
    java = find_executable("java", "a JDK, version 17 or newer")
    lines: queue.Queue[str] = queue.Queue()
    with tempfile.TemporaryDirectory(prefix="object-store-") as folder:
        log = Path(folder) / "server.log"
        with log.open("wb") as errors:
            process = subprocess.Popen(
                [java, *_JAVA_OPTIONS, f"-Djava.io.tmpdir={folder}", "assignorsim.ObjectStore", BUCKET, USER, PASSWORD],
                env={**os.environ, "CLASSPATH": classpath},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )
        reader = threading.Thread(target=_read_lines, args=(process, lines), daemon=True)
        reader.start()
        try:
            endpoint = _endpoint(lines, log)
            yield ObjectStore(process, endpoint, lines)
        finally:
            process.kill()
            process.wait()
            reader.join()
            for pipe in (process.stdin, process.stdout):
                assert pipe is not None
                pipe.close()


def _endpoint(lines: queue.Queue[str], log: Path) -> str:
    """Return the URL that the server prints first.

    Raises:
        ClusterError: It does not print one in time.
    """
    deadline = time.monotonic() + START_TIMEOUT_S
    while (remaining := deadline - time.monotonic()) > 0:
        try:
            line = lines.get(timeout=remaining)
        except queue.Empty:
            break
        if not line:
            break
        if line.startswith("http://"):
            return line
    raise ClusterError(f"the object store did not start:\n{tail(log)}")


def _read_lines(process: subprocess.Popen[str], lines: queue.Queue[str]) -> None:
    """Read what the server prints, so that it never blocks; end with an empty line."""
    assert process.stdout is not None
    for line in process.stdout:
        lines.put(line.rstrip("\n"))
    lines.put("")


def connector_jars() -> Sequence[str]:
    """Return the jars that Spark needs for `s3a://`: Hadoop's connector, and modules of the AWS SDK.

    Raises:
        ClusterError: Maven is missing or fails.
    """
    return find_jars(S3_CONNECTOR)
