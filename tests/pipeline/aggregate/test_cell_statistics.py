"""Statistics of the cells of a setting: included runs, pairs by seed, unknown values."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from pipeline.aggregate.aggregation import cell_statistics, cell_statistics_schema, run_schema
from pipeline.aggregate.stored_sweeps import StoredFactor, StoredSweep, factor_columns, level_text
from reports.analysis.metrics import METRICS
from tests.pipeline.aggregate.sweep_files import run

pytestmark = pytest.mark.spark

Row = dict[str, Any]


def sweep_of(*factors: StoredFactor, name: str = "w") -> StoredSweep:
    return StoredSweep(name, "s", "file:/w", factors, ("ha", "sticky"), 4, "ha", 8)


STANDBYS = StoredFactor("standbys", ("configs.num",), True)
WEIGHTS = sweep_of(STANDBYS, StoredFactor("mode", ("configs.mode",), False))


def statistics_of(*runs: Row, sweep: StoredSweep = WEIGHTS) -> dict[tuple[str, str], Row]:
    """Return the statistics of runs by assignor and metric."""
    table = pa.Table.from_pylist([{"factor_0": 1.0, "factor_1": None} | row for row in runs], schema=run_schema(sweep))
    statistics = cell_statistics(sweep, table)
    assert statistics.schema.equals(cell_statistics_schema(sweep))
    return {(row["assignor"], row["metric"]): row for row in statistics.to_pylist()}


def test_cell_has_row_for_every_metric() -> None:
    assert [metric for _, metric in statistics_of(run(0, "ha", 1))] == [metric.name for metric in METRICS]


def test_setting_label_shows_whole_numbers_and_null() -> None:
    assert statistics_of(run(0, "ha", 1))["ha", "rebalances"]["label"] == "standbys=1, mode=null"


def test_setting_without_factors_is_unchanged() -> None:
    assert statistics_of(run(0, "ha", 1), sweep=sweep_of())["ha", "rebalances"]["label"] == "unchanged"


def test_only_runs_with_an_assignment_count() -> None:
    row = statistics_of(
        run(0, "ha", 1, active_moves=4),
        run(0, "ha", 2, error="ValueError: no"),
        run(0, "ha", 3, verdict="failed", active_moves=100),
        run(0, "ha", 4, verdict="cycling", active_moves=6),
    )["ha", "active_moves"]
    assert (row["runs"], row["errors"], row["failed"], row["stable"]) == (4, 1, 1, 0.25)
    assert (row["known"], row["mean"]) == (2, 5.0)


def test_differences_use_common_seeds_in_any_order() -> None:
    runs = [run(0, "ha", seed, active_moves=moves) for seed, moves in ((1, 10), (2, 20), (3, 30))]
    runs += [run(0, "sticky", seed, active_moves=moves) for seed, moves in ((4, 1), (3, 27), (2, 22), (1, 7))]
    row = statistics_of(*runs)["sticky", "active_moves"]
    # -3, 2, -3; the baseline's mean is 20.
    assert (row["pairs"], row["baseline"]) == (3, "ha")
    assert row["mean_difference"] == pytest.approx(-4 / 3)
    assert row["relative_difference"] == pytest.approx(-4 / 60)
    assert (row["better"], row["worse"]) == (pytest.approx(2 / 3), pytest.approx(1 / 3))
    assert statistics_of(*runs) == statistics_of(*runs[::-1])


def test_baseline_is_not_compared_with_itself() -> None:
    row = statistics_of(run(0, "ha", 1), run(0, "ha", 2))["ha", "active_moves"]
    assert (row["baseline"], row["pairs"], row["mean_difference"]) == (None, None, None)


def test_neutral_metric_has_no_better_or_worse() -> None:
    row = statistics_of(run(0, "ha", 1, rebalances=3), run(0, "sticky", 1, rebalances=2))["sticky", "rebalances"]
    assert (row["mean_difference"], row["better"], row["worse"]) == (-1.0, None, None)


def test_missing_baseline_runs_are_explained() -> None:
    for baseline_runs in ([], [run(0, "ha", 1, error="ValueError: no")]):
        row = statistics_of(run(0, "sticky", 1, active_moves=2), *baseline_runs)["sticky", "active_moves"]
        assert (row["pairs"], row["effect_unknown"]) == (0, "no seed with both values known")
        assert (row["baseline"], row["mean"]) == ("ha", 2.0)


def test_single_seed_has_no_interval() -> None:
    row = statistics_of(run(0, "ha", 1, active_moves=2), run(0, "sticky", 1, active_moves=3))["sticky", "active_moves"]
    assert (row["mean"], row["ci_low"], row["ci_high"], row["sd"]) == (3.0, None, None, None)
    assert (row["mean_difference"], row["difference_low"], row["excludes_zero"]) == (1.0, None, None)
    assert row["effect_unknown"] == "only one pair"


def test_intervals_are_not_negative() -> None:
    row = statistics_of(
        run(0, "ha", 1, active_moves=0), run(0, "ha", 2, active_moves=0), run(0, "ha", 3, active_moves=9)
    )
    assert row["ha", "active_moves"]["ci_low"] == 0.0


def test_equal_values_have_equal_intervals() -> None:
    runs = [run(0, assignor, seed, downtime_ms=seed**2) for assignor in ("ha", "sticky") for seed in range(5)]
    statistics = statistics_of(*runs)
    ends = [
        (statistics[name, "downtime_ms"]["ci_low"], statistics[name, "downtime_ms"]["ci_high"])
        for name in ("ha", "sticky")
    ]
    assert ends[0] == ends[1]
    assert ends[0][0] < 6.0 < ends[0][1]


def test_derived_metrics_are_computed_per_run() -> None:
    runs = [
        run(0, "ha", seed, cross_rack_source_partitions=partitions, cross_rack_source_partitions_bound=bound)
        for seed, partitions, bound in ((1, 4, 2), (2, 10, 1))
    ]
    percent = statistics_of(*runs)["ha", "cross_rack_source_partitions_above_bound_percent"]
    assert percent["mean"] == pytest.approx((100 + 900) / 2)


@pytest.mark.parametrize(
    ("value", "text"), [(1.0, "1"), (-2.0, "-2"), (0.1, "0.1"), (1e300, "1e+300"), (None, "null"), ("a b", "a b")]
)
def test_level_text_is_scenario_syntax(value: float | str | None, text: str) -> None:
    assert level_text(value) == text


def test_factors_named_like_other_columns_are_renamed() -> None:
    sweeps = [
        sweep_of(STANDBYS, StoredFactor("Runs", ("a",), True)),
        sweep_of(StoredFactor("standbys", ("b",), False), StoredFactor("STANDBYS", ("c",), True), name="v"),
    ]
    assert factor_columns(sweeps, ["setting", "runs"]) == {
        "standbys": ("standbys", False),
        "Runs": ("Runs_factor", True),
        "STANDBYS": ("STANDBYS_factor", True),
    }
