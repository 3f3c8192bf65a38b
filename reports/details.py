"""The numbers behind the figures of a page, as the cells of tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reports.cells import UNKNOWN, Cell
from reports.comparison import Tables, table
from reports.metric import Run, usd_per_byte
from reports.stacks import Key, Stack, carried_bytes, label_of, runs_by_assignor
from reports.units import write_bytes, write_duration, write_usd

WORST = 20
"""How many tasks are named."""

NO_RACK = "no rack"


@dataclass(frozen=True, slots=True)
class Grid:
    """A table: a head with a name a column, and lines that begin with a name."""

    columns: tuple[str, ...]
    lines: tuple[tuple[str, tuple[Cell, ...]], ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """What an assignor's run sent from rack to rack.

    Attributes:
        label: names the assignor.
        racks: the names of rows (from) and columns (to).
        cells: for each pair what was sent; a note says what it cost.
        heat: for each pair its share in the most that went between different racks in any run, from 0 to 1.
    """

    label: str
    racks: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    heat: tuple[tuple[float, ...], ...]


def stack_grid(stack: Stack, usd: Sequence[float | None] = ()) -> Grid:
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
            Cell(UNKNOWN) if amount is None else Cell(stack.write(amount), _cost(amount, price))
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
    order = [("down_ms", "descending"), ("seed", "ascending"), ("task", "ascending")]
    runs = runs_by_assignor(tables)
    columns = []
    for (scenario, assignor), of_one in runs.items():
        own = pc.and_(pc.equal(tasks["scenario"], scenario), pc.equal(tasks["assignor"], assignor))
        down = tasks.filter(pc.and_(own, pc.greater(tasks["down_ms"], 0))).sort_by(order)
        columns.append([_of_task(row, several=len(of_one) > 1) for row in down.slice(0, WORST).to_pylist()])
    return Grid(
        tuple(label_of(key, runs) for key in runs),
        tuple(
            (str(place + 1), tuple(cells[place] if place < len(cells) else Cell("–") for cells in columns))
            for place in range(max(map(len, columns), default=0))
        ),
    )


def _of_task(row: Mapping[str, object], *, several: bool) -> Cell:
    seed = f", seed {row['seed']}" if several else ""
    return Cell(write_duration(float(str(row["down_ms"]))), (f"{row['task']}{seed}",))


def prices(tables: Tables) -> list[float | None]:
    """What a byte between racks costs, by assignor; None if that is not known.

    Raises:
        TableError: there is no table `runs`.
    """
    return [_price(runs) for runs in runs_by_assignor(tables).values()]


def rack_matrices(tables: Tables) -> list[Matrix]:
    """What went from rack to rack in the whole run, one matrix an assignor; of several seeds the mean.

    Raises:
        TableError: there is no table `runs` or `traffic`.
    """
    runs = runs_by_assignor(tables)
    sums: dict[Key, dict[tuple[str, str], float]] = {key: {} for key in runs}
    for key, _, source, target, carried in carried_bytes(tables):
        pair = (NO_RACK if source is None else source, NO_RACK if target is None else target)
        sums[key][pair] = sums[key].get(pair, 0.0) + carried / len(runs[key])
    crossing = [sent for of_one in sums.values() for pair, sent in of_one.items() if _crosses(*pair)]
    most = max(crossing, default=0.0) or 1.0
    return [_matrix(label_of(key, runs), sums[key], _price(runs[key]), most) for key in runs if sums[key]]


def _matrix(label: str, sent: Mapping[tuple[str, str], float], price: float | None, most: float) -> Matrix:
    named = {rack for pair in sent for rack in pair}
    racks = tuple(sorted(named, key=lambda rack: (rack == NO_RACK, rack)))
    pairs = [[(source, target) for target in racks] for source in racks]
    return Matrix(
        label=label,
        racks=racks,
        cells=tuple(
            tuple(
                Cell(write_bytes(sent.get(pair, 0.0)), _cost(sent.get(pair, 0.0), price if _crosses(*pair) else None))
                for pair in row
            )
            for row in pairs
        ),
        heat=tuple(tuple(sent.get(pair, 0.0) / most if _crosses(*pair) else 0.0 for pair in row) for row in pairs),
    )


def _crosses(source: str, target: str) -> bool:
    return source != target and NO_RACK not in (source, target)


def _price(runs: Sequence[Run]) -> float | None:
    return next((price for run in runs if (price := usd_per_byte(run)) is not None), None)


def _cost(amount: float, price: float | None) -> tuple[str, ...]:
    return () if price is None else (write_usd(amount * price),)
