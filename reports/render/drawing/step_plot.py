"""Step lines over time with event labels, the basis of all time series figures.

The legend is below the axes and event labels are above them, so that nothing covers the data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reports.analysis.formatting import time_unit
from reports.analysis.runs.time_series import EventMarker, TimeSeries
from reports.analysis.text import printable, shortened
from reports.render.drawing.event_labels import EventLabel, place_labels
from reports.render.drawing.style import (
    EVENT,
    INK,
    PAPER,
    POINTS_PER_IN,
    LineStyle,
    line_style,
    new_figure,
    width_in,
    write_instead_of_data,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HEIGHT_IN = 3.4
_LINE_PT = 1.7
_LINE_OFFSET_PT = 2.4
_MAX_TOTAL_OFFSET_PT = 11.0
"""Vertical offsets between coinciding lines: between two of them, and the maximum over all."""

_LANE_PT = 10.0
_STEPS = (1, 2, 5, 10)
_TIME_STEPS = (1, 1.5, 2, 3, 5, 10)
_MANY_ROUNDS = 60


@dataclass(frozen=True, slots=True)
class PlotOptions:
    """Options of a time series figure.

    Attributes:
        title: title of the figure.
        y_label: label of the y axis with its unit.
        factor: units of the values per unit of the axis.
        whole_numbers: whether the y axis has whole numbers only.
        narrow: whether to draw for a small screen.
    """

    title: str
    y_label: str
    factor: float
    whole_numbers: bool
    narrow: bool

    @property
    def width_pt(self) -> float:
        """Approximate width of the axes in points."""
        return width_in(narrow=self.narrow) * POINTS_PER_IN - 60


@dataclass(frozen=True, slots=True)
class _Frame:
    """The axes of a figure with the end and unit of its time axis."""

    plot: PlotOptions
    axes: Axes
    until_ms: int
    ms_per_unit: float

    def x(self, times_ms: Sequence[int]) -> list[float]:
        return [time_ms / self.ms_per_unit for time_ms in times_ms]

    def y(self, values: Sequence[float | None]) -> list[float]:
        return [math.nan if value is None else value / self.plot.factor for value in values]


def draw(plot: PlotOptions, lines: Sequence[TimeSeries], events: Sequence[EventMarker]) -> Figure:
    """Draw lines over time; coinciding lines are drawn side by side.

    `lines`: one per assignor.
    """
    columns, rows = _legend_shape(plot, lines)
    figure = new_figure(_HEIGHT_IN + 0.2 * rows, narrow=plot.narrow)
    axes = figure.add_subplot()
    axes.set_ylabel(plot.y_label)
    # Lines keep the index of their assignor, so that an assignor has the same style in all figures.
    known_lines = {index: line for index, line in enumerate(lines) if any(value is not None for value in line.values)}
    if not known_lines:
        axes.set(xlabel="time", title=plot.title)
        write_instead_of_data(axes, "no rebalance")
        return figure
    frame = _frame(plot, axes, list(known_lines.values()), events)
    offsets_pt = _offsets_pt(list(known_lines.values()))
    handles = [
        _line(frame, line, line_style(index), offset_pt)
        for (index, line), offset_pt in zip(known_lines.items(), offsets_pt, strict=True)
    ]
    if any(line.varies for line in known_lines.values()):
        handles.append(_range_handle())
    labels = place_labels(events, frame.until_ms, plot.width_pt, 20 if plot.narrow else 28)
    handles += _events(frame, labels)
    lanes = 1 + max((label.lane for label in labels if label.lane is not None), default=-1)
    axes.set_title(plot.title, pad=6 + lanes * _LANE_PT)
    figure.legend(handles=handles, loc="outside lower left", ncols=columns, handlelength=4.2)
    return figure


def _legend_label(plot: PlotOptions, line: TimeSeries) -> str:
    note = " (failed)" if line.failed else ""
    return shortened(printable(line.label), (36 if plot.narrow else 60) - len(note)) + note


def _legend_shape(plot: PlotOptions, lines: Sequence[TimeSeries]) -> tuple[int, int]:
    """Return the number of columns and rows of the legend, including events and range."""
    entries = [_legend_label(plot, line) for line in lines] + ["scenario event (10 without label)"]
    width_pt = 50 + 5.2 * max(map(len, entries))
    columns = max(1, min(4, int((plot.width_pt + 60) / width_pt)))
    return columns, -(-(len(entries) + 1) // columns)


def _until(lines: Sequence[TimeSeries], events: Sequence[EventMarker]) -> int:
    """Return the end of the time axis: shortly after the last change or event, because nothing changes later."""
    end = max(line.until_ms for line in lines)
    last = max([line.at_ms[-1] for line in lines] + [event.at_ms for event in events if event.at_ms <= end])
    return min(end, round(last * 1.2)) if len({time_ms for line in lines for time_ms in line.at_ms}) > 1 else end


def _frame(plot: PlotOptions, axes: Axes, lines: Sequence[TimeSeries], events: Sequence[EventMarker]) -> _Frame:
    from matplotlib.ticker import MaxNLocator

    until_ms = _until(lines, events)
    ms_per_unit, unit = time_unit(until_ms)
    axes.set_xlabel(f"time ({unit})")
    axes.set_xlim(0, max(until_ms, 1) / ms_per_unit)
    axes.xaxis.set_major_locator(MaxNLocator(6 if plot.narrow else 10, steps=_TIME_STEPS))
    top = max(value for line in lines for value in line.maximums if value is not None) / plot.factor or 1
    # Lines drawn side by side may be slightly below 0.
    axes.set_ylim(-0.05 * top, 1.06 * top)
    axes.yaxis.set_major_locator(MaxNLocator(7, steps=_STEPS, integer=plot.whole_numbers))
    return _Frame(plot, axes, until_ms, ms_per_unit)


def _offsets_pt(lines: Sequence[TimeSeries]) -> list[float]:
    """Return the vertical offset of each line in points, such that coinciding lines are all visible."""
    offsets = [0.0] * len(lines)
    for group in _coinciding(lines):
        step = min(_LINE_OFFSET_PT, _MAX_TOTAL_OFFSET_PT / len(group))
        # Shift higher lines up, so that shifting never brings lines closer together.
        by_height = sorted(group, key=lambda index: -_mean(lines[index]))
        for position, index in enumerate(by_height):
            offsets[index] = step * ((len(group) - 1) / 2 - position)
    return offsets


def _mean(line: TimeSeries) -> float:
    known = [value for value in line.values if value is not None]
    return sum(known) / len(known)


def _coinciding(lines: Sequence[TimeSeries]) -> list[list[int]]:
    """Return groups of lines that coincide at some time, directly or through other lines."""
    times_ms = sorted({time_ms for line in lines for time_ms in line.at_ms})
    values = [[line.at(time_ms) for time_ms in times_ms] for line in lines]
    group_of = list(range(len(lines)))
    for first in range(len(lines)):
        for second in range(first):
            if any(a is not None and a == b for a, b in zip(values[first], values[second], strict=True)):
                joined, kept = group_of[first], group_of[second]
                group_of = [kept if group == joined else group for group in group_of]
    return [[index for index, group in enumerate(group_of) if group == wanted] for wanted in sorted(set(group_of))]


def _line(frame: _Frame, line: TimeSeries, style: LineStyle, offset_pt: float) -> Artist:
    """Draw a line with a marker per round and the range over the seeds; return its legend handle."""
    from matplotlib.lines import Line2D
    from matplotlib.transforms import ScaledTranslation

    axes = frame.axes
    shift = ScaledTranslation(0, offset_pt / POINTS_PER_IN, axes.figure.dpi_scale_trans)
    transform = axes.transData + shift
    stroke: dict[str, Any] = {
        "color": style.color,
        "linewidth": _LINE_PT,
        "linestyle": (0, style.dashes) if style.dashes else "-",
    }
    marker: dict[str, Any] = {
        "marker": style.marker,
        "markersize": 5.5 if len(line.rounds_ms) <= _MANY_ROUNDS else 2.5,
        "markerfacecolor": PAPER,
        "markeredgecolor": style.color,
        "markeredgewidth": 1.2,
    }
    times = frame.x([*line.at_ms, max(frame.until_ms, line.at_ms[-1])])
    values, lows, highs = (frame.y([*side, side[-1]]) for side in (line.values, line.minimums, line.maximums))
    at_rounds = frame.y([line.at(time_ms) for time_ms in line.rounds_ms])
    axes.step(times, values, where="post", transform=transform, **stroke)
    axes.plot(frame.x(line.rounds_ms), at_rounds, ls="none", clip_on=False, zorder=3, transform=transform, **marker)
    if line.varies:
        axes.fill_between(times, lows, highs, step="post", color=style.color, alpha=0.15, linewidth=0)
    return Line2D([], [], label=_legend_label(frame.plot, line), **stroke, **marker)


def _range_handle() -> Artist:
    from matplotlib.patches import Patch

    return Patch(facecolor=INK, alpha=0.15, label="range over seeds; lines: median")


def _events(frame: _Frame, labels: Sequence[EventLabel]) -> list[Artist]:
    """Draw a thin line down from each event label; return the legend handles."""
    from matplotlib.lines import Line2D

    stroke: dict[str, Any] = {"color": EVENT, "linewidth": 0.8, "linestyle": (0, (4, 2))}
    for label in labels:
        [x] = frame.x([label.at_ms])
        frame.axes.axvline(x, zorder=1, **stroke)
        if label.lane is not None:
            _write_label(frame.axes, label, label.lane, x, stroke)
    if not labels:
        return []
    unnamed = sum(label.lane is None for label in labels)
    note = f" ({unnamed} without label)" if unnamed else ""
    return [Line2D([], [], label=f"scenario event{note}", **stroke)]


def _write_label(axes: Axes, label: EventLabel, lane: int, x: float, stroke: dict[str, Any]) -> None:
    """Write an event label above the axes and draw the line from it to the axes."""
    up_pt = 3 + lane * _LANE_PT
    above: dict[str, Any] = {
        "xy": (x, 1),
        "xycoords": axes.get_xaxis_transform(),
        "textcoords": "offset points",
        "annotation_clip": False,
    }
    lead = {"arrowstyle": "-", "shrinkA": 0, "shrinkB": 0, **stroke}
    name = axes.annotate(
        label.text,
        xytext=(-3 if label.leftwards else 3, up_pt),
        ha="right" if label.leftwards else "left",
        fontsize=7.5,
        **above,
    )
    line = axes.annotate("", xytext=(0, up_pt + _LANE_PT - 2), arrowprops=lead, **above)
    for artist in (name, line):
        artist.set_in_layout(False)
