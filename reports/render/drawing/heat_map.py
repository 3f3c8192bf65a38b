"""Matrices of replica moves; darker cells have more replicas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reports.analysis.formatting import format_count
from reports.analysis.plans.broker_tables import MoveMatrix
from reports.analysis.text import printable, shortened
from reports.render.drawing.style import FAINT, INK, PAPER, new_figure, part_style, width_in

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARGINS_IN, _TITLE_IN, _CELL_IN = 0.45, 0.75, 0.4
_MAX_NUMBERED_COLUMNS = 14
"""Maximum number of columns for which numbers are written into the cells."""


def draw(matrices: Sequence[MoveMatrix], title: str, *, narrow: bool) -> Figure:
    """Draw one matrix per plan on a common color scale.

    `matrices`: at least one.
    """
    columns = 1 if narrow or len(matrices) == 1 else 2
    rows = -(-len(matrices) // columns)
    across = max(len(matrix.targets) for matrix in matrices)
    down = max(len(matrix.sources) for matrix in matrices)
    cell_in = min((width_in(narrow=narrow) / columns - 0.8) / across, _CELL_IN)
    figure = new_figure(_MARGINS_IN + rows * (cell_in * down + _TITLE_IN), narrow=narrow)
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold", color=INK)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    maximum = max(value for matrix in matrices for row in matrix.replicas for value in row)
    for panel in panels[len(matrices) :]:
        panel.set_visible(False)
    for panel, matrix in zip(panels, matrices, strict=False):
        _matrix(panel, matrix, maximum)
        panel.set_xlim(0, across)
        panel.set_ylim(down, 0)
    return figure


def _matrix(panel: Axes, matrix: MoveMatrix, maximum: int) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    colors = LinearSegmentedColormap.from_list("moves", [PAPER, part_style(0, rising=False).color])
    panel.pcolormesh(matrix.replicas, cmap=colors, vmin=0, vmax=maximum, edgecolors=FAINT, linewidth=0.4)
    panel.grid(visible=False)
    panel.set_aspect("equal")
    panel.set_anchor("W")
    panel.set_title(shortened(printable(matrix.strategy), 40), fontsize=8.5, fontweight="normal")
    panel.set_xlabel(f"to {matrix.level}", loc="left")
    panel.set_ylabel(f"from {matrix.level}", loc="top")
    panel.spines[["left", "bottom"]].set_visible(False)
    for axis, names in ((panel.xaxis, matrix.targets), (panel.yaxis, matrix.sources)):
        axis.set_ticks([index + 0.5 for index in range(len(names))])
        axis.set_ticklabels([shortened(printable(name), 10) for name in names], fontsize=7.5)
    if len(matrix.targets) > _MAX_NUMBERED_COLUMNS:
        return
    for row, values in enumerate(matrix.replicas):
        for column, value in enumerate(values):
            if value:
                ink = PAPER if value > 0.6 * maximum else INK
                panel.text(
                    column + 0.5, row + 0.5, format_count(value), color=ink, fontsize=7.5, ha="center", va="center"
                )
