"""A trial: assignors against the first of them, over scenarios and seeds, metric by metric."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from reports.analysis.formatting import format_number
from reports.analysis.metric import Metric
from reports.analysis.metrics import CONVERGENCE, METRICS
from reports.analysis.significance import LEVEL, smallest_p

NOT_CONVERGED = Metric(
    "not_converged",
    "Runs not at rest",
    CONVERGENCE,
    "1 if a run has not come to rest in the end, else 0; time to converge is compared only where both have.",
    format_number,
    True,
    lambda run: float(run["verdict"] != "stable"),
)

COMPARABLE_METRICS: Final[dict[str, Metric]] = {
    metric.name: metric for metric in (*METRICS, NOT_CONVERGED) if metric.lower_is_better
}
"""What can be compared, by name: metrics with a better and a worse."""

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
"""What is compared if nothing is named."""


@dataclass(frozen=True, slots=True)
class MetricComparison:
    """One metric of one assignor in one scenario, against the baseline.

    Attributes:
        scenario: its name.
        metric: its name.
        assignor: label.
        pairs: seeds of which both know the metric.
        differing: pairs in which the two are not equal.
        baseline: mean of the baseline over these pairs; None, as all that follows, without a pair.
        mean: the same of the assignor.
        low: from where the mean difference is likely to be (95 %); None of fewer than two pairs.
        high: up to where.
        p: of the sign-flip test, corrected for all findings; 1 where nothing differs.
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
        """Mean of the assignor minus mean of the baseline; 0 without a pair."""
        return 0.0 if self.mean is None or self.baseline is None else self.mean - self.baseline

    @property
    def verdict(self) -> str:
        """better or worse where that is more than chance, undecided where not, equal where nothing differs."""
        if not self.differing:
            return "equal" if self.pairs else "unknown"
        if self.p >= LEVEL:
            return "undecided"
        return "worse" if self.difference > 0 else "better"


@dataclass(frozen=True, slots=True)
class FailedRun:
    """A run that came to no result."""

    scenario: str
    assignor: str
    seed: int
    cause: str


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """What a trial came to.

    Attributes:
        baseline: label of the first assignor.
        assignors: labels of the others.
        scenarios: their names.
        seeds: how many runs each assignor had in each scenario.
        findings: one for each scenario, other assignor and metric.
        failures: runs without a result; their seeds are not in the findings.
    """

    baseline: str
    assignors: tuple[str, ...]
    scenarios: tuple[str, ...]
    seeds: int
    findings: tuple[MetricComparison, ...]
    failures: tuple[FailedRun, ...]

    def of(self, assignor: str) -> list[MetricComparison]:
        """The findings of an assignor."""
        return [each for each in self.findings if each.assignor == assignor]

    @property
    def is_decidable(self) -> bool:
        """Whether there are seeds enough for any difference to be more than chance."""
        differing = [each.differing for each in self.findings if each.differing]
        return not differing or len(differing) * smallest_p(max(differing)) < LEVEL


def count_verdicts(findings: Sequence[MetricComparison]) -> list[tuple[str, Counter[str]]]:
    """For each metric in how many scenarios it is better, worse, undecided or equal."""
    counts: dict[str, Counter[str]] = {}
    for each in findings:
        counts.setdefault(each.metric, Counter())[each.verdict] += 1
    return list(counts.items())


def records(trial: PairedComparison) -> dict[str, Any]:
    """A trial as a record for scripts."""
    return {
        "baseline": trial.baseline,
        "assignors": list(trial.assignors),
        "scenarios": list(trial.scenarios),
        "seeds": trial.seeds,
        "findings": [
            {**asdict(each), "difference": each.difference, "verdict": each.verdict} for each in trial.findings
        ],
        "failures": [asdict(each) for each in trial.failures],
    }
