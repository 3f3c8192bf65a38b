"""The metrics by which assignors are compared: how they are written, and which of their differences count.

`simulator.results.run_metrics` declares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
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
from simulator.results.run_metrics import RUN_METRICS, MetricUnit, RunMetric

Run = Mapping[str, Any]
"""A row of the table `runs`."""

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
    return LEAST_RELEVANT[RUN_METRICS[name].unit]


def is_relevant(difference: float, before: float, least: float) -> bool:
    """Return whether a difference counts in advice: at least `least`, and `RELEVANT_SHARE` of the value before."""
    return abs(difference) >= max(least, RELEVANT_SHARE * abs(before))


class Metric(RunMetric):
    """A metric and how it is written."""

    __slots__ = ()

    @property
    def write(self) -> NumberFormat:
        """The format of its values."""
        return FORMATS[self.unit]


ALL_METRICS: Final[dict[str, Metric]] = {
    name: Metric(**{field.name: getattr(metric, field.name) for field in fields(metric)})
    for name, metric in RUN_METRICS.items()
}
"""All metrics by key, in display order."""

METRIC: Final[dict[str, Metric]] = {name: metric for name, metric in ALL_METRICS.items() if not metric.on_request}
"""All metrics by key, without those that comparisons show on request only."""

METRICS: Final = tuple(METRIC.values())
"""All metrics in display order, without those that comparisons show on request only."""

COMPARABLE_METRICS: Final[dict[str, Metric]] = {
    name: metric for name, metric in ALL_METRICS.items() if metric.lower_is_better
}
"""Metrics of which lower values are better, by key: those that significance tests can compare."""
