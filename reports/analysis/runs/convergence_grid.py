"""How the group converged after each event, as the cells of a table."""

from __future__ import annotations

from reports.analysis.cells import Cell, event_cell
from reports.analysis.comparison import Tables, rows_of_run
from reports.analysis.formatting import format_clock
from reports.analysis.grids import Grid
from reports.analysis.runs.breakdowns import assignor_label, runs_by_assignor

_NO_REBALANCE = Cell("–")


def convergence_grid(tables: Tables) -> Grid:
    """Lay out the events of each assignor's first run, by time: a line for each event that led to rebalances in any.

    Raises:
        TableError: there is no table `runs` or `convergence`.
    """
    runs = runs_by_assignor(tables)
    titles: dict[tuple[int, int, str], str] = {}
    columns = []
    for key, of_one in runs.items():
        column = {}
        for row in rows_of_run(tables, "convergence", key, of_one[0]["seed"]).to_pylist():
            event = (row["number"], row["event"])
            since = f" at {format_clock(row['at_ms'])}" if row["number"] else ""
            titles.setdefault((row["at_ms"], *event), f"{row['number']}: {row['event']}{since}")
            column[event] = event_cell(row)
        columns.append(column)
    first: dict[tuple[int, str], str] = {}
    for (_, number, label), title in sorted(titles.items()):
        first.setdefault((number, label), title)
    lines = [(title, tuple(column.get(event, _NO_REBALANCE) for column in columns)) for event, title in first.items()]
    return Grid(tuple(assignor_label(key, runs) for key in runs), tuple(lines))
