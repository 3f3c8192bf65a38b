"""What a sweep answers first: which cell is best at what, and what that costs against the baseline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reports.cells import Cell as Shown
from reports.metric import Metric
from reports.metrics import METRIC
from reports.sweep_page.sweep import Cell, Sweep, command, title
from reports.sweep_page.written import difference_interval, mean_cell, signed


@dataclass(frozen=True, slots=True)
class Best:
    """The cell that has least of an objective.

    Attributes:
        objective: its title.
        cell: where that is.
        others: how many other cells have as little.
        cells: the means of all objectives, in their order, each with its difference from the baseline.
        is_best: of which objectives the cell has least.
        command: how its runs are made again.
    """

    objective: str
    cell: Cell
    others: int
    cells: tuple[Shown, ...]
    is_best: tuple[bool, ...]
    command: str


def best(sweep: Sweep) -> list[Best]:
    """The best cell of each objective, as far as any is known."""
    return list(_best(sweep))


def _best(sweep: Sweep) -> Iterator[Best]:
    places = sweep.places()
    for told in sweep.aggregate.summary["scenarios"][0]["best"]:
        place = places[told["setting"], told["assignor"]]
        cell = sweep.cells[place]
        yield Best(
            title(METRIC[told["objective"]]),
            cell,
            told["others_equal"],
            tuple(_cell(sweep, metric, place) for metric in sweep.objectives),
            tuple(metric.name in cell.row["best_of"] for metric in sweep.objectives),
            command(sweep, cell.assignor, cell.args),
        )


def _cell(sweep: Sweep, metric: Metric, place: int) -> Shown:
    shown = mean_cell(metric, sweep.figures.get(metric.name, {}).get(place))
    difference = sweep.differences.get(metric.name, {}).get(place)
    if difference is None:
        return shown
    span = difference_interval(metric, difference)
    against = f"{signed(metric, difference.mean)} against the baseline" + (f" ({span})" if span else "")
    return Shown(shown.text, (*shown.notes, against), shown.value)
