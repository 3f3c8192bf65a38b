"""The comparison: rows, best rows and records."""

from __future__ import annotations

from typing import Any

import pytest

from reports.analysis.comparison import RunProblem, TableError, best_rows, compare_runs, rows_by_scenario, verdict_text
from reports.analysis.metrics import METRIC, METRICS
from reports.analysis.notes import records
from simulator.results.tables import SCHEMAS
from tests.reports.sample_runs import RUN, four_assignors, tables

NOT_STABLE = {"verdict": "probing", "time_to_converge_ms": None, "rebalances_to_converge": None}


def test_row_has_metrics_of_its_run() -> None:
    [row] = compare_runs(tables())
    assert (row.scenario, row.assignor, row.seeds, row.verdicts) == ("rack_outage", "sticky", (7,), (("stable", 1),))
    names = [metric for metric, value in RUN.items() if metric in METRIC and value is not None]
    assert {name: spread.median for name in names if (spread := row.spreads[name])} == {n: RUN[n] for n in names}
    assert len(names) == len(set(METRIC) & set(RUN)) - 2


@pytest.mark.parametrize(
    ("partitions", "bound", "above", "percent"),
    [(48, 36, 12, 100 / 3), (36, 36, 0, 0), (5, 0, 5, None), (0, 0, 0, None), (48, None, None, None)],
)
def test_partitions_above_bound(partitions: int, bound: int | None, above: int | None, percent: float | None) -> None:
    [row] = compare_runs(
        tables([{"cross_rack_source_partitions": partitions, "cross_rack_source_partitions_bound": bound}])
    )
    medians = [
        spread and spread.median
        for spread in (
            row.spreads["cross_rack_source_partitions_above_bound"],
            row.spreads["cross_rack_source_partitions_above_bound_percent"],
        )
    ]
    assert medians == [above, pytest.approx(percent) if percent else percent]


def test_share_without_rack_redundancy_is_relative_to_stateful_tasks() -> None:
    stateful, stateless = compare_runs(
        tables([{"assignor": "a"}, {"assignor": "b", "stateful_tasks": 0, "tasks_without_rack_redundancy": 0}])
    )
    share = stateful.spreads["tasks_without_rack_redundancy_percent"]
    assert share
    assert share.median == 6.25
    assert stateless.spreads["tasks_without_rack_redundancy_percent"] is None


def test_seeds_are_aggregated_to_median_and_range() -> None:
    [row] = compare_runs(tables([{"seed": seed, "active_moves": moves} for seed, moves in ((1, 10), (2, 40), (3, 13))]))
    spread = row.spreads["active_moves"]
    assert spread
    assert (spread.median, spread.minimum, spread.maximum, spread.runs) == (13, 10, 40, 3)
    assert row.seeds == (1, 2, 3)


def test_median_of_two_integers_is_an_integer_if_possible() -> None:
    [row] = compare_runs(
        tables([{"seed": 1, "active_moves": 10, "rebalances": 4}, {"seed": 2, "active_moves": 20, "rebalances": 5}])
    )
    moves, rounds = row.spreads["active_moves"], row.spreads["rebalances"]
    assert moves
    assert rounds
    assert (repr(moves.median), repr(rounds.median)) == ("15", "4.5")


def test_metrics_of_convergence_exclude_runs_that_did_not_converge() -> None:
    [row] = compare_runs(tables([{"seed": 1}, {"seed": 2, **NOT_STABLE}, {"seed": 3}]))
    for name in ("time_to_converge_ms", "rebalances_to_converge"):
        spread = row.spreads[name]
        assert spread
        assert spread.runs == 2
        assert not row.has_all(name)
    assert verdict_text(row) == "stable 2/3, probing 1/3"


def test_lowest_value_is_best_including_ties() -> None:
    rows = compare_runs(four_assignors())
    assert [row.assignor for row in best_rows(rows, METRIC["cross_rack_bytes_per_s"])] == ["HA min_traffic"]
    assert [row.assignor for row in best_rows(rows, METRIC["subtopology_skew"])] == [
        "HA none",
        "HA balance_subtopology",
    ]


