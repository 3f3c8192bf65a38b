"""Sweeps on embedded Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pandas as pd
import pyarrow.parquet as pq
import pytest

from pipeline.sweep import run as run_module
from pipeline.sweep.job import SweepJob
from pipeline.sweep.run import Progress, run_sweep
from scenarios.language.errors import SweepError
from scenarios.load import assignor_specs
from scenarios.load import load as load_scenario
from scenarios.run import run as simulate
from scenarios.sweeps.design import load_sweep
from scenarios.sweeps.prepared import prepare_sweep
from simulator.results.tables import SCHEMAS
from simulator.results.tabulation import tabulate
from tests.pipeline.sweep.driver import SMALL_BATCHES
from tests.pipeline.sweep.examples import BROKEN, SWEEP, write_sweep
from tests.pipeline.sweep.parquet_contents import contents

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TABLES = ("runs", "rounds", "assignments")


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> SweepJob:
    sweep = load_sweep(write_sweep(tmp_path_factory.mktemp("shop"), SWEEP + "tables: [assignments]\n"))
    return SweepJob.of(prepare_sweep(sweep, command="the command"), SMALL_BATCHES)


@pytest.fixture(scope="module")
def whole(spark: SparkSession, job: SweepJob, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole") / "out"
    end = run_sweep(spark, job, str(out))
    assert end == Progress(job.prepared.total, 0, job.prepared.total, 0)
    return out


def test_sweep_has_run_for_every_setting_assignor_and_seed(job: SweepJob, whole: Path) -> None:
    assert job.prepared.total == 4 * 2 * 3
    assert len(job.batches) > 2
    runs = pd.read_parquet(whole / "runs")
    assert len(runs) == job.prepared.total
    assert runs.run_id.is_unique
    assert set(zip(runs.setting, runs.assignor, runs.seed, strict=True)) == {
        (setting, assignor, seed)
        for setting in range(4)
        for assignor in ("high_availability", "legacy_sticky")
        for seed in (1, 2, 3)
    }
    assert runs.error.isna().all()


def test_rows_equal_runs_without_spark(job: SweepJob, whole: Path) -> None:
    sweep = job.prepared.sweep
    scenario = load_scenario(sweep.scenario, sweep.overrides(sweep.settings[2]))
    (spec,) = assignor_specs(scenario, ["high_availability"])
    expected = tabulate(simulate(scenario, spec, 3), "high_availability", 3)
    for name in TABLES:
        table = pq.read_table(whole / name, filters=[("setting", "==", 2), ("assignor", "==", "high_availability")])
        columns = [field.name for field in SCHEMAS[name]]
        rows = [row for row in table.select(columns).to_pylist() if row["seed"] == 3]
        assert rows == expected[name].to_pylist(), name


def test_pandas_duckdb_and_spark_read_same_tables(spark: SparkSession, whole: Path) -> None:
    for name in TABLES:
        table = pd.read_parquet(whole / name)
        duckdb_count = duckdb.sql(f"select count(*) from read_parquet('{whole}/{name}/*/*.parquet')").fetchall()
        assert duckdb_count == [(len(table),)]
        frame = spark.read.parquet(str(whole / name))
        assert frame.count() == len(table)
        assert [*frame.columns][:2] == ["run_id", "setting"]
    settings = pd.read_parquet(whole / "settings")
    assert settings.to_dict("list") == {
        "setting": [0, 1, 2, 3],
        "standbys": [0.0, 0.0, 1.0, 1.0],
        "warmups": [2.0, 4.0, 2.0, 4.0],
    }


def test_manifest_describes_sweep(job: SweepJob, whole: Path) -> None:
    manifest = json.loads((whole / "manifest.json").read_text())
    assert manifest["kind"] == "sweep"
    assert manifest["command"] == "the command"
    assert manifest["runs"] == job.prepared.total
    assert [factor["name"] for factor in manifest["factors"]] == ["standbys", "warmups"]
    assert manifest["baseline"] == "high_availability"
    assert manifest["scenario"]["text"] == job.prepared.sweep.scenario.read_text()


def test_output_has_only_complete_batches_with_one_file_per_table(job: SweepJob, whole: Path) -> None:
    assert sorted(path.name for path in whole.iterdir() if not path.name.endswith(".crc")) == sorted(
        ["manifest.json", "settings", *TABLES]
    )
    for name in TABLES:
        batches = sorted((whole / name).iterdir())
        assert [batch.name for batch in batches] == sorted(batch.name for batch in job.batches)
        assert all(len(list(batch.glob("*.parquet"))) == 1 for batch in batches)


def test_finished_sweep_is_not_rerun(spark: SparkSession, job: SweepJob, whole: Path) -> None:
    before = {
        path: path.stat().st_mtime_ns for path in sorted(whole.rglob("*.parquet")) if "settings" not in path.parts
    }
    for resume in (False, True):
        end = run_sweep(spark, job, str(whole), resume=resume)
        assert end == Progress(job.prepared.total, job.prepared.total, job.prepared.total, 0)
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_resumed_sweep_has_same_bytes(spark: SparkSession, job: SweepJob, whole: Path, tmp_path: Path) -> None:
    out = (tmp_path / "out").as_uri()
    runs = tmp_path / "out" / "runs"

    class StopError(Exception):
        pass

    def stop_early(progress: Progress) -> None:
        # Progress counts runs before their batch is written.
        if runs.exists() and any(runs.iterdir()):
            assert progress.done > 0
            raise StopError

    with pytest.raises(StopError):
        run_sweep(spark, job, out, on_progress=stop_early)
    finished = sorted(path.name for path in runs.iterdir())
    assert 0 < len(finished) < len(job.batches)
    with pytest.raises(SweepError, match="contains part of this sweep; continue it with --resume"):
        run_sweep(spark, job, out)
    # As if the driver was killed between two tables of a batch.
    partial = tmp_path / "out" / "rounds" / job.batches[-1].name
    partial.mkdir(parents=True, exist_ok=True)
    (partial / "part-of-a-killed-driver.parquet").write_bytes(b"half")
    end = run_sweep(spark, job, out, resume=True)
    assert end.done == job.prepared.total
    assert end.finished_before == sum(batch.runs for batch in job.batches if batch.name in finished)
    assert contents(tmp_path / "out") == contents(whole)


def test_folder_with_other_content_is_rejected(spark: SparkSession, job: SweepJob, whole: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("notes")
    with pytest.raises(SweepError, match="is not a sweep directory"):
        run_sweep(spark, job, str(tmp_path))
    changed = write_sweep(tmp_path / "other", SWEEP.replace("seeds: 3", "seeds: 2"))
    other = SweepJob.of(prepare_sweep(load_sweep(changed)))
    with pytest.raises(SweepError, match=r"contains another sweep \(different: seeds, tables\)"):
        run_sweep(spark, other, str(whole), resume=True)
    assert (tmp_path / "notes.txt").read_text() == "notes"


def test_failed_runs_are_rows_with_error(spark: SparkSession, tmp_path: Path) -> None:
    job = SweepJob.of(prepare_sweep(load_sweep(write_sweep(tmp_path, BROKEN))))
    end = run_sweep(spark, job, str(tmp_path / "out"))
    assert end.failed == job.prepared.total // 2
    runs = pd.read_parquet(tmp_path / "out" / "runs")
    failed = runs[runs.error.notna()]
    assert len(runs) == job.prepared.total
    assert len(failed) == end.failed
    assert failed.error.str.contains("missing").all()
    assert failed.verdict.isna().all()
    rounds = pd.read_parquet(tmp_path / "out" / "rounds")
    assert set(rounds.run_id) == set(runs[runs.error.isna()].run_id)


def test_workers_use_one_thread_each(spark: SparkSession) -> None:
    def threads(_: Iterator[int]) -> Iterator[tuple[str | None, ...]]:
        import os

        yield (
            os.environ.get("OMP_NUM_THREADS"),
            os.environ.get("NUMBA_NUM_THREADS"),
            os.environ.get("OPENBLAS_NUM_THREADS"),
        )

    assert spark.sparkContext.parallelize([0], 1).mapPartitions(threads).collect() == [("1", "1", "1")]


def test_progress_ends_with_last_run(spark: SparkSession, job: SweepJob, tmp_path: Path) -> None:
    reported: list[Progress] = []
    run_sweep(spark, job, str(tmp_path / "out"), on_progress=reported.append)
    assert reported[0].done == 0
    assert reported[-1] == Progress(job.prepared.total, 0, job.prepared.total, 0)
    assert all(0 <= progress.done <= progress.total for progress in reported)


def test_plans_after_a_sweep_have_generated_code_again(
    spark: SparkSession, job: SweepJob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    during = []

    def fail(*_: object, **__: object) -> None:
        during.append([spark.conf.get(key) for key in run_module._INTERPRETED])
        raise SweepError("interrupted")

    before = [spark.conf.get(key) for key in run_module._INTERPRETED]
    monkeypatch.setattr(run_module, "_run_batches", fail)
    with pytest.raises(SweepError, match="interrupted"):
        run_sweep(spark, job, str(tmp_path / "out"))
    assert during == [["false", "NO_CODEGEN"]]
    assert [spark.conf.get(key) for key in run_module._INTERPRETED] == before != during[0]
