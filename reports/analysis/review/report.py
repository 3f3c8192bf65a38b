"""The result of a review: violations of invariants, paired statistics of each family of cases, and records for JSON.

Pairs are the scenarios of a family: of a scenario that is run with several seeds, the mean counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from statistics import median
from typing import Any, Final

import numpy as np

from reports.analysis.metrics import COMPARABLE_METRICS
from reports.analysis.paired_comparison import (
    DEFAULT_METRICS,
    ComparisonVerdict,
    MetricComparison,
    compare_metrics,
    correct_findings,
    signed_differences,
)
from reports.analysis.review.outcomes import (
    FAILURES,
    INVARIANTS,
    AssignorOutcome,
    CaseOutcome,
    ShrunkScenario,
)
from reports.analysis.review.sequences import SequenceComparison
from reports.analysis.review.timing import TimedSize
from reports.analysis.statistics import Floats, smallest_p
from simulator.plurals import counted

REVIEW_METRICS: Final = (
    *DEFAULT_METRICS[:2],
    "cost_above_bound",
    *DEFAULT_METRICS[2:],
    "worst_rack_loss",
    "leader_compute_ms",
)
"""Metrics that a review compares by default."""

SIDES: Final = ("base", "head")


_MAX_NAMES: Final = 3
"""Metrics, and families of each, that the conclusion names."""
_SIGNIFICANT: Final = {"better": ComparisonVerdict.BETTER, "worse": ComparisonVerdict.WORSE}


@dataclass(frozen=True, slots=True)
class FamilyFinding:
    """One metric in one family.

    Attributes:
        comparison: the paired comparison; its `scenario` is the family.
        wins: number of scenarios in which the assignor under review is lower, so better.
        losses: number in which it is higher.
    """

    comparison: MetricComparison
    wins: int
    losses: int

    @property
    def ties(self) -> int:
        """Number of scenarios with equal values."""
        return self.comparison.pairs - self.wins - self.losses

    @property
    def verdict(self) -> ComparisonVerdict:
        """The verdict of the comparison."""
        return self.comparison.verdict


@dataclass(frozen=True, slots=True)
class FamilyGap:
    """The gap to the optimum of one assignor in a family; the optimum is that of assignments as balanced as its own.

    Attributes:
        cases: number of cases with a known cost.
        proven: number of cases in which the bound is the proven optimum; in the others, it is a lower bound.
        optimal: number of cases in which the assignment costs no more than the bound.
        above: cost above the bound, mean over the cases.
        worst: the highest cost above the bound.
    """

    cases: int
    proven: int
    optimal: int
    above: float
    worst: int

    @classmethod
    def of(cls, outcomes: Sequence[AssignorOutcome]) -> FamilyGap | None:
        """Summarize the gaps of outcomes; None if no cost is known."""
        gaps = [outcome.gap for outcome in outcomes if outcome.gap is not None]
        if not gaps:
            return None
        return cls(
            cases=len(gaps),
            proven=sum(gap.is_proven for gap in gaps),
            optimal=sum(gap.is_optimal for gap in gaps),
            above=sum(gap.above for gap in gaps) / len(gaps),
            worst=max(gap.above for gap in gaps),
        )


@dataclass(frozen=True, slots=True)
class FamilyReport:
    """The results of a family.

    Attributes:
        description: what its scenarios have in common.
        scenarios: number of scenarios, the pairs.
        cases: number of runs of each assignor.
        findings: one for each metric.
        gaps: the gaps to the optimum of the baseline and of the assignor under review; None if no cost is known.
    """

    name: str
    description: str
    scenarios: int
    cases: int
    findings: tuple[FamilyFinding, ...]
    gaps: tuple[FamilyGap | None, FamilyGap | None] = (None, None)


@dataclass(frozen=True, slots=True)
class InvariantCount:
    """How often an invariant was violated.

    Attributes:
        invariant: its key.
        base: number of cases in which the baseline violates it.
        head: number of cases in which the assignor under review violates it.
        only_head: number of cases in which only the latter does.
        example: what it did in the first such case, or else what the baseline did; empty without violations.
    """

    invariant: str
    base: int
    head: int
    only_head: int
    example: str = ""
    case: str = ""

    @property
    def is_failure(self) -> bool:
        """Whether the assignor under review failed: its runs say nothing, or not for these states."""
        return self.head > 0 and self.invariant in FAILURES

    @property
    def is_regression(self) -> bool:
        """Whether the assignor under review violates it where the baseline does not."""
        return self.only_head > 0


@dataclass(frozen=True, slots=True)
class ReviewReport:
    """The report of a review.

    Attributes:
        base: label of the baseline.
        head: label of the assignor under review.
        suite: name and version of the suite, or of the user's scenarios.
        seed: seed of the suite.
        states: number of states of the assignor under review on which its invariants were checked.
        families: the families in the order of the suite.
        skipped: cases that do not exist with the configs of an assignor, as pairs (case, reason).
        shrunk: the smallest scenarios with violations.
        sequences: both assignors in sequences of rebalances; None if they were not run.
        tests: JUnit tests of the smallest sequences, as pairs of a file name and its text.
        timing: both assignors at several sizes; empty if they were not timed. They differ from run to run.
        untimed: why they could not be timed; else empty.
    """

    base: str
    head: str
    suite: str
    seed: int
    cases: int
    states: int
    invariants: tuple[InvariantCount, ...]
    families: tuple[FamilyReport, ...]
    skipped: tuple[tuple[str, str], ...]
    shrunk: tuple[ShrunkScenario, ...] = ()
    sequences: SequenceComparison | None = None
    tests: tuple[tuple[str, str], ...] = ()
    timing: tuple[TimedSize, ...] = ()
    untimed: str = ""

    @property
    def findings(self) -> list[FamilyFinding]:
        """The findings of all families."""
        return [finding for family in self.families for finding in family.findings]

    @property
    def is_decidable(self) -> bool:
        """Whether there are enough scenarios for any difference to be significant."""
        differing = [f.comparison.differing for f in self.findings if f.comparison.differing]
        return not differing or len(differing) * smallest_p(max(differing)) < 0.05

    @property
    def failed(self) -> list[InvariantCount]:
        """The invariants whose violations are failures."""
        return [count for count in self.invariants if count.is_failure]

    @property
    def regressions(self) -> list[InvariantCount]:
        """The invariants that only the assignor under review violates in some case."""
        return [count for count in self.invariants if count.is_regression]

    def of(self, verdict: ComparisonVerdict) -> list[FamilyFinding]:
        """Return the findings with a verdict."""
        return [finding for finding in self.findings if finding.verdict is verdict]

    @property
    def conclusion(self) -> str:
        """The result in one or two sentences."""
        broken = ", ".join(f"{count.invariant} ({count.head})" for count in self.invariants if count.head)
        first = (
            f"Violates {broken}, by number of cases."
            if broken
            else f"No violation of {len(self.invariants)} invariants on {self.states:,} states."
        )
        if self.sequences is not None:
            first += f" {self.sequences.conclusion}"
        if not any(finding.comparison.differing for finding in self.findings):
            return f"{first} Equal to the baseline in every metric of every case."
        named = {word: self.of(verdict) for word, verdict in _SIGNIFICANT.items()}
        compared = f"{first} Of {len(self.findings)} comparisons (family × metric),"
        if not any(named.values()):
            return f"{compared} none is significantly better or worse."
        lists = [f"{word.capitalize()}: {_metrics_and_families(found)}" for word, found in named.items() if found]
        better, worse = map(len, named.values())
        counts = f"{counted(better, 'is', 'are')} significantly better and {worse} worse"
        return f"{compared} {counts}. {' '.join(f'{text}.' for text in lists)}"


def _metrics_and_families(findings: Sequence[FamilyFinding]) -> str:
    """Return the metrics with most findings and their families, as in `Restored state in join, roll`."""
    families: dict[str, list[str]] = {}
    for finding in findings:
        families.setdefault(finding.comparison.metric, []).append(finding.comparison.scenario)
    ranked = sorted(families.items(), key=lambda item: -len(item[1]))
    texts = []
    for metric, names in ranked[:_MAX_NAMES]:
        where = ", ".join(names) if len(names) <= _MAX_NAMES else f"{len(names)} families"
        texts.append(f"{COMPARABLE_METRICS[metric].title} in {where}")
    more = len(ranked) - _MAX_NAMES
    return "; ".join(texts) + (f"; and {counted(more, 'more metric')}" if more > 0 else "")


def build_report(
    outcomes: Sequence[CaseOutcome],
    labels: tuple[str, str],
    metrics: Sequence[str],
    descriptions: dict[str, str],
    suite: str,
    seed: int,
    shrunk: Sequence[ShrunkScenario] = (),
) -> ReviewReport:
    """Build the report of a review.

    `outcomes`: the outcomes in the order of the suite; `labels`: of the baseline, and of the assignor under review;
    `descriptions`: what the cases of each family have in common; `suite`: name and version of the suite; `shrunk`: the
    smallest scenarios with violations. Returns the report; it depends on the outcomes only, and not on measured times.
    """
    run = [outcome for outcome in outcomes if outcome.skipped is None]
    raw = [(name, list(group)) for name, group in groupby(run, key=lambda outcome: outcome.family)]
    by_family = [(name, _pairs(group, metrics), len(group)) for name, group in raw]
    compared = [
        item for name, (_, base, head), _ in by_family for item in compare_metrics(name, labels[1], metrics, head, base)
    ]
    corrected = iter(list(correct_findings(compared)))
    families = []
    for name, (scenarios, base, head), cases in by_family:
        difference = signed_differences(head, base)
        findings = tuple(
            FamilyFinding(next(corrected), int((difference[:, c] < 0).sum()), int((difference[:, c] > 0).sum()))
            for c in range(len(metrics))
        )
        gaps = _gaps(next(group for raw_name, group in raw if raw_name == name))
        families.append(FamilyReport(name, descriptions.get(name, ""), scenarios, cases, findings, gaps))
    return ReviewReport(
        base=labels[0],
        head=labels[1],
        suite=suite,
        seed=seed,
        cases=len(outcomes),
        states=sum(outcome.head.checked_states for outcome in run if outcome.head),
        invariants=tuple(_count(invariant, run) for invariant in INVARIANTS),
        families=tuple(families),
        skipped=tuple((outcome.case, outcome.skipped) for outcome in outcomes if outcome.skipped is not None),
        shrunk=tuple(shrunk),
    )


def _gaps(outcomes: Sequence[CaseOutcome]) -> tuple[FamilyGap | None, FamilyGap | None]:
    """Return the gaps to the optimum of both assignors, in the cases in which the costs of both are known."""
    both = [(one.base, one.head) for one in outcomes if one.base and one.base.gap and one.head and one.head.gap]
    return FamilyGap.of([base for base, _ in both]), FamilyGap.of([head for _, head in both])


def scenario_of(case: str) -> str:
    """Return the scenario of a case without its seed."""
    return case.partition(",")[0]


def _pairs(outcomes: Sequence[CaseOutcome], metrics: Sequence[str]) -> tuple[int, Floats, Floats]:
    """Return the number of scenarios, and the metrics of both assignors, shape (scenarios, metrics)."""
    sides: tuple[list[Floats], list[Floats]] = ([], [])
    for _, group in groupby(outcomes, key=lambda outcome: scenario_of(outcome.case)):
        cases = list(group)
        base, head = (
            np.array([_row(getattr(case, side), metrics) for case in cases], dtype=np.float64) for side in SIDES
        )
        # A seed counts if both assignors have a value with it.
        known = ~np.isnan(base - head)
        for rows, values in zip(sides, (base, head), strict=True):
            sums = np.where(known, values, 0.0).sum(axis=0)
            rows.append(np.where(known.any(axis=0), sums / np.maximum(known.sum(axis=0), 1), np.nan))
    return len(sides[0]), np.array(sides[0]), np.array(sides[1])


def _row(outcome: AssignorOutcome | None, metrics: Sequence[str]) -> list[float]:
    known = {} if outcome is None else outcome.metrics
    return [known.get(metric, np.nan) for metric in metrics]


def _count(invariant: str, outcomes: Sequence[CaseOutcome]) -> InvariantCount:
    by_side = {
        side: [case for case in outcomes if (o := getattr(case, side)) is not None and o.violates(invariant)]
        for side in SIDES
    }
    only_head = [case for case in by_side["head"] if case.base is None or not case.base.violates(invariant)]
    shown = (only_head or by_side["head"] or by_side["base"])[:1]
    example = ""
    for case in shown:
        outcome = case.head if case in by_side["head"] else case.base
        assert outcome is not None
        example = next(one.message for one in outcome.violations if one.invariant == invariant)
    return InvariantCount(
        invariant,
        len(by_side["base"]),
        len(by_side["head"]),
        len(only_head),
        example,
        shown[0].case if shown else "",
    )


def report_record(report: ReviewReport) -> dict[str, Any]:
    """Return the report as a record for JSON."""
    record = asdict(report)
    record["conclusion"] = report.conclusion
    record["families"] = [
        {
            "name": family.name,
            "description": family.description,
            "scenarios": family.scenarios,
            "cases": family.cases,
            "findings": [_finding_record(finding) for finding in family.findings],
            "gap_to_optimum": {
                side: None if gap is None else asdict(gap) for side, gap in zip(SIDES, family.gaps, strict=True)
            },
        }
        for family in report.families
    ]
    record["tests"] = [name for name, _ in report.tests]
    for key in ("timing", "untimed"):
        if not record[key]:
            del record[key]
    for smallest in record["sequences"]["smallest"] if report.sequences else ():
        del smallest["problems"]
    record["skipped"] = [{"case": case, "reason": reason} for case, reason in report.skipped]
    return record


def _finding_record(finding: FamilyFinding) -> dict[str, Any]:
    values = {key: value for key, value in asdict(finding.comparison).items() if key not in ("scenario", "assignor")}
    return {
        **values,
        "difference": finding.comparison.difference,
        "wins": finding.wins,
        "losses": finding.losses,
        "ties": finding.ties,
        "verdict": finding.verdict,
    }


def timing_records(outcomes: Sequence[CaseOutcome]) -> list[dict[str, Any]]:
    """Return the measured compute times by family: number of calls and medians, in ms; they differ from run to run."""
    return list(_timings(outcomes))


def _timings(outcomes: Sequence[CaseOutcome]) -> Iterator[dict[str, Any]]:
    for family, group in groupby(outcomes, key=lambda outcome: outcome.family):
        cases = list(group)
        nanos = {
            side: [n for case in cases if (o := getattr(case, side)) is not None for n in o.nanos] for side in SIDES
        }
        if all(nanos.values()):
            medians = {f"{side}_ms": round(median(values) / 1e6, 3) for side, values in nanos.items()}
            yield {"family": family, "calls": len(nanos["head"]), **medians}
