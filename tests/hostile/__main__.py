"""Try random hostile inputs of each kind for a time, and print how many were tried and failed.

`python -m tests.hostile 20` takes 20 seconds per kind. The first failures of each kind go to standard error.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
import traceback
from pathlib import Path

from tests.hostile.kinds import KINDS, Attack

_SHOWN = 3


def count(kind: str, attack: Attack, seconds: float, folder: Path) -> tuple[int, int]:
    """Return the number of inputs that were tried and that failed."""
    tried = failed = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            failure = attack(random.Random(f"{kind} {tried}"), folder)
        except Exception:
            failure = traceback.format_exc()
        if failure is not None:
            failed += 1
            if failed <= _SHOWN:
                print(f"seed '{kind} {tried}': {failure}", file=sys.stderr)
        tried += 1
    return tried, failed


def main() -> None:
    """Print the table."""
    seconds = float(sys.argv[1])
    print("| kind of input | tried | failed |\n|---|---:|---:|")
    with tempfile.TemporaryDirectory(prefix="assignor-sim-hostile-") as folder:
        for kind, attack in KINDS.items():
            tried, failed = count(kind, attack, seconds, Path(folder))
            print(f"| {kind} | {tried:,} | {failed:,} |", flush=True)


main()
