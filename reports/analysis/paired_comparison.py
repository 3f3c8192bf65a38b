"""Assignors compared with a baseline over scenarios and seeds, metric by metric, with significance tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

from reports.analysis.expectations import ExpectationResult, records
from reports.analysis.statistics import ALPHA, smallest_p

DEFAULT_METRICS: Final = (
    "cross_rack_source_partitions",
    "cross_rack_bytes",
    "active_moves",
    "standby_moves",
    "restored_bytes",
    "downtime_ms",
    "worst_downtime_ms",
    "not_converged",
    "time_to_converge_ms",
    "load_skew",
    "subtopology_skew",
    "tasks_without_rack_redundancy",
)
"""Metrics that are compared by default."""


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
