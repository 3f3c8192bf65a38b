"""The runs of a benchmark: every assignor in every case, without checks of invariants."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pipeline.pool import process_pool
from pipeline.review.case_runs import measure_runs
from pipeline.review.reviewed import Reviewed
from scenarios.suite.standard import SuiteCase

MeasuredRun = Mapping[str, Any]
"""A run: `verdict`, and its metrics by key; a case that is invalid with the configs has the verdict `skipped`."""

_CHUNK = 4


def run_benchmark(
    cases: Sequence[SuiteCase],
    assignors: Sequence[Reviewed],
    metrics: Sequence[str],
    *,
    workers: int | None = None,
    on_progress: Callable[[str], None] = lambda text: None,
) -> list[list[MeasuredRun]]:
    """Run every assignor in every case.

    `cases`: the cases; scenarios only. `metrics`: keys of the metrics to keep. `workers`: number of processes; by
    default one for each CPU. The results do not depend on it. Returns, for each assignor, the runs in the order of the
    cases.
    """
    chunks = [(number, start) for number in range(len(assignors)) for start in range(0, len(cases), _CHUNK)]
    results: dict[tuple[int, int], list[MeasuredRun]] = {}
    with process_pool(workers) as pool:

        def run_chunk(chunk: tuple[int, int]) -> list[MeasuredRun]:
            number, start = chunk
            answer: list[MeasuredRun] = pool.call(
                measure_runs, list(cases[start : start + _CHUNK]), assignors[number], list(metrics)
            )
            return answer

        for done, (position, runs) in enumerate(pool.map(run_chunk, chunks), start=1):
            results[chunks[position]] = runs
            on_progress(f"{done:,} of {len(chunks):,} chunks of cases")
    return [
        [run for start in range(0, len(cases), _CHUNK) for run in results[number, start]]
        for number in range(len(assignors))
    ]
