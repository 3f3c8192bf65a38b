"""Means, intervals and paired differences, compared with values computed by hand and with random samples."""

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
    [pair] = pairs
    return pair


def test_summary_of_a_column() -> None:
    [summary] = summarize(column(1, 2, 3, 6))
    assert (summary.known, summary.mean, summary.p50) == (4, 3.0, 2.5)
    assert summary.p95 == pytest.approx(3 + 0.85 * 3)
    assert summary.sd == pytest.approx((14 / 3) ** 0.5)


def test_unknown_values_are_ignored() -> None:
    known, gaps = summarize(np.array([[1.0, NAN], [3.0, 3.0], [NAN, NAN], [5.0, 5.0]]))
    assert (known.known, known.mean) == (3, 3.0)
    assert (gaps.known, gaps.mean, gaps.p50) == (2, 4.0, 4.0)


def test_column_without_known_values_has_empty_summary() -> None:
    assert summarize(column(NAN, NAN)) == [SampleSummary(0)]
    assert summarize(np.empty((0, 2))) == [SampleSummary(0)] * 2


def test_single_value_has_no_interval_and_no_deviation() -> None:
    [summary] = summarize(column(7))
    assert (summary.mean, summary.p50, summary.p95, summary.sd, summary.interval) == (7.0, 7.0, 7.0, None, None)


def test_equal_values_have_interval_of_width_zero() -> None:
    [summary] = summarize(column(0.1, 0.1, 0.1))
    assert (summary.mean, summary.sd, summary.interval) == (0.1, 0.0, Interval(0.1, 0.1))


def test_columns_known_in_different_runs_are_resampled_separately() -> None:
    values = np.random.default_rng(1).normal(size=(8, 3))
    gaps = values.copy()
    gaps[2, 1] = NAN
    complete, partial = bootstrap_intervals(values, "a"), bootstrap_intervals(gaps, "a")
    assert [complete[0], complete[2]] == [partial[0], partial[2]]
    assert partial[1] == bootstrap_intervals(np.delete(values[:, 1:2], 2, axis=0), "a")[0]


def test_intervals_depend_on_names_and_values_only() -> None:
    values = np.random.default_rng(1).normal(size=(8, 2))
    assert bootstrap_intervals(values, "a") == bootstrap_intervals(values, "a")
    assert bootstrap_intervals(values, "a") != bootstrap_intervals(values, "b")


def test_interval_of_many_values_matches_normal_theory() -> None:
    values = np.random.default_rng(2).normal(size=(20_000, 1))
    [interval] = bootstrap_intervals(values)
    assert interval is not None
    assert interval.high - interval.low == pytest.approx(2 * 1.96 / 20_000**0.5, rel=0.08)


@pytest.mark.parametrize("count", [3, 5, 10, 30])
def test_intervals_of_normal_values_have_nominal_coverage(count: int) -> None:
    values = np.random.default_rng(3).normal(10, 3, size=(count, 1_500))
    coverage = np.mean([interval is not None and not interval.excludes(10) for interval in bootstrap_intervals(values)])
    assert 0.925 <= coverage <= 0.975


def test_intervals_of_two_values_have_lower_coverage() -> None:
    values = np.random.default_rng(3).normal(10, 3, size=(2, 1_500))
    coverage = np.mean([interval is not None and not interval.excludes(10) for interval in bootstrap_intervals(values)])
    assert 0.9 <= coverage <= 0.95


@pytest.mark.parametrize("count", [3, 5, 10, 30])
def test_intervals_of_skewed_values_have_nearly_nominal_coverage(count: int) -> None:
    values = np.random.default_rng(4).lognormal(0, 0.5, size=(count, 1_500))
    coverage = np.mean(
        [interval is not None and not interval.excludes(np.exp(0.125)) for interval in bootstrap_intervals(values)]
    )
    assert coverage >= 0.9


def test_differences_are_paired() -> None:
    difference = only(paired(column(8, 9, 13, 14), column(10, 12, 12, 18)))
    assert (difference.pairs, difference.mean) == (4, -2.0)
    assert difference.relative == pytest.approx(-2 / 13)
    # The differences -2, -3, 1 and -4 deviate from their mean by 0, -1, 3 and -2; the sum of squares is 14.
    assert difference.effect == pytest.approx(-2 / (14 / 3) ** 0.5)
    assert (difference.less, difference.more, difference.effect_unknown) == (0.75, 0.25, None)


def test_pairing_removes_variation_between_seeds() -> None:
    baseline = np.random.default_rng(5).normal(1000, 300, size=(10, 1))
    noise = np.random.default_rng(6).normal(0, 2, size=(10, 1))
    values = baseline - 10 + noise
    assert only(paired(values, baseline)).excludes_zero
    [interval], [baseline_interval] = bootstrap_intervals(values), bootstrap_intervals(baseline)
    assert interval is not None
    assert baseline_interval is not None
    assert interval.high > baseline_interval.low


def test_equal_distributions_are_rarely_significant() -> None:
    rng = np.random.default_rng(7)
    false_positives = [
        bool(difference.excludes_zero)
        for difference in paired(rng.normal(size=(8, 1_000)), rng.normal(size=(8, 1_000)))
    ]
    assert np.mean(false_positives) < 0.075


def test_equal_differences_have_no_effect_size() -> None:
    difference = only(paired(column(3, 4, 5), column(1, 2, 3)))
    assert (difference.mean, difference.effect, difference.effect_unknown) == (2.0, None, "all differences are equal")
    assert difference.excludes_zero is True


def test_rounding_errors_are_ignored() -> None:
    difference = only(paired(column(0.3, 0.2, 1e9 + 0.1), column(0.1, 0.0, 1e9 - 0.1)))
    assert difference.effect_unknown == "all differences are equal"
    same = only(paired(column(0.1 + 0.2, 1.0), column(0.3, 1.0)))
    assert (same.mean, same.less, same.more, same.excludes_zero) == (0.0, 0.0, 0.0, False)


def test_single_pair_has_no_interval() -> None:
    difference = only(paired(column(3, NAN), column(1, 5)))
    assert (difference.pairs, difference.mean, difference.interval, difference.excludes_zero) == (1, 2.0, None, None)
    assert (difference.effect, difference.effect_unknown) == (None, "only one pair")


def test_no_known_pair_has_a_reason() -> None:
    difference = only(paired(column(3, NAN), column(NAN, 5)))
    assert difference == PairedDifference(0, effect_unknown="no seed with both values known")


def test_relative_difference_to_zero_is_unknown() -> None:
    difference = only(paired(column(3, 5), column(0, 0)))
    assert (difference.mean, difference.relative) == (4.0, None)
