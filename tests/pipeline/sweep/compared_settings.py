"""A sweep of three settings that are compared with the first one, and its decisions without Spark."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from pipeline.sweep.batch_job import run_table
from pipeline.sweep.job import SweepJob
from pipeline.sweep.stop_rule import DECIDED_RUN, StopRule, baseline_values, decide_settings, setting_tests
from pipeline.worker import simulate_chunks
from scenarios.sweeps.design import load_sweep
from scenarios.sweeps.prepared import prepare_sweep
from tests.pipeline.sweep.driver import SMALL_BATCHES
from tests.pipeline.sweep.examples import SWEEP, write_sweep

METRIC = "tasks_without_rack_redundancy"
"""Standbys decide it after the first look; the number of warm-ups has no effect on it."""

ROWS = """assignors: [high_availability]
rows:
  - {standbys: 1, warmups: 2}
  - {standbys: 0, warmups: 2}
  - {standbys: 0, warmups: 4}
seeds: 16
"""
BASELINE = ("standbys=0", "warmups=2")
DECIDED, UNDECIDED = 0, 2


def write_settings(folder: Path) -> Path:
    """Write the sweep and its scenario; return the sweep file."""
    text = SWEEP.replace(", values: [0, 1]", "").replace(", values: [2, 4]", "").replace("seeds: 3\n", ROWS)
    return write_sweep(folder, text)


def settings_job(file: Path) -> SweepJob:
    """Return the job of the sweep, in which settings are compared."""
    prepared = prepare_sweep(load_sweep(file))
    rule = StopRule.of(prepared, [METRIC], between="settings", baseline_setting=BASELINE)
    return SweepJob.of(prepared, SMALL_BATCHES, rule)


def stops_without_spark(job: SweepJob) -> pa.Table:
    """Simulate all declared runs in this process and return the stops after the last look."""
    rule = job.stop_rule
    assert rule is not None
    rows: list[list[dict[str, object]]] = [[] for _ in range(rule.settings)]
    for batch in job.batches:
        chunks = iter(run_table(job, batch).combine_chunks().to_batches())
        for outcomes in simulate_chunks(job.sweep_inputs, chunks):
            for outcome in outcomes.to_pylist():
                key = {"setting": outcome["setting"], "error": outcome["error"]}
                rows[outcome["setting"]].append({**key, **outcome["runs"][0]})
    tables = [pa.Table.from_pylist(of_setting, schema=DECIDED_RUN) for of_setting in rows]
    assert rule.baseline_setting is not None
    looks = len(rule.looks)
    baseline = baseline_values(rule, looks, tables[rule.baseline_setting])
    others = [table for setting, table in enumerate(tables) if setting != rule.baseline_setting]
    tests = pa.concat_tables([setting_tests(rule, looks, baseline, table) for table in others])
    return decide_settings(rule, looks, tests)
