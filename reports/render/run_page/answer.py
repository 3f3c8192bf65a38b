"""The first section of a page of runs: question, conclusion, headline figures, three charts and the trade-off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from reports.analysis.comparison import ComparisonRow, Tables
from reports.analysis.metrics import METRIC, Metric
from reports.analysis.runs.cumulative_downtime import cumulative_downtime, evenly_spaced
from reports.analysis.runs.headline import headline
from reports.analysis.runs.highlights import contrast, settled_sentence
from reports.analysis.runs.question import question, scenario_events
from reports.analysis.runs.time_series import EventMarker, TimeSeries, cross_rack_rate, displaced_tasks, series
from reports.analysis.runs.trade_off import TradeOff, trade_offs
from reports.render.drawing.chart_axes import Unit, bytes_unit, duration_unit, plain, rate_unit
from reports.render.drawing.line_chart import ChartLine, LineChart, line_chart
from reports.render.drawing.scatter_chart import ScatterPoint, scatter_chart

if TYPE_CHECKING:
    from markupsafe import Markup

CURVE_POINTS = 241
"""Points of a curve of cumulative downtime: one per pixel, about."""

_AFTER_LAST_CHANGE = 1.2
_EARLY = 0.05
"""Share of the run; an axis that ended before it would show only the start of the run."""


def answer(tables: Tables, rows: Sequence[ComparisonRow]) -> dict[str, Any]:
    """Return the content of the section.

    `tables`: all result tables of one scenario. Returns variables of the template.
    """
    return {
        "question": question(tables, rows[0].scenario),
        "headline": headline(rows),
        "charts": _charts(tables, rows),
        "trade_offs": [
            {
                "title": trade_off.disruption.title,
                "name": trade_off.disruption.name,
                "sentence": trade_off.sentence,
                "left_out": trade_off.left_out,
                "svg": _scatter(trade_off),
            }
            for trade_off in trade_offs(rows)
        ],
        "cost_title": next((trade_off.cost.title for trade_off in trade_offs(rows)), ""),
    }


def _charts(tables: Tables, rows: Sequence[ComparisonRow]) -> list[dict[str, Any]]:
    """Return title, sentence and drawing of each chart."""
    rates, displaced = series(tables, cross_rack_rate), series(tables, displaced_tasks)
    markers = _markers(tables, rows[0].scenario)
    until_ms = _until_ms(rates, markers)
    if not until_ms:
        return []
    curves = cumulative_downtime(tables, evenly_spaced(until_ms, CURVE_POINTS))
    downtime = [
        ChartLine(curve.label, index, curve.at_ms, curve.values_ms, curve.minimums_ms, curve.maximums_ms)
        for index, curve in enumerate(curves)
    ]
    longest = max((curve.maximums_ms[-1] for curve in curves if curve.maximums_ms), default=0.0)
    fastest = max((value for line in rates for value in line.maximums if value is not None), default=0.0)
    drawn = (
        (
            "Cross-rack traffic",
            _sentence("At the end", contrast(rows, METRIC["cross_rack_bytes_per_s"])),
            _stepped(rates),
            rate_unit(fastest),
        ),
        (
            "Tasks not on their final client",
            settled_sentence(tables),
            _stepped(displaced),
            Unit(1.0, "tasks", is_whole=True),
        ),
        (
            "Cumulative downtime of all tasks",
            _sentence("In total", contrast(rows, METRIC["downtime_ms"])),
            downtime,
            duration_unit(longest),
        ),
    )
    charts = []
    for title, sentence, lines, unit in drawn:
        drawing = LineChart(
            title=f"{title} ({unit.name}) over time. {sentence}",
            lines=lines,
            x_unit=duration_unit(until_ms),
            y_unit=unit,
            x_name="time",
            until=float(until_ms),
            events=markers,
            is_stepped=lines is not downtime,
        )
        charts.append({"title": title, "sentence": sentence, "svg": _markup(line_chart(drawing))})
    return charts


def _sentence(when: str, text: str) -> str:
    return f"{when}: {text}." if text else ""


def _markers(tables: Tables, scenario: str) -> list[EventMarker]:
    """Return the events of the scenario without the details in parentheses."""
    texts: dict[int, list[str]] = {}
    for at_ms, label in scenario_events(tables, scenario):
        texts.setdefault(at_ms, []).append(label.partition(" (")[0] or label)
    return [EventMarker(at_ms, tuple(labels)) for at_ms, labels in sorted(texts.items())]


def _until_ms(lines: Sequence[TimeSeries], events: Sequence[EventMarker]) -> int:
    """Return the end of the time axis: shortly after the last rebalance or event, because nothing changes later."""
    end = max((line.until_ms for line in lines), default=0)
    last = max([0, *(line.at_ms[-1] for line in lines if line.at_ms), *(event.at_ms for event in events)])
    return min(end, round(last * _AFTER_LAST_CHANGE)) if last > _EARLY * end else end


def _stepped(lines: Sequence[TimeSeries]) -> list[ChartLine]:
    return [
        ChartLine(line.label, index, line.at_ms, line.values, line.minimums, line.maximums)
        for index, line in enumerate(lines)
    ]


def _scatter(trade_off: TradeOff) -> Markup:
    points = [
        ScatterPoint(point.assignor, point.index, point.cost, point.disruption, point.dominated_by is None)
        for point in trade_off.points
    ]
    x_unit = _unit(trade_off.cost, max(point.x for point in points))
    y_unit = _unit(trade_off.disruption, max(point.y for point in points))
    title = f"{trade_off.cost.title} and {trade_off.disruption.title} of each assignor. {trade_off.sentence}"
    return _markup(scatter_chart(title, points, trade_off.cost.title, trade_off.disruption.title, x_unit, y_unit))


def _unit(metric: Metric, maximum: float) -> Unit:
    """Return the unit of the axis of a metric."""
    if metric.name.endswith("_ms"):
        return duration_unit(maximum)
    if metric.name.endswith("_bytes_per_s"):
        return rate_unit(maximum)
    if metric.name.endswith("_bytes"):
        return bytes_unit(maximum)
    return plain(metric.write)(maximum)


def _markup(svg: str) -> Markup:
    """Return a drawing that the templates include as markup: its texts are escaped."""
    from markupsafe import Markup

    return Markup(svg)
