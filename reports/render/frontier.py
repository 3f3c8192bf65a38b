"""The report and the figure of the Pareto front of cross-rack traffic and task moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports.analysis.cells import Cell
from reports.analysis.formatting import format_count
from reports.analysis.frontier import AssignorPoint, FrontierPoint, TrafficFrontier
from reports.analysis.scaled_rounds import trigger_text
from reports.analysis.text import printable, shortened
from reports.document import Paragraph, Report, ReportColumn, ReportRow, ReportSection, ReportTable
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


_COUNTS = (
    ReportColumn("remote_partitions", "Cross-rack partitions", is_number=True, header="Cross-rack\npartitions"),
    ReportColumn("moves", "Tasks moved", is_number=True, header="Tasks\nmoved"),
)
_CONFIGS = ReportColumn("configs", "Configs")
_NOTE = (
    "Each point is optimal for its whole range of cost ratios: no balanced assignment costs less. Whether the assignor "
    "may assign a task to a client without its state is not considered."
)


def frontier_report(front: TrafficFrontier) -> Report:
    """Return the report of a front; CSV has the assignment of the assignor as its last row."""
    tasks, partitions, clients = map(format_count, (front.tasks, front.partitions, front.clients))
    read = f"{tasks} stateful tasks read {partitions} partitions on {clients} clients"
    assignor = front.assignor
    remote, moves = (cell.text for cell in _counts(assignor))
    answer = f"{assignor.name}: {remote} cross-rack partitions, {moves} tasks moved."
    sections = [
        ReportSection("round", "", [Paragraph(f"{trigger_text(front.reason)}; {read}")], leads=True),
        ReportSection("points", "", [_points(front), _points_with_assignor(front), Paragraph(answer)]),
        ReportSection("notes", "", [Paragraph(_NOTE, "note")]),
    ]
    return Report(f"{front.scenario}, round {front.round} at {front.at}", sections)


def _points(front: TrafficFrontier) -> ReportTable:
    title = "traffic_cost : non_overlap_cost"
    columns = [ReportColumn("ratios", title, header=title.replace(": ", ":\n")), *_COUNTS, _CONFIGS]
    rows: list[ReportRow] = [[ratios(point), *_counts(point), ", ".join(point.marks)] for point in front.points]
    return ReportTable("points", columns, rows, only=("terminal", "markdown"))


def _points_with_assignor(front: TrafficFrontier) -> ReportTable:
    columns = [ReportColumn(key, key) for key in ("assignment", "from_ratio", "to_ratio")]
    rows: list[ReportRow] = [
        ["optimal", point.from_ratio, point.to_ratio or "", *_counts(point), "; ".join(point.marks)]
        for point in front.points
    ]
    rows.append([front.assignor.name, "", "", *_counts(front.assignor), ""])
    return ReportTable("points", [*columns, *_COUNTS, _CONFIGS], rows, only=("csv",))


def _counts(point: FrontierPoint | AssignorPoint) -> list[Cell]:
    return [Cell(format_count(count), value=count) for count in (point.remote_partitions, point.moves)]


def ratios(point: FrontierPoint) -> str:
    """Return the range of cost ratios for which a point is optimal: `below 1/2`, `1/2 to 3`, `above 3`."""
    if point.to_ratio is None:
        return "any" if point.from_ratio == "0" else f"above {point.from_ratio}"
    return f"below {point.to_ratio}" if point.from_ratio == "0" else f"{point.from_ratio} to {point.to_ratio}"
