"""Peak memory of a call, measured in a process of its own, so that it does not disturb timings.

Python's own tracing misses the memory of compiled kernels. The high-water mark of a new process includes it, together
with the interpreter, the libraries and the arguments. Only Linux reports that mark for each program of a process.
"""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.benchmarks.shapes import warm_up

ROOT = Path(__file__).parents[2]
STATUS = Path("/proc/self/status")


def peak_bytes(function: Callable[..., Any], *arguments: Any, compiled: bool = True) -> int | None:
    """Return the peak memory of a new process that calls the function once; None if the system does not report it.

    With `compiled`, the function uses kernels, and their compiler is included.
    """
    if not STATUS.exists():
        return None
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.memory"],
        cwd=ROOT,
        input=pickle.dumps((function, arguments, compiled)),
        stdout=subprocess.PIPE,
        check=True,
    )
    return int(done.stdout)


def _call() -> None:
    function, arguments, compiled = pickle.load(sys.stdin.buffer)
    if compiled:
        warm_up()
    function(*arguments)
    [kibibytes] = re.findall(r"^VmHWM:\s+(\d+) kB$", STATUS.read_text(), re.MULTILINE)
    print(int(kibibytes) * 1024)


if __name__ == "__main__":
    _call()
