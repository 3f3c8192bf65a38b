"""From the runs of a setting to figures: what counts, what is paired, what is not known."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from pipeline.aggregate.cell_statistics import cell_statistics, cell_statistics_schema, run_schema
from pipeline.aggregate.stored_sweeps import StoredFactor, StoredSweep, factor_columns, level_text
from reports.analysis.metrics import METRICS
from tests.pipeline.aggregate.sweep_files import run

Row = dict[str, Any]


def sweep_of(*factors: StoredFactor, name: str = "w") -> StoredSweep:
    return StoredSweep(name, "s", "file:/w", factors, ("ha", "sticky"), 4, "ha", 8)


STANDBYS = StoredFactor("standbys", ("configs.num",), True)
WEIGHTS = sweep_of(STANDBYS, StoredFactor("mode", ("configs.mode",), False))


def of(*runs: Row, sweep: StoredSweep = WEIGHTS) -> dict[tuple[str, str], Row]:
    """The figures of some runs by assignor and metric."""
    table = pa.Table.from_pylist(
        [{"factor_0": 1.0, "factor_1": None} | each for each in runs], schema=run_schema(sweep)
    )
    made = cell_statistics(sweep, table)
    assert made.schema.equals(cell_statistics_schema(sweep))
    return {(row["assignor"], row["metric"]): row for row in made.to_pylist()}


def test_a_cell_has_a_row_for_every_metric_that_people_compare() -> None:
    assert [metric for _, metric in of(run(0, "ha", 1))] == [metric.name for metric in METRICS]


def test_the_setting_is_told_in_words_with_whole_numbers_and_null() -> None:
    assert of(run(0, "ha", 1))["ha", "rebalances"]["label"] == "standbys=1, mode=null"


def test_a_sweep_without_factors_has_a_setting_all_the_same() -> None:
    assert of(run(0, "ha", 1), sweep=sweep_of())["ha", "rebalances"]["label"] == "unchanged"


def test_only_runs_that_came_to_an_assignment_count() -> None:
    row = of(
        run(0, "ha", 1, active_moves=4),
        run(0, "ha", 2, error="ValueError: no"),
        run(0, "ha", 3, verdict="failed", active_moves=100),
        run(0, "ha", 4, verdict="cycling", active_moves=6),
    )["ha", "active_moves"]
    assert (row["runs"], row["errors"], row["failed"], row["stable"]) == (4, 1, 1, 0.25)
    assert (row["known"], row["mean"]) == (2, 5.0)


def test_differences_are_of_the_seeds_that_both_have_whatever_the_order_of_the_runs() -> None:
    runs = [run(0, "ha", seed, active_moves=moves) for seed, moves in ((1, 10), (2, 20), (3, 30))]
    runs += [run(0, "sticky", seed, active_moves=moves) for seed, moves in ((4, 1), (3, 27), (2, 22), (1, 7))]
    row = of(*runs)["sticky", "active_moves"]
    # -3, 2, -3; the baseline's mean is 20.
    assert (row["pairs"], row["baseline"]) == (3, "ha")
    assert row["mean_difference"] == pytest.approx(-4 / 3)
    assert row["relative_difference"] == pytest.approx(-4 / 60)
    assert (row["better"], row["worse"]) == (pytest.approx(2 / 3), pytest.approx(1 / 3))
    assert of(*runs) == of(*runs[::-1])


def test_the_baseline_is_not_compared_with_itself() -> None:
    row = of(run(0, "ha", 1), run(0, "ha", 2))["ha", "active_moves"]
    assert (row["baseline"], row["pairs"], row["mean_difference"]) == (None, None, None)


def test_nobody_is_better_by_a_metric_of_which_less_is_not_better() -> None:
    row = of(run(0, "ha", 1, rebalances=3), run(0, "sticky", 1, rebalances=2))["sticky", "rebalances"]
    assert (row["mean_difference"], row["better"], row["worse"]) == (-1.0, None, None)


def test_without_the_baselines_runs_there_are_no_pairs_but_a_reason() -> None:
    for others in ([], [run(0, "ha", 1, error="ValueError: no")]):
        row = of(run(0, "sticky", 1, active_moves=2), *others)["sticky", "active_moves"]
        assert (row["pairs"], row["effect_unknown"]) == (0, "no seed of which both are known")
        assert (row["baseline"], row["mean"]) == ("ha", 2.0)


def test_one_seed_has_no_interval_rather_than_one_of_no_width() -> None:
    row = of(run(0, "ha", 1, active_moves=2), run(0, "sticky", 1, active_moves=3))["sticky", "active_moves"]
    assert (row["mean"], row["ci_low"], row["ci_high"], row["sd"]) == (3.0, None, None, None)
    assert (row["mean_difference"], row["difference_low"], row["excludes_zero"]) == (1.0, None, None)
    assert row["effect_unknown"] == "one pair only"


def test_intervals_do_not_go_below_nothing() -> None:
    row = of(run(0, "ha", 1, active_moves=0), run(0, "ha", 2, active_moves=0), run(0, "ha", 3, active_moves=9))
    assert row["ha", "active_moves"]["ci_low"] == 0.0


def test_cells_with_the_same_values_have_the_same_intervals() -> None:
    runs = [run(0, assignor, seed, downtime_ms=seed**2) for assignor in ("ha", "sticky") for seed in range(5)]
    made = of(*runs)
    ends = [(made[name, "downtime_ms"]["ci_low"], made[name, "downtime_ms"]["ci_high"]) for name in ("ha", "sticky")]
    assert ends[0] == ends[1]
    assert ends[0][0] < 6.0 < ends[0][1]


def test_figures_that_follow_from_several_columns_are_worked_out_run_by_run() -> None:
    runs = [
        run(0, "ha", seed, cross_rack_usd=usd, cross_rack_bytes=100.0, cross_rack_bytes_per_s=2.0)
        for seed, usd in ((1, 1.0), (2, 3.0))
    ]
    assert of(*runs)["ha", "cross_rack_usd_per_day"]["mean"] == pytest.approx(2 * 86_400 * 0.02)


@pytest.mark.parametrize(
    ("value", "text"), [(1.0, "1"), (-2.0, "-2"), (0.1, "0.1"), (1e300, "1e+300"), (None, "null"), ("a b", "a b")]
)
def test_levels_are_written_as_a_scenario_would_have_them(value: float | str | None, text: str) -> None:
    assert level_text(value) == text


def test_factors_that_are_called_like_other_columns_get_a_name_of_their_own() -> None:
    sweeps = [
        sweep_of(STANDBYS, StoredFactor("Runs", ("a",), True)),
        sweep_of(StoredFactor("standbys", ("b",), False), StoredFactor("STANDBYS", ("c",), True), name="v"),
    ]
    assert factor_columns(sweeps, ["setting", "runs"]) == {
        "standbys": ("standbys", False),
        "Runs": ("Runs_factor", True),
        "STANDBYS": ("STANDBYS_factor", True),
    }
