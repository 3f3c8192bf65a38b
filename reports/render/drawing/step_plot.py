"""Step lines over time with what happened meanwhile: the frame that the figures of runs share.

Nothing covers the data: the legend stands below the axes, the names of events above them.
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
from reports.render.drawing.style import EVENT, INK, PAPER, LineStyle, line_style

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDE_IN, _NARROW_IN, _HEIGHT_IN = 8.0, 4.2, 3.4
_POINTS_PER_IN = 72
_LINE_PT = 1.7
_APART_PT = 2.4
_APART_ALL_PT = 11.0
"""How far lines that lie on one another are drawn apart: two neighbours, and all of them at most."""

_LANE_PT = 10.0
_STEPS = (1, 2, 5, 10)
_TIME_STEPS = (1, 1.5, 2, 3, 5, 10)
_MANY_ROUNDS = 60


@dataclass(frozen=True, slots=True)
class PlotOptions:
    """What a figure says about itself.

    Attributes:
        title: of the figure.
        y_label: what is counted, with its unit.
        factor: how many of the table's units are one of the axis.
        whole_numbers: whether there is nothing between two whole numbers.
        narrow: for a small screen or a column of a page.
    """

    title: str
    y_label: str
    factor: float
    whole_numbers: bool
    narrow: bool

    @property
    def width_pt(self) -> float:
        """Of the axes, about."""
        return (_NARROW_IN if self.narrow else _WIDE_IN) * _POINTS_PER_IN - 60


@dataclass(frozen=True, slots=True)
class _Frame:
    """The axes that lines are drawn in, and the end and unit of time there."""

    plot: PlotOptions
    axes: Axes
    until_ms: int
    ms_per_unit: float

    def x(self, moments_ms: Sequence[int]) -> list[float]:
        return [moment / self.ms_per_unit for moment in moments_ms]

    def y(self, values: Sequence[float | None]) -> list[float]:
        return [math.nan if value is None else value / self.plot.factor for value in values]


def draw(plot: PlotOptions, lines: Sequence[TimeSeries], happened: Sequence[EventMarker]) -> Figure:
    """Draw lines; where they lie on one another they are drawn side by side."""
    from matplotlib.figure import Figure

    columns, rows = _legend_shape(plot, lines)
    size = (_NARROW_IN if plot.narrow else _WIDE_IN, _HEIGHT_IN + 0.2 * rows)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.add_subplot()
    axes.set_ylabel(plot.y_label)
    # A line keeps its style in all figures of a run, whoever else is drawn.
    drawn = {index: line for index, line in enumerate(lines) if any(value is not None for value in line.values)}
    if not drawn:
        axes.set(xticks=[], yticks=[], xlabel="time", title=plot.title)
        axes.text(0.5, 0.5, "no rebalance to show", transform=axes.transAxes, ha="center", va="center")
        return figure
    frame = _frame(plot, axes, list(drawn.values()), happened)
    apart_pt = _apart(list(drawn.values()))
    handles = [
        _line(frame, line, line_style(index), moved)
        for (index, line), moved in zip(drawn.items(), apart_pt, strict=True)
    ]
    if any(line.varies for line in drawn.values()):
        handles.append(_range_handle())
    labels = place_labels(happened, frame.until_ms, plot.width_pt, 20 if plot.narrow else 28)
    handles += _events(frame, labels)
    lanes = 1 + max((label.lane for label in labels if label.lane is not None), default=-1)
    axes.set_title(plot.title, pad=6 + lanes * _LANE_PT)
    figure.legend(handles=handles, loc="outside lower left", ncols=columns, handlelength=4.2)
    return figure


def _legend_label(plot: PlotOptions, line: TimeSeries) -> str:
    note = " (failed)" if line.failed else ""
    return shortened(printable(line.label), (36 if plot.narrow else 60) - len(note)) + note


def _legend_shape(plot: PlotOptions, lines: Sequence[TimeSeries]) -> tuple[int, int]:
    """Columns and rows of the legend, events and range included."""
    entries = [_legend_label(plot, line) for line in lines] + ["scenario event (10 not named)"]
    width_pt = 50 + 5.2 * max(map(len, entries))
    columns = max(1, min(4, int((plot.width_pt + 60) / width_pt)))
    return columns, -(-(len(entries) + 1) // columns)


def _until(lines: Sequence[TimeSeries], happened: Sequence[EventMarker]) -> int:
    """Where the axis ends: a little after the last thing that happened, for nothing changes from there on."""
    end = max(line.until_ms for line in lines)
    last = max([line.at_ms[-1] for line in lines] + [event.at_ms for event in happened if event.at_ms <= end])
    return min(end, round(last * 1.2)) if len({moment for line in lines for moment in line.at_ms}) > 1 else end


def _frame(plot: PlotOptions, axes: Axes, lines: Sequence[TimeSeries], happened: Sequence[EventMarker]) -> _Frame:
    from matplotlib.ticker import MaxNLocator

    until_ms = _until(lines, happened)
    ms_per_unit, unit = time_unit(until_ms)
    axes.set_xlabel(f"time ({unit})")
    axes.set_xlim(0, max(until_ms, 1) / ms_per_unit)
    axes.xaxis.set_major_locator(MaxNLocator(6 if plot.narrow else 10, steps=_TIME_STEPS))
    top = max(value for line in lines for value in line.most if value is not None) / plot.factor or 1
    # The lowest of the lines that are drawn side by side stand a little below 0.
    axes.set_ylim(-0.05 * top, 1.06 * top)
    axes.yaxis.set_major_locator(MaxNLocator(7, steps=_STEPS, integer=plot.whole_numbers))
    return _Frame(plot, axes, until_ms, ms_per_unit)


def _apart(lines: Sequence[TimeSeries]) -> list[float]:
    """How far each line is moved, in points, so that lines which coincide anywhere are all seen."""
    moved = [0.0] * len(lines)
    for group in _touching(lines):
        step = min(_APART_PT, _APART_ALL_PT / len(group))
        # The higher one is moved up, so that they come no closer where they are apart anyway.
        from_above = sorted(group, key=lambda index: -_mean(lines[index]))
        for position, index in enumerate(from_above):
            moved[index] = step * ((len(group) - 1) / 2 - position)
    return moved


def _mean(line: TimeSeries) -> float:
    known = [value for value in line.values if value is not None]
    return sum(known) / len(known)


def _touching(lines: Sequence[TimeSeries]) -> list[list[int]]:
    """Groups of lines that lie on one another at some time, directly or by way of others."""
    moments = sorted({moment for line in lines for moment in line.at_ms})
    values = [[line.at(moment) for moment in moments] for line in lines]
    group_of = list(range(len(lines)))
    for one in range(len(lines)):
        for other in range(one):
            if any(a is not None and a == b for a, b in zip(values[one], values[other], strict=True)):
                joined, kept = group_of[one], group_of[other]
                group_of = [kept if group == joined else group for group in group_of]
    return [[index for index, group in enumerate(group_of) if group == wanted] for wanted in sorted(set(group_of))]


def _line(frame: _Frame, line: TimeSeries, style: LineStyle, apart_pt: float) -> Artist:
    """Draw a line with a mark at each round, and the range over the seeds; returns what stands in the legend."""
    from matplotlib.lines import Line2D
    from matplotlib.transforms import ScaledTranslation

    axes = frame.axes
    aside = ScaledTranslation(0, apart_pt / _POINTS_PER_IN, axes.figure.dpi_scale_trans)
    transform = axes.transData + aside
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
    values, least, most = (frame.y([*side, side[-1]]) for side in (line.values, line.least, line.most))
    at_rounds = frame.y([line.at(moment) for moment in line.rounds_ms])
    axes.step(times, values, where="post", transform=transform, **stroke)
    axes.plot(frame.x(line.rounds_ms), at_rounds, ls="none", clip_on=False, zorder=3, transform=transform, **marker)
    if line.varies:
        axes.fill_between(times, least, most, step="post", color=style.color, alpha=0.15, linewidth=0)
    return Line2D([], [], label=_legend_label(frame.plot, line), **stroke, **marker)


def _range_handle() -> Artist:
    from matplotlib.patches import Patch

    return Patch(facecolor=INK, alpha=0.15, label="least to most over the seeds; lines: median")


def _events(frame: _Frame, labels: Sequence[EventLabel]) -> list[Artist]:
    """A thin line down from each name; returns what stands in the legend."""
    from matplotlib.lines import Line2D

    stroke: dict[str, Any] = {"color": EVENT, "linewidth": 0.8, "linestyle": (0, (4, 2))}
    for label in labels:
        [at] = frame.x([label.at_ms])
        frame.axes.axvline(at, zorder=1, **stroke)
        if label.lane is not None:
            _name(frame.axes, label, label.lane, at, stroke)
    if not labels:
        return []
    unnamed = sum(label.lane is None for label in labels)
    note = f" ({unnamed} not named)" if unnamed else ""
    return [Line2D([], [], label=f"scenario event{note}", **stroke)]


def _name(axes: Axes, label: EventLabel, lane: int, at: float, stroke: dict[str, Any]) -> None:
    """Write the name of an event above the axes, and lead a line down from it."""
    up_pt = 3 + lane * _LANE_PT
    above: dict[str, Any] = {
        "xy": (at, 1),
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
    for each in (name, line):
        each.set_in_layout(False)
