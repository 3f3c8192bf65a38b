"""Processes that run the cases of a review; the results do not depend on how many there are.

A case in which an assignor kills its process costs only that case: its chunk is run again case by case.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import groupby
from math import inf
from typing import Any, Final

from assignors.containment.isolation import AssignorProcess, python_command
from assignors.errors import CustomAssignorError
from pipeline.review.reviewed import Reviewed
from reports.analysis.review.outcomes import AssignorOutcome, CaseOutcome, InvariantViolation
from scenarios.suite.standard import KNOWN_PROBLEMS, SCALE, SuiteCase

_MODULE: Final = f"{__package__}.worker_process"
_CHUNK: Final = 25
_SLOW_FAMILIES: Final = (SCALE, KNOWN_PROBLEMS)
"""Families whose cases start first, so that the last chunks are short."""


def usable_cpus() -> int:
    """Return the number of CPUs that this process may use; all of them on macOS and Windows."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class ReviewError(Exception):
    """A case could not be run, for a reason other than its assignors."""


class ProcessPool:
    """Processes, each of which answers one request at a time."""

    def __init__(self, workers: int | None = None) -> None:
        """Choose the number of processes; they start at their first request.

        `workers`: number of processes; by default one for each CPU that this process may use.
        """
        self.workers = workers or usable_cpus()
        self._idle: list[AssignorProcess] = []
        self._lock = threading.Lock()
        self._processes: list[AssignorProcess] = []
        self._closed = False

    def ask(self, *request: Any) -> Any:
        """Send a request to an idle process, or to a new one.

        Raises CustomAssignorError if the process ended, and ReviewError if the request failed otherwise.
        """
        process = self._take()
        try:
            kind, result = process.ask(request, inf)
        finally:
            with self._lock:
                if process.is_running:
                    self._idle.append(process)
                elif process in self._processes:
                    self._processes.remove(process)
        if kind == "error":
            raise ReviewError(result)
        return result

    def map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Yield the results of a function with their positions, in the order in which they are complete."""
        from concurrent.futures import as_completed

        with ThreadPoolExecutor(self.workers) as threads:
            futures = {threads.submit(function, item): position for position, item in enumerate(items)}
            try:
                for future in as_completed(futures):
                    yield futures[future], future.result()
            except BaseException:
                self.close()
                threads.shutdown(cancel_futures=True)
                raise

    def close(self) -> None:
        """Kill the processes."""
        with self._lock:
            self._closed = True
            while self._processes:
                self._processes.pop().close()

    def _take(self) -> AssignorProcess:
        """Return a process that no other thread uses."""
        with self._lock:
            if self._closed:
                raise ReviewError("the review was interrupted")
            while self._idle:
                idle = self._idle.pop()
                if idle.is_running:
                    return idle
            process = AssignorProcess(python_command(_MODULE, {}))
            self._processes.append(process)
            return process


@contextmanager
def process_pool(workers: int | None) -> Iterator[ProcessPool]:
    """Provide processes, and end them afterwards."""
    pool = ProcessPool(workers)
    try:
        yield pool
    finally:
        pool.close()


RunAll = Callable[[Callable[[ProcessPool, Any], Any], Sequence[Any]], Iterator[tuple[int, Any]]]
"""Calls a function with a pool and each item, in parallel; yields the positions of the items and the results."""


def run_cases(
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
    pool: ProcessPool, chunk: list[SuiteCase], *, base: Reviewed, head: Reviewed, metrics: list[str]
) -> list[CaseOutcome]:
    """Run the cases of a chunk in a process."""
    try:
        outcomes: list[CaseOutcome] = pool.ask("cases", chunk, base, head, metrics)
        return outcomes
    except CustomAssignorError:
        return [_run_apart(pool, case, base, head, metrics) for case in chunk]


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


def _run_apart(pool: ProcessPool, case: SuiteCase, base: Reviewed, head: Reviewed, metrics: list[str]) -> CaseOutcome:
    """Run the assignors of a case one by one, since one of them may have ended the process."""
    outcomes = []
    for reviewed in (base, head):
        try:
            outcomes.append(pool.ask("assignor", case, reviewed, metrics))
        except CustomAssignorError as error:
            outcomes.append(AssignorOutcome({}, str(error), (InvariantViolation("valid", str(error)),)))
    return CaseOutcome(case.family, case.name, case.seed, *outcomes)
