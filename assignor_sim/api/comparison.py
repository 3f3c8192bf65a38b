"""`sim.compare`: assignors against a baseline over scenarios and seeds, with significance tests."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from assignor_sim.api.loading import as_scenarios
from assignor_sim.api.running import run
from assignors.containment.limits import DEFAULT_LIMITS, CallLimits
from assignors.registry import AssignorLike
from reports.analysis.expectations import ExpectationResult, check_expectations
from reports.analysis.metrics import COMPARABLE_METRICS
from reports.analysis.paired_comparison import (
    DEFAULT_METRICS,
    FailedRun,
    MetricComparison,
    PairedComparison,
    compare_metrics,
    correct_findings,
)
from reports.analysis.statistics import Floats
from scenarios.load import Scenario
from simulator.results.verdict import INCOMPARABLE

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparison:
    """Assignors against a baseline, metric by metric; `print` shows the table that `assignor-sim compare` prints.

    Attributes:
        paired: the differences per scenario, metric and assignor, and the failed runs.
        warnings: reasons to doubt the figures.
    """

    paired: PairedComparison
    warnings: tuple[str, ...]

    @property
    def findings(self) -> tuple[MetricComparison, ...]:
        """One comparison for each scenario, metric and assignor other than the baseline."""
        return self.paired.findings

    def summary(self) -> pd.DataFrame:
        """Return one row for each scenario, metric and assignor: means, difference, 95 % CI, p and verdict."""
        import pandas as pd

        rows = [
            {**asdict(finding), "difference": finding.difference, "verdict": str(finding.verdict)}
            for finding in self.findings
        ]
        return pd.DataFrame(rows)

    def __str__(self) -> str:
        from reports.render.compare import comparison_report
        from reports.render.report_formats import report_text

        return report_text(comparison_report(self.paired))

    def __repr__(self) -> str:
        against = ", ".join(self.paired.assignors)
        return f"<Comparison of {against} with {self.paired.baseline}, {self.paired.seeds} seeds>"

    def _repr_html_(self) -> str:
        """Return the table as HTML, for notebooks."""
        return str(self.summary().to_html())


def compare(
    scenario: Scenario | str | os.PathLike[str] | Iterable[Scenario | str | os.PathLike[str]],
    assignors: Sequence[AssignorLike],
    seeds: int | Iterable[int] = 20,
    *,
    metrics: Sequence[str] = (),
    limits: CallLimits = DEFAULT_LIMITS,
    on_progress: Callable[[str], None] | None = None,
) -> Comparison:
    """Compare assignors with significance tests over seeds; `assignor-sim compare` in Python.

    Runs of the same scenario and seed are paired: they have the same random disturbances. p-values are of the sign-flip
    test, with Holm's correction over all comparisons in which any pair differs.

    Args:
        scenario: one scenario or several: loaded, files, or names of shipped scenarios.
        assignors: two or more, as in `run`; the first is the baseline.
        seeds: the number of seeds (1, 2, …), or the seeds.
        metrics: names of metrics; by default the usual ones.
        limits: limits of custom assignors, as in `run`.
        on_progress: called with a description of each run before it starts.

    Returns:
        The comparison.

    Raises:
        ScenarioError: a scenario is invalid.
        AssignorError: an assignor is unknown, or rejects its parameters.
        ValueError: fewer than two assignors, or an unknown metric.

    Examples:
        >>> import assignor_sim as sim
        >>> small = sim.load("cold_start", overrides=[("duration", "20m")])
        >>> comparison = sim.compare(small, ["high_availability", "sticky"], seeds=2, metrics=["active_moves"])
        >>> [finding.assignor for finding in comparison.findings]
        ['sticky']
    """
    if len(assignors) < 2:
        raise ValueError("compare takes two or more assignors; the first is the baseline")
    unknown = [name for name in metrics if name not in COMPARABLE_METRICS]
    if unknown:
        raise ValueError(f"unknown metric '{unknown[0]}' (metrics: {', '.join(COMPARABLE_METRICS)})")
    names = list(metrics or DEFAULT_METRICS)
    all_seeds = range(1, seeds + 1) if isinstance(seeds, int) else list(seeds)
    scenarios = as_scenarios(scenario)
    findings: list[tuple[MetricComparison, float]] = []
    failures: list[FailedRun] = []
    expectations: list[ExpectationResult] = []
    warnings: dict[str, None] = {}
    labels: tuple[str, ...] = ()
    for loaded in scenarios:
        progress = None if on_progress is None else _prefixed(loaded.name, on_progress)
        result = run(
            loaded,
            assignors,
            all_seeds,
            explain=False,
            keep_traces=False,
            ranges=False,
            limits=limits,
            on_progress=progress,
        )
        labels = result.labels
        warnings |= dict.fromkeys(f"{loaded.name}: {text}" for text in result.warnings)
        rows = result.tables["runs"].to_pylist()
        failures += _failures(rows)
        expectations += check_expectations(rows, loaded.expectations)
        findings += _findings(loaded.name, rows, labels, names)
    paired_comparison = PairedComparison(
        baseline=labels[0],
        assignors=labels[1:],
        scenarios=tuple(loaded.name for loaded in scenarios),
        seeds=len(all_seeds),
        findings=tuple(correct_findings(findings)),
        failures=tuple(failures),
        expectations=tuple(expectations),
    )
    return Comparison(paired_comparison, tuple(warnings))


def _prefixed(scenario: str, on_progress: Callable[[str], None]) -> Callable[[str], None]:
    return lambda text: on_progress(f"{scenario}: {text}")


def _failures(runs: Sequence[Mapping[str, Any]]) -> Iterator[FailedRun]:
    for run_row in runs:
        if run_row["verdict"] in INCOMPARABLE:
            cause = run_row["cause"] or run_row["verdict"]
            yield FailedRun(run_row["scenario"], run_row["assignor"], run_row["seed"], cause)


def _findings(
    scenario: str, runs: Sequence[Mapping[str, Any]], labels: Sequence[str], metrics: Sequence[str]
) -> Iterator[tuple[MetricComparison, float]]:
    """Yield the comparisons of a scenario, with their uncorrected p-values."""
    baseline = _matrix(runs, labels[0], metrics)
    for label in labels[1:]:
        yield from compare_metrics(scenario, label, metrics, _matrix(runs, label, metrics), baseline)


def _matrix(runs: Sequence[Mapping[str, Any]], label: str, metrics: Sequence[str]) -> Floats:
    """Return the metrics of an assignor, shape (seeds, metrics); NaN where a run has no result or lacks the metric."""
    rows = sorted((row for row in runs if row["assignor"] == label), key=lambda row: int(row["seed"]))
    values = [
        [None if row["verdict"] in INCOMPARABLE else COMPARABLE_METRICS[metric].of(row) for metric in metrics]
        for row in rows
    ]
    return np.array(values, dtype=np.float64)
