"""Horizontal stacked bars, one per assignor, with the label above the bar so that long names fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reports.analysis.cells import UNKNOWN
from reports.analysis.formatting import byte_unit, format_bytes, format_count
from reports.analysis.runs.breakdowns import Breakdown, BreakdownBar
from reports.analysis.text import printable, shortened
from reports.render.drawing.style import FAINT, PAPER, new_figure, part_style, width_in, write_instead_of_data

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BAR_IN, _MARGINS_IN, _LEGEND_LINE_IN = 0.42, 0.85, 0.2
_BAR_THICKNESS = 0.46
_CHAR_IN = 0.075


def draw(breakdown: Breakdown, title: str, *, narrow: bool) -> Figure:
    """Draw one bar per assignor."""
    columns, lines = _legend_shape(breakdown, width_in(narrow=narrow))
    figure = new_figure(_MARGINS_IN + _BAR_IN * max(1, len(breakdown.bars)) + _LEGEND_LINE_IN * lines, narrow=narrow)
    axes = figure.add_subplot()
    axes.set_title(title)
    axes.set(yticks=[])
    axes.spines["left"].set_visible(False)
    longest_bar = max((sum(bar.values) for bar in breakdown.bars if bar.values), default=0)
    if not longest_bar:
        write_instead_of_data(axes, "no data")
        return figure
    factor = _scale(breakdown, axes, longest_bar, narrow=narrow)
    axes.set_ylim(len(breakdown.bars) - 0.4, -0.75)
    for row, bar in enumerate(breakdown.bars):
        _bar(axes, breakdown, row, bar, factor)
        _name(axes, row, shortened(printable(bar.label), 40 if narrow else 80))
    figure.legend(handles=_handles(breakdown), loc="outside lower left", ncols=columns, handlelength=1.6)
    return figure


def _legend_shape(breakdown: Breakdown, figure_width_in: float) -> tuple[int, int]:
    """Return the number of columns and rows of the legend."""
    present = breakdown.present()
    longest = max((len(breakdown.parts[part]) for part in present), default=0)
    columns = max(1, int(figure_width_in / (0.55 + _CHAR_IN * longest)))
    return columns, -(-len(present) // columns)


def _scale(breakdown: Breakdown, axes: Axes, longest_bar: float, *, narrow: bool) -> float:
    """Configure the axes and return the number of units of the breakdown per unit of the axis."""
    from matplotlib.ticker import MaxNLocator

    is_bytes = breakdown.write is format_bytes
    factor, unit = byte_unit(longest_bar) if is_bytes else (1.0, "tasks" if breakdown.rising else "moves")
    axes.set_xlabel(unit)
    # Leave room for the sum behind the longest bar.
    axes.set_xlim(0, longest_bar / factor * (1 if breakdown.rising else 1.25 if narrow else 1.12))
    axes.xaxis.set_major_locator(MaxNLocator(5 if narrow else 8, integer=not is_bytes))
    if not is_bytes:
        axes.xaxis.set_major_formatter(lambda value, _: format_count(value))
    axes.grid(visible=False, axis="y")
    return factor


def _bar(axes: Axes, breakdown: Breakdown, row: int, bar: BreakdownBar, factor: float) -> None:
    """Draw the parts of a bar side by side and write the sum behind them."""
    edge = 0.0
    for part, value in enumerate(bar.values or ()):
        if value:
            axes.barh(row, value / factor, _BAR_THICKNESS, left=edge / factor, zorder=2, **_fill(breakdown, part))
            edge += value
    if not breakdown.rising or bar.values is None:
        text = UNKNOWN if bar.values is None else breakdown.write(edge)
        _write(axes, text, (edge / factor, row), (4, 0), va="center")


def _name(axes: Axes, row: int, label: str) -> None:
    _write(axes, label, (0, row - _BAR_THICKNESS / 2), (0, 2), va="bottom")


def _write(axes: Axes, text: str, at: tuple[float, float], offset_pt: tuple[int, int], **options: Any) -> None:
    axes.annotate(text, at, xytext=offset_pt, textcoords="offset points", fontsize=8.5, **options).set_in_layout(False)


def _fill(breakdown: Breakdown, part: int) -> dict[str, Any]:
    style = part_style(part, rising=breakdown.rising)
    hatch = {"hatch": style.hatch} if style.color != FAINT else {}
    return {"facecolor": style.color, "edgecolor": PAPER, "linewidth": 0.8, **hatch}


def _handles(breakdown: Breakdown) -> list[Artist]:
    from matplotlib.patches import Patch

    return [Patch(label=breakdown.parts[part], **_fill(breakdown, part)) for part in breakdown.present()]
