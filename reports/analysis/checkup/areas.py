"""The areas that a checkup grades, of applications and of consumer groups: figures, situations and limits of grades."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from reports.analysis.formatting import NumberFormat, format_percent
from reports.analysis.metrics import FORMATS, LEAST_RELEVANT
from simulator.results.run_metrics import MetricUnit
from simulator.results.run_summary import CrossRackFetches
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


def _delay(run: SituationRun) -> float | None:
    """Return the maximum processing delay; None if clients process without limit."""
    return run.metrics["max_processing_delay_ms"] if run.limits_processing else None


def _moves_per_partition(run: SituationRun) -> float | None:
    """Return how often a partition moves to another process, on average."""
    return float(run.metrics["active_moves"]) / run.source_partitions if run.source_partitions else None


def _avoidable_fetches_percent(run: SituationRun) -> float | None:
    """Return the share of partitions that are fetched from another rack although a replica is in a consumer's rack."""
    if run.fetches is None or not run.source_partitions:
        return None
    return 100 * float(run.fetches.partitions - run.fetches.bound) / run.source_partitions


def _avoidable_usd_per_month(run: SituationRun) -> float | None:
    """Return the cost of 30 days of reading partitions across racks although a replica is in the rack of a client."""
    usd_per_day = None if run.fetches is None else run.fetches.avoidable_usd_per_day
    return None if usd_per_day is None else 30 * usd_per_day


def _avoidable_skew(run: SituationRun) -> float | None:
    """Return the difference in partitions between two consumers, beyond the least one; None for a group with one."""
    skew = run.metrics["active_skew"]
    return skew - run.least_skew if run.members > 1 and skew is not None else None


_FAILURES: Final = ("crash", "lost_disk", "leader", "zone", "broker", "slow")

_BILL: Final = Area(
    "cost",
    "Cross-zone bill",
    "avoidable reads, cost per month",
    ("steady",),
    (10, 100, 1_000, 10_000),
    MetricUnit.USD,
    _avoidable_usd_per_month,
    "the scenario has no price (price: aws), or the rack of a broker or client is unknown",
    "Reads across zones without need cost {value} per month",
)

STREAMS_AREAS: Final = (
    Area(
        "availability",
        "Availability",
        "worst task downtime in a failure",
        _FAILURES,
        (60_000, 180_000, 600_000, 1_800_000),
        MetricUnit.MS,
        _metric("worst_downtime_ms"),
        "",
        "A failure stops a task for up to {value} in total",
    ),
    Area(
        "redundancy",
        "Redundancy",
        "stateful tasks one failure loses",
        ("steady",),
        (0, 5, 15, 34),
        MetricUnit.PERCENT,
        _lost_percent,
        "the application has no state",
        "{value} of the stateful tasks are lost with one instance or zone",
    ),
    Area(
        "deploy",
        "Deployment",
        "worst task downtime in a deployment",
        ("deploy",),
        (10_000, 30_000, 60_000, 300_000),
        MetricUnit.MS,
        _metric("worst_downtime_ms"),
        "",
        "A deployment stops a task for up to {value} in total",
    ),
    Area(
        "bill",
        "Cross-zone reads",
        "avoidable cross-rack partitions",
        ("steady",),
        (2, 10, 25, 50),
        MetricUnit.PERCENT,
        _avoidable_percent,
        "the racks of brokers or clients are unknown",
        "{value} of the source partitions are read across zones without need",
    ),
    _BILL,
    Area(
        "balance",
        "Balance",
        "active tasks per thread, max − min",
        ("steady",),
        (1, 1.5, 2, 3),
        MetricUnit.NUMBER,
        _metric("active_skew"),
        "",
        "Some instances run {value} tasks per thread more than others",
    ),
    Area(
        "convergence",
        "Convergence",
        "time to converge, worst event",
        ("deploy", *_FAILURES, "scale"),
        (900_000, 3_600_000, 14_400_000, 43_199_999),
        MetricUnit.MS,
        _convergence,
        "",
        "The group needs {value} to converge",
    ),
    Area(
        "leader",
        "Leader",
        "compute time of max.poll.interval.ms",
        ("deploy", *_FAILURES, "scale"),
        (1, 5, 20, 50),
        MetricUnit.PERCENT,
        _leader_percent,
        "a broker assigns the tasks of a streams group",
        "The leader computes for {value} of max.poll.interval.ms",
    ),
    Area(
        "headroom",
        "Headroom",
        "processing delay, twice the traffic",
        ("peak", "double"),
        (10_000, 60_000, 600_000, 1_800_000),
        MetricUnit.MS,
        _delay,
        "the scenario does not state how fast clients process (clients[].records_per_s)",
        "With twice the traffic, processing is {value} behind",
    ),
)
"""The graded areas of an application of Kafka Streams."""

_GROUP_FAILURES: Final = ("crash", "leader", "zone", "broker")

GROUP_AREAS: Final = (
    Area(
        "availability",
        "Availability",
        "worst downtime in a failure",
        _GROUP_FAILURES,
        (60_000, 180_000, 600_000, 1_800_000),
        MetricUnit.MS,
        _metric("worst_downtime_ms"),
        "",
        "A failure stops a partition for up to {value} in total",
    ),
    Area(
        "deploy",
        "Deployment",
        "mean downtime in a deployment",
        ("deploy",),
        (10_000, 30_000, 60_000, 300_000),
        MetricUnit.MS,
        _metric("mean_downtime_ms"),
        "",
        "A deployment stops each partition for {value} on average",
    ),
    Area(
        "lag",
        "Lag",
        "processing delay in a deployment",
        ("deploy",),
        (10_000, 30_000, 60_000, 300_000),
        MetricUnit.MS,
        _metric("max_processing_delay_ms"),
        "",
        "In a deployment, processing is up to {value} behind",
    ),
    Area(
        "moves",
        "Moves",
        "moves per partition in a deployment",
        ("deploy",),
        (0.5, 2.5, 5, 10),
        MetricUnit.NUMBER,
        _moves_per_partition,
        "",
        "A deployment moves each partition {value} times",
    ),
    Area(
        "bill",
        "Cross-zone reads",
        "avoidable fetches across zones",
        ("steady",),
        (2, 10, 25, 50),
        MetricUnit.PERCENT,
        _avoidable_fetches_percent,
        "the racks of brokers or clients are unknown",
        "{value} of the partitions are fetched across zones without need",
    ),
    _BILL,
    Area(
        "balance",
        "Balance",
        "avoidable skew of partitions",
        ("steady",),
        (0, 1, 2, 3),
        MetricUnit.NUMBER,
        _avoidable_skew,
        "the group has one consumer",
        "The most and the fewest partitions of a consumer differ by {value} more than necessary",
    ),
    Area(
        "convergence",
        "Convergence",
        "time to converge, worst event",
        ("deploy", *_GROUP_FAILURES, "scale"),
        (60_000, 180_000, 600_000, 1_800_000),
        MetricUnit.MS,
        _convergence,
        "",
        "The group needs {value} to converge",
    ),
    Area(
        "headroom",
        "Headroom",
        "processing delay, twice the traffic",
        ("peak", "double"),
        (10_000, 60_000, 600_000, 1_800_000),
        MetricUnit.MS,
        _delay,
        "the scenario does not state how fast consumers process (records_per_s)",
        "With twice the traffic, processing is {value} behind",
    ),
)
"""The graded areas of a consumer group, which has no state and so no redundancy."""
