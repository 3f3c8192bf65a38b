"""How figures of a sweep are written."""

from __future__ import annotations

from reports.analysis.cells import UNKNOWN, Cell
from reports.analysis.formatting import format_percent, format_range
from reports.analysis.metric import Metric
from reports.analysis.sweeps.aggregated_sweep import MeanEstimate


def mean_cell(metric: Metric, figure: MeanEstimate | None) -> Cell:
    """A mean, and below it from where to where its interval goes."""
    if figure is None:
        return Cell(UNKNOWN)
    return Cell(metric.write(figure.mean), tuple(filter(None, [interval(metric, figure)])), figure.mean)


def interval(metric: Metric, figure: MeanEstimate) -> str:
    """`10–15 MB/s`; empty if there is no interval, or one of no width."""
    if figure.low is None or figure.high is None or figure.low == figure.high:
        return ""
    return format_range(figure.low, figure.high, metric.write)


def difference_cell(metric: Metric, figure: MeanEstimate | None) -> Cell:
    """A difference, and below it from where to where its interval goes."""
    if figure is None:
        return Cell(UNKNOWN)
    return Cell(signed(metric, figure.mean), tuple(filter(None, [difference_interval(metric, figure)])), figure.mean)


def difference_interval(metric: Metric, figure: MeanEstimate) -> str:
    """`−12 to +3`; empty if there is no interval, or one of no width."""
    if figure.low is None or figure.high is None or figure.low == figure.high:
        return ""
    return f"{signed(metric, figure.low)} to {signed(metric, figure.high)}"


def signed(metric: Metric, value: float) -> str:
    """A number with its sign, unless it is written as 0."""
    written = metric.write(abs(value))
    if written == metric.write(0):
        return written
    return f"{'−' if value < 0 else '+'}{written}"


def excludes_zero(figure: MeanEstimate) -> bool:
    """Whether the interval says that there is a difference."""
    return figure.low is not None and figure.high is not None and (figure.low > 0 or figure.high < 0)


def share(value: float) -> str:
    """A share of 1 in whole per cent."""
    return format_percent(round(100 * value))
