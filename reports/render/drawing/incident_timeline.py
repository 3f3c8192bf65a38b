"""Timeline of a past night: moves of each rebalance, its causes by client, and times without a stable assignment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reports.analysis.incident import (
    OTHER_KIND,
    CauseLane,
    IncidentReport,
    cause_lanes,
    clock,
    move_noun,
    timestamp,
)
from reports.analysis.text import printable, shortened
from reports.render.drawing.style import FAINT, INK, PAPER, new_figure, width_in

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOVES_IN, _LANE_IN, _MARGINS_IN, _LEGEND_LINE_IN = 1.6, 0.27, 0.75, 0.2
_CHAR_IN = 0.078
_DAY_MS = 86_400_000
_STEPS_MS = tuple(
    1_000 * seconds
    for seconds in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400)
)
"""Distances between labeled times."""
_MOVES = "#0072b2"
_STYLES = {
    "joined": ("#009e73", "^"),
    "left or timed out": ("#d55e00", "v"),
    "old session timed out": ("#e69f00", "1"),
    "restarted": ("#0072b2", "o"),
    "returned": ("#56b4e9", "s"),
    "returned with a new process id": ("#cc79a7", "D"),
    "follow-up": (INK, "|"),
    "probing": (INK, "x"),
    OTHER_KIND: (INK, "+"),
}
_LINES = "|1x+"
"""Markers that are lines, without an area to fill."""

_MANY = 120
"""Number of marks in a lane from which on they are small."""


def draw(report: IncidentReport, *, narrow: bool) -> Figure:
    """Draw the timeline."""
    lanes = cause_lanes(report)
    kinds = [kind for kind in _STYLES if any(mark.kind == kind for lane in lanes for mark in lane.marks)]
    handles = _handles(kinds)
    longest = max(len(str(handle.get_label())) for handle in handles)
    columns = max(1, int(width_in(narrow=narrow) / (0.45 + _CHAR_IN * longest)))
    legend_lines = -(-len(handles) // columns)
    lanes_in = _LANE_IN * max(1, len(lanes)) + 0.15
    figure = new_figure(_MARGINS_IN + _MOVES_IN + lanes_in + _LEGEND_LINE_IN * legend_lines, narrow=narrow)
    moves, causes = figure.subplots(2, 1, sharex=True, height_ratios=(_MOVES_IN, lanes_in))
    # One collection: matplotlib takes milliseconds for each patch, and a night may have thousands.
    unstable = [(start_ms, end_ms - start_ms) for start_ms, end_ms in report.unstable_spans()]
    for axes in (moves, causes):
        axes.broken_barh(unstable, (0, 1), transform=axes.get_xaxis_transform(), facecolor=FAINT, linewidth=0, zorder=0)
    _moves(moves, report)
    _causes(causes, lanes, narrow=narrow)
    _time_axis(causes, report, narrow=narrow)
    figure.legend(handles=handles, loc="outside lower left", ncols=columns, handlelength=1.4)
    return figure


def _time_axis(axes: Axes, report: IncidentReport, *, narrow: bool) -> None:
    """Label the axis with times of day, and with dates where a day begins."""
    margin_ms = max(500, round(0.01 * (report.until_ms - report.since_ms)))
    start_ms, end_ms = report.since_ms - margin_ms, report.until_ms + margin_ms
    axes.set_xlim(start_ms, end_ms)
    most = 3 if narrow else 9
    step_ms = next((step for step in _STEPS_MS if (end_ms - start_ms) / step <= most), _DAY_MS)
    step_ms *= max(1, -(-(end_ms - start_ms) // (step_ms * most)))
    times = range(-(-start_ms // step_ms) * step_ms, end_ms, step_ms)
    axes.set_xticks(list(times), [_tick(at_ms, step_ms) for at_ms in times])
    axes.set_xlabel("time (UTC)")


def _tick(at_ms: int, step_ms: int) -> str:
    if at_ms % _DAY_MS == 0:
        return timestamp(at_ms)[5:10]
    return clock(at_ms) if step_ms % 60_000 else clock(at_ms)[:5]


def _moves(axes: Axes, report: IncidentReport) -> None:
    from matplotlib.ticker import MaxNLocator

    times = [rebalance.at_ms for rebalance in report.later]
    numbers = [len(rebalance.moves) for rebalance in report.later]
    width = 2.4 if len(numbers) <= _MANY else 1.0
    axes.vlines(times, 0, numbers, color=_MOVES, linewidth=width, zorder=2)
    axes.set_ylim(0, 1.08 * max(numbers, default=0) or 1)
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.set_ylabel(f"{move_noun(report)}s")


def _causes(axes: Axes, lanes: tuple[CauseLane, ...], *, narrow: bool) -> None:
    names = [shortened(printable(lane.title), 14 if narrow else 26) for lane in lanes]
    axes.set_ylim(max(1, len(lanes)) - 0.4, -0.6)
    axes.set_yticks(range(len(lanes)), names, fontsize=7.5)
    axes.tick_params(axis="y", length=0)
    for row, lane in enumerate(lanes):
        for kind in dict.fromkeys(mark.kind for mark in lane.marks):
            times = [mark.at_ms for mark in lane.marks if mark.kind == kind]
            axes.plot(times, [row] * len(times), zorder=3, **_mark(kind, len(lane.marks)))


def _mark(kind: str, number: int = 1) -> dict[str, Any]:
    color, marker = _STYLES[kind]
    return {
        "linestyle": "none",
        "color": color,
        "marker": marker,
        "markersize": 6 if number <= _MANY else 4,
        "markeredgecolor": color if marker in _LINES else PAPER,
        "markeredgewidth": 1.1 if marker in _LINES else 0.5,
    }


def _handles(kinds: list[str]) -> list[Artist]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    marks: list[Artist] = [Line2D([], [], label=kind, **_mark(kind)) for kind in kinds]
    return [*marks, Patch(facecolor=FAINT, linewidth=0, label="no stable assignment")]
