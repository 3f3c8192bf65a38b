"""Run a review: all cases in parallel, then the smallest scenario for each violated invariant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Final

from assignors.errors import CustomAssignorError
from assignors.jvm.timing import TimingPlan
from pipeline.fuzz.sequence_search import compare_sequences
from pipeline.pool import Call, RunAll, run_pool
from pipeline.review.case_runs import Reviewed, run_assignor, run_cases
from pipeline.review.shrinking import shrink
from pipeline.review.timing import compare_times, java_assignor
from reports.analysis.review.outcomes import (
    INVARIANTS,
    AssignorOutcome,
    CaseOutcome,
    InvariantViolation,
    ShrunkScenario,
)
from reports.analysis.review.sequences import SequenceComparison
from reports.analysis.review.timing import TimedSize
from scenarios.suite.documents import Document
from scenarios.suite.standard import KNOWN_PROBLEMS, SCALE, SuiteCase

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TRIED_CASES = 3
"""Cases that are tried until one violates an invariant also when it is run alone."""

_CHUNK: Final = 25
_SLOW_FAMILIES: Final = (SCALE, KNOWN_PROBLEMS)
"""Families whose cases start first, so that the last chunks are short."""


@dataclass(frozen=True, slots=True)
class ReviewRuns:
    """The runs of a review.

    Attributes:
        shrunk: the smallest scenario found for each invariant that the assignor under review violates.
        sequences: both assignors in sequences of rebalances; None if none was asked for.
        timing: both assignors at several sizes; empty if they were not timed.
        untimed: why they could not be timed; else empty.
    """

    outcomes: tuple[CaseOutcome, ...]
    shrunk: tuple[ShrunkScenario, ...]
    sequences: SequenceComparison | None = None
    timing: tuple[TimedSize, ...] = ()
    untimed: str = ""


def run_review(
    cases: Sequence[SuiteCase],
    base: Reviewed,
    head: Reviewed,
    metrics: Sequence[str],
    *,
    sequences: int = 0,
    seed: int = 1,
    timing: TimingPlan | None = None,
    workers: int | None = None,
    spark: SparkSession | None = None,
    on_progress: Callable[[str], None] = lambda text: None,
) -> ReviewRuns:
    """Run both assignors in all cases, and shrink the violations of the one under review.

    `metrics`: keys of the metrics to keep. `sequences`: number of sequences of rebalances, with their `seed`.
    `timing`: how to time both, in Java; None not to. `workers`: number of processes; by default one for each CPU. The
    results do not depend on it, except the times. `spark`: the session in whose workers the cases run; None to run them
    in processes of this machine. Returns the outcomes, the shrunk scenarios, the sequences and the times. Raises
    ValueError if an assignor to time is not in Java.
    """
    to_time = [] if timing is None else [java_assignor(base), java_assignor(head)]
    with run_pool(workers, spark, on_progress) as run_all:
        outcomes = _run_in_chunks(run_all, cases, base, head, metrics, on_progress)
        violated = [one for one in INVARIANTS if any(o.head and o.head.violates(one) for o in outcomes)]
        on_progress(f"shrinking {len(violated)} violations" if violated else "comparing")
        candidates = [(invariant, _candidates(cases, outcomes, invariant)) for invariant in violated]
        found = sorted(run_all(partial(_shrink, head=head), candidates), key=lambda pair: pair[0])
        compared = compare_sequences(run_all, base, head, seed, sequences) if sequences else None
    timed: tuple[TimedSize, ...] = ()
    untimed = ""
    if timing is not None:
        try:
            timed = compare_times(to_time, timing, on_progress)
        except CustomAssignorError as error:
            untimed = str(error)
    smallest = tuple(shrunk for _, shrunk in found if shrunk is not None)
    return ReviewRuns(tuple(outcomes), smallest, compared, timed, untimed)


def _run_in_chunks(
    run_all: RunAll,
    cases: Sequence[SuiteCase],
    base: Reviewed,
    head: Reviewed,
    metrics: Sequence[str],
    on_progress: Callable[[str], None],
) -> list[CaseOutcome]:
    """Run all cases.

    `run_all`: runs chunks of cases in parallel; `head`: the assignor under review; `metrics`: keys of the metrics to
    keep. Returns the outcomes, in the order of the cases.
    """
    chunks = _chunks(cases)
    run_chunk = partial(_run_chunk, base=base, head=head, metrics=list(metrics))
    by_chunk: dict[int, list[CaseOutcome]] = {}
    done = 0
    for position, outcomes in run_all(run_chunk, chunks):
        by_chunk[position] = outcomes
        done += len(outcomes)
        on_progress(f"{done:,} of {len(cases):,} cases")
    run = (pair for i, chunk in enumerate(chunks) for pair in zip(chunk, by_chunk[i], strict=True))
    found = {id(case): outcome for case, outcome in run}
    return [found[id(case)] for case in cases]


def _run_chunk(
    call: Call, chunk: list[SuiteCase], *, base: Reviewed, head: Reviewed, metrics: list[str]
) -> list[CaseOutcome]:
    """Run the cases of a chunk in a process."""
    try:
        outcomes: list[CaseOutcome] = call(run_cases, chunk, base, head, metrics)
        return outcomes
    except CustomAssignorError:
        return [_run_apart(call, case, base, head, metrics) for case in chunk]


def _chunks(cases: Sequence[SuiteCase]) -> list[list[SuiteCase]]:
    """Return the cases in chunks of the same scenario, the slow ones first."""
    chunks: list[list[SuiteCase]] = []
    for _, group in groupby(cases, key=lambda case: id(case.document) if case.document else id(case)):
        same = list(group)
        chunks += [same[start : start + _CHUNK] for start in range(0, len(same), _CHUNK)]
    return sorted(chunks, key=_rank)


def _rank(chunk: list[SuiteCase]) -> tuple[int, int]:
    first = chunk[0]
    size = 0 if first.shape is None else -first.shape.tasks * first.shape.clients
    return (_SLOW_FAMILIES.index(first.family) if first.family in _SLOW_FAMILIES else len(_SLOW_FAMILIES), size)


def _run_apart(call: Call, case: SuiteCase, base: Reviewed, head: Reviewed, metrics: list[str]) -> CaseOutcome:
    """Run the assignors of a case one by one, since one of them may have ended the process."""
    outcomes = []
    for reviewed in (base, head):
        try:
            outcomes.append(call(run_assignor, case, reviewed, metrics))
        except CustomAssignorError as error:
            outcomes.append(AssignorOutcome({}, str(error), (InvariantViolation("valid", str(error)),)))
    return CaseOutcome(case.family, case.name, case.seed, *outcomes)


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


def _shrink(call: Call, violated: tuple[str, Sequence[SuiteCase]], *, head: Reviewed) -> ShrunkScenario | None:
    """Return the smallest scenario of the first case that violates the invariant when it is run alone."""
    invariant, cases = violated
    for case in cases:
        # An assignor that ends its process runs in one of its own.
        for reviewed in (head, head.isolated):
            try:
                shrunk: ShrunkScenario | None = call(shrink, case, reviewed, invariant)
            except CustomAssignorError:
                continue
            if shrunk is not None:
                return shrunk
            break
    return None
