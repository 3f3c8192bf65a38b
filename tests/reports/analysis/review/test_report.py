"""The report of a review: wins, losses, verdicts and violations."""

from __future__ import annotations

import numpy as np
import pytest

from assignors.contract import Invariant
from reports.analysis.paired_comparison import ComparisonVerdict
from reports.analysis.review.outcomes import INVARIANTS, AssignorOutcome, CaseOutcome, InvariantViolation, OptimumGap
from reports.analysis.review.report import ReviewReport, build_report, report_record

METRICS = ["active_moves", "load_skew"]


def a_report(
    difference: float, *, base: tuple[str, ...] = (), head: tuple[str, ...] = (), cases: int = 12
) -> ReviewReport:
    rng = np.random.default_rng(1)
    outcomes = []
    for number in range(cases):
        moves = float(rng.integers(5, 50))
        outcomes.append(
            CaseOutcome(
                "join",
                f"join-{number}",
                number,
                AssignorOutcome({"active_moves": moves, "load_skew": 1.0}, None, _violations(base), 3),
                AssignorOutcome(
                    {"active_moves": moves + difference * (1 + number % 3), "load_skew": 1.0},
                    None,
                    _violations(head),
                    3,
                ),
            )
        )
    return build_report(outcomes, ("a", "b"), METRICS, {"join": "Clients join."}, "standard 1", 1)


def _violations(invariants: tuple[str, ...]) -> tuple[InvariantViolation, ...]:
    return tuple(InvariantViolation(name, f"did {name}") for name in invariants)


def test_invariants_are_those_of_assignors() -> None:
    assert list(INVARIANTS) == [str(invariant) for invariant in Invariant]


def test_equal_assignors_have_no_win_and_no_loss() -> None:
    report = a_report(0.0)
    assert all((finding.wins, finding.losses, finding.ties) == (0, 0, 12) for finding in report.findings)
    assert {finding.verdict for finding in report.findings} == {ComparisonVerdict.EQUAL}
    assert "Equal to the baseline" in report.conclusion


def test_an_assignor_that_always_moves_more_is_worse_and_the_opposite_better() -> None:
    for difference, verdict in ((2.0, ComparisonVerdict.WORSE), (-2.0, ComparisonVerdict.BETTER)):
        moves, skew = a_report(difference).findings
        assert moves.verdict is verdict
        assert (moves.wins, moves.losses) == ((0, 12) if difference > 0 else (12, 0))
        assert moves.comparison.low is not None
        assert moves.comparison.high is not None
        assert moves.comparison.low < moves.comparison.difference < moves.comparison.high
        assert skew.verdict is ComparisonVerdict.EQUAL


@pytest.mark.parametrize(
    ("difference", "end"),
    [
        (
            2.0,
            "0 are significantly better and 1 worse. Worse: Active task moves in join.",
        ),
        (
            -2.0,
            "1 is significantly better and 0 worse. Better: Active task moves in join.",
        ),
    ],
)
def test_the_conclusion_names_what_is_better_and_worse(difference: float, end: str) -> None:
    assert a_report(difference).conclusion.endswith(end)


def test_swapped_assignors_have_opposite_results() -> None:
    forward, backward = a_report(3.0).findings[0], a_report(-3.0).findings[0]
    assert forward.comparison.difference == -backward.comparison.difference
    assert (forward.wins, forward.losses) == (backward.losses, backward.wins)


def test_few_scenarios_decide_nothing() -> None:
    report = a_report(2.0, cases=4)
    assert report.findings[0].verdict is ComparisonVerdict.UNDECIDED
    assert not report.is_decidable


def test_only_what_the_baseline_does_not_violate_is_a_regression() -> None:
    both = a_report(0.0, base=("idempotent",), head=("idempotent", "complete"))
    assert [count.invariant for count in both.regressions] == ["complete"]
    assert both.failed == []
    assert [count.invariant for count in a_report(0.0, head=("valid",)).failed] == ["valid"]
    [idempotent] = [count for count in both.invariants if count.invariant == "idempotent"]
    assert (idempotent.base, idempotent.head, idempotent.only_head) == (12, 12, 0)


def test_seeds_of_one_scenario_are_one_pair() -> None:
    outcomes = [
        CaseOutcome("p", f"p-1, seed {seed}", seed, AssignorOutcome({"active_moves": 1.0}), AssignorOutcome(moves))
        for seed, moves in enumerate(({"active_moves": 2.0}, {"active_moves": 4.0}, {}))
    ]
    report = build_report(outcomes, ("a", "b"), ["active_moves"], {}, "s", 1)
    [finding] = report.findings
    assert (finding.comparison.pairs, finding.comparison.mean) == (1, 3.0)
    assert report_record(report)["families"][0]["findings"][0]["losses"] == 1


def test_gaps_count_where_the_costs_of_both_are_known() -> None:
    gaps = [
        (None, OptimumGap(9, 1, True)),
        (OptimumGap(5, 3, True), OptimumGap(4, 4, False)),
        (OptimumGap(3, 3, True),) * 2,
    ]
    outcomes = [
        CaseOutcome("join", f"join-{n}", n, *(AssignorOutcome({"load_skew": 1.0}, gap=gap) for gap in pair))
        for n, pair in enumerate(gaps)
    ]
    report = build_report(outcomes, ("a", "b"), METRICS, {}, "standard 1", 1)
    [record] = report_record(report)["families"]
    assert record["gap_to_optimum"] == {
        "base": {"cases": 2, "proven": 2, "optimal": 1, "above": 1.0, "worst": 2},
        "head": {"cases": 2, "proven": 1, "optimal": 2, "above": 0.0, "worst": 0},
    }
