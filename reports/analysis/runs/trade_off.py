"""The trade-off between cross-rack cost and disruption: one point per assignor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from reports.analysis.comparison import ComparisonRow
from reports.analysis.metrics import METRIC, Metric
from reports.analysis.pareto import NOT_DOMINATED, dominators
from reports.analysis.text import printable

DISRUPTIONS: Final = (
    "longest_downtime_ms",
    "worst_downtime_ms",
    "downtime_ms",
    "time_to_converge_ms",
    "restored_bytes",
)
"""Keys of the metrics that measure disruption, the first by default."""

_MAX_DOMINATED = 2


@dataclass(frozen=True, slots=True)
class DisruptionPoint:
    """An assignor in a trade-off.

    Attributes:
        assignor: label of the assignor.
        index: its number in the comparison, which determines its color.
        cost: median of the cost metric.
        disruption: median of the disruption metric.
        dominated_by: label of an assignor that is at least as good in both and better in one; None if Pareto-optimal.
    """

    assignor: str
    index: int
    cost: float
    disruption: float
    dominated_by: str | None


@dataclass(frozen=True, slots=True)
class TradeOff:
    """Cost against disruption of the assignors of a scenario.

    Attributes:
        points: the assignors for which both are known, in the order of the comparison.
        left_out: labels of the others.
    """

    cost: Metric
    disruption: Metric
    points: tuple[DisruptionPoint, ...]
    left_out: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """What to see: the cheapest and the least disruptive assignor, and those that are worse in both."""
        if len(self.points) < 2:
            return ""
        cheapest = _lowest([(point.cost, point) for point in self.points], self.cost)
        calmest = _lowest([(point.disruption, point) for point in self.points], self.disruption)
        both = [point for point in cheapest if point in calmest]
        if both:
            first = f"No trade-off: both are lowest with {_names(both)}"
        else:
            disruption = f"{_lower(self.disruption.title)} with {_names(calmest)}"
            first = f"{self.cost.title} is lowest with {_names(cheapest)}, {disruption}"
        worse = [
            f"{printable(point.assignor)} is dominated by {printable(point.dominated_by)}"
            for point in self.points
            if point.dominated_by is not None
        ]
        rest = len(worse) - _MAX_DOMINATED
        more = [f"{rest} more {'is' if rest == 1 else 'are'} dominated"] if rest > 0 else []
        return f"{'; '.join((first, *worse[:_MAX_DOMINATED], *more))}."


def trade_offs(rows: Sequence[ComparisonRow]) -> list[TradeOff]:
    """Return the trade-offs of the assignors of one scenario, one per disruption metric with two known assignors.

    The cost is in dollars per day if it is known for every assignor with known traffic, otherwise it is the traffic.
    """
    rate, per_day = METRIC["cross_rack_bytes_per_s"], METRIC["cross_rack_usd_per_day"]
    has_price = all(row.spreads[per_day.name] for row in rows if row.spreads[rate.name])
    cost = per_day if has_price else rate
    found = [_trade_off(rows, cost, METRIC[name]) for name in DISRUPTIONS]
    return [trade_off for trade_off in found if len(trade_off.points) > 1]


def _trade_off(rows: Sequence[ComparisonRow], cost: Metric, disruption: Metric) -> TradeOff:
    known = [
        (index, row, costs.median, disruptions.median)
        for index, row in enumerate(rows)
        if row.is_comparable
        and row.has_all(cost.name)
        and row.has_all(disruption.name)
        and (costs := row.spreads[cost.name])
        and (disruptions := row.spreads[disruption.name])
    ]
    values = np.array([[first, second] for _, _, first, second in known], dtype=np.float64).reshape(len(known), 2)
    # Values that look equal are equal, so that rounding does not make an assignor dominate another.
    for column, metric in enumerate((cost, disruption)):
        values[:, column] = _merge_equal(values[:, column].tolist(), metric)
    points = tuple(
        DisruptionPoint(row.assignor, index, first, second, None if by == NOT_DOMINATED else known[by][1].assignor)
        for (index, row, first, second), by in zip(known, dominators(values).tolist(), strict=True)
    )
    present = {point.assignor for point in points}
    return TradeOff(cost, disruption, points, tuple(row.assignor for row in rows if row.assignor not in present))


def _merge_equal(values: Sequence[float], metric: Metric) -> list[float]:
    """Return the values with those that are formatted alike replaced by the lowest of them."""
    merged = {value: value for value in values}
    for low, high in pairwise(sorted(merged)):
        if metric.write(low) == metric.write(high):
            merged[high] = merged[low]
    return [merged[value] for value in values]


def _lowest(points: Sequence[tuple[float, DisruptionPoint]], metric: Metric) -> list[DisruptionPoint]:
    lowest = metric.write(min(value for value, _ in points))
    return [point for value, point in points if metric.write(value) == lowest]


def _lower(title: str) -> str:
    return title[:1].lower() + title[1:]


def _names(points: Sequence[DisruptionPoint]) -> str:
    names = [printable(point.assignor) for point in points]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
