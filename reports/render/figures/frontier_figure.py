"""The front of traffic against movement as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports.analysis.frontier import TrafficFrontier
from reports.analysis.text import printable, shortened
from reports.render.drawing.style import INK, PAPER, line_style
from reports.render.figures.run_figures import figure_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LONGEST = 34


@figure_style()
def traffic_against_movement(front: TrafficFrontier, *, narrow: bool = False) -> Figure:
    """Draw the corners of a front, the line between them, the costs that lead to each, and the assignor's answer.

    Args:
        front: at least one point.
        narrow: for a small screen or a column of a page.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(4.2, 3.6) if narrow else (8.0, 4.2), layout="constrained")
    axes = figure.add_subplot()
    name = shortened(printable(front.scenario), _LONGEST)
    axes.set_title(f"Round {front.round}" if narrow else f"Traffic against movement: {name}, round {front.round}")
    moves = [point.moves for point in front.points]
    remote = [point.remote_partitions for point in front.points]
    color = line_style(0).color
    axes.plot(moves, remote, color=color, marker="o", markersize=7, markeredgecolor=PAPER, label="best at some ratio")
    answered = front.answered
    axes.plot(
        [answered.moves],
        [answered.remote_partitions],
        linestyle="none",
        marker="s",
        markersize=8,
        fillstyle="none",
        markeredgewidth=1.6,
        color=line_style(1).color,
        label=f"{shortened(printable(answered.name), _LONGEST)} answered",
    )
    for point in front.points:
        if point.marks:
            text = "\n".join(shortened(printable(mark), _LONGEST) for mark in point.marks)
            axes.annotate(
                text, (point.moves, point.remote_partitions), (8, 6), textcoords="offset points", color=INK, fontsize=8
            )
    axes.set_xlabel("stateful tasks that move")
    axes.set_ylabel("source partitions read across racks")
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
