"""Tables with the numbers behind the figures of a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reports.analysis.cells import UNKNOWN, Cell, Grid, event_cell
from reports.analysis.comparison import Tables, rows_of_run, table
from reports.analysis.formatting import NumberFormat, format_clock, format_duration
from reports.analysis.runs.breakdowns import Breakdown, Key, assignor_label, runs_by_assignor
from reports.analysis.runs.time_series import TimeSeries

_NO_REBALANCE = Cell("–")


def convergence_grid(tables: Tables) -> Grid:
    """Return the time to converge in each assignor's first run: one line per event with rebalances, by time."""
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


WORST = 20
"""Number of tasks in the table of the worst tasks."""

MAX_TASKS = 500
"""Maximum number of tasks in the table of all tasks."""

MAX_TIMES = 400
"""Maximum number of times in a table of values over time."""


def breakdown_grid(breakdown: Breakdown) -> Grid:
    """Return the parts of each sum, and the sum; without parts that are 0 in all bars."""
    groups = [(breakdown.parts[part], [part]) for part in breakdown.present()]
    if not breakdown.rising:
        groups.append(("all", breakdown.present()))
    lines = []
    for name, parts in groups:
        amounts = [None if bar.values is None else sum(bar.values[part] for part in parts) for bar in breakdown.bars]
        lines.append((name, tuple(_known(amount, breakdown.write) for amount in amounts)))
    return Grid(tuple(bar.label for bar in breakdown.bars), tuple(lines))


def worst_tasks(tables: Tables) -> Grid:
    """Return the tasks of each assignor with the longest downtime over all seeds, longest first."""
    import pyarrow.compute as pc

    tasks = table(tables, "tasks")
    order = [("downtime_ms", "descending"), ("seed", "ascending"), ("task", "ascending")]
    runs = runs_by_assignor(tables)
    columns = []
    for (scenario, assignor), assignor_runs in runs.items():
        own = pc.and_(pc.equal(tasks["scenario"], scenario), pc.equal(tasks["assignor"], assignor))
        down = tasks.filter(pc.and_(own, pc.greater(tasks["downtime_ms"], 0))).sort_by(order)
        columns.append([_task_cell(row, several=len(assignor_runs) > 1) for row in down.slice(0, WORST).to_pylist()])
    return Grid(
        tuple(assignor_label(key, runs) for key in runs),
        tuple(
            (str(rank + 1), tuple(cells[rank] if rank < len(cells) else Cell("–") for cells in columns))
            for rank in range(max(map(len, columns), default=0))
        ),
    )


def _task_cell(row: Mapping[str, object], *, several: bool) -> Cell:
    seed = f", seed {row['seed']}" if several else ""
    downtime_ms = float(str(row["downtime_ms"]))
    return Cell(format_duration(downtime_ms), (f"{row['task']}{seed}",), downtime_ms)


def series_grid(lines: Sequence[TimeSeries], write: NumberFormat) -> Grid:
    """Return values over time: one line per time at which any series changes, the first `MAX_TIMES`."""
    times = sorted({time for line in lines for time in line.at_ms})[:MAX_TIMES]
    return Grid(
        tuple(line.label for line in lines),
        tuple((format_clock(time), tuple(_known(line.at(time), write) for line in lines)) for time in times),
    )


def task_grid(tables: Tables) -> Grid:
    """Return the downtime of each task, mean over seeds, for the `MAX_TASKS` tasks with the longest downtime."""
    runs = runs_by_assignor(tables)
    grouped = table(tables, "tasks").group_by(["scenario", "assignor", "task"], use_threads=False)
    down: dict[str, dict[Key, float]] = {}
    for row in grouped.aggregate([("downtime_ms", "mean")]).to_pylist():
        down.setdefault(row["task"], {})[row["scenario"], row["assignor"]] = row["downtime_ms_mean"]
    chosen = set(sorted(down, key=lambda task: -max(down[task].values()))[:MAX_TASKS])
    return Grid(
        tuple(assignor_label(key, runs) for key in runs),
        tuple(
            (task, tuple(_known(task_downtimes.get(key), format_duration) for key in runs))
            for task, task_downtimes in down.items()
            if task in chosen
        ),
    )


def _known(value: float | None, write: NumberFormat) -> Cell:
    return Cell(UNKNOWN) if value is None else Cell(write(value), (), value)
