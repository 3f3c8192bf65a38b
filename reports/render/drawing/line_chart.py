"""Small line charts as inline SVG, with the name of each line at its end instead of a legend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from xml.sax.saxutils import escape

from reports.analysis.runs.time_series import EventMarker
from reports.analysis.text import printable, shortened
from reports.render.drawing.chart_axes import CHAR_PX, FONT_PX, Scale, Unit, element, spread, text, ticks
from reports.render.drawing.event_labels import place_labels

WIDTH, HEIGHT = 400, 205
_LEFT, _TOP, _BOTTOM = 40.0, 34.0, 169.0
_LABEL_CHARS = 15
_RIGHT = WIDTH - _LABEL_CHARS * CHAR_PX - 18
_GAP = 14.0
_COLUMN = 0.5
_EVENT_CHARS = 26

COLORS = 7
"""Number of line colors in the style sheet."""

DASHES = 6
"""Number of dash patterns in the style sheet."""


@dataclass(frozen=True, slots=True)
class ChartLine:
    """A line of a chart.

    Attributes:
        label: name of the line.
        index: number of its color and dash pattern.
        x: positions on the x axis, ascending.
        y: values; None where unknown.
        low: lower end of the shaded range, such as the minimum over seeds; empty without a range.
        high: upper end of the shaded range.
    """

    label: str
    index: int
    x: Sequence[float]
    y: Sequence[float | None]
    low: Sequence[float | None] = ()
    high: Sequence[float | None] = ()


@dataclass(frozen=True, slots=True)
class LineChart:
    """A line chart.

    Attributes:
        title: what it shows, for screen readers.
        x_unit: unit of the x axis.
        y_unit: unit of the y axis.
        x_name: name of the x axis; the unit is appended.
        until: end of the x axis.
        start: start of the x axis.
        events: events marked by vertical lines; x is the time in milliseconds then.
        is_stepped: whether each value holds until the next one.
    """

    title: str
    lines: Sequence[ChartLine]
    x_unit: Unit
    y_unit: Unit
    x_name: str
    until: float
    start: float = 0.0
    events: Sequence[EventMarker] = ()
    is_stepped: bool = False


def line_chart(chart: LineChart) -> str:
    """Return a line chart as an SVG element; the y axis starts at 0.

    Lines without any known value are left out. `chart`: the chart; its x axis must not be empty. Returns well-formed
    XML.
    """
    lines = [line for line in chart.lines if any(value is not None for value in line.y)]
    across = Scale(chart.start, chart.until, _LEFT, _RIGHT)
    top = max((value for line in lines for value in (*line.y, *line.high) if value is not None), default=0.0)
    up = Scale(0.0, 1.06 * (top or chart.y_unit.factor), _BOTTOM, _TOP)
    parts = [
        *_axes(chart, across, up),
        *(_band(line, chart, across, up) for line in lines),
        *(_stroke(line, chart, across, up) for line in lines),
        *_labels(lines, up),
    ]
    if not lines:
        parts.append(text("no data", (_LEFT + _RIGHT) / 2, (_TOP + _BOTTOM) / 2, text_anchor="middle"))
    return element(
        "svg", parts, viewBox=f"0 0 {WIDTH} {HEIGHT}", class_="chart", role="img", aria_label=printable(chart.title)
    )


def _axes(chart: LineChart, across: Scale, up: Scale) -> list[str]:
    in_x = ticks(chart.start, chart.until, chart.x_unit, 5)
    in_y = ticks(0.0, up.high, chart.y_unit, 4)
    unit = f" ({chart.x_unit.name})" if chart.x_unit.name else ""
    parts = [_line("rule", _LEFT, up.at(value), _RIGHT, up.at(value)) for value, _ in in_y]
    parts += [_line("frame", _LEFT, _BOTTOM, _RIGHT, _BOTTOM)]
    parts += [text(words, _LEFT - 6, up.at(value) + 4, text_anchor="end") for value, words in in_y]
    parts += [text(words, across.at(value), _BOTTOM + 16, text_anchor="middle") for value, words in in_x]
    parts += [text(f"{chart.x_name}{unit}", _RIGHT, HEIGHT - 4, text_anchor="end", class_="axis")]
    parts += [text(chart.y_unit.name, 2.0, _TOP - 20, class_="axis")] if chart.y_unit.name else []
    for label in place_labels(chart.events, int(chart.until), _RIGHT - _LEFT, _EVENT_CHARS):
        x = across.at(label.at_ms)
        title = element("title", escape(label.text))
        parts.append(element("g", [title, _line("event", x, _TOP - 4, x, _BOTTOM)]))
        if label.lane == 0:
            anchor, shift = ("end", 3) if label.leftwards else ("start", -3)
            parts.append(text(label.text, x + shift, _TOP - 8, text_anchor=anchor, class_="event-label"))
    return parts


def _line(name: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return element("line", class_=name, x1=x1, y1=y1, x2=x2, y2=y2)


def _stroke(line: ChartLine, chart: LineChart, across: Scale, up: Scale) -> str:
    """Return the path of a line; unknown values interrupt it."""
    path = (_path(_points(corners, across, up)) for corners in _stretches(line.x, line.y, chart))
    return element("path", d="".join(path), class_=f"line {style_class(line.index)}")


def _band(line: ChartLine, chart: LineChart, across: Scale, up: Scale) -> str:
    """Return the shaded range of a line; empty if it has none."""
    if not line.low or list(line.low) == list(line.high):
        return ""
    lows, highs = (_stretches(line.x, ends, chart) for ends in (line.low, line.high))
    path = [
        _path([*_points(high, across, up), *reversed(_points(low, across, up))]) + "Z"
        for low, high in zip(lows, highs, strict=True)
    ]
    return element("path", d="".join(path), class_=f"band {style_class(line.index)}")


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _stretches(x: Sequence[float], y: Sequence[float | None], chart: LineChart) -> list[list[tuple[float, float]]]:
    """Return the corners of each stretch of known values up to the end of the axis."""
    stretches: list[list[tuple[float, float]]] = [[]]
    for at, value, end in zip(x, y, (*x[1:], chart.until), strict=True):
        if value is None or at > chart.until:
            stretches.append([])
        else:
            stretches[-1].append((at, value))
            if chart.is_stepped:
                stretches[-1].append((min(end, chart.until), value))
    return [stretch for stretch in stretches if stretch]


def _points(corners: Sequence[tuple[float, float]], across: Scale, up: Scale) -> list[tuple[float, float]]:
    """Return the positions of corners; several in one column of pixels become their extremes."""
    columns: dict[int, list[tuple[float, float]]] = {}
    for at, value in corners:
        x = across.at(at)
        columns.setdefault(int(x / _COLUMN), []).append((x, up.at(value)))
    points: list[tuple[float, float]] = []
    for column in columns.values():
        extremes = (column[0], min(column, key=lambda p: p[1]), max(column, key=lambda p: p[1]), column[-1])
        points += extremes if len(column) > len(extremes) else column
    return [points[0], *(point for before, point in pairwise(points) if point != before)]


def _labels(lines: Sequence[ChartLine], up: Scale) -> list[str]:
    """Return the names of the lines at the height of their last value, moved apart where they would overlap."""
    room = int((_BOTTOM - _TOP + 26) / _GAP) + 1
    shown = lines if len(lines) <= room else lines[: room - 1]
    ends = [up.at(next(value for value in reversed(line.y) if value is not None)) for line in shown]
    heights = spread(ends, _GAP, _TOP - 12, _BOTTOM + 14)
    parts = []
    for line, end, height in zip(shown, ends, heights, strict=True):
        name = printable(line.label)
        leader = f"M{_RIGHT:.1f} {end:.1f}L{_RIGHT + 9:.1f} {height:.1f}H{_RIGHT + 13:.1f}"
        parts.append(element("path", d=leader, class_=f"leader {style_class(line.index)}"))
        title = element("title", escape(name))
        label = escape(shortened(name, _LABEL_CHARS))
        parts.append(element("text", [label, title], x=_RIGHT + 16, y=height + FONT_PX / 3, class_="name"))
    if len(shown) < len(lines):
        below = max(heights) + _GAP + FONT_PX / 3
        parts.append(text(f"{len(lines) - len(shown)} more", _RIGHT + 16, below, class_="name"))
    return parts


def style_class(index: int) -> str:
    """Return the classes of color and dash pattern of a line by its number from 0."""
    return f"a-{index % COLORS} dash-{index % DASHES}"
