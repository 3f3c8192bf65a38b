"""A sweep in a process of its own, in small batches, that says how far it is: `driver.py SWEEP OUT MASTER`."""

from __future__ import annotations

import sys

from pipeline.session import connect
from pipeline.sweep import batches
from pipeline.sweep.design import load_sweep
from pipeline.sweep.prepared import prepare_sweep
from pipeline.sweep.run import Progress, run_sweep

SMALL = {"BATCH_MS": 100.0, "CHUNK_MS": 40.0}
"""Batches and chunks of a few runs."""


def say(progress: Progress) -> None:
    print(progress.done, progress.total, progress.failed, flush=True)


if __name__ == "__main__":
    file, out, master = sys.argv[1:]
    for name, value in SMALL.items():
        setattr(batches, name, value)
    with connect(master, java_works_little=True) as spark:
        run_sweep(spark, prepare_sweep(load_sweep(file)), out, resume=True, on_progress=say)
