"""What autoscalers did in the runs of an assignor, and whether they thrash.

An autoscaler thrashes if it changes its direction more than `MAX_REVERSALS` times within an hour; each such change
undoes a part of the one before, at the price of two rebalances.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from reports.analysis.formatting import format_count
from reports.analysis.text import listed
from simulator.plurals import counted

MAX_REVERSALS: Final = 3
_HOUR_MS: Final = 3_600_000


@dataclass(frozen=True, slots=True)
class ScalingFigures:
    """The changes of the number of pods of one workload, over all runs of an assignor.

    Attributes:
        workload: the name of the StatefulSet or Deployment.
        changes: the median number of changes in a run.
        reversals: the median number of changes of direction.
        most_reversals_per_h: the maximum number of changes of direction within an hour, over all runs.
        fewest: the smallest number of pods before and after the changes; 0 without any.
        most: the largest such number; 0 without any change.
    """

    workload: str
    changes: float
    reversals: float
    most_reversals_per_h: int
    fewest: int
    most: int

    @property
    def thrashes(self) -> bool:
        """Whether the autoscaler thrashes."""
        return self.most_reversals_per_h > MAX_REVERSALS

    def describe(self) -> str:
        """Return the figures in a sentence part, such as `12 changes of the pods of payments (2 to 12), …`."""
        if not self.most:
            return f"the number of pods of {self.workload} did not change"
        changes = f"{counted(self.changes, 'change')} of the number of pods of {self.workload}"
        text = f"{changes} ({self.fewest} to {self.most}), {format_count(self.reversals)} of direction"
        return f"{text}: the autoscaler thrashes" if self.thrashes else text


def scaling_figures(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], tuple[ScalingFigures, ...]]:
    """Return the figures of each workload by scenario and assignor.

    `rows`: the rows of the table `scaling`.
    """
    runs: dict[tuple[str, str], dict[str, dict[int, list[Mapping[str, Any]]]]] = {}
    for row in rows:
        by_workload = runs.setdefault((row["scenario"], row["assignor"]), {})
        by_workload.setdefault(row["workload"], {}).setdefault(row["seed"], []).append(row)
    return {
        key: tuple(_figures(workload, list(by_seed.values())) for workload, by_seed in by_workload.items())
        for key, by_workload in runs.items()
    }


def describe_scaling(figures: Sequence[ScalingFigures]) -> str:
    """Return the figures of all workloads of an assignor in a sentence part."""
    return listed([of_workload.describe() for of_workload in figures])


def _figures(workload: str, runs: Sequence[Sequence[Mapping[str, Any]]]) -> ScalingFigures:
    changes = [[row for row in rows if row["replicas"] != row["replicas_before"]] for rows in runs]
    reversals_ms = [_reversals_ms(rows) for rows in changes]
    pods = [row[key] for rows in changes for row in rows for key in ("replicas_before", "replicas")]
    return ScalingFigures(
        workload,
        statistics.median(len(rows) for rows in changes),
        statistics.median(len(times_ms) for times_ms in reversals_ms),
        max(_most_within_an_hour(times_ms) for times_ms in reversals_ms),
        min(pods, default=0),
        max(pods, default=0),
    )


def _reversals_ms(changes: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return when a change has another direction than the one before."""
    directions = [(row["at_ms"], row["replicas"] > row["replicas_before"]) for row in changes]
    return [at_ms for (_, before), (at_ms, after) in pairwise(directions) if before is not after]


def _most_within_an_hour(times_ms: Sequence[int]) -> int:
    return max((sum(start <= at_ms < start + _HOUR_MS for at_ms in times_ms) for start in times_ms), default=0)
