"""Assignors compared with a baseline over scenarios and seeds, metric by metric, with significance tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any, Final

import numpy as np

from reports.analysis.expectations import ExpectationResult, records
from reports.analysis.statistics import (
    ALPHA,
    Floats,
    PairedDifference,
    holm_correction,
    paired,
    sign_flip_p,
    smallest_p,
)

DEFAULT_METRICS: Final = (
    "cross_rack_source_partitions",
    "cross_rack_bytes",
    "active_moves",
    "standby_moves",
    "restored_bytes",
    "downtime_ms",
    "longest_downtime_ms",
    "worst_downtime_ms",
    "not_converged",
    "time_to_converge_ms",
    "load_skew",
    "subtopology_skew",
    "tasks_without_rack_redundancy",
)
"""Metrics that are compared by default."""

_ROUNDING: Final = 1e-9
"""Relative difference up to which two values are equal."""


class ComparisonVerdict(StrEnum):
    """The result of one metric against the baseline.

    Attributes:
        BETTER: significantly lower than the baseline.
        WORSE: significantly higher.
        UNDECIDED: different, but not significantly.
        EQUAL: equal in all pairs.
        UNKNOWN: no seed with both values known.
    """

    BETTER = "better"
    WORSE = "worse"
    UNDECIDED = "undecided"
    EQUAL = "equal"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class MetricComparison:
    """One metric of one assignor in one scenario, compared with the baseline by seed.

    Attributes:
        scenario: name of the scenario.
        metric: key of the metric.
        assignor: label of the assignor.
        pairs: number of seeds for which both values are known.
        differing: number of pairs with different values.
        baseline: mean of the baseline over the pairs; None without pairs.
        mean: mean of the assignor over the pairs; None without pairs.
        low: lower end of the 95 % confidence interval of the mean difference; None for fewer than two pairs.
        high: upper end.
        p: p-value of the sign-flip test, corrected over all comparisons; 1 if no pair differs.
    """

    scenario: str
    metric: str
    assignor: str
    pairs: int
    differing: int
    baseline: float | None
    mean: float | None
    low: float | None
    high: float | None
    p: float

    @property
    def difference(self) -> float:
        """Mean of the assignor minus mean of the baseline; 0 without pairs."""
        return 0.0 if self.mean is None or self.baseline is None else self.mean - self.baseline

    @property
    def verdict(self) -> ComparisonVerdict:
        """Whether the assignor is significantly better or worse than the baseline."""
        if not self.differing:
            return ComparisonVerdict.EQUAL if self.pairs else ComparisonVerdict.UNKNOWN
        if self.p >= ALPHA:
            return ComparisonVerdict.UNDECIDED
        return ComparisonVerdict.WORSE if self.difference > 0 else ComparisonVerdict.BETTER


@dataclass(frozen=True, slots=True)
class FailedRun:
    """A run that reached no assignment.

    Attributes:
        scenario: name of the scenario.
        assignor: label of the assignor.
        seed: seed of the run.
        cause: why it failed.
    """

    scenario: str
    assignor: str
    seed: int
    cause: str


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """The comparison of several assignors with a baseline.

    Attributes:
        baseline: label of the first assignor.
        assignors: labels of the other assignors.
        scenarios: names of the scenarios.
        seeds: number of runs of each assignor in each scenario.
        findings: one comparison per scenario, assignor and metric.
        failures: failed runs, which the comparisons leave out.
        expectations: the expectations of the scenarios, checked on the same runs.
    """

    baseline: str
    assignors: tuple[str, ...]
    scenarios: tuple[str, ...]
    seeds: int
    findings: tuple[MetricComparison, ...]
    failures: tuple[FailedRun, ...]
    expectations: tuple[ExpectationResult, ...] = ()

    def of(self, assignor: str) -> list[MetricComparison]:
        """Return the comparisons of one assignor."""
        return [finding for finding in self.findings if finding.assignor == assignor]

    @property
    def is_decidable(self) -> bool:
        """Whether there are enough seeds for any difference to be significant."""
        differing = [finding.differing for finding in self.findings if finding.differing]
        return not differing or len(differing) * smallest_p(max(differing)) < ALPHA


def compare_metrics(
    scenario: str, assignor: str, metrics: Sequence[str], values: Floats, baseline: Floats
) -> Iterator[tuple[MetricComparison, float]]:
    """Compare the metrics of an assignor with those of the baseline, pair by pair.

    `scenario`: name of the scenario, or of what the pairs have in common. `values`, shape (pairs, metrics): NaN where
    unknown. Yields the comparison of each metric, with its uncorrected p-value; see `correct_findings`.
    """
    differences = zip(metrics, paired(values, baseline, scenario, assignor), strict=True)
    for column, (metric, difference) in enumerate(differences):
        yield _finding((scenario, metric, assignor), values[:, column], baseline[:, column], difference)


def _finding(
    key: tuple[str, str, str], values: Floats, baseline: Floats, pair: PairedDifference
) -> tuple[MetricComparison, float]:
    known = ~np.isnan(values - baseline)
    differences = signed_differences(values, baseline)[known]
    finding = MetricComparison(
        *key,
        pairs=pair.pairs,
        differing=int(np.count_nonzero(differences)),
        baseline=float(baseline[known].mean()) if pair.pairs else None,
        mean=float(values[known].mean()) if pair.pairs else None,
        low=None if pair.interval is None else pair.interval.low,
        high=None if pair.interval is None else pair.interval.high,
        p=1.0,
    )
    return finding, sign_flip_p(differences.tolist(), *key)


def signed_differences(values: Floats, baseline: Floats) -> Floats:
    """Return value minus baseline, exactly 0 where they differ by rounding only; NaN where one is unknown."""
    is_equal = np.isclose(values, baseline, rtol=_ROUNDING, atol=0.0)
    return np.asarray(np.where(is_equal, 0.0, values - baseline))


def correct_findings(findings: Sequence[tuple[MetricComparison, float]]) -> Iterator[MetricComparison]:
    """Yield comparisons with p-values by Holm's correction over all in which any pair differs, in the same order."""
    p_values = iter(holm_correction([p for finding, p in findings if finding.differing]))
    for finding, _ in findings:
        yield replace(finding, p=next(p_values)) if finding.differing else finding


def count_verdicts(findings: Sequence[MetricComparison]) -> list[tuple[str, Counter[str]]]:
    """Return the number of scenarios by verdict for each metric."""
    counts: dict[str, Counter[str]] = {}
    for finding in findings:
        counts.setdefault(finding.metric, Counter())[finding.verdict] += 1
    return list(counts.items())


def comparison_record(comparison: PairedComparison) -> dict[str, Any]:
    """Return the comparison as a record for JSON."""
    return {
        "baseline": comparison.baseline,
        "assignors": list(comparison.assignors),
        "scenarios": list(comparison.scenarios),
        "seeds": comparison.seeds,
        "findings": [
            {**asdict(finding), "difference": finding.difference, "verdict": finding.verdict}
            for finding in comparison.findings
        ],
        "failures": [asdict(failure) for failure in comparison.failures],
        "expectations": records(comparison.expectations),
    }
