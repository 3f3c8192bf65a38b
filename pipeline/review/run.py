"""Run a review: all cases in parallel, then the smallest scenario for each violated invariant."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from assignors.errors import CustomAssignorError
from pipeline.review.process_pool import ProcessPool, RunAll, process_pool, run_cases
from pipeline.review.reviewed import Reviewed
from reports.analysis.review.outcomes import INVARIANTS, CaseOutcome, ShrunkScenario
from scenarios.suite.documents import Document
from scenarios.suite.standard import SuiteCase

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
    spark: SparkSession | None = None,
    on_progress: Callable[[str], None] = lambda text: None,
) -> ReviewRuns:
    """Run both assignors in all cases, and shrink the violations of the one under review.

    `metrics`: keys of the metrics to keep. `workers`: number of processes; by default one for each CPU. The results do
    not depend on it. `spark`: the session in whose workers the cases run; None to run them in processes of this
    machine. Returns the outcomes and the shrunk scenarios.
    """
    with _workers(workers, spark, on_progress) as run_all:
        outcomes = run_cases(run_all, cases, base, head, metrics, on_progress)
        violated = [one for one in INVARIANTS if any(o.head and o.head.violates(one) for o in outcomes)]
        on_progress(f"shrinking {len(violated)} violations" if violated else "comparing")
        candidates = [(invariant, _candidates(cases, outcomes, invariant)) for invariant in violated]
        found = sorted(run_all(partial(_shrink, head=head), candidates), key=lambda pair: pair[0])
    return ReviewRuns(tuple(outcomes), tuple(shrunk for _, shrunk in found if shrunk is not None))


@contextmanager
def _workers(workers: int | None, spark: SparkSession | None, on_progress: Callable[[str], None]) -> Iterator[RunAll]:
    """Provide a function that runs requests in parallel, on Spark or in processes of this machine."""
    if spark is not None:
        from pipeline.review.spark_runs import map_on_spark

        yield lambda function, items: map_on_spark(spark, function, items, on_progress)
        return
    with process_pool(workers) as pool:
        yield lambda function, items: pool.map(partial(function, pool), items)


def _candidates(cases: Sequence[SuiteCase], outcomes: Sequence[CaseOutcome], invariant: str) -> list[SuiteCase]:
    """Return the cases to shrink: those in which only the assignor under review errs, the smallest ones first."""
    found = [
        (bool(outcome.base and outcome.base.violates(invariant)), _size(case.document), number, case)
        for number, (case, outcome) in enumerate(zip(cases, outcomes, strict=True))
        if case.document is not None and outcome.head is not None and outcome.head.violates(invariant)
    ]
    return [case for *_, case in sorted(found, key=lambda one: one[:3])[:_TRIED_CASES]]


def isolated(reviewed: Reviewed) -> Reviewed:
    """Return an assignor that runs in a process of its own, which it may end."""
    return replace(reviewed, limits=replace(reviewed.limits, isolate=True))


def _size(document: Document) -> int:
    """Return a rough size of a scenario: its number of clients, which are what takes longest to remove."""
    clients = document.get("clients")
    return sum(int(client.get("count") or 1) for client in clients) if isinstance(clients, list) else 0


def _shrink(pool: ProcessPool, violated: tuple[str, Sequence[SuiteCase]], *, head: Reviewed) -> ShrunkScenario | None:
    """Return the smallest scenario of the first case that violates the invariant when it is run alone."""
    invariant, cases = violated
    for case in cases:
        # An assignor that ends its process runs in one of its own.
        for reviewed in (head, isolated(head)):
            try:
                shrunk: ShrunkScenario | None = pool.ask("shrink", case, reviewed, invariant)
            except CustomAssignorError:
                continue
            if shrunk is not None:
                return shrunk
            break
    return None
