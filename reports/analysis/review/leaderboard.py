"""Ranks of assignors over the scenarios of a benchmark, and their wins and losses against a baseline.

Lower values are better. A value is unknown if a run never became stable or failed; that is worse than any known value.
A scenario that is invalid for any assignor counts for none, and a metric that is unknown for all assignors does not
count in that scenario.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from reports.analysis.statistics import ALPHA, Floats, holm_correction

_ROUNDING: Final = 1e-9
"""Relative difference up to which two values are equal."""


@dataclass(frozen=True, slots=True)
class BenchmarkRun:
    """One run.

    Attributes:
        assignor: name of the assignor with its configs.
        family: family of the scenario.
        case: the scenario.
        is_valid: whether the scenario is valid for the assignor.
        values: known metrics, by key.
    """

    assignor: str
    family: str
    case: str
    is_valid: bool
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Rank:
    """The mean ranks of an assignor; 1 is the best, and assignors with equal values share the mean of their ranks.

    Attributes:
        assignor: name of the assignor.
        score: mean over families of the mean ranks of their scenarios.
        by_metric: mean rank in each metric, over the same means.
        by_family: mean rank in each family, over its scenarios and all metrics.
    """

    assignor: str
    score: float
    by_metric: Mapping[str, float]
    by_family: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class WinsAndLosses:
    """One metric of an assignor against the baseline.

    Attributes:
        assignor: name of the assignor.
        metric: key of the metric.
        wins: scenarios with a lower value than the baseline.
        losses: scenarios with a higher value.
        ties: scenarios with equal values.
        ratio: sum of the known pairs over that of the baseline; None if the latter is 0.
        p: p-value of the sign test of wins and losses, corrected over all assignors and metrics; 1 without either.
    """

    assignor: str
    metric: str
    wins: int
    losses: int
    ties: int
    ratio: float | None
    p: float

    @property
    def verdict(self) -> str:
        """`better` or `worse` if significant, else empty."""
        if self.p >= ALPHA:
            return ""
        return "better" if self.wins > self.losses else "worse"


@dataclass(frozen=True, slots=True, eq=False)
class BenchmarkTable:
    """The values of all runs.

    Attributes:
        assignors: A names, in the order of the runs.
        cases: C pairs of family and scenario that are valid for all assignors.
        metrics: M keys.
        values: shape (A, C, M); NaN where unknown.
        left_out: number of scenarios that are invalid for some assignor.
    """

    assignors: tuple[str, ...]
    cases: tuple[tuple[str, str], ...]
    metrics: tuple[str, ...]
    values: Floats
    left_out: int

    @classmethod
    def of(cls, runs: Sequence[BenchmarkRun], metrics: Sequence[str]) -> BenchmarkTable:
        """Build the table of all runs; every assignor has a run of every scenario.

        Raises ValueError if a run is missing.
        """
        by_key = {(run.assignor, run.family, run.case): run for run in runs}
        assignors = tuple(dict.fromkeys(run.assignor for run in runs))
        cases = tuple(dict.fromkeys((run.family, run.case) for run in runs))
        if len(by_key) != len(assignors) * len(cases):
            raise ValueError(f"{len(by_key)} runs of {len(assignors)} assignors in {len(cases)} scenarios")
        valid = tuple(case for case in cases if all(by_key[one, *case].is_valid for one in assignors))
        values = np.array(
            [[[by_key[one, *case].values.get(m, np.nan) for m in metrics] for case in valid] for one in assignors],
            dtype=np.float64,
        ).reshape(len(assignors), len(valid), len(metrics))
        return cls(assignors, valid, tuple(metrics), values, len(cases) - len(valid))

    def column(self, assignor: str, metric: str) -> Floats:
        """Return the values of an assignor, shape (C,)."""
        return np.asarray(self.values[self.assignors.index(assignor), :, self.metrics.index(metric)])


def rank_assignors(table: BenchmarkTable) -> list[Rank]:
    """Return the ranks of all assignors, the best first; every family and every metric has the same weight."""
    ranks = _ranks(table.values)
    families = tuple(dict.fromkeys(family for family, _ in table.cases))
    rows = {name: [row for row, (family, _) in enumerate(table.cases) if family == name] for name in families}
    # Shape (families, assignors, metrics).
    means = np.array([_mean(ranks[:, rows[name]], axis=1) for name in families])
    by_metric, by_family = _mean(means, axis=0), _mean(means, axis=2)
    found = [
        Rank(
            assignor,
            float(np.nanmean(by_metric[number])),
            dict(zip(table.metrics, by_metric[number].tolist(), strict=True)),
            dict(zip(families, by_family[:, number].tolist(), strict=True)),
        )
        for number, assignor in enumerate(table.assignors)
    ]
    return sorted(found, key=lambda rank: (rank.score, rank.assignor))


def _mean(values: Floats, axis: int) -> Floats:
    """Return the mean of the known values; NaN where none is known."""
    known = ~np.isnan(values)
    count = known.sum(axis=axis)
    return np.asarray(np.where(count, np.where(known, values, 0.0).sum(axis=axis) / np.maximum(count, 1), np.nan))


def _ranks(values: Floats) -> Floats:
    """Return the rank of each value among the assignors, shape (A, C, M); NaN where all are unknown."""
    filled = np.where(np.isnan(values), np.inf, values)
    first, second = filled[:, None], filled[None, :]
    with np.errstate(invalid="ignore"):
        equal = (first == second) | np.isclose(first, second, rtol=_ROUNDING, atol=0.0)
    lower = (second < first) & ~equal
    ranks = 1 + lower.sum(axis=1) + (equal.sum(axis=1) - 1) / 2
    return np.asarray(np.where(np.isnan(values).all(axis=0), np.nan, ranks))


def compare_with_baseline(
    table: BenchmarkTable, baseline: str, assignors: Sequence[str] = (), metrics: Sequence[str] = ()
) -> list[WinsAndLosses]:
    """Return wins and losses against a baseline, by assignor and metric.

    `assignors`: assignors to compare; by default all others. `metrics`: metrics to compare; by default all. Returns the
    comparisons; their p-values are corrected by Holm over all of them.
    """
    chosen = assignors or [name for name in table.assignors if name != baseline]
    found = [_compare(table, baseline, name, metric) for name in chosen for metric in metrics or table.metrics]
    corrected = iter(holm_correction([one.p for one in found if one.wins + one.losses]))
    return [replace(one, p=next(corrected)) if one.wins + one.losses else one for one in found]


def _compare(table: BenchmarkTable, baseline: str, assignor: str, metric: str) -> WinsAndLosses:
    base, own = table.column(baseline, metric), table.column(assignor, metric)
    both = ~np.isnan(base) & ~np.isnan(own)
    equal = np.isclose(own, base, rtol=_ROUNDING, atol=0.0) & both
    wins = int(((both & (own < base) & ~equal) | (~np.isnan(own) & np.isnan(base))).sum())
    losses = int(((both & (own > base) & ~equal) | (np.isnan(own) & ~np.isnan(base))).sum())
    total = float(base[both].sum())
    return WinsAndLosses(
        assignor,
        metric,
        wins,
        losses,
        int(equal.sum()),
        float(own[both].sum()) / total if total else None,
        _sign_test(wins, losses),
    )


def _sign_test(wins: int, losses: int) -> float:
    """Return the probability of a split at least as uneven if a win is as likely as a loss."""
    from scipy import stats

    return float(stats.binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0
