"""The numbers of a sweep's page as the cells of tables, as many as people read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reports.analysis.cells import UNKNOWN, Cell
from reports.analysis.formatting import format_count
from reports.analysis.grids import Grid
from reports.analysis.metric import Metric
from reports.analysis.metrics import METRIC
from reports.analysis.sweeps.aggregated_sweep import AggregatedSweep, MeanEstimate, Row, title
from reports.analysis.sweeps.formatting import difference_cell, excludes_zero, mean_cell, share
from reports.analysis.text import printable

MAX_ON_FRONT: Final = 100
"""Rows of the front's table."""

MAX_DIFFERENCES: Final = 40
"""Rows of the table of differences."""

_STEPS = 10


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Means of a metric for the levels of two factors.

    Attributes:
        metric: what the cells are about.
        factors: the numbers of the two factors: that of the rows and that of the columns.
        rows, columns: their levels.
        cells: the means, by row.
        heat: how far each is from the least to the most, from 0 to 10.
    """

    metric: Metric
    factors: tuple[int, int]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    heat: tuple[tuple[int, ...], ...]


def front_grid(sweep: AggregatedSweep) -> Grid:
    """The cells on the front, in their order, at most `MOST_ON_FRONT` of them."""
    on_front = sorted(
        (place for place, cell in enumerate(sweep.cells) if cell.row["on_front"]),
        key=lambda place: int(sweep.cells[place].row["place"]),
    )
    lines = []
    for place in on_front[:MAX_ON_FRONT]:
        cell = sweep.cells[place]
        figures = [mean_cell(metric, sweep.figures.get(metric.name, {}).get(place)) for metric in sweep.objectives]
        stable = Cell(share(cell.row["stable"]), value=100 * cell.row["stable"])
        lines.append((printable(cell.label), (Cell(printable(cell.assignor)), *figures, stable)))
    return Grid(("Assignor", *(title(metric) for metric in sweep.objectives), "Stable runs"), tuple(lines))


def largest_differences(sweep: AggregatedSweep, metric: Metric, most: int) -> list[tuple[int, MeanEstimate]]:
    """The cells that are furthest from the baseline; those that are surely so go before others.

    Args:
        sweep: any.
        metric: in which they differ.
        most: how many.

    Returns:
        Place of the cell and its difference, from the least to the most.
    """
    found = sweep.differences.get(metric.name, {})
    order = sorted(found.items(), key=lambda item: (not excludes_zero(item[1]), -abs(item[1].mean), item[0]))
    return sorted(order[:most], key=lambda item: (item[1].mean, item[0]))


def difference_grid(sweep: AggregatedSweep, metric: Metric) -> Grid:
    """What `largest_differences` says, with what is sure."""
    lines = []
    for place, figure in largest_differences(sweep, metric, MAX_DIFFERENCES):
        cell = sweep.cells[place]
        sure = "yes" if excludes_zero(figure) else "no" if figure.low is not None else UNKNOWN
        shown = (Cell(printable(cell.assignor)), difference_cell(metric, figure), Cell(sure))
        lines.append((printable(cell.label), shown))
    return Grid(("Assignor", f"{title(metric)}: difference", "Surely one"), tuple(lines))


def shares(sweep: AggregatedSweep) -> dict[str, dict[str, Row]]:
    """The rows of the table `sensitivity`, by metric and factor."""
    found: dict[str, dict[str, Row]] = {}
    for row in sweep.aggregate.tables["sensitivity"].to_pylist():
        if row["metric"] in METRIC:
            found.setdefault(row["metric"], {})[row["factor"]] = row
    return found


def share_grid(sweep: AggregatedSweep) -> Grid:
    """How much of each metric's variance each factor explains; what nothing explains is left out."""
    by_metric = shares(sweep)
    lines = []
    for metric in sweep.metrics:
        rows = by_metric.get(metric.name, {})
        values = [rows[factor.name]["share"] if factor.name in rows else None for factor in sweep.factors]
        if any(values):
            cells = (Cell(UNKNOWN) if each is None else Cell(share(each), value=100 * each) for each in values)
            lines.append((title(metric), tuple(cells)))
    return Grid(tuple(printable(factor.name) for factor in sweep.factors), tuple(lines))


def level_grid(sweep: AggregatedSweep) -> Grid:
    """The means of the objectives for each level of each factor."""
    by_level: dict[tuple[str, int, str], dict[str, Row]] = {}
    for row in sweep.aggregate.tables["levels"].to_pylist():
        by_level.setdefault((row["factor"], row["position"], row["level"]), {})[row["metric"]] = row
    names = [factor.name for factor in sweep.factors]
    known = [key for key in by_level if key[0] in names]
    lines = []
    for key in sorted(known, key=lambda key: (names.index(key[0]), key[1])):
        cells = (_level_cell(metric, by_level[key].get(metric.name)) for metric in sweep.objectives)
        lines.append((printable(f"{key[0]}={key[2]}"), tuple(cells)))
    return Grid(tuple(title(metric) for metric in sweep.objectives), tuple(lines))


def _level_cell(metric: Metric, row: Row | None) -> Cell:
    if row is None or row["mean"] is None:
        return Cell(UNKNOWN)
    note = () if row["sd"] is None else (f"± {metric.write(row['sd'])}",)
    return Cell(metric.write(row["mean"]), (*note, f"{format_count(row['runs'])} runs"), row["mean"])


def heat_map(sweep: AggregatedSweep) -> HeatMap | None:
    """The first objective for the two factors that explain most of it; None if there are no two factors."""
    varied = [number for number, factor in enumerate(sweep.factors) if len(factor.levels) > 1]
    if len(varied) < 2 or not sweep.objectives:
        return None
    metric = sweep.objectives[0]
    rows = shares(sweep).get(metric.name, {})
    ranks = {name: row["rank"] for name, row in rows.items()}
    strongest = sorted(varied, key=lambda number: (ranks.get(sweep.factors[number].name, len(ranks) + 1), number))
    one, other = sorted(strongest[:2])
    return _heat_map(sweep, metric, one, other)


def _heat_map(sweep: AggregatedSweep, metric: Metric, one: int, other: int) -> HeatMap:
    rows, columns = sweep.factors[one], sweep.factors[other]
    means = {
        (row["position"], row["other_position"]): row["mean"]
        for row in sweep.aggregate.tables["pairs"].to_pylist()
        if (row["metric"], row["factor"], row["other"]) == (metric.name, rows.name, columns.name)
    }
    grid = [[means.get((row, column)) for column in range(len(columns.levels))] for row in range(len(rows.levels))]
    return HeatMap(
        metric,
        (one, other),
        tuple(map(printable, rows.levels)),
        tuple(map(printable, columns.levels)),
        tuple(
            tuple(Cell(UNKNOWN) if each is None else Cell(metric.write(each), value=each) for each in row)
            for row in grid
        ),
        _heat(grid),
    )


def _heat(grid: Sequence[Sequence[float | None]]) -> tuple[tuple[int, ...], ...]:
    known = [each for row in grid for each in row if each is not None]
    least, most = min(known, default=0.0), max(known, default=0.0)
    width = most - least
    return tuple(
        tuple(0 if each is None or not width else int(_STEPS * (each - least) / width + 0.5) for each in row)
        for row in grid
    )
