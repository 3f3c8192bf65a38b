"""Figure of the trade-off between cross-rack traffic and task moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports.analysis.frontier import TrafficFrontier
from reports.analysis.text import printable, shortened
from reports.render.drawing.style import INK, PAPER, line_style, new_figure
from reports.render.figures.run_figures import figure_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MAX_CHARS = 34


@figure_style()
def traffic_against_movement(front: TrafficFrontier, *, narrow: bool = False) -> Figure:
    """Draw the Pareto front of traffic and moves, the costs that lead to each point, and the assignor's assignment.

    `front`: at least one point.
    """
    from matplotlib.ticker import MaxNLocator

    figure = new_figure(3.6 if narrow else 4.2, narrow=narrow)
    axes = figure.add_subplot()
    name = shortened(printable(front.scenario), _MAX_CHARS)
    axes.set_title(f"Round {front.round}" if narrow else f"Traffic and moves: {name}, round {front.round}")
    moves = [point.moves for point in front.points]
    partitions = [point.remote_partitions for point in front.points]
    color = line_style(0).color
    axes.plot(
        moves,
        partitions,
        color=color,
        marker="o",
        markersize=7,
        markeredgecolor=PAPER,
        label="optimal for some cost ratio",
    )
    assignor_point = front.assignor
    axes.plot(
        [assignor_point.moves],
        [assignor_point.remote_partitions],
        linestyle="none",
        marker="s",
        markersize=8,
        fillstyle="none",
        markeredgewidth=1.6,
        color=line_style(1).color,
        label=shortened(printable(assignor_point.name), _MAX_CHARS),
    )
    for point in front.points:
        if point.marks:
            text = "\n".join(shortened(printable(mark), _MAX_CHARS) for mark in point.marks)
            axes.annotate(
                text, (point.moves, point.remote_partitions), (8, 6), textcoords="offset points", color=INK, fontsize=8
            )
    axes.set_xlabel("stateful task moves")
    axes.set_ylabel("cross-rack source partitions")
    axes.margins(x=0.12, y=0.14)
    top = axes.get_ylim()[1]
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=-top / 30, top=top)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    if not narrow:
        axes.set_xlim(right=axes.get_xlim()[1] * 1.25)
    figure.legend(loc="outside lower left", ncols=1 if narrow else 2)
    return figure
