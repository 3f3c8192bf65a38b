"""Complete aggregates, computed by Spark from sweep directories."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from assignor_sim.cli import app
from pipeline.aggregate import AggregateError, aggregate
from pipeline.aggregate.stored_sweeps import find_sweeps
from reports.analysis.sweeps.tables import AGGREGATE_SCHEMAS
from tests.pipeline.aggregate.sweep_files import run, write_sweep

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

Row = dict[str, Any]

MOVES = {(0, "ha"): (4, 6), (0, "sticky"): (1, 3), (1, "ha"): (5, 5), (1, "sticky"): (2, 2), (2, "ha"): (0, 0)}
RUNS = [
    run(setting, assignor, seed, active_moves=moves, downtime_ms=1000 - 100 * setting, cross_rack_bytes_per_s=10.0)
    for (setting, assignor), moves_by_seed in MOVES.items()
    for seed, moves in enumerate(moves_by_seed)
]
RUNS += [run(2, "sticky", 0, active_moves=0), run(2, "sticky", 1, error="ValueError: no such rack")]


@dataclass(frozen=True)
class Aggregate:
    """An aggregate on disk, and the summary that was returned."""

    directory: Path
    summary: Row

    def rows(self, name: str, **where: Any) -> list[Row]:
        rows = pq.read_table(self.directory / name).to_pylist()
        return [row for row in rows if all(row[key] == value for key, value in where.items())]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sweeps")


@pytest.fixture(scope="module")
def weights(spark: SparkSession, folder: Path) -> Aggregate:
    settings: list[Row] = [{"standbys": 0, "runs": 7}, {"standbys": 1, "runs": 7}, {"standbys": None, "runs": 8}]
    root = write_sweep(folder / "weights", settings, RUNS, planned=14)
    return Aggregate(Path(root) / "aggregate", aggregate(spark, [root]))


@pytest.fixture(scope="module")
def both(spark: SparkSession, folder: Path, weights: Aggregate) -> Aggregate:
    """Return an aggregate of the same sweep, with runs in other files and order, and another sweep, given as URIs."""
    root = folder / "again"
    write_sweep(
        root, [{"standbys": 0, "runs": 7}, {"standbys": 1, "runs": 7}, {"standbys": None, "runs": 8}], RUNS[::-1]
    )
    mode_runs = [run(0, "eager", seed, active_moves=9, downtime_ms=1, cross_rack_usd_per_day=1.0) for seed in (0, 1)]
    write_sweep(
        folder / "modes", [{"standbys": "none"}], mode_runs, name="modes", scenario="bills", text="x", baseline="eager"
    )
    dirs = [root.as_uri(), (folder / "modes").as_uri(), str(root)]
    return Aggregate(folder / "both", aggregate(spark, dirs, (folder / "both").as_uri()))


def test_every_table_is_one_file_with_its_schema(weights: Aggregate) -> None:
    for name, schema in AGGREGATE_SCHEMAS.items():
        [file] = (weights.directory / name).glob("*.parquet")
        stored_schema = pq.read_schema(file)
        extra = [("standbys", "double"), ("runs_factor", "double")] if name == "cells" else []
        assert [(field.name, str(field.type)) for field in stored_schema] == [
            *((field.name, str(field.type).replace("item: string", "element: string")) for field in schema),
            *extra,
        ]
    assert sorted(path.name for path in weights.directory.parent.iterdir()) == [
        "aggregate",
        "manifest.json",
        "runs",
        "settings",
    ]


def test_cells_have_means_and_factor_values(weights: Aggregate) -> None:
    [cell] = weights.rows("cells", setting=0, assignor="sticky", metric="active_moves")
    assert (cell["mean"], cell["p50"], cell["runs"], cell["known"]) == (2.0, 2.0, 2, 2)
    assert (cell["standbys"], cell["runs_factor"], cell["label"]) == (0.0, 7.0, "standbys=0, runs=7")
    [failed] = weights.rows("cells", setting=2, assignor="sticky", metric="active_moves")
    assert (failed["errors"], failed["known"], failed["standbys"]) == (1, 1, None)


def test_differences_are_relative_to_baseline(weights: Aggregate) -> None:
    rows = weights.rows("differences", metric="active_moves")
    assert [(row["setting"], row["assignor"], row["mean_difference"]) for row in rows] == [
        (0, "sticky", -3.0),
        (1, "sticky", -3.0),
        (2, "sticky", 0.0),
    ]
    assert [row["effect_unknown"] for row in rows] == ["all differences are equal"] * 2 + ["only one pair"]


def test_front_excludes_failed_cell_and_names_dominators(weights: Aggregate) -> None:
    rows = {(row["setting"], row["assignor"]): row for row in weights.rows("front")}
    assert [key for key, row in rows.items() if row["on_front"]] == [(2, "ha")]
    assert rows[2, "sticky"]["left_out"] == "1 of 2 runs raised an error"
    assert (rows[0, "ha"]["dominated_by_setting"], rows[0, "ha"]["dominated_by_assignor"]) == (2, "ha")


def test_null_is_a_level_in_levels_and_pairs(weights: Aggregate) -> None:
    levels = weights.rows("levels", metric="active_moves", factor="standbys")
    assert [(row["level"], row["runs"], row["mean"]) for row in levels] == [
        ("0", 4, 3.5),
        ("1", 4, 3.5),
        ("null", 3, 0),
    ]
    pairs = weights.rows("pairs", metric="active_moves", factor="standbys", other="assignor")
    assert [row["mean"] for row in pairs] == [5.0, 2.0, 5.0, 2.0, 0.0, 0.0]


def test_sensitivity_is_ranked(weights: Aggregate) -> None:
    rows = weights.rows("sensitivity", metric="downtime_ms")
    assert [row["rank"] for row in rows] == [1, 2, 3]
    assert rows[0]["share"] >= rows[1]["share"] >= rows[2]["share"]


def test_stored_summary_equals_returned_one_and_lists_exclusions(weights: Aggregate) -> None:
    assert json.loads((weights.directory / "summary.json").read_text(encoding="utf-8")) == weights.summary
    assert [(row["what"], row["number"]) for row in weights.summary["left_out"]] == [
        ("runs", 2),
        ("runs", 1),
        ("cells", 1),
        ("objectives", 1),
    ]
    [sweep] = weights.summary["sweeps"]
    assert (sweep["runs"], sweep["runs_planned"], sweep["errors"], sweep["stable"]) == (12, 14, 1, 11)
    [scenario] = weights.summary["scenarios"]
    assert scenario["objectives"] == ["cross_rack_bytes_per_s", "active_moves", "downtime_ms", "time_to_converge_ms"]
    assert [best["setting"] for best in scenario["best"]] == [2, 2, 2, 2]
    assert scenario["best"][0]["others_equal"] == 4


def test_each_scenario_has_separate_front(both: Aggregate) -> None:
    names = [(scenario["scenario"], scenario["cells_on_front"]) for scenario in both.summary["scenarios"]]
    assert names == [("bills", 1), ("orders", 1)]
    assert both.summary["scenarios"][0]["objectives"][0] == "cross_rack_usd_per_day"


def test_factor_with_numbers_and_texts_is_text(both: Aggregate) -> None:
    values = {(row["sweep"], row["setting"]): (row["standbys"], row["runs_factor"]) for row in both.rows("cells")}
    assert values == {
        ("modes", 0): ("none", None),
        ("weights", 0): ("0", 7.0),
        ("weights", 1): ("1", 7.0),
        ("weights", 2): (None, 8.0),
    }


def test_results_do_not_depend_on_files_order_or_other_sweeps(weights: Aggregate, both: Aggregate) -> None:
    for name in ("differences", "front", "sensitivity", "levels", "pairs"):
        assert both.rows(name, sweep="weights") == weights.rows(name), name


def test_repeated_aggregation_writes_same_bytes(spark: SparkSession, weights: Aggregate) -> None:
    def files() -> dict[str, bytes]:
        paths = sorted(path for path in weights.directory.rglob("*") if path.is_file())
        return {str(path.relative_to(weights.directory)): path.read_bytes() for path in paths}

    before = files()
    aggregate(spark, [str(weights.directory.parent)])
    assert files() == before
    assert not [path for path in weights.directory.parent.iterdir() if path.name.startswith(".")]


def test_directory_without_sweep_is_rejected(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(AggregateError, match=r"nowhere: not a sweep directory: manifest\.json is missing"):
        aggregate(spark, [str(tmp_path / "nowhere")])
    (tmp_path / "manifest.json").write_text('{"kind": "aggregate"}')
    with pytest.raises(AggregateError, match=r"manifest\.json: kind: holds 'aggregate', expected a sweep"):
        aggregate(spark, [str(tmp_path)])
    (tmp_path / "manifest.json").write_text("[1")
    with pytest.raises(AggregateError, match="not a sweep directory: manifest"):
        aggregate(spark, [str(tmp_path)])


def test_equal_names_of_sweeps_and_scenarios_are_disambiguated(spark: SparkSession, tmp_path: Path) -> None:
    dirs = [write_sweep(tmp_path / text, [{"n": 1}], [run(0, "ha", 1)], text=text) for text in ("a", "b", "ab")]
    first, second, _ = find_sweeps(spark, dirs)
    assert [first.name, second.name] == ["weights (1)", "weights (2)"]
    assert first.scenario != second.scenario
    for sweep in (first, second):
        assert re.fullmatch(r"orders \([0-9a-f]{8}\)", sweep.scenario)
    assert {sweep.scenario for sweep in find_sweeps(spark, dirs[:1] * 2)} == {"orders"}


def test_unknown_baseline_is_rejected(spark: SparkSession, weights: Aggregate) -> None:
    with pytest.raises(AggregateError, match=r"'fast' is not an assignor of this sweep \(assignors: ha, sticky\)"):
        aggregate(spark, [str(weights.directory.parent)], baseline="fast")


def test_sweep_without_runs_is_rejected(spark: SparkSession, weights: Aggregate, tmp_path: Path) -> None:
    shutil.copy(weights.directory.parent / "manifest.json", tmp_path)
    with pytest.raises(AggregateError, match="the sweep has no runs yet"):
        aggregate(spark, [str(tmp_path)])


def test_several_sweeps_need_output_directory(
    spark: SparkSession, weights: Aggregate, both: Aggregate, folder: Path
) -> None:
    with pytest.raises(AggregateError, match="2 sweeps: choose an output directory"):
        aggregate(spark, [str(folder / "weights"), str(folder / "modes")])


def test_output_directory_with_other_files_is_rejected(spark: SparkSession, weights: Aggregate, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("notes")
    with pytest.raises(AggregateError, match="exists and is not an aggregate"):
        aggregate(spark, [str(weights.directory.parent)], str(tmp_path))
    assert (tmp_path / "notes.txt").exists()


def test_command_prints_summary_as_json(spark: SparkSession, weights: Aggregate) -> None:
    root = str(weights.directory.parent)
    result = CliRunner(env={"COLUMNS": "120"}).invoke(app, ["aggregate", root, "--format", "json"])
    assert (result.exit_code, json.loads(result.stdout)) == (0, weights.summary)


def test_command_reports_missing_sweep(spark: SparkSession, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["aggregate", str(tmp_path)])
    assert result.exit_code == 2
    assert result.stderr.endswith("not a sweep directory: manifest.json is missing\n")
    assert result.stdout == ""
