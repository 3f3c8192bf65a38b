"""Ctrl-C that Python drops."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

DROPS_ONE = """
import os, signal, time
from simulator.results.interrupts import repeated_interrupts

class Deleted:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)

with repeated_interrupts():
    try:
        deleted = Deleted()
        del deleted
        print("dropped", flush=True)
        time.sleep(30)
    except KeyboardInterrupt:
        print("repeated")
"""


def test_dropped_interrupt_is_repeated_without_a_traceback() -> None:
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", DROPS_ONE], cwd=root, capture_output=True, text=True, timeout=60)
    assert (done.stdout.split(), done.stderr) == (["dropped", "repeated"], "")
