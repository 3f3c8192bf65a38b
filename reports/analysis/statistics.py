"""Statistics over seeds: means with bootstrap intervals, paired differences, and significance tests.

Values come as a matrix with one row per run and one column per metric, NaN where a run does not have the metric. The
order of the rows must depend on their content only, for example on the seed: equal matrices and names give equal bytes.

Guarantees:
    Fewer than two values have no interval and no standard deviation. Equal values have an interval of width 0.
    For three or more normally distributed values, the interval contains the true mean in 95 % of cases; for two, in
    92 %; for a few values of a skewed distribution, in about 92 %.
    The sign-flip test assumes only that, without an effect, each difference and its negation are equally likely. It is
    exact for up to 20 non-zero differences and uses 100,000 random flips beyond that. With k non-zero differences, no
    p-value is below 2/2^k.
    The Holm correction bounds the probability of any false finding by the significance level, for any dependence
    between the tests.

Complexity: O(resamples · values) per metric for intervals; O(flips · values) per sign-flip test.

Source: B. Efron, R. Tibshirani, An Introduction to the Bootstrap (1993), chapter 13 (percentile intervals);
T. Hesterberg, What Teachers Should Know About the Bootstrap (2015), section 4 (they are too narrow for few values;
this module corrects them by the factor given there); J. Cohen, Statistical Power Analysis (1988), section 2.3.5 (d_z);
R. A. Fisher, The Design of Experiments (1935), section 21 (sign-flip test); S. Holm, A simple sequentially rejective
multiple test procedure, Scandinavian Journal of Statistics 6 (1979).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simulator.random_streams import random_stream

Floats = NDArray[np.float64]

CONFIDENCE: Final = 0.95
"""Confidence level of intervals."""

ALPHA: Final = 0.05
"""Significance level: differences with a corrected p-value below it are significant."""

RESAMPLES: Final = 2_000
"""Bootstrap resamples; more of them move the ends of an interval by less than three percent of its width."""

_EXACT_PAIRS: Final = 20
"""Maximum number of differences whose flips are enumerated: 2^20 sums take less time than the random flips."""

_FLIPS: Final = 100_000
_BATCH_VALUES: Final = 1 << 20
_ROUNDING: Final = 1e-12
_SUM_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Interval:
    """Confidence interval of a mean."""

    low: float
    high: float

    def excludes(self, value: float) -> bool:
        """Return whether the value lies outside the interval."""
        return not self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class SampleSummary:
    """One metric over several runs.

    Attributes:
        known: number of runs in which the metric is known; the other attributes cover these runs.
        mean: mean; None, as all attributes below, if the metric is unknown in all runs.
        sd: sample standard deviation; None for fewer than two values.
        p50: median.
        p95: 95th percentile, interpolated.
        interval: confidence interval of the mean; None for fewer than two values.
    """

    known: int
    mean: float | None = None
    sd: float | None = None
    p50: float | None = None
    p95: float | None = None
    interval: Interval | None = None


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """Differences of one metric from the baseline, paired by seed.

    Attributes:
        pairs: number of seeds for which both values are known; the other attributes cover these pairs.
        mean: mean of value minus baseline; None, as all attributes below, without pairs.
        relative: mean difference relative to the absolute mean of the baseline; None if that is 0.
        interval: confidence interval of the mean difference; None for fewer than two pairs.
        effect: d_z, the mean difference divided by the standard deviation of the differences.
        effect_unknown: why there is no effect size; None if there is one.
        less: share of pairs below the baseline.
        more: share of pairs above the baseline.
    """

    pairs: int
    mean: float | None = None
    relative: float | None = None
    interval: Interval | None = None
    effect: float | None = None
    effect_unknown: str | None = None
    less: float | None = None
    more: float | None = None

    @property
    def excludes_zero(self) -> bool | None:
        """Whether the interval excludes 0; None without an interval."""
        return None if self.interval is None else self.interval.excludes(0.0)


def summarize(values: Floats, *names: str) -> list[SampleSummary]:
    """Return the summary of every column.

    `values`, shape (runs, metrics): NaN where unknown. `names`: names of the data, which seed the resampling.
    """
    result = [SampleSummary(0)] * values.shape[1]
    for rows, columns in _columns_by_known_rows(values):
        known = values[rows][:, columns]
        statistics = (_means(known), _sds(known), *np.quantile(known, [0.5, 0.95], axis=0))
        per_column = zip(columns, *(array.tolist() for array in statistics), _intervals(known, names), strict=True)
        for column, mean, sd, p50, p95, interval in per_column:
            result[column] = SampleSummary(len(rows), mean, sd if interval else None, p50, p95, interval)
    return result


def paired(values: Floats, baseline: Floats, *names: str) -> list[PairedDifference]:
    """Compare every column with the baseline's, row by row.

    `values`, shape (seeds, metrics): NaN where unknown. `baseline`: the same for the baseline, with the same seeds in
    the same rows. `names`: names of the data, which seed the resampling. Returns one result per metric.
    """
    differences = without_rounding(values - baseline, values, baseline)
    result = [PairedDifference(0, effect_unknown="no seed with both values known")] * values.shape[1]
    for rows, columns in _columns_by_known_rows(differences):
        known = differences[rows][:, columns]
        per_column = _paired(known, baseline[rows][:, columns], _intervals(known, names))
        for column, difference in zip(columns, per_column, strict=True):
            result[column] = difference
    return result


def without_rounding(differences: Floats, values: Floats, baseline: Floats) -> Floats:
    """Return differences of values, with 0 where they are due to rounding; NaN stays.

    `differences`: values minus baseline, of any shape; `values`: the same shape; `baseline`: the same shape.
    """
    return np.where(np.abs(differences) <= _ROUNDING * np.maximum(np.abs(values), np.abs(baseline)), 0.0, differences)


def bootstrap_intervals(values: Floats, *names: str) -> list[Interval | None]:
    """Return the confidence intervals of the means of the columns; None for fewer than two known values.

    The intervals are bootstrap percentile intervals, widened about the mean for small samples. `values`, shape (runs,
    metrics): NaN where unknown. `names`: names of the data, which seed the resampling.
    """
    result: list[Interval | None] = [None] * values.shape[1]
    for rows, columns in _columns_by_known_rows(values):
        for column, interval in zip(columns, _intervals(values[rows][:, columns], names), strict=True):
            result[column] = interval
    return result


def sign_flip_p(differences: Sequence[float], *names: str) -> float:
    """Return the p-value of the two-sided sign-flip test that the mean difference is 0.

    `differences`: one difference per pair; `names`: names of the data, which seed the random flips.
    """
    from scipy import stats

    values = np.array([value for value in differences if value], dtype=np.float64)
    if len(values) < 2:
        return 1.0
    scale = np.abs(values).sum() * _SUM_ROUNDING

    def rounded(sums: Floats) -> Floats:
        # Sums that differ by rounding only must tie.
        return np.asarray(np.round(sums / scale))

    if len(values) <= _EXACT_PAIRS:
        # SciPy's exact test takes a hundred times longer: it keeps every sample, not only its sum.
        sums = np.zeros(1)
        for value in values:
            sums = np.concatenate((sums + value, sums - value))
        return min(1.0, 2.0 * float(np.mean(rounded(sums) >= abs(rounded(values.sum())))))
    result = stats.permutation_test(
        (values,),
        lambda samples, axis: rounded(samples.sum(axis=axis)),
        permutation_type="samples",
        vectorized=True,
        n_resamples=_FLIPS,
        batch=max(1, _BATCH_VALUES // len(values)),
        rng=random_stream(0, "sign flips", *names),
    )
    return float(result.pvalue)


def smallest_p(pairs: int) -> float:
    """Return the smallest possible p-value of the sign-flip test for a number of non-zero differences."""
    return min(1.0, 2.0 ** (1 - pairs))


def holm_correction(p_values: Sequence[float]) -> list[float]:
    """Return Holm-corrected p-values in the order given."""
    corrected = [1.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda index: p_values[index])):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = highest
    return corrected


@lru_cache(maxsize=4096)
def interval_widening(count: int) -> float:
    """Return the factor by which percentile intervals of `count` normally distributed values are too narrow."""
    from scipy import stats

    tail = (1 + CONFIDENCE) / 2
    return float(np.sqrt(count / (count - 1)) * stats.t.ppf(tail, count - 1) / stats.norm.ppf(tail))


def _intervals(values: Floats, names: tuple[str, ...]) -> list[Interval | None]:
    from scipy import stats

    if len(values) < 2:
        return [None] * values.shape[1]
    # The first value is subtracted so that equal values have exactly that value as their interval.
    first = values[0]
    around = values - first
    mean = around.mean(axis=0)
    percentiles = stats.bootstrap(
        (around,),
        np.mean,
        axis=0,
        vectorized=True,
        n_resamples=RESAMPLES,
        batch=max(1, _BATCH_VALUES // max(1, around.size)),
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=random_stream(0, "bootstrap", *names),
    ).confidence_interval
    low, high = (
        first + mean + interval_widening(len(values)) * (end - mean) for end in (percentiles.low, percentiles.high)
    )
    return [Interval(*ends) for ends in zip(low.tolist(), high.tolist(), strict=True)]


def _columns_by_known_rows(values: Floats) -> Iterator[tuple[NDArray[np.intp], list[int]]]:
    """Yield columns that are known in the same rows together: resampling, the slowest step, is shared."""
    is_known = ~np.isnan(values)
    columns: dict[bytes, list[int]] = {}
    for column in range(values.shape[1]):
        columns.setdefault(is_known[:, column].tobytes(), []).append(column)
    for group in columns.values():
        rows = np.flatnonzero(is_known[:, group[0]])
        if len(rows):
            yield rows, group


def _means(values: Floats) -> Floats:
    """Return the means of the columns; exactly the value if all are equal."""
    return np.asarray(values[0] + (values - values[0]).mean(axis=0))


def _sds(values: Floats) -> Floats:
    return np.asarray(np.sqrt(((values - _means(values)) ** 2).sum(axis=0) / max(len(values) - 1, 1)))


def _paired(differences: Floats, baseline: Floats, intervals: Sequence[Interval | None]) -> Iterator[PairedDifference]:
    pairs = len(differences)
    means, baseline_means = _means(differences), np.abs(_means(baseline))
    scale = np.maximum(np.abs(differences), np.abs(baseline)).max(axis=0)
    are_equal = np.ptp(differences, axis=0) <= _ROUNDING * scale
    less, more = (differences < 0).mean(axis=0), (differences > 0).mean(axis=0)
    statistics = (means, baseline_means, _sds(differences), are_equal, less, more)
    per_column = zip(intervals, *(array.tolist() for array in statistics), strict=True)
    for interval, mean, baseline_mean, sd, is_equal, share_less, share_more in per_column:
        unknown = "only one pair" if pairs == 1 else "all differences are equal" if is_equal else None
        yield PairedDifference(
            pairs=pairs,
            mean=mean,
            relative=mean / baseline_mean if baseline_mean else None,
            interval=interval,
            effect=None if unknown else mean / sd,
            effect_unknown=unknown,
            less=share_less,
            more=share_more,
        )
