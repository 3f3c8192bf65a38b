"""Figures of the applications that ran on the cluster at the same time as the compared one."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports.analysis.metrics import METRIC

FIGURES = ("restored_bytes", "worst_downtime_ms", "rebalances_to_converge", "time_to_converge_ms")


@dataclass(frozen=True, slots=True)
class NeighborFigures:
    """Another application, over all runs of an assignor.

    Attributes:
        application: its application.id.
        runs: the number of runs.
        medians: the median of each of `FIGURES` over the runs; None if it is unknown in one of them.
    """

    application: str
    runs: int
    medians: Mapping[str, float | None]

    def describe(self) -> str:
        """Return its figures in a sentence part: `payments restored 12 GB, …`."""
        restored = self.medians["restored_bytes"]
        downtime = METRIC["worst_downtime_ms"].write(self.medians["worst_downtime_ms"] or 0)
        rebalances, time_ms = (self.medians[name] for name in FIGURES[2:])
        if time_ms is None:
            ended = "did not converge"
        elif rebalances:
            ended = f"converged in {METRIC['time_to_converge_ms'].write(time_ms)}"
        else:
            ended = "had no rebalance after an event"
        if restored is None:  # A consumer group has no state.
            return f"{self.application} had its worst partition down for {downtime}, and it {ended}"
        state = METRIC["restored_bytes"].write(restored)
        return f"{self.application} restored {state}, its worst task was down for {downtime}, and it {ended}"

    def record(self) -> dict[str, Any]:
        """Return its figures, JSON-serializable."""
        return {"application": self.application, "runs": self.runs, **self.medians}


def neighbor_figures(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], tuple[NeighborFigures, ...]]:
    """Return the neighbors by scenario and assignor.

    Args:
        rows: the rows of the table `neighbors`.
    """
    runs: dict[tuple[str, str], dict[str, list[Mapping[str, Any]]]] = {}
    for row in rows:
        runs.setdefault((row["scenario"], row["assignor"]), {}).setdefault(row["application"], []).append(row)
    return {
        key: tuple(
            NeighborFigures(application, len(of_runs), {name: _median(of_runs, name) for name in FIGURES})
            for application, of_runs in by_application.items()
        )
        for key, by_application in runs.items()
    }


def _median(rows: Sequence[Mapping[str, Any]], name: str) -> float | None:
    values = [row[name] for row in rows]
    return None if any(value is None for value in values) else statistics.median(values)
