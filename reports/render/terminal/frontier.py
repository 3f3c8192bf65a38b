"""The Pareto front of cross-rack traffic and task moves as text."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from reports.analysis.formatting import format_count
from reports.analysis.frontier import FrontierPoint, TrafficFrontier
from reports.analysis.text import printable
from reports.analysis.triggers import trigger_text
from reports.render.terminal.console import HEADER, QUIET, grid, lines
from reports.render.terminal.facts import FactTable


def draw(front: TrafficFrontier, width: int | None = None, *, color: bool | None = None) -> str:
    """Draw a front."""
    return lines(_parts(front), width, color=color)


def _parts(front: TrafficFrontier) -> Iterator[RenderableType]:
    heading = Text(f"{printable(front.scenario)}, round {front.round} at {front.at}", style=HEADER)
    heading.append(f"\n{trigger_text(front.reason)}", style="not bold")
    counts = (front.tasks, front.partitions, front.clients)
    tasks, partitions, clients = map(format_count, counts)
    heading.append(f"\n{tasks} stateful tasks read {partitions} partitions on {clients} clients", style="not bold")
    yield heading
    yield Text()
    table = grid()
    table.add_column(Text("traffic_cost :\nnon_overlap_cost"))
    table.add_column(Text("cross-rack\npartitions"), justify="right")
    table.add_column(Text("tasks\nmoved"), justify="right")
    table.add_column(Text("configs"))
    for column in table.columns[:-1]:
        column.no_wrap = True
    table.padding = (0, 2, 0, 0)
    for point in front.points:
        marks = ", ".join(map(printable, point.marks))
        table.add_row(
            Text(ratios(point)), format_count(point.remote_partitions), format_count(point.moves), Text(marks)
        )
    yield table
    yield Text()
    yield Text(_assignor_text(front))
    yield Text(
        "Each point is optimal for its whole range of cost ratios: no balanced assignment costs less. Whether the "
        "assignor may assign a task to a client without its state is not considered.",
        style=QUIET,
    )


def ratios(point: FrontierPoint) -> str:
    """Return the range of cost ratios for which a point is optimal: `below 1/2`, `1/2 to 3`, `above 3`."""
    if point.to_ratio is None:
        return "any" if point.from_ratio == "0" else f"above {point.from_ratio}"
    return f"below {point.to_ratio}" if point.from_ratio == "0" else f"{point.from_ratio} to {point.to_ratio}"


def tables(front: TrafficFrontier) -> list[FactTable]:
    """Return the points as a table, and the assignment of the assignor as its last row."""
    columns = {
        "assignment": "assignment",
        "from_ratio": "optimal from traffic_cost : non_overlap_cost",
        "to_ratio": "up to",
        "remote_partitions": "cross-rack partitions",
        "moves": "tasks moved",
        "configs": "configs",
    }
    rows = [
        {
            "assignment": "optimal",
            "from_ratio": point.from_ratio,
            "to_ratio": point.to_ratio,
            "remote_partitions": point.remote_partitions,
            "moves": point.moves,
            "configs": point.marks,
        }
        for point in front.points
    ]
    assignor = front.assignor
    rows.append({"assignment": assignor.name, "remote_partitions": assignor.remote_partitions, "moves": assignor.moves})
    return [FactTable("points", f"{front.scenario}, round {front.round}", columns, rows)]


def _assignor_text(front: TrafficFrontier) -> str:
    point = front.assignor
    return (
        f"{printable(point.name)}: {format_count(point.remote_partitions)} cross-rack partitions, "
        f"{format_count(point.moves)} tasks moved."
    )
