"""The best cell of a sweep for each objective, compared with the baseline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from reports.analysis.cells import Cell
from reports.analysis.metrics import METRIC, Metric
from reports.analysis.sweeps.aggregated_sweep import AggregatedCell, AggregatedSweep, Row, command
from reports.analysis.sweeps.formatting import difference_interval, mean_cell, signed


@dataclass(frozen=True, slots=True)
class BestCell:
    """A cell that has the lowest mean of some objectives.

    Attributes:
        lowest: title and mean of each such objective, and the number of other cells with the same mean.
        cells: means of all objectives, with the differences from the baseline as notes.
        is_best: whether the cell has the lowest mean, by objective.
        command: command that repeats its runs.
    """

    lowest: tuple[tuple[str, Cell, int], ...]
    cell: AggregatedCell
    cells: tuple[Cell, ...]
    is_best: tuple[bool, ...]
    command: str


def best_cells(sweep: AggregatedSweep) -> list[BestCell]:
    """Return the best cells without duplicates, in the order of their objectives."""
    indices = sweep.indices()
    by_index: dict[int, list[Row]] = {}
    for row in sweep.aggregate.summary["scenarios"][0]["best"]:
        by_index.setdefault(indices[row["setting"], row["assignor"]], []).append(row)
    return list(_best(sweep, by_index))


def _best(sweep: AggregatedSweep, by_index: Mapping[int, Sequence[Row]]) -> Iterator[BestCell]:
    for index, best_rows in by_index.items():
        cell = sweep.cells[index]
        lowest_metrics = (METRIC[row["objective"]] for row in best_rows)
        yield BestCell(
            tuple(
                (metric.title, mean_cell(metric, sweep.means.get(metric.name, {}).get(index)), row["others_equal"])
                for metric, row in zip(lowest_metrics, best_rows, strict=True)
            ),
            cell,
            tuple(_cell(sweep, metric, index) for metric in sweep.objectives),
            tuple(metric.name in cell.row["best_of"] for metric in sweep.objectives),
            command(sweep, cell.assignor, cell.args),
        )


def _cell(sweep: AggregatedSweep, metric: Metric, index: int) -> Cell:
    formatted = mean_cell(metric, sweep.means.get(metric.name, {}).get(index))
    difference = sweep.differences.get(metric.name, {}).get(index)
    if difference is None:
        return formatted
    span = difference_interval(metric, difference)
    versus = f"{signed(metric, difference.mean)} vs. baseline" + (f" ({span})" if span else "")
    return Cell(formatted.text, (*formatted.notes, versus), formatted.value)
