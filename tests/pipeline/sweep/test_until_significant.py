"""Sweeps whose pairs stop when the sign of their difference is decided."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.aggregate import aggregate
from pipeline.sweep.batch_job import run_table
from pipeline.sweep.job import SweepJob
from pipeline.sweep.run import Progress, run_sweep
from pipeline.sweep.stop_rule import DECIDED_RUN, StopRule, decide_setting
from pipeline.worker import simulate_chunks
from reports.analysis.sweeps.aggregated_sweep import command, read_sweep
from reports.analysis.sweeps.conclusion import describe_stops
from reports.analysis.sweeps.sweep_directory import read_aggregate
from reports.render.report_formats import report_text
from reports.render.sweep import sweep_report
from reports.render.sweep_page import sweep_sections
from scenarios.language.errors import SweepError
from scenarios.sweeps.design import load_sweep
from scenarios.sweeps.prepared import prepare_sweep
from tests.pipeline.sweep.driver import SMALL_BATCHES
from tests.pipeline.sweep.driver_process import DriverProcess
from tests.pipeline.sweep.examples import SWEEP, write_sweep
from tests.pipeline.sweep.parquet_contents import contents

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

METRIC = "worst_rack_loss"
"""Without standbys, decided after the first look; with one, undecided."""

SIZES = replace(SMALL_BATCHES, batch_ms=120.0)
LAST_FACTOR = "  - {name: warmups, path: application.configs.max.warmup.replicas, values: [2, 4]}\n"
DECLARED = (5, 4, 3, 2, 1, *range(6, 17))


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    text = SWEEP.replace(LAST_FACTOR, "").replace("seeds: 3", f"seeds: {list(DECLARED)}")
    return write_sweep(tmp_path_factory.mktemp("shop"), text)


@pytest.fixture(scope="module")
def job(file: Path) -> SweepJob:
    prepared = prepare_sweep(load_sweep(file))
    return SweepJob.of(prepared, SIZES, StopRule.of(prepared, [METRIC]))


@pytest.fixture(scope="module")
def whole(spark: SparkSession, job: SweepJob, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole") / "out"
    reported: list[Progress] = []
    end = run_sweep(spark, job, str(out), on_progress=reported.append)
    assert end == Progress(32 + 16, 0, 32 + 16, 0)
    assert reported[0].total == job.prepared.total == 64
    assert reported[-1] == end
    return out


def test_decided_pair_has_the_first_seeds_and_the_other_one_all(whole: Path) -> None:
    runs = pd.read_parquet(whole / "runs")
    seeds = {key: set(cell.seed) for key, cell in runs.groupby(["setting", "assignor"])}
    for assignor in ("high_availability", "legacy_sticky"):
        assert seeds[0, assignor] == set(DECLARED[:8])
        assert seeds[1, assignor] == set(DECLARED)
    assert runs.run_id.is_unique


def test_stops_are_those_of_runs_without_spark(job: SweepJob, whole: Path) -> None:
    """All declared runs, in one process: what Spark decided depends on nothing else."""
    rule = job.stop_rule
    assert rule is not None
    rows: dict[int, list[dict[str, object]]] = {0: [], 1: []}
    for batch in job.batches:
        chunks = iter(run_table(job, batch).combine_chunks().to_batches())
        for outcomes in simulate_chunks(job.sweep_inputs, chunks):
            for outcome in outcomes.to_pylist():
                rows[outcome["setting"]].append(
                    {"setting": outcome["setting"], "error": outcome["error"], **outcome["runs"][0]}
                )
    expected = [
        decide_setting(rule, len(rule.looks), pa.Table.from_pylist(rows[setting], schema=DECIDED_RUN))
        for setting in (0, 1)
    ]
    stops = pq.read_table(whole / "stops")
    assert stops.to_pylist() == pa.concat_tables(expected).to_pylist()
    assert stops["stopped_after"].to_pylist() == [8, None]
    assert stops["level"].to_pylist() == [0.025, 0.025]


def test_manifest_names_rule_and_stops(whole: Path) -> None:
    manifest = json.loads((whole / "manifest.json").read_text())
    assert manifest["until_significant"]["metrics"] == [METRIC]
    assert manifest["until_significant"]["looks"] == [8]
    assert manifest["stopped"] == {
        "pairs": 2,
        "cells": 2,
        "runs": 16,
        "shared_seeds": 8,
        "looks": [{"seeds": 8, "stopped_pairs": 1}],
    }


@pytest.mark.slow
def test_killed_sweep_resumes_to_the_same_bytes(
    spark: SparkSession, file: Path, job: SweepJob, whole: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    driver = DriverProcess(file, out, "local[2]", {"until_significant": METRIC, "batch_ms": str(SIZES.batch_ms)})
    driver.wait_until(33)  # The first look has 32 runs.
    driver.kill_with_java()
    assert not (out / "stops").exists()
    with pytest.raises(SweepError, match="contains part of this sweep"):
        run_sweep(spark, job, str(out))
    with pytest.raises(SweepError, match=r"another sweep \(different: until_significant\)"):
        run_sweep(spark, SweepJob.of(job.prepared, SIZES), str(out), resume=True)
    end = run_sweep(spark, job, str(out), resume=True)
    assert 0 < end.finished_before <= end.done == 48
    assert contents(out) == contents(whole)
    assert (out / "manifest.json").read_bytes() == (whole / "manifest.json").read_bytes()
    # A finished sweep is not run again.
    assert run_sweep(spark, job, str(out)) == Progress(48, 48, 48, 0)


@pytest.mark.slow
def test_reports_compare_shared_seeds_and_say_what_stopped(spark: SparkSession, whole: Path, tmp_path: Path) -> None:
    summary = aggregate(spark, [str(whole)])
    tables = {name: pd.read_parquet(whole / "aggregate" / name) for name in ("cells", "front", "differences", "levels")}
    assert set(tables["front"].runs) == {8}
    assert set(tables["cells"].groupby("setting").runs.max()) == {8, 16}
    assert set(tables["differences"].groupby("setting").pairs.max()) == {8, 16}
    assert tables["levels"].groupby(["metric", "factor"]).runs.sum().max() == 4 * 8
    runs = pd.read_parquet(whole / "runs")
    shared = runs[runs.seed.isin(DECLARED[:8])].groupby(["setting", "assignor"]).active_moves.mean()
    front = tables["front"].set_index(["setting", "assignor"]).active_moves
    assert front.to_dict() == pytest.approx(shared.to_dict())
    (sweep,) = summary["sweeps"]
    assert sweep["runs"] == 48
    assert [row["number"] for row in summary["left_out"]] == [16]
    assert "not needed" in summary["left_out"][0]["why"]
    text = describe_stops(sweep)
    assert "Seeds stopped for 1 of 2 pairs" in text
    assert "1 after 8 of 16 seeds" in text
    assert "first 8 seeds" in text
    assert text.split(":")[0] in " ".join(report_text(sweep_report(summary), 120, color=False).split())
    page = read_sweep(read_aggregate(whole))
    assert sweep_sections([page])[0].context["stops"] == text
    assert command(page, "legacy_sticky").count("--seed") == 8
    for index, cell in enumerate(page.cells):
        assert page.means["active_moves"][index].mean == pytest.approx(shared[cell.setting, cell.assignor])


@pytest.mark.parametrize(
    ("metrics", "change", "message"),
    [
        (["active_move"], ("", ""), "unknown metric 'active_move'; did you mean 'active_moves'?"),
        (["active_moves"], (str(list(DECLARED)), "8"), "stops after 8 seeds or more, but the sweep has 8"),
        (["active_moves"], ("seeds:", "assignors: [legacy_sticky]\nseeds:"), "the sweep has one assignor"),
    ],
)
def test_rule_that_cannot_stop_anything_is_rejected(
    file: Path, tmp_path: Path, metrics: list[str], change: tuple[str, str], message: str
) -> None:
    changed = write_sweep(tmp_path, file.read_text().replace(*change))
    with pytest.raises(SweepError, match="--until-significant") as raised:
        StopRule.of(prepare_sweep(load_sweep(changed)), metrics)
    assert message in str(raised.value)


def test_baseline_runs_as_long_as_a_pair_and_all_metrics_must_be_decided() -> None:
    rule = StopRule(("active_moves", "standby_moves"), tuple(range(1, 41)), ("a", "base", "b"), "base")
    random = np.random.default_rng(3)
    rows = []
    for seed in rule.seeds:
        noise = random.normal(size=2)
        for assignor, moves, standbys in (("base", 10, 10), ("a", 20, 10), ("b", 20, 0)):
            values = {"active_moves": int(moves + noise[0]), "standby_moves": int(standbys + noise[1])}
            rows.append({"setting": 4, "assignor": assignor, "seed": seed, "verdict": "stable", **values})
    stops = decide_setting(rule, 2, pa.Table.from_pylist(rows, schema=DECIDED_RUN)).to_pylist()
    assert [(row["assignor"], row["metric"], row["decided_after"], row["stopped_after"]) for row in stops] == [
        ("a", "active_moves", 8, None),
        ("a", "standby_moves", None, None),
        ("b", "active_moves", 8, 8),
        ("b", "standby_moves", 8, 8),
    ]
