"""Tables and heat map of a sweep, limited to a readable number of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reports.analysis.cells import HEAT_STEPS, UNKNOWN, Cell, Grid
from reports.analysis.formatting import format_count
from reports.analysis.metrics import METRIC, Metric
from reports.analysis.sweeps.aggregated_sweep import AggregatedSweep, MeanEstimate, Row
from reports.analysis.sweeps.formatting import difference_cell, excludes_zero, mean_cell, share
from reports.analysis.text import printable

MAX_ON_FRONT: Final = 100
"""Maximum number of rows in the table of the Pareto front."""

MAX_DIFFERENCES: Final = 40
"""Maximum number of rows in the table of differences."""


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Means of a metric for the levels of two factors.

    Attributes:
        factors: indices of the factor of the rows and the factor of the columns.
        rows: levels of the factor of the rows.
        columns: levels of the factor of the columns.
        cells: means by row and column.
        heat: position of each mean between minimum (0) and maximum (`HEAT_STEPS`).
    """

    metric: Metric
    factors: tuple[int, int]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    heat: tuple[tuple[int, ...], ...]


def front_grid(sweep: AggregatedSweep) -> Grid:
    """Return the first `MAX_ON_FRONT` cells on the Pareto front, in their order."""
    on_front = sorted(
        (index for index, cell in enumerate(sweep.cells) if cell.row["on_front"]),
        key=lambda index: int(sweep.cells[index].row["place"]),
    )
    lines = []
    for index in on_front[:MAX_ON_FRONT]:
        cell = sweep.cells[index]
        figures = [mean_cell(metric, sweep.means.get(metric.name, {}).get(index)) for metric in sweep.objectives]
        stable = Cell(share(cell.row["stable"]), value=100 * cell.row["stable"])
        lines.append((printable(cell.label), (Cell(printable(cell.assignor)), *figures, stable)))
    return Grid(("Assignor", *(metric.title for metric in sweep.objectives), "Stable runs"), tuple(lines))


def largest_differences(sweep: AggregatedSweep, metric: Metric, max_cells: int) -> list[tuple[int, MeanEstimate]]:
    """Return the cells with the largest differences from the baseline, significant ones first.

    `max_cells`: maximum number of cells. Returns index and difference of each cell, by difference.
    """
    differences = sweep.differences.get(metric.name, {})
    order = sorted(differences.items(), key=lambda item: (not excludes_zero(item[1]), -abs(item[1].mean), item[0]))
    return sorted(order[:max_cells], key=lambda item: (item[1].mean, item[0]))


def difference_grid(sweep: AggregatedSweep, metric: Metric) -> Grid:
    """Return the largest differences, and whether they are significant."""
    lines = []
    for index, difference in largest_differences(sweep, metric, MAX_DIFFERENCES):
        cell = sweep.cells[index]
        is_significant = "yes" if excludes_zero(difference) else "no" if difference.low is not None else UNKNOWN
        cells = (Cell(printable(cell.assignor)), difference_cell(metric, difference), Cell(is_significant))
        lines.append((printable(cell.label), cells))
    return Grid(("Assignor", f"{metric.title}: difference", "Significant"), tuple(lines))


def factor_shares(sweep: AggregatedSweep) -> dict[str, dict[str, Row]]:
    """Return the rows of the table `sensitivity` by metric and factor."""
    rows: dict[str, dict[str, Row]] = {}
    for row in sweep.aggregate.tables["sensitivity"].to_pylist():
        if row["metric"] in METRIC:
            rows.setdefault(row["metric"], {})[row["factor"]] = row
    return rows


def share_grid(sweep: AggregatedSweep) -> Grid:
    """Return the share of each metric's variance that each factor explains; without metrics that no factor explains."""
    by_metric = factor_shares(sweep)
    lines = []
    for metric in sweep.metrics:
        rows = by_metric.get(metric.name, {})
        values = [rows[factor.name]["share"] if factor.name in rows else None for factor in sweep.factors]
        if any(values):
            cells = (Cell(UNKNOWN) if value is None else Cell(share(value), value=100 * value) for value in values)
            lines.append((metric.title, tuple(cells)))
    return Grid(tuple(printable(factor.name) for factor in sweep.factors), tuple(lines))


def level_grid(sweep: AggregatedSweep) -> Grid:
    """Return the means of the objectives for each level of each factor."""
    by_level: dict[tuple[str, int, str], dict[str, Row]] = {}
    for row in sweep.aggregate.tables["levels"].to_pylist():
        by_level.setdefault((row["factor"], row["position"], row["level"]), {})[row["metric"]] = row
    names = [factor.name for factor in sweep.factors]
    known = [key for key in by_level if key[0] in names]
    lines = []
    for key in sorted(known, key=lambda key: (names.index(key[0]), key[1])):
        cells = (_level_cell(metric, by_level[key].get(metric.name)) for metric in sweep.objectives)
        lines.append((printable(f"{key[0]}={key[2]}"), tuple(cells)))
    return Grid(tuple(metric.title for metric in sweep.objectives), tuple(lines))


def _level_cell(metric: Metric, row: Row | None) -> Cell:
    if row is None or row["mean"] is None:
        return Cell(UNKNOWN)
    note = () if row["sd"] is None else (f"± {metric.write(row['sd'])}",)
    return Cell(metric.write(row["mean"]), (*note, f"{format_count(row['runs'])} runs"), row["mean"])


def heat_map(sweep: AggregatedSweep) -> HeatMap | None:
    """Return the first objective by the two factors that explain most of it; None with fewer than two factors."""
    varied = [number for number, factor in enumerate(sweep.factors) if len(factor.levels) > 1]
    if len(varied) < 2 or not sweep.objectives:
        return None
    metric = sweep.objectives[0]
    rows = factor_shares(sweep).get(metric.name, {})
    ranks = {name: row["rank"] for name, row in rows.items()}
    strongest = sorted(varied, key=lambda number: (ranks.get(sweep.factors[number].name, len(ranks) + 1), number))
    row_factor, column_factor = sorted(strongest[:2])
    return _heat_map(sweep, metric, row_factor, column_factor)


def _heat_map(sweep: AggregatedSweep, metric: Metric, row_factor: int, column_factor: int) -> HeatMap:
    rows, columns = sweep.factors[row_factor], sweep.factors[column_factor]
    means = {
        (row["position"], row["other_position"]): row["mean"]
        for row in sweep.aggregate.tables["pairs"].to_pylist()
        if (row["metric"], row["factor"], row["other"]) == (metric.name, rows.name, columns.name)
    }
    grid = [[means.get((row, column)) for column in range(len(columns.levels))] for row in range(len(rows.levels))]
    return HeatMap(
        metric,
        (row_factor, column_factor),
        tuple(map(printable, rows.levels)),
        tuple(map(printable, columns.levels)),
        tuple(
            tuple(Cell(UNKNOWN) if mean is None else Cell(metric.write(mean), value=mean) for mean in row)
            for row in grid
        ),
        _heat(grid),
    )


def _heat(grid: Sequence[Sequence[float | None]]) -> tuple[tuple[int, ...], ...]:
    known = [mean for row in grid for mean in row if mean is not None]
    minimum = min(known, default=0.0)
    width = max(known, default=0.0) - minimum
    return tuple(
        tuple(0 if mean is None or not width else int(HEAT_STEPS * (mean - minimum) / width + 0.5) for mean in row)
        for row in grid
    )
