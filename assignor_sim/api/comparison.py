"""Assignors against each other over scenarios and seeds: what `compare` does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from assignor_sim.api.results import run_scenario
from reports.analysis.metrics import COMPARABLE_METRICS
from reports.analysis.paired_comparison import FailedRun, MetricComparison, PairedComparison
from reports.analysis.statistics import Floats, PairedDifference, holm_correction, paired, sign_flip_p
from scenarios.load import Scenario
from simulator.results.verdict import WITHOUT_ASSIGNMENT

Progress = Callable[[str], None]
"""Told before each run what comes."""

_ROUNDING = 1e-9


def compare_over_seeds(
    scenarios: Sequence[Scenario],
    assignors: Sequence[str],
    seeds: Sequence[int],
    metrics: Sequence[str],
    progress: Progress = lambda _: None,
) -> tuple[PairedComparison, list[str]]:
    """Run every assignor in every scenario with every seed, and compare with the first.

    Runs of the same scenario and seed are paired: they face the same weather. p-values are corrected together, for all
    findings in which anything differs; of the others there is nothing to be found.

    Args:
        scenarios: each with its own name.
        assignors: two or more, as in `compare`.
        seeds: of the runs.
        metrics: names of `TRIAL_METRICS`.
        progress: told before each run what comes.

    Returns:
        The trial, and what its reader should know of the assignors.

    Raises:
        AssignorError: an assignor cannot be found or built.
    """
    findings: list[tuple[MetricComparison, float]] = []
    failures: list[FailedRun] = []
    warnings: dict[str, None] = {}
    for scenario in scenarios:
        comparison = run_scenario(scenario, assignors, seeds, progress=_within(scenario.name, progress))
        warnings |= dict.fromkeys(f"{scenario.name}: {text}" for text in comparison.warnings)
        runs = comparison.tables["runs"].to_pylist()
        failures += _failures(runs)
        findings += _findings(scenario.name, runs, assignors, metrics)
    compare_over_seeds = PairedComparison(
        baseline=assignors[0],
        assignors=tuple(assignors[1:]),
        scenarios=tuple(scenario.name for scenario in scenarios),
        seeds=len(seeds),
        findings=tuple(_corrected(findings)),
        failures=tuple(failures),
    )
    return compare_over_seeds, list(warnings)


def _within(scenario: str, progress: Progress) -> Progress:
    return lambda step: progress(f"{scenario}: {step}")


def _failures(runs: Sequence[Mapping[str, Any]]) -> Iterator[FailedRun]:
    for run in runs:
        if run["verdict"] in WITHOUT_ASSIGNMENT:
            yield FailedRun(run["scenario"], run["assignor"], run["seed"], run["cause"] or run["verdict"])


def _findings(
    scenario: str, runs: Sequence[Mapping[str, Any]], assignors: Sequence[str], metrics: Sequence[str]
) -> Iterator[tuple[MetricComparison, float]]:
    """The findings of a scenario, with p-values that are not yet corrected."""
    baseline = _matrix(runs, assignors[0], metrics)
    for assignor in assignors[1:]:
        values = _matrix(runs, assignor, metrics)
        for column, (metric, pair) in enumerate(
            zip(metrics, paired(values, baseline, scenario, assignor), strict=True)
        ):
            yield _finding((scenario, metric, assignor), values[:, column], baseline[:, column], pair)


def _finding(
    key: tuple[str, str, str], values: Floats, baseline: Floats, pair: PairedDifference
) -> tuple[MetricComparison, float]:
    known = ~np.isnan(values - baseline)
    differences = np.where(np.isclose(values, baseline, rtol=_ROUNDING, atol=0.0), 0.0, values - baseline)[known]
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


def _matrix(runs: Sequence[Mapping[str, Any]], assignor: str, metrics: Sequence[str]) -> Floats:
    """Shape (seeds, metrics); NaN where a run has no result or not the metric."""
    rows = sorted((run for run in runs if run["assignor"] == assignor), key=lambda run: run["seed"])
    values = [
        [None if run["verdict"] in WITHOUT_ASSIGNMENT else COMPARABLE_METRICS[metric].of(run) for metric in metrics]
        for run in rows
    ]
    return np.array(values, dtype=np.float64)


def _corrected(findings: Sequence[tuple[MetricComparison, float]]) -> Iterator[MetricComparison]:
    p_values = iter(holm_correction([p for finding, p in findings if finding.differing]))
    for finding, _ in findings:
        yield replace(finding, p=next(p_values)) if finding.differing else finding
