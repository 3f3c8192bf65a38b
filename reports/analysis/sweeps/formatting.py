"""Formatting of the means and differences of a sweep."""

from __future__ import annotations

from reports.analysis.cells import UNKNOWN, Cell
from reports.analysis.formatting import format_percent, format_range
from reports.analysis.metrics import Metric
from reports.analysis.sweeps.aggregated_sweep import MeanEstimate


def mean_cell(metric: Metric, estimate: MeanEstimate | None) -> Cell:
    """Return a mean with its interval as a note."""
    if estimate is None:
        return Cell(UNKNOWN)
    return Cell(metric.write(estimate.mean), tuple(filter(None, [interval(metric, estimate)])), estimate.mean)


def interval(metric: Metric, estimate: MeanEstimate) -> str:
    """Return an interval such as `10–15 MB/s`; empty without an interval, or if its width is 0."""
    if estimate.low is None or estimate.high is None or estimate.low == estimate.high:
        return ""
    return format_range(estimate.low, estimate.high, metric.write)


def difference_cell(metric: Metric, estimate: MeanEstimate | None) -> Cell:
    """Return a difference with its interval as a note."""
    if estimate is None:
        return Cell(UNKNOWN)
    return Cell(
        signed(metric, estimate.mean), tuple(filter(None, [difference_interval(metric, estimate)])), estimate.mean
    )


def difference_interval(metric: Metric, estimate: MeanEstimate) -> str:
    """Return an interval such as `−12 to +3`; empty without an interval, or if its width is 0."""
    if estimate.low is None or estimate.high is None or estimate.low == estimate.high:
        return ""
    return f"{signed(metric, estimate.low)} to {signed(metric, estimate.high)}"


def signed(metric: Metric, value: float) -> str:
    """Return a number with its sign; without a sign if it rounds to 0."""
    text = metric.write(abs(value))
    if text == metric.write(0):
        return text
    return f"{'−' if value < 0 else '+'}{text}"


def excludes_zero(estimate: MeanEstimate) -> bool:
    """Return whether the interval excludes 0."""
    return estimate.low is not None and estimate.high is not None and (estimate.low > 0 or estimate.high < 0)


def share(value: float) -> str:
    """Return a share of 1 as a whole percentage."""
    return format_percent(round(100 * value))
