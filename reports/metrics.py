"""What assignors are compared by: each metric's name, meaning, unit, and how a run's row yields it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from reports.units import Writer, write_bytes, write_count, write_duration, write_number, write_percent, write_rate

Run = Mapping[str, Any]
"""A row of the table `runs`."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One figure of a run.

    Attributes:
        name: its key in data; ends in the unit if it has one.
        title: what people call it.
        group: the question that it helps to answer.
        meaning: one sentence for those who have not met it.
        write: how its numbers are written.
        less_is_better: whether the least one is worth a mark; costs that hang on settings are not comparable so.
        of: the figure of a run; None where it is not known.
    """

    name: str
    title: str
    group: str
    meaning: str
    write: Writer
    less_is_better: bool
    of: Callable[[Run], float | None]


def _column(
    name: str, title: str, group: str, meaning: str, write: Writer = write_count, *, less_is_better: bool = True
) -> Metric:
    """A metric that is a column of `runs`."""
    return Metric(name, title, group, meaning, write, less_is_better, lambda run: run[name])


def _gap(run: Run) -> int | None:
    remote, least = run["remote_source_partitions"], run["least_remote_source_partitions"]
    return None if remote is None or least is None else remote - least


def _gap_percent(run: Run) -> float | None:
    gap, least = _gap(run), run["least_remote_source_partitions"]
    return 100 * gap / least if gap is not None and least else None


def _one_rack_percent(run: Run) -> float | None:
    count, every = run["tasks_in_one_rack"], run["stateful_tasks"]
    return 100 * count / every if count is not None and every else None


CROSS_RACK, DISRUPTION, CONVERGENCE, BALANCE, SAFETY = "Cross-rack", "Disruption", "Convergence", "Balance", "Safety"

METRICS: tuple[Metric, ...] = (
    _column(
        "remote_source_partitions",
        "Cross-rack partitions",
        CROSS_RACK,
        "Source partitions that, in the end, are read by a client without a replica in its rack: what rack-aware "
        "assignors count. Partitions, not bytes.",
    ),
    _column(
        "least_remote_source_partitions",
        "Lower bound of these",
        CROSS_RACK,
        "No assignment has fewer cross-rack partitions, however unbalanced it may be.",
        less_is_better=False,
    ),
    Metric(
        "gap_partitions",
        "Gap to the bound",
        CROSS_RACK,
        "Cross-rack partitions above the lower bound; a balanced assignment may not be able to close it.",
        write_count,
        True,
        _gap,
    ),
    Metric(
        "gap_percent",
        "Gap in per cent",
        CROSS_RACK,
        "The gap in per cent of the lower bound; not known where the bound is 0.",
        write_percent,
        False,
        _gap_percent,
    ),
    _column(
        "cross_rack_bytes_per_s",
        "Cross-rack traffic",
        CROSS_RACK,
        "Bytes per second between racks in the end: source reads, changelog writes and standby reads. Reads come from "
        "the leader unless brokers serve the nearest replica, so this may be high where no partition is remote.",
        write_rate,
    ),
    _column(
        "cross_rack_bytes",
        "Cross-rack bytes, whole run",
        CROSS_RACK,
        "The same traffic added up over the run; restoration is not in it.",
        write_bytes,
    ),
    _column(
        "remote_standby_partitions",
        "Cross-rack standby partitions",
        CROSS_RACK,
        "Changelog partitions that, in the end, standbys follow without a replica in their rack.",
        less_is_better=False,
    ),
    _column(
        "active_cost",
        "Kafka's cost, stateful",
        CROSS_RACK,
        "What Kafka's rack-aware optimiser takes the stateful tasks to cost; depends on the configured weights, so "
        "compare it only between equal settings. Not known where rack-aware assignment is off.",
        less_is_better=False,
    ),
    _column(
        "stateless_cost",
        "Kafka's cost, stateless",
        CROSS_RACK,
        "The same for stateless tasks.",
        less_is_better=False,
    ),
    _column(
        "standby_cost",
        "Kafka's cost, standbys",
        CROSS_RACK,
        "The same for standbys.",
        less_is_better=False,
    ),
    _column(
        "active_moves",
        "Tasks moved",
        DISRUPTION,
        "How often a task that ran on one client was given to another.",
    ),
    _column(
        "standby_moves",
        "Standby moves",
        DISRUPTION,
        "How often a client was given a standby or warm-up after the first round.",
    ),
    _column(
        "restored_bytes",
        "State restored",
        DISRUPTION,
        "Bytes read from changelogs to catch up.",
        write_bytes,
    ),
    _column(
        "down_ms",
        "Task downtime",
        DISRUPTION,
        "Time in which tasks were not processed, summed over the tasks.",
        write_duration,
    ),
    _column(
        "rounds",
        "Rebalances",
        CONVERGENCE,
        "Rebalances in the whole run.",
        less_is_better=False,
    ),
    Metric(
        "rounds_to_stable",
        "Rounds to stable",
        CONVERGENCE,
        "Rebalances from the last change (or the start) up to the assignment that stayed.",
        write_count,
        True,
        lambda run: run["rounds_to_stable"] if run["verdict"] == "stable" else None,
    ),
    _column(
        "stable_after_ms",
        "Time to stable",
        CONVERGENCE,
        "From the last change (or the start) to the assignment that stayed; not known unless the run is stable.",
        write_duration,
    ),
    _column(
        "load_skew",
        "Load skew",
        BALANCE,
        "Most minus least tasks per thread between clients in the end, standbys included.",
        write_number,
    ),
    _column(
        "active_skew",
        "Active skew",
        BALANCE,
        "The same, active tasks only.",
        write_number,
    ),
    _column(
        "subtopology_skew",
        "Subtopology skew",
        BALANCE,
        "Largest difference between two clients in active tasks of one subtopology, in the end.",
    ),
    _column(
        "tasks_in_one_rack",
        "Tasks in one rack",
        SAFETY,
        "Stateful tasks all of whose copies stand in one rack in the end; if it fails, they must be restored.",
    ),
    Metric(
        "tasks_in_one_rack_percent",
        "Tasks in one rack, share",
        SAFETY,
        "The same in per cent of all stateful tasks.",
        write_percent,
        False,
        _one_rack_percent,
    ),
    _column(
        "stateful_tasks",
        "Stateful tasks",
        SAFETY,
        "Stateful tasks of the application.",
        less_is_better=False,
    ),
)
"""Every metric, in the order in which they are shown."""

METRIC: dict[str, Metric] = {metric.name: metric for metric in METRICS}
"""Every metric by its name."""
