"""Run a sweep in small batches and print its progress: `driver.py SWEEP OUT MASTER [KEY=VALUE …]`.

The key `until_significant` is a metric that must be decided, `between` what is compared, `batch_ms` the minimum work of
a batch, `assignor` an assignor in place of the sweep's; the others are Spark configuration.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from pipeline.session import connect
from pipeline.sweep.job import BatchSizes, SweepJob
from pipeline.sweep.run import Progress, run_sweep
from pipeline.sweep.stop_rule import StopRule
from scenarios.sweeps.design import load_sweep
from scenarios.sweeps.prepared import prepare_sweep

SMALL_BATCHES = BatchSizes(batch_ms=50.0, chunk_ms=20.0)
"""Batches and chunks of a few runs."""


def print_progress(progress: Progress) -> None:
    print(progress.done, progress.total, progress.failed, flush=True)


if __name__ == "__main__":
    file, out, master, *options = sys.argv[1:]
    settings = dict(option.split("=", 1) for option in options)
    metric = settings.pop("until_significant", None)
    sizes = replace(SMALL_BATCHES, batch_ms=float(settings.pop("batch_ms", SMALL_BATCHES.batch_ms)))
    assignor = settings.pop("assignor", None)
    prepared = prepare_sweep(load_sweep(file), [assignor] if assignor else [])
    between = settings.pop("between", "assignors")
    baseline = ("standbys=0", "warmups=2") if between == "settings" else ()
    rule = StopRule.of(prepared, [metric], between=between, baseline_setting=baseline) if metric else None
    with connect(master, settings, fast_start=True) as spark:
        job = SweepJob.of(prepared, sizes, rule)
        run_sweep(spark, job, out, resume=True, on_progress=print_progress)
