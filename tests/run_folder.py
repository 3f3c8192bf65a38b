"""The temporary folder of a run of tests, and the end of its processes, however the run ends.

A run that is killed cannot tidy up. So a shell waits for the end of a pipe that only the run holds, then kills the
processes that use the folder, and removes it. Each worker asks the kernel for a signal when the run ends, and servers
end with the process that started them; the shell finds those that were just starting.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

_GUARD = """
cat >/dev/null
while :; do
    for file in $(grep -lsz -- "$1" /proc/[0-9]*/environ /proc/[0-9]*/cmdline); do
        process=${file#/proc/}
        [ "${process%/*}" = $$ ] || kill -s KILL "${process%/*}"
    done
    rm -rf "$1"
    [ -e "$1" ] || break
    sleep 0.2
done 2>/dev/null
"""
_PR_SET_PDEATHSIG = 1
"""The option of Linux' prctl(2)."""


class RunFolder:
    """A folder for the temporary files of this process and its children; removed at the end of this process."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="assignor-sim-run-"))
        command = ["sh", "-c", _GUARD, "guard", str(self.path)]
        self._guard = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
        self._former = os.environ.get("TMPDIR")
        os.environ["TMPDIR"] = str(self.path)
        tempfile.tempdir = None

    def remove(self) -> None:
        """Remove the folder now."""
        assert self._guard.stdin is not None
        self._guard.stdin.close()
        self._guard.wait()
        del os.environ["TMPDIR"]
        if self._former is not None:
            os.environ["TMPDIR"] = self._former
        tempfile.tempdir = None


def end_with_parent() -> None:
    """Have this process killed when the process that started it ends (on Linux)."""
    if sys.platform == "linux":
        parent = os.getppid()
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
