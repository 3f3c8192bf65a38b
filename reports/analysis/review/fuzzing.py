"""What fuzzing yields: violations with their smallest scenarios, the worst scenario, and how much was tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from reports.analysis.metrics import COMPARABLE_METRICS
from reports.analysis.review.outcomes import AssignorOutcome, OptimumGap
from reports.analysis.text import printable
from simulator.plurals import counted

COST: Final = "cost_above_bound"
"""The objective whose lower bound is raised to the proven optimum."""


@dataclass(frozen=True, slots=True)
class ScenarioSize:
    """The size of a scenario."""

    clients: int
    tasks: int
    events: int

    def __str__(self) -> str:
        """Return the size, such as `2 clients, 1 task, 0 events`."""
        sizes = ((self.clients, "client"), (self.tasks, "task"), (self.events, "event"))
        return ", ".join(counted(number, noun) for number, noun in sizes)


@dataclass(frozen=True, slots=True)
class FoundViolation:
    """A scenario in which the assignor violates an invariant.

    Attributes:
        invariant: key of the invariant.
        message: what the assignor did.
        case: number of the case in which it was found; 0 for one that was in the corpus before.
        seed: seed of the run.
        size: size of the smallest scenario; None if the violation did not recur when the case was run again.
        file: file name in the corpus; None if it was not stored.
        is_new: whether it was found now; else it was replayed from the corpus.
    """

    invariant: str
    message: str
    case: int
    seed: int
    size: ScenarioSize | None
    file: str | None
    is_new: bool


@dataclass(frozen=True, slots=True)
class WorstCase:
    """The scenario with the highest value of the objective.

    Attributes:
        metric: key of the objective.
        value: its value; for `cost_above_bound`, above the optimum if that is proven.
        gap: the cost and the optimum; None for other objectives, or if racks are unknown.
        case: number of the case in which it was found.
        seed: seed of the run.
        size: size of the smallest scenario with the same value.
        file: file name in the corpus; None if it was not stored.
    """

    metric: str
    value: float
    gap: OptimumGap | None
    case: int
    seed: int
    size: ScenarioSize
    file: str | None


@dataclass(frozen=True, slots=True)
class FuzzReport:
    """The result of fuzzing.

    Attributes:
        assignor: label of the assignor.
        seed: seed of the search.
        cases: number of cases that were run now.
        all_cases: number of cases that were ever run for the corpus.
        inputs: number of kept inputs.
        features: number of features that the inputs cover.
        states: number of states on which invariants were checked now.
        proven: number of cases with a known cost in which the optimum is proven.
        costs: number of cases with a known cost.
        violations: the violations: those of the corpus that persist, then the new ones.
        mended: files of the corpus whose invariant holds now.
        worst: the worst case; None if no case has a value above 0.
        objective: key of the objective.
    """

    assignor: str
    seed: int
    cases: int
    all_cases: int
    inputs: int
    features: int
    states: int
    proven: int
    costs: int
    violations: tuple[FoundViolation, ...]
    mended: tuple[str, ...]
    worst: WorstCase | None
    objective: str

    @property
    def conclusion(self) -> str:
        """The result in one sentence."""
        cases = counted(self.cases, "case")
        if not self.violations:
            return f"No violation in {cases} ({self.states:,} states)."
        broken = ", ".join(dict.fromkeys(one.invariant for one in self.violations))
        before = sum(not one.is_new for one in self.violations)
        known = f" ({before} of the corpus)" if before else ""
        return f"{counted(len(self.violations), 'violation')}{known} after {cases}: {broken}."


def objective_value(outcome: AssignorOutcome, metric: str) -> float | None:
    """Return the value of the objective in a run; None if it is unknown."""
    if metric == COST:
        return None if outcome.gap is None else float(outcome.gap.above)
    return outcome.metrics.get(metric)


def worst_text(worst: WorstCase) -> str:
    """Return the worst case in words, with what its optimum is."""
    metric = COMPARABLE_METRICS[worst.metric]
    gap = worst.gap
    if gap is None:
        return f"{metric.title}: {metric.write(worst.value)}"
    percent = f" (+{100 * gap.above / gap.bound:,.0f} %)" if gap.bound else ""
    kind = "the proven optimum" if gap.is_proven else "a lower bound; the optimum is not proven"
    return f"KIP-925 cost {gap.cost:,}, {gap.above:,} above {gap.bound:,}{percent}, {kind}"


def fuzz_record(report: FuzzReport) -> dict[str, Any]:
    """Return the report as a record for JSON."""
    record = asdict(report)
    record["conclusion"] = report.conclusion
    if report.worst is not None:
        record["worst"]["text"] = worst_text(report.worst)
    return record


def violation_records(violations: Sequence[FoundViolation]) -> list[dict[str, Any]]:
    """Return one flat record for each violation."""
    return [
        {
            "invariant": one.invariant,
            "found": "now" if one.is_new else "before",
            "case": one.case or None,
            "seed": one.seed,
            "clients": one.size.clients if one.size else None,
            "tasks": one.size.tasks if one.size else None,
            "events": one.size.events if one.size else None,
            "file": one.file,
            "message": printable(one.message),
        }
        for one in violations
    ]
