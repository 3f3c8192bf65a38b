"""Ranks, ties, unknown values, wins and losses; computed by hand."""

from __future__ import annotations

import pytest

from reports.analysis.review.leaderboard import (
    BenchmarkRun,
    BenchmarkTable,
    compare_with_baseline,
    rank_assignors,
)


def runs(values: dict[str, list[float | None]], family: str = "f", skipped: str = "") -> list[BenchmarkRun]:
    return [
        BenchmarkRun(name, family, f"{family}-{number}", name != skipped, {} if value is None else {"moves": value})
        for name, row in values.items()
        for number, value in enumerate(row)
    ]


def table(values: dict[str, list[float | None]]) -> BenchmarkTable:
    return BenchmarkTable.of(runs(values), ["moves"])


def test_equal_values_share_the_mean_of_their_ranks() -> None:
    ranks = rank_assignors(table({"a": [3.0], "b": [1.0], "c": [3.0 * (1 + 1e-12)]}))
    assert [(rank.assignor, rank.score) for rank in ranks] == [("b", 1.0), ("a", 2.5), ("c", 2.5)]


def test_unknown_values_rank_last_and_do_not_count_if_all_are_unknown() -> None:
    ranks = rank_assignors(table({"a": [None, None, 1.0], "b": [5.0, None, 2.0], "c": [None, None, 3.0]}))
    scores = {rank.assignor: rank.score for rank in ranks}
    assert scores == {"a": (2.5 + 1) / 2, "b": (1 + 2) / 2, "c": (2.5 + 3) / 2}


def test_families_have_the_same_weight() -> None:
    many = runs({"a": [1.0, 1.0, 1.0], "b": [2.0, 2.0, 2.0]}, "many")
    few = runs({"a": [2.0], "b": [1.0]}, "few")
    ranks = {rank.assignor: rank for rank in rank_assignors(BenchmarkTable.of([*many, *few], ["moves"]))}
    assert (ranks["a"].score, ranks["b"].score) == (1.5, 1.5)
    assert ranks["a"].by_family == {"many": 1.0, "few": 2.0}


def test_a_scenario_that_is_invalid_for_one_assignor_counts_for_none() -> None:
    valid, invalid = runs({"a": [1.0], "b": [2.0]}, "f"), runs({"a": [9.0], "b": [0.0]}, "g", skipped="a")
    both = BenchmarkTable.of([*valid, *invalid], ["moves"])
    assert (both.cases, both.left_out) == ((("f", "f-0"),), 1)


def test_a_missing_run_is_an_error() -> None:
    with pytest.raises(ValueError, match="3 runs of 2 assignors in 2 scenarios"):
        BenchmarkTable.of(runs({"a": [1.0, 2.0], "b": [1.0]}), ["moves"])


def test_wins_losses_and_ties() -> None:
    runs_of_both = table({"base": [2.0, 2.0, 2.0, None, 4.0], "head": [1.0, 2.0, 3.0, 1.0, None]})
    [head] = compare_with_baseline(runs_of_both, "base")
    assert (head.wins, head.losses, head.ties) == (2, 2, 1)
    assert head.ratio == 1.0
    assert (head.p, head.verdict) == (1.0, "")


def test_p_values_are_those_of_the_sign_test_with_holms_correction() -> None:
    runs_of_both = table({"base": [1.0] * 10, "low": [0.5] * 10, "high": [2.0] * 10, "same": [1.0] * 10})
    by_name = {comparison.assignor: comparison for comparison in compare_with_baseline(runs_of_both, "base")}
    # Two comparisons differ; 2 / 2^10 for ten wins of ten.
    assert by_name["low"].p == pytest.approx(2 * 2 / 2**10)
    assert (by_name["low"].verdict, by_name["high"].verdict) == ("better", "worse")
    assert (by_name["same"].p, by_name["same"].ratio) == (1.0, 1.0)
