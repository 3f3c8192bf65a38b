"""Formatting of the means and differences of a sweep."""

from __future__ import annotations

from reports.analysis.cells import UNKNOWN, Cell
from reports.analysis.formatting import format_percent, format_range
from reports.analysis.metric import Metric
from reports.analysis.sweeps.aggregated_sweep import MeanEstimate


def mean_cell(metric: Metric, figure: MeanEstimate | None) -> Cell:
    """Return a mean with its interval as a note."""
    if figure is None:
        return Cell(UNKNOWN)
    return Cell(metric.write(figure.mean), tuple(filter(None, [interval(metric, figure)])), figure.mean)


def interval(metric: Metric, figure: MeanEstimate) -> str:
    """Return an interval such as `10–15 MB/s`; empty without an interval, or if its width is 0."""
    if figure.low is None or figure.high is None or figure.low == figure.high:
        return ""
    return format_range(figure.low, figure.high, metric.write)


def difference_cell(metric: Metric, figure: MeanEstimate | None) -> Cell:
    """Return a difference with its interval as a note."""
    if figure is None:
        return Cell(UNKNOWN)
    return Cell(signed(metric, figure.mean), tuple(filter(None, [difference_interval(metric, figure)])), figure.mean)


def difference_interval(metric: Metric, figure: MeanEstimate) -> str:
    """Return an interval such as `−12 to +3`; empty without an interval, or if its width is 0."""
    if figure.low is None or figure.high is None or figure.low == figure.high:
        return ""
    return f"{signed(metric, figure.low)} to {signed(metric, figure.high)}"


def signed(metric: Metric, value: float) -> str:
    """Return a number with its sign; without a sign if it rounds to 0."""
    text = metric.write(abs(value))
    if text == metric.write(0):
        return text
    return f"{'−' if value < 0 else '+'}{text}"


def excludes_zero(figure: MeanEstimate) -> bool:
    """Return whether the interval excludes 0."""
    return figure.low is not None and figure.high is not None and (figure.low > 0 or figure.high < 0)


def share(value: float) -> str:
    """Return a share of 1 as a whole percentage."""
    return format_percent(round(100 * value))
