"""Sweeps and recommendations of a scenario with ingested traffic, for each way to write the path of its folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from assignor_sim.cli import app
from pipeline.sweep.job import SweepJob
from pipeline.worker import RUN_SCHEMA, simulate_chunks
from scenarios.load import assignor_specs
from scenarios.load import load as load_scenario
from scenarios.run import run
from scenarios.sweeps.design import load_sweep
from scenarios.sweeps.prepared import prepare_sweep
from simulator.results.tabulation import tabulate
from tests.pipeline.sweep.examples import SCENARIO, SWEEP, write_sweep
from tests.scenarios.ingested_folders import rows_of_day, write_ingested_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

NAMES = {"below": "ingested/march", "above": "../ingested/march", "absolute": "{}/elsewhere/march"}


@pytest.fixture(params=["absolute", *(pytest.param(name, marks=pytest.mark.slow) for name in ("below", "above"))])
def sweep(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return the file of a sweep in a separate folder."""
    name = NAMES[str(request.param)].format(tmp_path)
    folder = tmp_path / "home" / "scenarios"
    folder.mkdir(parents=True)
    write_ingested_folder(folder / name, rows_of_day("orders", 6, records=10))
    scenario = SCENARIO.replace("bytes_per_s: 3 MB/s, ", "") + f"traffic: {{from: {name}, quantile: p95}}\n"
    return write_sweep(folder, SWEEP.replace("seeds: 3", "seeds: 1"), scenario)


def test_worker_reads_measurements_shipped_with_sweep(
    sweep: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(sweep.parents[1])
    prepared = prepare_sweep(load_sweep(Path("scenarios", sweep.name)))
    overrides = prepared.sweep.overrides(prepared.sweep.settings[3])
    scenario = load_scenario(prepared.sweep.scenario, overrides)
    monkeypatch.chdir("/")
    for path in tmp_path.rglob("ingested"):
        path.rename(tmp_path / "gone")
    row = {"chunk": 0, "position": 0, "run_id": "", "setting": 3, "overrides": json.dumps(overrides), "seed": 1}
    [batch] = simulate_chunks(
        SweepJob.of(prepared).sweep_inputs,
        iter([pa.RecordBatch.from_pylist([row | {"assignor": "legacy_sticky"}], schema=RUN_SCHEMA)]),
    )
    [outcome] = batch.to_pylist()
    [spec] = assignor_specs(scenario, ["legacy_sticky"])
    assert outcome["error"] is None
    assert outcome["runs"] == tabulate(run(scenario, spec, 1), "legacy_sticky", 1)["runs"].to_pylist()


def test_sweep_and_recommend_read_measurements(
    spark: SparkSession, sweep: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(sweep.parents[1])
    out = sweep.parents[2] / "swept"
    swept = CliRunner().invoke(app, ["sweep", f"scenarios/{sweep.name}", "--out", str(out)])
    assert swept.exit_code == 0, swept.output
    assert pd.read_parquet(out / "runs").error.isna().all()
    options = ("--objective=moves", "--keep=assignor", "--runs=20", "--seeds=2", "--format=json")
    result = CliRunner().invoke(app, ["recommend", "scenarios/shop.yaml", *options])
    assert result.exit_code in (0, 1), result.output
    assert json.loads(result.stdout)["runs"] >= 4
