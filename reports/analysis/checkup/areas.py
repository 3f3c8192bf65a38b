"""The areas that a checkup grades: which figure, in which situations, and the limits of the grades."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from reports.analysis.formatting import NumberFormat, format_duration, format_number, format_percent
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
        source_partitions: partitions of the application's source topics.
        max_poll_interval_ms: `max.poll.interval.ms`; None if no member computes assignments.
        limits_processing: whether the scenario states how fast all clients process.
    """

    metrics: Mapping[str, Any]
    duration_ms: int
    source_partitions: int
    max_poll_interval_ms: int | None
    limits_processing: bool


@dataclass(frozen=True, slots=True)
class Area:
    """An area that is graded.

    Attributes:
        key: name in results.
        title: title in tables.
        figure: what is measured, as the title of the figure.
        situations: keys of the situations; the highest figure of them counts.
        limits: highest figures of the grades A, B, C and D.
        write: formats a figure.
        of: computes the figure of a run; None if it is unknown.
        unknown: why the figure is unknown, if it is.
    """

    key: str
    title: str
    figure: str
    situations: tuple[str, ...]
    limits: tuple[float, float, float, float]
    write: NumberFormat
    of: Callable[[SituationRun], float | None]
    unknown: str

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


def _metric(name: str) -> Callable[[SituationRun], float | None]:
    return lambda run: run.metrics[name]


def _lost_percent(run: SituationRun) -> float | None:
    """Return the share of stateful tasks that lose all copies with the worst instance or zone."""
    stateful = run.metrics["stateful_tasks"]
    losses = [run.metrics[name] for name in ("worst_client_loss", "worst_rack_loss")]
    known = [loss for loss in losses if loss is not None]
    return 100 * max(known) / stateful if stateful and known else None


def _avoidable_percent(run: SituationRun) -> float | None:
    """Return the share of source partitions that are read across racks although another assignment need not."""
    partitions, bound = (
        run.metrics[name] for name in ("cross_rack_source_partitions", "cross_rack_source_partitions_bound")
    )
    if partitions is None or bound is None:
        return None
    return 100 * float(partitions - bound) / run.source_partitions


def _convergence(run: SituationRun) -> float:
    """Return the time to converge; the duration of the situation if the group did not."""
    time_ms = run.metrics["time_to_converge_ms"]
    return run.duration_ms if time_ms is None else time_ms


def _leader_percent(run: SituationRun) -> float | None:
    """Return the longest computation of an assignment as a share of max.poll.interval.ms."""
    compute_ms = run.metrics["leader_compute_ms"]
    if compute_ms is None or not run.max_poll_interval_ms:
        return None
    return 100 * float(compute_ms) / run.max_poll_interval_ms


def _small_percent(value: float) -> str:
    """Return a percentage without the digits of a very small one."""
    return "< 0.01 %" if 0 < value < 0.01 else format_percent(value)


def _delay(run: SituationRun) -> float | None:
    """Return the maximum processing delay; None if clients process without limit."""
    return run.metrics["max_processing_delay_ms"] if run.limits_processing else None


_FAILURES: Final = ("crash", "lost_disk", "leader", "zone", "broker", "slow")

AREAS: Final = (
    Area(
        "availability",
        "Availability",
        "worst task downtime in a failure",
        _FAILURES,
        (60_000, 180_000, 600_000, 1_800_000),
        format_duration,
        _metric("worst_downtime_ms"),
        "",
    ),
    Area(
        "redundancy",
        "Redundancy",
        "stateful tasks one failure loses",
        ("steady",),
        (0, 5, 15, 34),
        format_percent,
        _lost_percent,
        "the application has no state",
    ),
    Area(
        "deploy",
        "Deployment",
        "worst task downtime in a deployment",
        ("deploy",),
        (10_000, 30_000, 60_000, 300_000),
        format_duration,
        _metric("worst_downtime_ms"),
        "",
    ),
    Area(
        "bill",
        "Cross-zone reads",
        "avoidable cross-rack partitions",
        ("steady",),
        (2, 10, 25, 50),
        format_percent,
        _avoidable_percent,
        "the racks of brokers or clients are unknown",
    ),
    Area(
        "balance",
        "Balance",
        "active tasks per thread, max − min",
        ("steady",),
        (1, 1.5, 2, 3),
        format_number,
        _metric("active_skew"),
        "",
    ),
    Area(
        "convergence",
        "Convergence",
        "time to converge, worst event",
        ("deploy", *_FAILURES, "scale"),
        (900_000, 3_600_000, 14_400_000, 43_199_999),
        format_duration,
        _convergence,
        "",
    ),
    Area(
        "leader",
        "Leader",
        "compute time of max.poll.interval.ms",
        ("deploy", *_FAILURES, "scale"),
        (1, 5, 20, 50),
        _small_percent,
        _leader_percent,
        "a broker assigns the tasks of a streams group",
    ),
    Area(
        "headroom",
        "Headroom",
        "processing delay, twice the traffic",
        ("peak", "double"),
        (10_000, 60_000, 600_000, 1_800_000),
        format_duration,
        _delay,
        "the scenario does not state how fast clients process (clients[].records_per_s)",
    ),
)
"""The graded areas."""

AREA: Final = {area.key: area for area in AREAS}
"""The graded areas by key."""


def area_figure(area: Area, runs: Mapping[str, SituationRun]) -> float | None:
    """Return the figure of an area with one seed: the highest of its situations; None if it is unknown.

    Args:
        area: the area.
        runs: the run of each situation.
    """
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
