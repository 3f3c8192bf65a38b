"""A sweep on a Spark Connect server stops the same seeds as in one process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.sweep.batch_job import run_table
from pipeline.sweep.job import SweepJob
from pipeline.sweep.run import Progress, run_sweep
from pipeline.sweep.stop_rule import DECIDED_RUN, StopRule, decide_setting
from pipeline.worker import simulate_chunks
from scenarios.sweeps.design import load_sweep
from scenarios.sweeps.prepared import prepare_sweep
from tests.pipeline.sweep.compared_settings import settings_job, stops_without_spark, write_settings
from tests.pipeline.sweep.examples import SWEEP, write_sweep

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.connect, pytest.mark.slow]


def test_decided_setting_stops(remote: SparkSession, tmp_path: Path) -> None:
    job = settings_job(write_settings(tmp_path))
    assert run_sweep(remote, job, str(tmp_path / "out")) == Progress(40, 0, 40, 0)
    stops = pq.read_table(tmp_path / "out" / "stops")
    assert stops["stopped_after"].to_pylist() == [8, None]
    assert stops.to_pylist() == stops_without_spark(job).to_pylist()


def test_decided_pair_stops(remote: SparkSession, tmp_path: Path) -> None:
    text = SWEEP.replace("[0, 1]", "[0]").replace("[2, 4]", "[2]").replace("seeds: 3", "seeds: 10")
    prepared = prepare_sweep(load_sweep(write_sweep(tmp_path, text)))
    rule = StopRule.of(prepared, ["worst_rack_loss"])
    job = SweepJob.of(prepared, stop_rule=rule)
    assert run_sweep(remote, job, str(tmp_path / "out")) == Progress(16, 0, 16, 0)
    rows = [
        {"setting": outcome["setting"], "error": outcome["error"], **outcome["runs"][0]}
        for batch in job.batches
        for outcomes in simulate_chunks(job.sweep_inputs, iter(run_table(job, batch).combine_chunks().to_batches()))
        for outcome in outcomes.to_pylist()
    ]
    assert len(rows) == 20
    expected = decide_setting(rule, 1, pa.Table.from_pylist(rows, schema=DECIDED_RUN))
    assert expected["stopped_after"].to_pylist() == [8]
    assert pq.read_table(tmp_path / "out" / "stops").to_pylist() == expected.to_pylist()
