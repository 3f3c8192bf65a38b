"""Run a review: all cases in parallel, then the smallest scenario for each violated invariant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assignors.errors import CustomAssignorError
from pipeline.review.case_runs import Reviewed
from pipeline.review.process_pool import ProcessPool, process_pool, run_cases
from reports.analysis.review.outcomes import INVARIANTS, CaseOutcome, ShrunkScenario
from scenarios.suite.documents import Document
from scenarios.suite.standard import SuiteCase

_TRIED_CASES = 3
"""Cases that are tried until one violates an invariant also when it is run alone."""


@dataclass(frozen=True, slots=True)
class ReviewRuns:
    """The runs of a review.

    Attributes:
        outcomes: the outcomes of the cases, in order.
        shrunk: the smallest scenario found for each invariant that the assignor under review violates.
    """

    outcomes: tuple[CaseOutcome, ...]
    shrunk: tuple[ShrunkScenario, ...]


def run_review(
    cases: Sequence[SuiteCase],
    base: Reviewed,
    head: Reviewed,
    metrics: Sequence[str],
    *,
    workers: int | None = None,
    on_progress: Callable[[str], None] = lambda text: None,
) -> ReviewRuns:
    """Run both assignors in all cases, and shrink the violations of the one under review.

    Args:
        cases: the cases.
        base: the baseline.
        head: the assignor under review.
        metrics: keys of the metrics to keep.
        workers: number of processes; by default one for each CPU. The results do not depend on it.
        on_progress: called with a description of the progress.

    Returns:
        The outcomes and the shrunk scenarios.

    Raises:
        ReviewError: a case failed for a reason other than its assignors.
    """
    with process_pool(workers) as pool:
        outcomes = run_cases(pool, cases, base, head, metrics, on_progress)
        violated = [one for one in INVARIANTS if any(o.head and o.head.violates(one) for o in outcomes)]

        def shrink_one(invariant: str) -> ShrunkScenario | None:
            return _shrink(pool, _candidates(cases, outcomes, invariant), head, invariant)

        on_progress(f"shrinking {len(violated)} violations" if violated else "comparing")
        found = sorted(pool.map(shrink_one, violated), key=lambda pair: pair[0])
    return ReviewRuns(tuple(outcomes), tuple(shrunk for _, shrunk in found if shrunk is not None))


def _candidates(cases: Sequence[SuiteCase], outcomes: Sequence[CaseOutcome], invariant: str) -> list[SuiteCase]:
    """Return the cases to shrink: those in which only the assignor under review errs, the smallest ones first."""
    found = [
        (bool(outcome.base and outcome.base.violates(invariant)), _size(case.document), number, case)
        for number, (case, outcome) in enumerate(zip(cases, outcomes, strict=True))
        if case.document is not None and outcome.head is not None and outcome.head.violates(invariant)
    ]
    return [case for *_, case in sorted(found, key=lambda one: one[:3])[:_TRIED_CASES]]


def _size(document: Document) -> int:
    """Return a rough size of a scenario: its number of clients, which are what takes longest to remove."""
    clients = document.get("clients")
    return sum(int(client.get("count") or 1) for client in clients) if isinstance(clients, list) else 0


def _shrink(pool: ProcessPool, cases: Sequence[SuiteCase], head: Reviewed, invariant: str) -> ShrunkScenario | None:
    for case in cases:
        try:
            shrunk: ShrunkScenario | None = pool.ask("shrink", case, head, invariant)
        except CustomAssignorError:
            continue  # It ended its process, which names the case already.
        if shrunk is not None:
            return shrunk
    return None
