"""Load curves over clients, sorted by load; a flat curve means balanced load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reports.analysis.text import printable, shortened
from reports.render.drawing.style import PAPER, POINTS_PER_IN, line_style, new_figure, write_instead_of_data

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_HEIGHT_IN = 3.2
_CURVE_OFFSET_PT, _MAX_TOTAL_OFFSET_PT = 2.4, 11.0
_MARGIN = 0.03
_MAX_MARKERS = 24
"""Maximum number of markers per curve."""


def draw(title: str, curves: Mapping[str, Sequence[float]], *, narrow: bool) -> Figure:
    """Draw a descending curve of tasks per thread for each assignor.

    `curves`: tasks per thread of each client, descending, by label; empty curves are not drawn.
    """
    from matplotlib.ticker import MaxNLocator
    from matplotlib.transforms import ScaledTranslation

    columns = 1 if narrow else 2
    figure = new_figure(_HEIGHT_IN + 0.2 * -(-len(curves) // columns), narrow=narrow)
    axes = figure.add_subplot()
    axes.set_title(title)
    axes.set(xlabel="clients, most loaded first", ylabel="tasks per thread")
    if not any(curves.values()):
        write_instead_of_data(axes, "no assignment")
        return figure
    for index, (label, values) in enumerate(curves.items()):
        if values:
            name = shortened(printable(label), 36 if narrow else 44)
            # Balanced assignors have equal curves: shift each slightly, so that all are visible.
            offset_pt = min(_CURVE_OFFSET_PT, _MAX_TOTAL_OFFSET_PT / len(curves)) * ((len(curves) - 1) / 2 - index)
            shifted = axes.transData + ScaledTranslation(0, offset_pt / POINTS_PER_IN, figure.dpi_scale_trans)
            ranks = range(1, len(values) + 1)
            axes.plot(ranks, values, label=name, transform=shifted, **_stroke(index, len(values)))
    longest = max(map(len, curves.values()))
    axes.set_xlim(1 - _MARGIN * longest, longest + _MARGIN * longest)
    axes.set_ylim(0, 1.08 * max(max(values, default=0) for values in curves.values()) or 1)
    axes.xaxis.set_major_locator(MaxNLocator(6 if narrow else 10, integer=True))
    figure.legend(loc="outside lower left", ncols=columns, handlelength=4.2)
    return figure


def _stroke(index: int, length: int) -> dict[str, Any]:
    style = line_style(index)
    return {
        "color": style.color,
        "linestyle": (0, style.dashes) if style.dashes else "-",
        "linewidth": 1.7,
        "drawstyle": "steps-mid",
        "marker": style.marker,
        "markevery": max(1, length // _MAX_MARKERS),
        "markersize": 5.5,
        "markerfacecolor": PAPER,
        "markeredgecolor": style.color,
        "markeredgewidth": 1.2,
    }
