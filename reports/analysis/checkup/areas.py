"""The areas that a checkup grades, with the limits of the grades: of applications and of consumer groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from reports.analysis.checkup.area import Area, SituationRun
from simulator.results.run_metrics import MetricUnit


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
