"""Time to converge after each event, as a table."""

from __future__ import annotations

from reports.analysis.cells import Cell, event_cell
from reports.analysis.comparison import Tables, rows_of_run
from reports.analysis.formatting import format_clock
from reports.analysis.grids import Grid
from reports.analysis.runs.breakdowns import assignor_label, runs_by_assignor

_NO_REBALANCE = Cell("–")


def convergence_grid(tables: Tables) -> Grid:
    """Return the time to converge in each assignor's first run: one line per event with rebalances, by time.

    Raises:
        TableError: the table `runs` or `convergence` is missing.
    """
    runs = runs_by_assignor(tables)
    titles: dict[tuple[int, int, str], str] = {}
    columns = []
    for key, assignor_runs in runs.items():
        column = {}
        for row in rows_of_run(tables, "convergence", key, assignor_runs[0]["seed"]).to_pylist():
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
