"""The numbers behind the figures of a page, as the cells of tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reports.analysis.cells import UNKNOWN, Cell
from reports.analysis.comparison import Tables, table
from reports.analysis.formatting import NumberFormat, format_clock, format_duration, format_usd
from reports.analysis.metric import Run, usd_per_byte
from reports.analysis.runs.breakdowns import Breakdown, Key, assignor_label, runs_by_assignor
from reports.analysis.runs.time_series import TimeSeries

WORST = 20
"""How many tasks are named."""

MAX_TASKS = 2_000
"""How many tasks the table of all tasks has at most."""

NO_RACK = "no rack"


@dataclass(frozen=True, slots=True)
class Grid:
    """A table: a head with a name a column, and lines that begin with a name."""

    columns: tuple[str, ...]
    lines: tuple[tuple[str, tuple[Cell, ...]], ...]


def breakdown_grid(stack: Breakdown, usd: Sequence[float | None] = ()) -> Grid:
    """The parts of each sum, and the sum; what is nothing everywhere is left out.

    Args:
        stack: what bars show.
        usd: what one costs, by bar; None if that is not known.
    """
    prices = usd or [None] * len(stack.bars)
    every = [(stack.parts[part], [part]) for part in stack.present()]
    if not stack.rising:
        every.append(("all", stack.present()))
    lines = []
    for name, parts in every:
        amounts = [None if bar.values is None else sum(bar.values[part] for part in parts) for bar in stack.bars]
        cells = [
            Cell(UNKNOWN) if amount is None else Cell(stack.write(amount), cost_note(amount, price), amount)
            for amount, price in zip(amounts, prices, strict=True)
        ]
        lines.append((name, tuple(cells)))
    return Grid(tuple(bar.label for bar in stack.bars), tuple(lines))


def worst_tasks(tables: Tables) -> Grid:
    """The tasks of each assignor that were down for longest, the worst first; with several seeds, of all of them.

    Raises:
        TableError: there is no table `runs` or `tasks`.
    """
    import pyarrow.compute as pc

    tasks = table(tables, "tasks")
    order = [("downtime_ms", "descending"), ("seed", "ascending"), ("task", "ascending")]
    runs = runs_by_assignor(tables)
    columns = []
    for (scenario, assignor), of_one in runs.items():
        own = pc.and_(pc.equal(tasks["scenario"], scenario), pc.equal(tasks["assignor"], assignor))
        down = tasks.filter(pc.and_(own, pc.greater(tasks["downtime_ms"], 0))).sort_by(order)
        columns.append([_of_task(row, several=len(of_one) > 1) for row in down.slice(0, WORST).to_pylist()])
    return Grid(
        tuple(assignor_label(key, runs) for key in runs),
        tuple(
            (str(place + 1), tuple(cells[place] if place < len(cells) else Cell("–") for cells in columns))
            for place in range(max(map(len, columns), default=0))
        ),
    )


def _of_task(row: Mapping[str, object], *, several: bool) -> Cell:
    seed = f", seed {row['seed']}" if several else ""
    downtime_ms = float(str(row["downtime_ms"]))
    return Cell(format_duration(downtime_ms), (f"{row['task']}{seed}",), downtime_ms)


def prices(tables: Tables) -> list[float | None]:
    """What a byte between racks costs, by assignor; None if that is not known.

    Raises:
        TableError: there is no table `runs`.
    """
    return [price_of(runs) for runs in runs_by_assignor(tables).values()]


def series_grid(lines: Sequence[TimeSeries], write: NumberFormat) -> Grid:
    """What lines over time show: a line of the table for each moment at which one of them may change."""
    moments = sorted({moment for line in lines for moment in line.at_ms})
    return Grid(
        tuple(line.label for line in lines),
        tuple((format_clock(moment), tuple(_known(line.at(moment), write) for line in lines)) for moment in moments),
    )


def task_grid(tables: Tables) -> Grid:
    """The downtime of every task, of several seeds the mean; of very many tasks those that were down for longest.

    Raises:
        TableError: there is no table `runs` or `tasks`.
    """
    runs = runs_by_assignor(tables)
    grouped = table(tables, "tasks").group_by(["scenario", "assignor", "task"], use_threads=False)
    down: dict[str, dict[Key, float]] = {}
    for row in grouped.aggregate([("downtime_ms", "mean")]).to_pylist():
        down.setdefault(row["task"], {})[row["scenario"], row["assignor"]] = row["downtime_ms_mean"]
    chosen = set(sorted(down, key=lambda task: -max(down[task].values()))[:MAX_TASKS])
    return Grid(
        tuple(assignor_label(key, runs) for key in runs),
        tuple(
            (task, tuple(_known(of_task.get(key), format_duration) for key in runs))
            for task, of_task in down.items()
            if task in chosen
        ),
    )


def _known(value: float | None, write: NumberFormat) -> Cell:
    return Cell(UNKNOWN) if value is None else Cell(write(value), (), value)


def price_of(runs: Sequence[Run]) -> float | None:
    """What a byte between racks costs, by the first of these runs that tells."""
    return next((price for run in runs if (price := usd_per_byte(run)) is not None), None)


def cost_note(amount: float, price: float | None) -> tuple[str, ...]:
    """What so many bytes cost, as the notes of a cell; none without a price."""
    return () if price is None else (format_usd(amount * price),)
