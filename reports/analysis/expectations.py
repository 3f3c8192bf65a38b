"""Check the expectations of a scenario on the table `runs`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from reports.analysis.metrics import ALL_METRICS, Metric, Run
from reports.analysis.text import printable
from simulator.results.run_metrics import Expectation


@dataclass(frozen=True, slots=True)
class UnmetRun:
    """A run that does not meet an expectation.

    Attributes:
        seed: seed of the run.
        found: value of the metric; None if it is unknown.
        limit: the limit in the unit of the metric; None if it is relative to an unknown value.
        verdict: how the run ended.
    """

    seed: int
    found: float | None
    limit: float | None
    verdict: str


@dataclass(frozen=True, slots=True)
class ExpectationResult:
    """An expectation, checked for one assignor.

    Attributes:
        assignor: label of the assignor; empty if the expectation could not be checked for any.
        runs: number of checked runs; 0 if it could not be checked.
        unmet: the runs that do not meet it, in the order of the seeds.
    """

    expectation: Expectation
    assignor: str
    runs: int
    unmet: tuple[UnmetRun, ...]

    @property
    def is_met(self) -> bool:
        """Whether it was checked, and every run meets it."""
        return bool(self.runs) and not self.unmet

    def __str__(self) -> str:
        """Return the place, what was expected and what was found."""
        expectation, condition = self.expectation, self.expectation.condition
        if not self.runs:
            needed = expectation.assignor or "another assignor"
            if condition.is_relative:
                needed = f"{expectation.against} and of {needed}"
            return f"{expectation.place}: {condition.text}: not checked, as it needs runs of {printable(needed)}"
        expected = f"expected {condition.text}"
        if not self.unmet:
            return f"{expectation.place}: {printable(self.assignor)}: {expected}, as found"
        metric = ALL_METRICS[expectation.metric]
        worst = max(self.unmet, key=_excess)
        if condition.is_relative:
            limit = "unknown" if worst.limit is None else f"{condition.comparison} {metric.write(worst.limit)}"
            expected += f" of {printable(expectation.against)}, that is {limit}"
        which = f"seed {worst.seed}"
        if self.runs > 1:
            which += f"; {len(self.unmet)} of {self.runs} runs"
        return f"{expectation.place}: {printable(self.assignor)}: {expected}; found {_found(worst, metric)} ({which})"


@dataclass(frozen=True, slots=True)
class SettingCount:
    """In how many settings of a sweep an assignor meets an expectation.

    Attributes:
        assignor: label of the assignor; empty if the expectation could not be checked for any.
        settings: number of settings in which it was checked.
        met: number of settings in which every run meets it.
    """

    expectation: Expectation
    assignor: str
    settings: int
    met: int

    def __str__(self) -> str:
        """Return the place, what was expected, and the number of settings."""
        condition, against = self.expectation.condition, self.expectation.against
        of = f" of {printable(against)}" if condition.is_relative else ""
        if not self.settings:
            return f"{self.expectation.place}: {condition.text}{of}: not checked, as it needs runs of both assignors"
        return (
            f"{self.expectation.place}: {printable(self.assignor)}: expected {condition.text}{of}; "
            f"met in {self.met:,} of {self.settings:,} settings"
        )

    def record(self) -> dict[str, Any]:
        """Return the count as JSON."""
        return {
            "place": self.expectation.place,
            "metric": self.expectation.metric,
            "assignor": self.assignor or None,
            "expected": self.expectation.condition.text,
            "against": self.expectation.against if self.expectation.condition.is_relative else None,
            "settings": self.settings,
            "met": self.met,
        }


def count_settings(runs: Iterable[Run], expectations: Sequence[Expectation]) -> list[SettingCount]:
    """Check expectations in every setting of a sweep.

    `runs`: rows of the table `runs` of a sweep, sorted by `setting`; `expectations`: what the scenario expects. Returns
    one count per expectation and assignor, in the order of expectations and runs.
    """
    met: dict[tuple[Expectation, str], int] = {}
    settings: dict[tuple[Expectation, str], int] = {}
    for _, rows in groupby(runs, key=lambda run: run["setting"]):
        for result in check_expectations(rows, expectations):
            key = result.expectation, result.assignor
            met[key] = met.get(key, 0) + result.is_met
            settings[key] = settings.get(key, 0) + bool(result.runs)
    order = {expectation: number for number, expectation in enumerate(expectations)}
    return [
        SettingCount(*key, settings=settings[key], met=met[key]) for key in sorted(met, key=lambda key: order[key[0]])
    ]


def check_expectations(runs: Iterable[Run], expectations: Sequence[Expectation]) -> list[ExpectationResult]:
    """Check expectations.

    `runs`: rows of the table `runs` of one scenario; `expectations`: what the scenario expects. Returns one result per
    expectation and assignor that it holds for, in the order of expectations and runs; one without an assignor for an
    expectation that could not be checked.
    """
    by_assignor: dict[str, dict[int, Run]] = {}
    for run in runs:
        by_assignor.setdefault(run["assignor"], {})[run["seed"]] = run
    return [result for expectation in expectations for result in _results(expectation, by_assignor)]


def summarize(results: Sequence[ExpectationResult]) -> str:
    """Return how many expectations are met, such as `3 met, 1 not met`; each counts once per assignor."""
    counts = {
        "met": sum(result.is_met for result in results),
        "not met": sum(bool(result.unmet) for result in results),
        "not checked": sum(not result.runs for result in results),
    }
    return ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)


def records(results: Iterable[ExpectationResult]) -> list[dict[str, Any]]:
    """Return results as JSON: one record per expectation and assignor, with the runs that do not meet it."""
    return [
        {
            "place": result.expectation.place,
            "metric": result.expectation.metric,
            "assignor": result.assignor or None,
            "expected": result.expectation.condition.text,
            "against": result.expectation.against if result.expectation.condition.is_relative else None,
            "runs": result.runs,
            "met": result.is_met if result.runs else None,
            "unmet": [{"seed": run.seed, "found": run.found, "limit": run.limit} for run in result.unmet],
            "text": str(result),
        }
        for result in results
    ]


def _results(expectation: Expectation, runs: Mapping[str, Mapping[int, Run]]) -> Iterator[ExpectationResult]:
    condition, metric = expectation.condition, ALL_METRICS[expectation.metric]
    references = runs.get(expectation.against, {})
    labels = [label for label in runs if expectation.applies_to(label)]
    if not labels or (condition.is_relative and not references):
        yield ExpectationResult(expectation, "", 0, ())
        return
    for label in labels:
        unmet = []
        for seed, run in runs[label].items():
            found = metric.of(run)
            limit = condition.limit_for(metric.of(references[seed]) if condition.is_relative else None)
            if not condition.is_met(found, limit):
                unmet.append(UnmetRun(seed, found, limit, run["verdict"]))
        yield ExpectationResult(expectation, label, len(runs[label]), tuple(unmet))


def _excess(run: UnmetRun) -> float:
    """Return by how much a run misses its limit; more than any number if its value or limit is unknown."""
    return float("inf") if run.found is None or run.limit is None else abs(run.found - run.limit)


def _found(run: UnmetRun, metric: Metric) -> str:
    if run.found is None:
        return f"no value, as the run ended {run.verdict}"
    text = metric.write(run.found)
    if run.limit is None:
        return text
    # Three significant digits may hide the difference.
    if text == metric.write(run.limit):
        return f"{text} ({run.found:,.10g}, limit {run.limit:,.10g})"
    if not run.limit:
        return text
    excess = 100 * (run.found - run.limit) / run.limit
    if abs(excess) >= 1000:
        return text
    return f"{text}, {abs(excess):.3g} % {'above' if excess > 0 else 'below'} the limit"