def test_equally_formatted_values_are_equally_good() -> None:
    rows = compare_runs(tables([{"assignor": name, "cross_rack_bytes_per_s": 4e7 + n} for n, name in enumerate("ab")]))
    assert best_rows(rows, METRIC["cross_rack_bytes_per_s"]) == ()


@pytest.mark.parametrize(
    ("metric", "values", "best"),
    [
        ("worst_downtime_ms", (0, 0), ""),
        ("worst_downtime_ms", (0, 900), ""),
        ("worst_downtime_ms", (0, 1_000), "a"),
        ("worst_downtime_ms", (46_900, 47_900, 46_900), "ac"),
        ("worst_downtime_ms", (1_000_000, 1_009_000), ""),
        ("worst_downtime_ms", (1_000_000, 1_009_000, 1_200_000), "ab"),
        ("active_moves", (0, 1), "a"),
        ("active_moves", (1_000, 1_009), ""),
    ],
)
def test_irrelevant_differences_make_no_row_best(metric: str, values: tuple[int, ...], best: str) -> None:
    names = "abc"[: len(values)]
    rows = compare_runs(tables([{"assignor": name, metric: value} for name, value in zip(names, values, strict=True)]))
    assert "".join(row.assignor for row in best_rows(rows, METRIC[metric])) == best


def test_no_row_is_best_if_all_are_equal_or_lower_is_not_better() -> None:
    rows = compare_runs(four_assignors())
    assert best_rows(rows, METRIC["standby_moves"]) == ()
    assert best_rows(rows, METRIC["stateful_cost"]) == ()
    assert best_rows(rows[:1], METRIC["active_moves"]) == ()


def test_failed_or_not_always_converged_assignor_is_not_best() -> None:
    runs: list[dict[str, Any]] = [
        {"assignor": "failed", "verdict": "failed", "cause": "round 2: no", "active_moves": 0},
        {"assignor": "often", "active_moves": 3, "time_to_converge_ms": 1},
        {"assignor": "often", "active_moves": 3, "seed": 8, **NOT_STABLE},
        {"assignor": "slow", "active_moves": 9},
        {"assignor": "slower", "active_moves": 9, "time_to_converge_ms": 10**9},
    ]
    rows = compare_runs(tables(runs))
    assert [row.assignor for row in best_rows(rows, METRIC["active_moves"])] == ["often"]
    assert [row.assignor for row in best_rows(rows, METRIC["time_to_converge_ms"])] == ["slow"]
    assert [row.problems for row in rows] == [(RunProblem(7, "failed", "round 2: no"),), (), (), ()]


def test_rows_are_grouped_by_scenario() -> None:
    runs = [{"scenario": scenario, "assignor": name} for scenario in ("one", "two") for name in ("a", "b")]
    groups = rows_by_scenario(compare_runs(tables(runs)))
    assert {name: [row.assignor for row in rows] for name, rows in groups.items()} == {
        "one": ["a", "b"],
        "two": ["a", "b"],
    }


def test_records_have_constant_keys() -> None:
    single = records(compare_runs(tables()))
    several = records(compare_runs(tables([{"seed": 1}, {"seed": 2, "stateful_cost": None, **NOT_STABLE}])))
    failed = records(compare_runs(tables([{**dict.fromkeys(METRIC), **RUN, "verdict": "failed", "load_skew": None}])))
    assert list(single[0]) == list(several[0]) == list(failed[0])
    assert failed[0]["load_skew"] is None
    assert failed[0]["load_skew_runs"] == 0


def test_metric_keys_are_unique_and_are_columns_or_derived() -> None:
    assert len(METRIC) == len(METRICS)
    derived = set(METRIC) - set(SCHEMAS["runs"].names)
    assert derived == {
        "cross_rack_source_partitions_above_bound",
        "cross_rack_source_partitions_above_bound_percent",
        *(f"{which}cost_above_bound{unit}" for which in ("", "mean_", "worst_") for unit in ("", "_percent")),
        "tasks_without_rack_redundancy_percent",
    }


def test_missing_table_is_rejected() -> None:
    with pytest.raises(TableError, match=r"table 'runs' is missing \(tables: rounds\)"):
        compare_runs({"rounds": tables()["rounds"]})


def test_no_runs_give_no_rows() -> None:
    assert compare_runs(tables([], [])) == []
