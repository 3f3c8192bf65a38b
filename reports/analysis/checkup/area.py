"""A graded area of a checkup: which figure, in which situations, and the limits of the grades."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from reports.analysis.formatting import NumberFormat, format_percent
from reports.analysis.metrics import FORMATS, LEAST_RELEVANT
from simulator.results.cross_rack_fetches import CrossRackFetches
from simulator.results.run_metrics import MetricUnit
from simulator.results.verdict import INCOMPARABLE

GRADES: Final = ("A", "B", "C", "D", "F")
"""Grades, the best first."""

FAILED: Final = math.inf
"""Figure of a run in which the assignor failed, or the group never had an assignment."""


@dataclass(frozen=True, slots=True)
class SituationRun:
    """One run of a situation.

    Attributes:
        metrics: its row of the table `runs`.
        duration_ms: the duration of the situation.
        source_partitions: partitions of the source topics.
        max_poll_interval_ms: `max.poll.interval.ms`; None if no member computes assignments.
        limits_processing: whether the scenario states how fast all clients process.
        members: members of the group at the start.
        least_skew: the least difference in partitions between two consumers that their subscriptions allow.
        fetches: partitions that are fetched across racks at the end; None if racks are unknown, or not counted.
        owned: the partitions of each consumer of each client at the end, if the request asks for it; None otherwise.
    """

    metrics: Mapping[str, Any]
    duration_ms: int
    source_partitions: int
    max_poll_interval_ms: int | None
    limits_processing: bool
    members: int = 0
    least_skew: int = 0
    fetches: CrossRackFetches | None = None
    owned: Mapping[str, Sequence[Sequence[str]]] | None = None


@dataclass(frozen=True, slots=True)
class Area:
    """An area that is graded.

    Attributes:
        key: name in results.
        title: title in tables.
        figure: what is measured, as the title of the figure.
        situations: keys of the situations; the highest figure of them counts.
        limits: highest figures of the grades A, B, C and D.
        unit: unit of the figure.
        of: computes the figure of a run; None if it is unknown.
        unknown: why the figure is unknown, if it is.
        finding: what is wrong if the grade is not A, with the figure as `{value}`.
    """

    key: str
    title: str
    figure: str
    situations: tuple[str, ...]
    limits: tuple[float, float, float, float]
    unit: MetricUnit
    of: Callable[[SituationRun], float | None]
    unknown: str
    finding: str

    @property
    def write(self) -> NumberFormat:
        """Format of a figure; of a very small percentage, without its digits."""
        return _small_percent if self.unit is MetricUnit.PERCENT else FORMATS[self.unit]

    @property
    def least(self) -> float:
        """Smallest difference that counts in advice, beside a share of the figure."""
        return LEAST_RELEVANT[self.unit]

    def grade(self, value: float) -> str:
        """Return the grade of a figure."""
        return next((grade for grade, limit in zip(GRADES, self.limits, strict=False) if value <= limit), GRADES[-1])

    def position(self, value: float) -> float:
        """Return where a figure lies between the limits: 0 to 1 for grade A, 1 to 2 for B, up to 5 for F."""
        lower = 0.0
        for position, limit in enumerate(self.limits):
            if value <= limit:
                return position + ((value - lower) / (limit - lower) if limit > lower else 0.0)
            lower = limit
        return 4.0 + min(1.0, (value - lower) / lower if lower else 1.0)

    def text(self, value: float) -> str:
        """Return a figure with its unit."""
        return "failed" if value == FAILED else self.write(value)


def _small_percent(value: float) -> str:
    return "< 0.01 %" if 0 < value < 0.01 else format_percent(value)


def area_figure(area: Area, runs: Mapping[str, SituationRun]) -> float | None:
    """Return the figure of an area with one seed: the highest of its situations; None if it is unknown."""
    figures = []
    for key in area.situations:
        run = runs.get(key)
        if run is None:
            continue
        figure = FAILED if run.metrics["verdict"] in INCOMPARABLE else area.of(run)
        if figure is not None:
            figures.append(float(figure))
    return max(figures, default=None)


def worst_situation(area: Area, runs: Mapping[str, SituationRun]) -> str | None:
    """Return the key of the situation whose figure counts."""
    keys = [key for key in area.situations if key in runs]
    figures = {key: area_figure(area, {key: runs[key]}) for key in keys}
    known = {key: figure for key, figure in figures.items() if figure is not None}
    return max(known, key=lambda key: known[key]) if known else None
