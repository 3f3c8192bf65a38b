"""The stored results of the benchmark, and the figures that its pages show."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Any

from pipeline.review.case_runs import SKIPPED
from reports.analysis.review.leaderboard import (
    BenchmarkRun,
    BenchmarkTable,
    Rank,
    WinsAndLosses,
    compare_with_baseline,
    rank_assignors,
)
from tools.benchmark import store
from tools.benchmark.entries import BASELINE, ENTRIES
from tools.benchmark.runs import METRICS

RANKED = (
    "cross_rack_bytes",
    "restored_bytes",
    "downtime_ms",
    "time_to_converge_ms",
    "load_skew",
    "tasks_without_rack_redundancy",
)
"""Metrics of the ranks: one for each goal of an assignor."""

CLOSE = 0.1
"""Difference of scores below which the pages name no winner."""

Row = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class InstanceScore:
    """The final assignments of an entry for the instances.

    Attributes:
        entry: name of the entry.
        settled: instances with a final assignment.
        balanced: those in which every client has its share.
        proven: balanced ones for which the optimum is proven.
        optimal: those that cost no more.
        gaps: cost above the optimum in per cent, of the balanced ones with a positive optimum.
        cross_rack: cross-rack source partitions, sum over the settled ones.
        moved: copies that must be restored, sum over the settled ones.
        not_applicable: instances without what the entry needs.
    """

    entry: str
    settled: int
    balanced: int
    proven: int
    optimal: int
    gaps: tuple[float, ...]
    cross_rack: int
    moved: int
    not_applicable: int

    @property
    def median_gap(self) -> float | None:
        """Median of the gaps; None without any."""
        return median(self.gaps) if self.gaps else None


@dataclass(frozen=True)
class Results:
    """All stored results.

    Attributes:
        solutions: rows of the final assignments.
        answers: Kafka's first assignments.
        versions: versions of what computed them.
    """

    runs: Sequence[Row]
    instances: Sequence[Row]
    solutions: Sequence[Row]
    answers: Sequence[Mapping[str, Any]]
    versions: Mapping[str, str]

    @classmethod
    def read(cls) -> Results:
        """Read the stored results."""
        return cls(
            store.read_table(store.RUNS),
            store.read_table(store.MANIFEST),
            store.read_table(store.SOLUTIONS),
            store.read_lines(store.FOLDER / store.ANSWERS),
            json.loads((store.FOLDER / store.VERSIONS).read_text(encoding="utf-8")),
        )

    @cached_property
    def table(self) -> BenchmarkTable:
        """The ranked metrics of all runs."""
        return self.table_of(RANKED)

    def table_of(self, metrics: Sequence[str], keep: Callable[[Row], bool] = lambda row: True) -> BenchmarkTable:
        """Return metrics of some runs."""
        return BenchmarkTable.of([_run(row) for row in self.runs if keep(row)], metrics)

    @cached_property
    def ranks(self) -> list[Rank]:
        """The ranks of all entries."""
        return rank_assignors(self.table)

    @cached_property
    def leaders(self) -> list[Rank]:
        """The entries whose score is within `CLOSE` of the best one, the best first."""
        return [rank for rank in self.ranks if rank.score < self.ranks[0].score + CLOSE]

    def unstable(self, entry: str) -> int:
        """Return the number of runs of an entry that did not become stable."""
        return sum(row["entry"] == entry and row["verdict"] not in ("stable", SKIPPED) for row in self.runs)

    @cached_property
    def against_baseline(self) -> list[WinsAndLosses]:
        """Wins and losses of all entries against the baseline, in the ranked metrics."""
        return compare_with_baseline(self.table, BASELINE)

    @cached_property
    def scores(self) -> dict[str, InstanceScore]:
        """The final assignments by entry."""
        return {entry.name: self._score(entry.name) for entry in ENTRIES}

    def _score(self, entry: str) -> InstanceScore:
        rows = [row for row in self.solutions if row["entry"] == entry]
        settled = [row for row in rows if row["outcome"] == "settled"]
        balanced = [row for row in settled if row["balanced"] == "1"]
        proven = [(int(row["cost"]), int(best)) for row in balanced if (best := self._optimum(row["instance"]))]
        return InstanceScore(
            entry,
            len(settled),
            len(balanced),
            len(proven),
            sum(cost == best for cost, best in proven),
            tuple(100.0 * (cost - best) / best for cost, best in proven if best),
            sum(int(row["cross_rack_source_partitions"] or 0) for row in settled),
            sum(int(row["moved_copies"]) for row in settled),
            sum(row["outcome"] == "needs rates" for row in rows),
        )

    def _optimum(self, instance: str) -> str:
        return self._optima.get(instance, "")

    @cached_property
    def _optima(self) -> dict[str, str]:
        return {row["id"]: row["best"] for row in self.instances if row["status"] == "optimal"}


def _run(row: Row) -> BenchmarkRun:
    values = {metric: float(row[metric]) for metric in METRICS if row[metric]}
    return BenchmarkRun(row["entry"], row["family"], row["case"], row["verdict"] != SKIPPED, values)
