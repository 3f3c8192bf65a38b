"""The report of the Pareto front of cross-rack traffic and task moves."""

from __future__ import annotations

from reports.analysis.cells import Cell
from reports.analysis.formatting import format_count
from reports.analysis.frontier import AssignorPoint, FrontierPoint, TrafficFrontier
from reports.analysis.scaled_rounds import trigger_text
from reports.document import Paragraph, Report, ReportColumn, ReportRow, ReportSection, ReportTable

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
