"""The simulated runs of the leaderboard, one row of CSV for each run."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pipeline.review.benchmark_runs import run_benchmark
from scenarios.suite.standard import SuiteCase
from tools.benchmark.entries import CLIENT_RELEASE, ENTRIES, Entry

METRICS = (
    "cross_rack_source_partitions",
    "cross_rack_bytes",
    "active_moves",
    "standby_moves",
    "restored_bytes",
    "downtime_ms",
    "worst_downtime_ms",
    "time_to_converge_ms",
    "load_skew",
    "subtopology_skew",
    "tasks_without_rack_redundancy",
    "worst_rack_loss",
)
KEYS = ("entry", "family", "case", "seed", "verdict")

Row = Mapping[str, str]
"""A run, as CSV has it; an unknown metric is empty."""


def measure(
    cases: Sequence[SuiteCase],
    entries: Sequence[Entry] = ENTRIES,
    workers: int | None = None,
    on_progress: Callable[[str], None] = lambda text: None,
) -> list[Row]:
    """Run all entries in all cases, and return the rows by entry."""
    reviewed = [entry.reviewed() for entry in entries]
    cases = [_with_clients(case) for case in cases]
    results = run_benchmark(cases, reviewed, METRICS, workers=workers, on_progress=on_progress)
    return [
        {
            "entry": entry.name,
            "family": case.family,
            "case": case.name,
            "seed": str(case.seed),
            "verdict": str(run["verdict"]),
            # Ten digits: sums of floating-point numbers differ in the last ones between processors.
            **{metric: f"{run[metric]:.10g}" if metric in run else "" for metric in METRICS},
        }
        for entry, runs in zip(entries, results, strict=True)
        for case, run in zip(cases, runs, strict=True)
    ]


def _with_clients(case: SuiteCase) -> SuiteCase:
    """Return a case with the release of clients of this version, if it states none."""
    if case.document is None or "application" not in case.document:
        return case
    application = {"kafka": CLIENT_RELEASE, **case.document["application"]}
    return replace(case, document={**case.document, "application": application})


def csv_text(rows: Iterable[Row]) -> str:
    """Return rows as CSV with a header."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, [*KEYS, *METRICS], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def read_rows(path: Path) -> list[Row]:
    """Read rows that `csv_text` wrote."""
    with path.open(encoding="utf-8", newline="") as source:
        return list(csv.DictReader(source))
