"""What a metric is, and how one is made from the columns of the table `runs`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from reports.analysis.formatting import NumberFormat, format_count

Run = Mapping[str, Any]
"""A row of the table `runs`."""

_DAY_S = 86_400


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
    write: NumberFormat
    lower_is_better: bool
    of: Callable[[Run], float | None]


def column_metric(
    name: str, title: str, group: str, meaning: str, write: NumberFormat = format_count, *, lower_is_better: bool = True
) -> Metric:
    """A metric that is a column of `runs`."""
    return Metric(name, title, group, meaning, write, lower_is_better, lambda run: run[name])


def gap(run: Run) -> int | None:
    """Cross-rack partitions above the lower bound."""
    remote, least = run["cross_rack_source_partitions"], run["cross_rack_source_partitions_bound"]
    return None if remote is None or least is None else remote - least


def cross_rack_source_partitions_above_bound_percent(run: Run) -> float | None:
    """The gap in per cent of the bound; None where the bound is 0."""
    above, least = gap(run), run["cross_rack_source_partitions_bound"]
    return 100 * above / least if above is not None and least else None


Cost = Callable[[Run], tuple[float | None, float | None]]
"""What an assignment of a run costs, and the lower bound of that; None where it is not known."""


def deciding_cost(run: Run) -> tuple[float | None, float | None]:
    """The cost and its bound in the round that decided the final assignment."""
    return run["total_cost"], run["total_cost_bound"]


def mean_cost(run: Run) -> tuple[float | None, float | None]:
    """The means of the cost and its bound over all rounds."""
    return run["mean_total_cost"], run["mean_total_cost_bound"]


def worst_cost(run: Run) -> tuple[float | None, float | None]:
    """The cost and its bound in the round where they are furthest apart."""
    return run["worst_total_cost"], run["worst_total_cost_bound"]


def above_bound(of: Cost) -> Callable[[Run], float | None]:
    """What an assignment costs above the lower bound."""

    def above(run: Run) -> float | None:
        cost, least = of(run)
        return None if cost is None or least is None else cost - least

    return above


def above_bound_percent(of: Cost) -> Callable[[Run], float | None]:
    """The same in per cent of the bound; None where that is 0."""

    def percent(run: Run) -> float | None:
        cost, least = of(run)
        return 100 * (cost - least) / least if cost is not None and least else None

    return percent


def one_rack_percent(run: Run) -> float | None:
    """The stateful tasks in one rack, in per cent of all."""
    count, every = run["tasks_without_rack_redundancy"], run["stateful_tasks"]
    return 100 * count / every if count is not None and every else None


def usd_per_byte(run: Run) -> float | None:
    """What a byte between racks costs; None without a price, or where nothing crossed to tell it from."""
    usd, carried = run["cross_rack_usd"], run["cross_rack_bytes"]
    return usd / carried if usd is not None and carried else None


def usd_per_day(run: Run) -> float | None:
    """What a day costs once the run is at rest."""
    price, rate = usd_per_byte(run), run["cross_rack_bytes_per_s"]
    return None if price is None or rate is None else price * rate * _DAY_S
