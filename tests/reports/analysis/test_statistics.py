"""Means, intervals and paired differences, against figures worked out by hand and against what is drawn."""

from __future__ import annotations

import numpy as np
import pytest

from reports.analysis.statistics import (
    Interval,
    PairedDifference,
    SampleSummary,
    bootstrap_intervals,
    paired,
    summarize,
)

NAN = float("nan")


def column(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)[:, None]


def only(pairs: list[PairedDifference]) -> PairedDifference:
    [one] = pairs
    return one


def test_a_column_has_its_mean_median_percentile_and_spread() -> None:
    [of] = summarize(column(1, 2, 3, 6))
    assert (of.known, of.mean, of.p50) == (4, 3.0, 2.5)
    assert of.p95 == pytest.approx(3 + 0.85 * 3)
    assert of.sd == pytest.approx((14 / 3) ** 0.5)


def test_what_is_not_known_does_not_count() -> None:
    known, gaps = summarize(np.array([[1.0, NAN], [3.0, 3.0], [NAN, NAN], [5.0, 5.0]]))
    assert (known.known, known.mean) == (3, 3.0)
    assert (gaps.known, gaps.mean, gaps.p50) == (2, 4.0, 4.0)


def test_a_column_of_nothing_known_has_nothing() -> None:
    assert summarize(column(NAN, NAN)) == [SampleSummary(0)]
    assert summarize(np.empty((0, 2))) == [SampleSummary(0)] * 2


def test_one_value_has_no_interval_and_no_spread_rather_than_none_of_width() -> None:
    [of] = summarize(column(7))
    assert (of.mean, of.p50, of.p95, of.sd, of.interval) == (7.0, 7.0, 7.0, None, None)


def test_equal_values_have_the_interval_of_that_value_exactly() -> None:
    [of] = summarize(column(0.1, 0.1, 0.1))
    assert (of.mean, of.sd, of.interval) == (0.1, 0.0, Interval(0.1, 0.1))


def test_columns_that_know_different_runs_are_resampled_apart() -> None:
    values = np.random.default_rng(1).normal(size=(8, 3))
    gaps = values.copy()
    gaps[2, 1] = NAN
    whole, some = bootstrap_intervals(values, "a"), bootstrap_intervals(gaps, "a")
    assert [whole[0], whole[2]] == [some[0], some[2]]
    assert some[1] == bootstrap_intervals(np.delete(values[:, 1:2], 2, axis=0), "a")[0]


def test_intervals_hang_on_names_and_values_alone() -> None:
    values = np.random.default_rng(1).normal(size=(8, 2))
    assert bootstrap_intervals(values, "a") == bootstrap_intervals(values, "a")
    assert bootstrap_intervals(values, "a") != bootstrap_intervals(values, "b")


def test_more_values_than_are_drawn_at_once_give_the_interval_of_theory() -> None:
    values = np.random.default_rng(2).normal(size=(20_000, 1))
    [interval] = bootstrap_intervals(values)
    assert interval is not None
    assert interval.high - interval.low == pytest.approx(2 * 1.96 / 20_000**0.5, rel=0.08)


@pytest.mark.parametrize("count", [3, 5, 10, 30])
def test_intervals_of_normal_values_hold_the_mean_as_often_as_they_say(count: int) -> None:
    values = np.random.default_rng(3).normal(10, 3, size=(count, 1_500))
    held = np.mean([each is not None and not each.excludes(10) for each in bootstrap_intervals(values)])
    assert 0.925 <= held <= 0.975


def test_intervals_of_two_values_are_somewhat_too_narrow() -> None:
    values = np.random.default_rng(3).normal(10, 3, size=(2, 1_500))
    held = np.mean([each is not None and not each.excludes(10) for each in bootstrap_intervals(values)])
    assert 0.9 <= held <= 0.95


@pytest.mark.parametrize("count", [3, 5, 10, 30])
def test_intervals_of_skewed_values_hold_the_mean_nearly_as_often(count: int) -> None:
    values = np.random.default_rng(4).lognormal(0, 0.5, size=(count, 1_500))
    held = np.mean([each is not None and not each.excludes(np.exp(0.125)) for each in bootstrap_intervals(values)])
    assert held >= 0.9


def test_differences_are_taken_pair_by_pair() -> None:
    of = only(paired(column(8, 9, 13, 14), column(10, 12, 12, 18)))
    assert (of.pairs, of.mean) == (4, -2.0)
    assert of.relative == pytest.approx(-2 / 13)
    # -2, -3, 1, -4: around -2 that is 0, -1, 3, -2, with squares of 14.
    assert of.effect == pytest.approx(-2 / (14 / 3) ** 0.5)
    assert (of.less, of.more, of.effect_unknown) == (0.75, 0.25, None)


def test_pairing_finds_what_the_spread_over_seeds_hides() -> None:
    weather = np.random.default_rng(5).normal(1000, 300, size=(10, 1))
    wind = np.random.default_rng(6).normal(0, 2, size=(10, 1))
    better = weather - 10 + wind
    assert only(paired(better, weather)).excludes_zero
    [one], [other] = bootstrap_intervals(better), bootstrap_intervals(weather)
    assert one is not None
    assert other is not None
    assert one.high > other.low


def test_noise_is_not_taken_for_a_difference() -> None:
    chance = np.random.default_rng(7)
    wrongly = [bool(of.excludes_zero) for of in paired(chance.normal(size=(8, 1_000)), chance.normal(size=(8, 1_000)))]
    assert np.mean(wrongly) < 0.075


def test_equal_differences_have_no_effect_size_but_a_reason() -> None:
    of = only(paired(column(3, 4, 5), column(1, 2, 3)))
    assert (of.mean, of.effect, of.effect_unknown) == (2.0, None, "all differences are equal")
    assert of.excludes_zero is True


def test_differences_that_only_rounding_tells_apart_are_equal() -> None:
    of = only(paired(column(0.3, 0.2, 1e9 + 0.1), column(0.1, 0.0, 1e9 - 0.1)))
    assert of.effect_unknown == "all differences are equal"
    same = only(paired(column(0.1 + 0.2, 1.0), column(0.3, 1.0)))
    assert (same.mean, same.less, same.more, same.excludes_zero) == (0.0, 0.0, 0.0, False)


def test_one_pair_has_a_difference_and_nothing_to_judge_it_by() -> None:
    of = only(paired(column(3, NAN), column(1, 5)))
    assert (of.pairs, of.mean, of.interval, of.excludes_zero) == (1, 2.0, None, None)
    assert (of.effect, of.effect_unknown) == (None, "one pair only")


def test_no_pair_has_nothing_but_a_reason() -> None:
    of = only(paired(column(3, NAN), column(NAN, 5)))
    assert of == PairedDifference(0, effect_unknown="no seed of which both are known")


def test_a_baseline_of_nothing_has_no_relative_difference() -> None:
    of = only(paired(column(3, 5), column(0, 0)))
    assert (of.mean, of.relative) == (4.0, None)
