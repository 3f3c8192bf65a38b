"""Sweeps that compare settings, and stop a setting when the sign of its difference is decided."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow.parquet as pq
import pytest

from pipeline.aggregate import aggregate
from pipeline.sweep.job import SweepJob
from pipeline.sweep.run import Progress, run_sweep
from reports.analysis.sweeps.conclusion import describe_stops
from tests.pipeline.sweep.compared_settings import (
    DECIDED,
    METRIC,
    UNDECIDED,
    settings_job,
    stops_without_spark,
    write_settings,
)
from tests.pipeline.sweep.driver_process import DriverProcess
from tests.pipeline.sweep.parquet_contents import contents

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_settings(tmp_path_factory.mktemp("shop"))


@pytest.fixture(scope="module")
def job(file: Path) -> SweepJob:
    return settings_job(file)


@pytest.fixture(scope="module")
def whole(spark: SparkSession, job: SweepJob, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole") / "out"
    assert run_sweep(spark, job, str(out)) == Progress(40, 0, 40, 0)
    return out


def test_decided_setting_has_the_first_seeds_and_the_others_all(whole: Path) -> None:
    runs = pd.read_parquet(whole / "runs")
    seeds = runs.groupby("setting").seed.agg(set).to_dict()
    assert seeds == {DECIDED: set(range(1, 9)), 1: set(range(1, 17)), UNDECIDED: set(range(1, 17))}


def test_stops_are_those_of_runs_without_spark(job: SweepJob, whole: Path) -> None:
    stops = pq.read_table(whole / "stops").to_pylist()
    assert stops == stops_without_spark(job).to_pylist()
    assert [(row["setting"], row["baseline_setting"], row["stopped_after"]) for row in stops] == [
        (DECIDED, 1, 8),
        (UNDECIDED, 1, None),
    ]
    # Two differences share the level of the first look; after the first decision, the other one has all of it.
    assert [row["level"] for row in stops] == [0.0125, 0.025]
    assert stops[0]["mean_difference"] < 0 == stops[1]["mean_difference"]


@pytest.mark.slow
def test_killed_sweep_resumes_to_the_same_bytes(
    spark: SparkSession, file: Path, job: SweepJob, whole: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    driver = DriverProcess(file, out, "local[2]", {"until_significant": METRIC, "between": "settings"})
    driver.wait_until(25)  # The first look has 24 runs.
    driver.kill_with_java()
    assert not (out / "stops").exists()
    end = run_sweep(spark, job, str(out), resume=True)
    assert 0 < end.finished_before <= end.done == 40
    assert contents(out) == contents(whole)
    assert (out / "manifest.json").read_bytes() == (whole / "manifest.json").read_bytes()


def test_manifest_and_reports_name_what_was_compared(spark: SparkSession, whole: Path) -> None:
    manifest = json.loads((whole / "manifest.json").read_text())
    rule, stopped = manifest["until_significant"], manifest["stopped"]
    assert (rule["between"], rule["baseline_setting"], rule["differences"]) == ("settings", 1, 2)
    assert (stopped["pairs"], stopped["cells"], stopped["runs"], stopped["baseline_setting"]) == (2, 1, 8, 1)
    (sweep,) = aggregate(spark, [str(whole)])["sweeps"]
    text = describe_stops(sweep)
    assert "1 of 2 pairs of a setting and the baseline setting (1) with the same assignor" in text
    assert "5 % over all pairs, metrics and looks together" in text
