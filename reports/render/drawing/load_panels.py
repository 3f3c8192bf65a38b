"""Load panels, one per plan: a bar per broker or rack after the plan, and a mark for the current load."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from reports.analysis.formatting import byte_unit, format_bytes
from reports.analysis.plans.broker_tables import LoadDistribution
from reports.analysis.text import printable, shortened
from reports.render.drawing.style import EVENT, FAINT, INK, new_figure, part_style, write_instead_of_data

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARGINS_IN, _PANEL_IN = 0.75, 1.3
_MAX_BARS = 60
"""Maximum number of bars that are drawn apart; more are drawn as one outline."""

_MAX_RANKS = 240
"""Maximum number of brokers on the axis; more are drawn sorted by load, at this many ranks."""

_BAR, _MARK = 0.72, 0.46


def draw(load: LoadDistribution, title: str, *, narrow: bool) -> Figure:
    """Draw one panel per plan on a common scale.

    `load`: the load before and after each plan.
    """
    columns = 1 if narrow or len(load.after) < 2 else 2
    rows = -(-len(load.after) // columns)
    figure = new_figure(_MARGINS_IN + _PANEL_IN * max(1, rows), narrow=narrow)
    factor, unit = _unit(load)
    figure.suptitle(f"{title}{unit}", x=0.01, ha="left", fontsize=11, fontweight="bold", color=INK)
    panels = figure.subplots(max(1, rows), columns, sharex=True, sharey=True, squeeze=False).ravel()
    if not load.after:
        write_instead_of_data(panels[0], "no plan")
        return figure
    for panel in panels[len(load.after) :]:
        panel.set_visible(False)
    for panel, (strategy, values) in zip(panels, load.after.items(), strict=False):
        _panel(panel, load, [value / factor for value in values], [value / factor for value in load.before])
        panel.axhline(
            load.balanced_value(strategy) / factor, color=EVENT, linewidth=0.9, linestyle=(0, (4, 2)), zorder=1
        )
        panel.set_title(shortened(printable(strategy), 40), fontsize=8.5, fontweight="normal", pad=3)
        panel.tick_params(axis="x", labelbottom=True)
    _scale(panels[0], load, factor, narrow=narrow or columns == 2)
    figure.legend(handles=_handles(), loc="outside lower left", ncols=3, handlelength=1.6)
    return figure


def _unit(load: LoadDistribution) -> tuple[float, str]:
    """Return the number of units of the measure per unit of the axis, and the suffix of the title."""
    if load.measure.write is not format_bytes:
        return 1.0, ""
    factor, unit = byte_unit(max((*load.before, *(value for row in load.after.values() for value in row)), default=0))
    return factor, f" ({unit})"


def _panel(panel: Axes, load: LoadDistribution, after: Sequence[float], before: Sequence[float]) -> None:
    color = part_style(0, rising=False).color
    panel.grid(visible=False, axis="x")
    if len(load.names) <= _MAX_BARS:
        positions = range(len(load.names))
        panel.bar(positions, after, _BAR, color=color, linewidth=0, zorder=2)
        ends = [position - _MARK for position in positions], [position + _MARK for position in positions]
        panel.hlines(before, *ends, color=INK, linewidth=1.5, zorder=3)
        return
    edges = [position - 0.5 for position in range(len(_ranked(after, load)) + 1)]
    panel.stairs(_ranked(after, load), edges, fill=True, color=color, linewidth=0, zorder=2)
    panel.stairs(_ranked(before, load), edges, color=INK, linewidth=0.9, zorder=3)


def _ranked(values: Sequence[float], load: LoadDistribution) -> Sequence[float]:
    """Return the values, or for many brokers the values at equally spaced ranks in descending order."""
    if len(load.names) <= _MAX_RANKS:
        return values
    ordered = sorted(values, reverse=True)
    return [ordered[round(rank * (len(ordered) - 1) / (_MAX_RANKS - 1))] for rank in range(_MAX_RANKS)]


def _scale(panel: Axes, load: LoadDistribution, factor: float, *, narrow: bool) -> None:
    """Configure the axes shared by all panels."""
    from matplotlib.ticker import MaxNLocator

    maximum = max((*load.before, *(value for row in load.after.values() for value in row)), default=0) / factor
    panel.set_ylim(0, 1.08 * maximum or 1)
    panel.yaxis.set_major_locator(MaxNLocator(4, integer=factor == 1))
    panel.yaxis.set_major_formatter(lambda value, _: f"{value:,.6g}")
    if len(load.names) > _MAX_RANKS:
        panel.set_xticks([0, _MAX_RANKS - 1], ["most loaded", "least loaded"])
        return
    panel.set_xlim(-0.7, len(load.names) - 0.3)
    ticks = _ticks(load, 45 if narrow else 95)
    panel.set_xticks(list(ticks), list(ticks.values()))
    for panel_axes in panel.figure.axes if load.groups else ():
        for end in _ends(load.groups)[:-1]:
            panel_axes.axvline(end + 0.5, color=FAINT, linewidth=0.9, zorder=0)


def _ticks(load: LoadDistribution, max_chars: int) -> dict[int, str]:
    """Return the tick labels that fit into a number of characters; rack names are below the middle of their brokers."""
    names = [shortened(printable(name), 12) for name in load.names]
    step = max(1, math.ceil(len(names) * (2 + max(map(len, names))) / max_chars))
    ticks = {position: names[position] for position in range(0, len(names), step)}
    ends = _ends(load.groups)
    if 14 * len(ends) > max_chars:
        return ticks
    for first, last in zip([0, *(end + 1 for end in ends)], ends, strict=False):
        inside = [position for position in ticks if first <= position <= last] or [(first + last) // 2]
        middle = min(inside, key=lambda position: abs(position - (first + last) / 2))
        ticks[middle] = f"{ticks.get(middle, '')}\n{shortened(printable(load.groups[first]), 12)}"
    return ticks


def _ends(groups: Sequence[str]) -> list[int]:
    """Return the last index of each group."""
    counts = [len(list(members)) for _, members in groupby(groups)]
    return [sum(counts[: group + 1]) - 1 for group in range(len(counts))]


def _handles() -> list[object]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    return [
        Patch(facecolor=part_style(0, rising=False).color, label="after the plan"),
        Line2D([], [], color=INK, linewidth=1.5, label="today"),
        Line2D([], [], color=EVENT, linewidth=0.9, linestyle=(0, (4, 2)), label="even share"),
    ]
