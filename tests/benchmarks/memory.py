"""How much memory a call takes at its most: in a process of its own, so that measuring disturbs no timing.

Python's own tracing does not see what compiled kernels allocate. The high-water mark of a fresh process does, and with
it the interpreter, the libraries and the arguments. Only Linux keeps that mark for each program that a process runs.
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
    """The most memory that a new process holds which calls the function once; None where there is no telling.

    `compiled` says whether the function uses kernels, whose compiler then counts, too.
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
