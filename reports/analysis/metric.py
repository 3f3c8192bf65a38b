"""The type of a metric, and functions that compute metrics from rows of the table `runs`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from reports.analysis.formatting import (
    NumberFormat,
    format_bytes,
    format_count,
    format_duration,
    format_number,
    format_percent,
    format_rate,
    format_usd,
)
from simulator.results.run_metrics import METRIC_UNITS, MetricUnit

Run = Mapping[str, Any]
"""A row of the table `runs`."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure of a run.

    Attributes:
        name: key in tables, JSON and options; ends in the unit if there is one.
        title: title in terminals, pages and documents.
        group: the group of metrics that it is listed in.
        meaning: definition, in one or two sentences.
        write: formats a value.
        lower_is_better: whether lower values are better. False also for costs that depend on the configured weights.
        of: computes the metric of a run; None if unknown.
    """

    name: str
    title: str
    group: str
    meaning: str
    write: NumberFormat
    lower_is_better: bool
    of: Callable[[Run], float | None]


FORMATS: Final[Mapping[MetricUnit, NumberFormat]] = {
    MetricUnit.COUNT: format_count,
    MetricUnit.NUMBER: format_number,
    MetricUnit.PERCENT: format_percent,
    MetricUnit.MS: format_duration,
    MetricUnit.BYTES: format_bytes,
    MetricUnit.BYTES_PER_S: format_rate,
    MetricUnit.USD: format_usd,
}
"""How values of each unit are formatted."""

RELEVANT_SHARE: Final = 0.01
"""Smallest difference that counts in advice, as a share of the value before; smaller ones are no difference."""

LEAST_RELEVANT: Final[Mapping[MetricUnit, float]] = {
    MetricUnit.COUNT: 1,
    MetricUnit.NUMBER: 0.01,
    MetricUnit.PERCENT: 0.1,
    MetricUnit.MS: 1_000,
    MetricUnit.BYTES: 1e6,
    MetricUnit.BYTES_PER_S: 1e3,
    MetricUnit.USD: 0.01,
}
"""Smallest difference of each unit that counts in advice: 1 task, 1 s, 1 MB, $0.01."""


def least_relevant(name: str) -> float:
    """Return the smallest difference of a metric that counts in advice, in its unit."""
    return LEAST_RELEVANT[METRIC_UNITS[name]]


def is_relevant(difference: float, before: float, least: float) -> bool:
    """Return whether a difference counts in advice: at least `least`, and `RELEVANT_SHARE` of the value before."""
    return abs(difference) >= max(least, RELEVANT_SHARE * abs(before))


def run_metric(
    name: str, title: str, group: str, meaning: str, lower_is_better: bool, of: Callable[[Run], float | None]
) -> Metric:
    """Return a metric of a run; its unit is that of its key in `METRIC_UNITS`."""
    return Metric(name, title, group, meaning, FORMATS[METRIC_UNITS[name]], lower_is_better, of)


def column_metric(name: str, title: str, group: str, meaning: str, *, lower_is_better: bool = True) -> Metric:
    """Return a metric that is a column of the table `runs`."""
    return run_metric(name, title, group, meaning, lower_is_better, lambda run: run[name])


def partitions_above_bound(run: Run) -> int | None:
    """Return the number of cross-rack source partitions above their lower bound; None if either is unknown."""
    partitions, bound = run["cross_rack_source_partitions"], run["cross_rack_source_partitions_bound"]
    return None if partitions is None or bound is None else partitions - bound


def partitions_above_bound_percent(run: Run) -> float | None:
    """Return the cross-rack source partitions above their lower bound, in percent of it; None if it is 0 or unknown."""
    above, bound = partitions_above_bound(run), run["cross_rack_source_partitions_bound"]
    return 100 * above / bound if above is not None and bound else None


CostAndBound = Callable[[Run], tuple[float | None, float | None]]
"""Computes a cost of a run and its lower bound; either is None if unknown."""


def deciding_cost(run: Run) -> tuple[float | None, float | None]:
    """Return the cost and its bound in the round that decided the final assignment."""
    return run["total_cost"], run["total_cost_bound"]


def mean_cost(run: Run) -> tuple[float | None, float | None]:
    """Return the mean cost and the mean bound over all rounds."""
    return run["mean_total_cost"], run["mean_total_cost_bound"]


def worst_cost(run: Run) -> tuple[float | None, float | None]:
    """Return the cost and its bound in the round with the largest difference between them."""
    return run["worst_total_cost"], run["worst_total_cost_bound"]


def above_bound(cost_and_bound: CostAndBound) -> Callable[[Run], float | None]:
    """Return a function that computes a cost minus its lower bound; None if either is unknown."""

    def above(run: Run) -> float | None:
        cost, bound = cost_and_bound(run)
        return None if cost is None or bound is None else cost - bound

    return above


def above_bound_percent(cost_and_bound: CostAndBound) -> Callable[[Run], float | None]:
    """Return a function that computes a cost above its lower bound, in percent of it; None if it is 0 or unknown."""

    def percent(run: Run) -> float | None:
        cost, bound = cost_and_bound(run)
        return 100 * (cost - bound) / bound if cost is not None and bound else None

    return percent


def without_rack_redundancy_percent(run: Run) -> float | None:
    """Return the percentage of stateful tasks without rack redundancy; None if unknown or if no task is stateful."""
    tasks, stateful_tasks = run["tasks_without_rack_redundancy"], run["stateful_tasks"]
    return 100 * tasks / stateful_tasks if tasks is not None and stateful_tasks else None
