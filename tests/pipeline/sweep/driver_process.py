"""A sweep in a separate process, which can be killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


class DriverProcess:
    """A driver of Spark that runs a sweep in small batches, or resumes it.

    Args:
        file: the sweep.
        out: path or URI of its output.
        master: URL of the cluster, or `local[N]`.
        settings: Spark configuration.
    """

    def __init__(self, file: Path, out: Path | str, master: str, settings: Mapping[str, str] | None = None) -> None:
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        options = [f"{key}={value}" for key, value in (settings or {}).items()]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.pipeline.sweep.driver", str(file), str(out), master, *options],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "7"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def wait_until(self, done: int) -> None:
        """Wait until this number of runs is finished; fail if the process exits before."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if int(line.split()[0]) >= done:
                return
        pytest.fail(f"ended before {done} runs were done:\n{self._error()}")

    def finish(self) -> list[int]:
        """Wait for the end; return the numbers of runs finished at the start, finished at the end, and failed."""
        output, error = self._process.communicate(timeout=300)
        assert self._process.returncode == 0, error
        lines = [[int(word) for word in line.split()] for line in output.splitlines()]
        return [lines[0][0], lines[-1][0], lines[-1][2]]

    def kill(self) -> None:
        """Kill the process without cleanup; its Java process ends by itself."""
        self._process.send_signal(signal.SIGKILL)
        self._process.communicate(timeout=60)

    def kill_with_java(self) -> None:
        """Kill the process and its Java process without cleanup, as the end of the machine does."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate(timeout=60)

    def _error(self) -> str:
        return self._process.communicate(timeout=60)[1]
