"""Stacked bars that lie on their side, one an assignor, each below its name: room for long names on any screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reports.analysis.cells import UNKNOWN
from reports.analysis.formatting import byte_unit, format_bytes, format_count
from reports.analysis.runs.breakdowns import Breakdown, BreakdownBar
from reports.analysis.text import printable, shortened
from reports.render.drawing.style import FAINT, PAPER, part_style

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDE_IN, _NARROW_IN = 8.0, 4.2
_BAR_IN, _AROUND_IN, _LEGEND_LINE_IN = 0.42, 0.85, 0.2
_THICK = 0.46
_CHAR_IN = 0.075


def draw(stack: Breakdown, title: str, *, narrow: bool) -> Figure:
    """Draw a bar for each assignor."""
    from matplotlib.figure import Figure

    width_in = _NARROW_IN if narrow else _WIDE_IN
    columns, lines = _legend_shape(stack, width_in)
    height_in = _AROUND_IN + _BAR_IN * max(1, len(stack.bars)) + _LEGEND_LINE_IN * lines
    figure = Figure(figsize=(width_in, height_in), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(title)
    axes.set(yticks=[])
    axes.spines["left"].set_visible(False)
    most = max((sum(bar.values) for bar in stack.bars if bar.values), default=0)
    if not most:
        axes.set(xticks=[])
        axes.text(0.5, 0.5, "nothing to show", transform=axes.transAxes, ha="center", va="center")
        return figure
    factor = _scale(stack, axes, most, narrow=narrow)
    axes.set_ylim(len(stack.bars) - 0.4, -0.75)
    for row, bar in enumerate(stack.bars):
        _bar(axes, stack, row, bar, factor)
        _name(axes, row, shortened(printable(bar.label), 40 if narrow else 80))
    figure.legend(handles=_handles(stack), loc="outside lower left", ncols=columns, handlelength=1.6)
    return figure


def _legend_shape(stack: Breakdown, width_in: float) -> tuple[int, int]:
    present = stack.present()
    longest = max((len(stack.parts[part]) for part in present), default=0)
    columns = max(1, int(width_in / (0.55 + _CHAR_IN * longest)))
    return columns, -(-len(present) // columns)


def _scale(stack: Breakdown, axes: Axes, most: float, *, narrow: bool) -> float:
    """Set the axis up; returns how many of the stack's units are one of the axis."""
    from matplotlib.ticker import MaxNLocator

    is_bytes = stack.write is format_bytes
    factor, unit = byte_unit(most) if is_bytes else (1.0, "tasks" if stack.rising else "moves")
    axes.set_xlabel(unit)
    # Behind the longest bar there must be room for what it comes to.
    axes.set_xlim(0, most / factor * (1 if stack.rising else 1.25 if narrow else 1.12))
    axes.xaxis.set_major_locator(MaxNLocator(5 if narrow else 8, integer=not is_bytes))
    if not is_bytes:
        axes.xaxis.set_major_formatter(lambda value, _: format_count(value))
    axes.grid(visible=False, axis="y")
    return factor


def _bar(axes: Axes, stack: Breakdown, row: int, bar: BreakdownBar, factor: float) -> None:
    """Draw the parts side by side, and write behind them what they come to."""
    edge = 0.0
    for part, value in enumerate(bar.values or ()):
        if value:
            axes.barh(row, value / factor, _THICK, left=edge / factor, zorder=2, **_fill(stack, part))
            edge += value
    if not stack.rising or bar.values is None:
        text = UNKNOWN if bar.values is None else stack.write(edge)
        _beside(axes, text, (edge / factor, row), (4, 0), va="center")


def _name(axes: Axes, row: int, label: str) -> None:
    _beside(axes, label, (0, row - _THICK / 2), (0, 2), va="bottom")


def _beside(axes: Axes, text: str, at: tuple[float, float], offset_pt: tuple[int, int], **how: Any) -> None:
    axes.annotate(text, at, xytext=offset_pt, textcoords="offset points", fontsize=8.5, **how).set_in_layout(False)


def _fill(stack: Breakdown, part: int) -> dict[str, Any]:
    style = part_style(part, rising=stack.rising)
    hatch = {"hatch": style.hatch} if style.color != FAINT else {}
    return {"facecolor": style.color, "edgecolor": PAPER, "linewidth": 0.8, **hatch}


def _handles(stack: Breakdown) -> list[Artist]:
    from matplotlib.patches import Patch

    return [Patch(label=stack.parts[part], **_fill(stack, part)) for part in stack.present()]
