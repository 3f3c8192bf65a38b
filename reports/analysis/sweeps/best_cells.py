"""What a sweep answers first: which cell is best at what, and what that costs against the baseline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from reports.analysis.cells import Cell as Shown
from reports.analysis.metric import Metric
from reports.analysis.metrics import METRIC
from reports.analysis.sweeps.aggregated_sweep import AggregatedSweep, Cell, Row, command, title
from reports.analysis.sweeps.formatting import difference_interval, mean_cell, signed


@dataclass(frozen=True, slots=True)
class BestCell:
    """A cell that has least of some objectives.

    Attributes:
        least: of each of these its title, how much that is, and how many other cells have as little.
        cell: where that is.
        cells: the means of all objectives, in their order, each with its difference from the baseline.
        is_best: of which objectives the cell has least.
        command: how its runs are made again.
    """

    least: tuple[tuple[str, Shown, int], ...]
    cell: Cell
    cells: tuple[Shown, ...]
    is_best: tuple[bool, ...]
    command: str


def best_cells(sweep: AggregatedSweep) -> list[BestCell]:
    """The best cells, each once, in the order of the objectives that they are best in."""
    places = sweep.places()
    by_place: dict[int, list[Row]] = {}
    for told in sweep.aggregate.summary["scenarios"][0]["best"]:
        by_place.setdefault(places[told["setting"], told["assignor"]], []).append(told)
    return list(_best(sweep, by_place))


def _best(sweep: AggregatedSweep, by_place: Mapping[int, Sequence[Row]]) -> Iterator[BestCell]:
    for place, told in by_place.items():
        cell = sweep.cells[place]
        least = (METRIC[row["objective"]] for row in told)
        yield BestCell(
            tuple(
                (title(metric), mean_cell(metric, sweep.figures[metric.name].get(place)), row["others_equal"])
                for metric, row in zip(least, told, strict=True)
            ),
            cell,
            tuple(_cell(sweep, metric, place) for metric in sweep.objectives),
            tuple(metric.name in cell.row["best_of"] for metric in sweep.objectives),
            command(sweep, cell.assignor, cell.args),
        )


def _cell(sweep: AggregatedSweep, metric: Metric, place: int) -> Shown:
    shown = mean_cell(metric, sweep.figures.get(metric.name, {}).get(place))
    difference = sweep.differences.get(metric.name, {}).get(place)
    if difference is None:
        return shown
    span = difference_interval(metric, difference)
    against = f"{signed(metric, difference.mean)} against the baseline" + (f" ({span})" if span else "")
    return Shown(shown.text, (*shown.notes, against), shown.value)
