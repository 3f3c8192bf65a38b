"""The comparison: what is computed from the tables, before anything is written."""

from __future__ import annotations

from typing import Any

import pytest

from reports.analysis.comparison import RunProblem, TableError, best_rows, compare_runs, rows_by_scenario, verdict_text
from reports.analysis.comparison_records import records
from reports.analysis.metrics import METRIC, METRICS
from simulator.results.tables import SCHEMAS
from tests.reports.sample_runs import RUN, four_assignors, tables

NOT_STABLE = {"verdict": "probing", "time_to_converge_ms": None, "rebalances_to_converge": None}


def test_a_row_has_the_numbers_of_its_run() -> None:
    [row] = compare_runs(tables())
    assert (row.scenario, row.assignor, row.seeds, row.verdicts) == ("rack_outage", "sticky", (7,), (("stable", 1),))
    same = [metric for metric, value in RUN.items() if metric in METRIC and value is not None]
    assert {name: spread.median for name in same if (spread := row.spreads[name])} == {n: RUN[n] for n in same}
    assert len(same) == len(set(METRIC) & set(RUN)) - 1


@pytest.mark.parametrize(
    ("remote", "least", "gap", "percent"),
    [(48, 36, 12, 100 / 3), (36, 36, 0, 0), (5, 0, 5, None), (0, 0, 0, None), (48, None, None, None)],
)
def test_the_gap_is_what_lies_above_the_bound(
    remote: int, least: int | None, gap: int | None, percent: float | None
) -> None:
    [row] = compare_runs(
        tables([{"cross_rack_source_partitions": remote, "cross_rack_source_partitions_bound": least}])
    )
    found = [
        spread and spread.median
        for spread in (
            row.spreads["cross_rack_source_partitions_above_bound"],
            row.spreads["cross_rack_source_partitions_above_bound_percent"],
        )
    ]
    assert found == [gap, pytest.approx(percent) if percent else percent]


def test_the_share_of_tasks_in_one_rack_is_of_the_stateful_tasks() -> None:
    some, none = compare_runs(
        tables([{"assignor": "a"}, {"assignor": "b", "stateful_tasks": 0, "tasks_without_rack_redundancy": 0}])
    )
    share = some.spreads["tasks_without_rack_redundancy_percent"]
    assert share
    assert share.median == 6.25
    assert none.spreads["tasks_without_rack_redundancy_percent"] is None


def test_a_day_costs_what_the_traffic_at_rest_does_at_the_price_of_the_run() -> None:
    priced, free, without = compare_runs(
        tables(
            [
                {"assignor": "a", "cross_rack_bytes": 2e12, "cross_rack_usd": 40.0, "cross_rack_bytes_per_s": 1e8},
                {"assignor": "b", "cross_rack_bytes": 2e12, "cross_rack_usd": 0.0},
                {"assignor": "c", "cross_rack_bytes": 2e12},
            ]
        )
    )
    a_day, nothing = priced.spreads["cross_rack_usd_per_day"], free.spreads["cross_rack_usd_per_day"]
    assert a_day
    assert a_day.median == pytest.approx(0.02 * 0.1 * 86_400)
    assert nothing
    assert nothing.median == 0
    assert without.spreads["cross_rack_usd_per_day"] is None


def test_several_seeds_give_median_and_range() -> None:
    [row] = compare_runs(tables([{"seed": seed, "active_moves": moves} for seed, moves in ((1, 10), (2, 40), (3, 13))]))
    spread = row.spreads["active_moves"]
    assert spread
    assert (spread.median, spread.minimum, spread.maximum, spread.runs) == (13, 10, 40, 3)
    assert row.seeds == (1, 2, 3)


def test_the_median_of_two_whole_numbers_is_whole_where_it_can_be() -> None:
    [row] = compare_runs(
        tables([{"seed": 1, "active_moves": 10, "rebalances": 4}, {"seed": 2, "active_moves": 20, "rebalances": 5}])
    )
    moves, rounds = row.spreads["active_moves"], row.spreads["rebalances"]
    assert moves
    assert rounds
    assert (repr(moves.median), repr(rounds.median)) == ("15", "4.5")


def test_runs_that_have_not_converged_have_no_time_and_no_rebalances_to_converge() -> None:
    [row] = compare_runs(tables([{"seed": 1}, {"seed": 2, **NOT_STABLE}, {"seed": 3}]))
    for name in ("time_to_converge_ms", "rebalances_to_converge"):
        spread = row.spreads[name]
        assert spread
        assert spread.runs == 2
        assert not row.has_all(name)
    assert verdict_text(row) == "stable 2/3, probing 1/3"


def test_the_least_is_best_and_ties_share_it() -> None:
    rows = compare_runs(four_assignors())
    assert [row.assignor for row in best_rows(rows, METRIC["cross_rack_bytes_per_s"])] == ["HA min_traffic"]
    assert [row.assignor for row in best_rows(rows, METRIC["subtopology_skew"])] == [
        "HA none",
        "HA balance_subtopology",
    ]


def test_what_is_written_alike_is_equally_good() -> None:
    rows = compare_runs(tables([{"assignor": name, "cross_rack_bytes_per_s": 4e7 + n} for n, name in enumerate("ab")]))
    assert best_rows(rows, METRIC["cross_rack_bytes_per_s"]) == ()


def test_nobody_is_best_where_all_are_equal_or_where_less_is_not_better() -> None:
    rows = compare_runs(four_assignors())
    assert best_rows(rows, METRIC["standby_moves"]) == ()
    assert best_rows(rows, METRIC["active_cost"]) == ()
    assert best_rows(rows[:1], METRIC["active_moves"]) == ()


def test_an_assignor_that_failed_or_did_not_always_settle_is_not_best() -> None:
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


def test_scenarios_are_not_compared_with_each_other() -> None:
    runs = [{"scenario": scenario, "assignor": name} for scenario in ("one", "two") for name in ("a", "b")]
    groups = rows_by_scenario(compare_runs(tables(runs)))
    assert {name: [row.assignor for row in rows] for name, rows in groups.items()} == {
        "one": ["a", "b"],
        "two": ["a", "b"],
    }


def test_records_always_have_the_same_keys() -> None:
    one = records(compare_runs(tables()))
    several = records(compare_runs(tables([{"seed": 1}, {"seed": 2, "active_cost": None, **NOT_STABLE}])))
    failed = records(compare_runs(tables([{**dict.fromkeys(METRIC), **RUN, "verdict": "failed", "load_skew": None}])))
    assert list(one[0]) == list(several[0]) == list(failed[0])
    assert failed[0]["load_skew"] is None
    assert failed[0]["load_skew_runs"] == 0


def test_metrics_have_names_of_their_own_and_are_columns_or_derived() -> None:
    assert len(METRIC) == len(METRICS)
    derived = set(METRIC) - set(SCHEMAS["runs"].names)
    assert derived == {
        "cross_rack_source_partitions_above_bound",
        "cross_rack_source_partitions_above_bound_percent",
        *(f"{which}cost_above_bound{unit}" for which in ("", "mean_", "worst_") for unit in ("", "_percent")),
        "cross_rack_usd_per_day",
        "tasks_without_rack_redundancy_percent",
    }


def test_a_missing_table_is_named() -> None:
    with pytest.raises(TableError, match=r"'runs' is missing \(there are: rounds\)"):
        compare_runs({"rounds": tables()["rounds"]})


def test_no_runs_are_no_rows() -> None:
    assert compare_runs(tables([], [])) == []
