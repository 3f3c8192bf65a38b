"""The recommended combination of a sweep: the most balanced one on the Pareto front.

In it, no objective is much worse than the lowest on the front.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from reports.analysis.cells import Cell
from reports.analysis.metrics import Metric, is_relevant, least_relevant
from reports.analysis.sweeps.aggregated_sweep import AggregatedCell, AggregatedSweep, MeanEstimate, command
from reports.analysis.sweeps.formatting import difference_cell, excludes_zero, mean_cell
from reports.analysis.text import printable


def most_balanced(means: Sequence[Sequence[float]], is_stable: Sequence[bool], least: Sequence[float]) -> int | None:
    """Return the index of the combination whose largest regret is lowest; None without combinations or objectives.

    The regret of a combination in an objective is its distance from the lowest mean on the front, as a share of the
    range of the means on the front; 0 if that range is no relevant difference. Combinations in which some run did not
    converge are chosen only if there are no others. `means`: for each combination on the front, the mean of each
    objective; `is_stable`: for each combination, whether all of its runs converged; `least`: for each objective, the
    smallest difference that counts. Returns the index; of equal combinations, the one with the lowest sum of regrets,
    then the first.
    """
    candidates = [index for index, stable in enumerate(is_stable) if stable] or list(range(len(means)))
    if not candidates or not means[0]:
        return None
    ranges = []
    for of_objective, one in zip(zip(*means, strict=True), least, strict=True):
        low, high = min(of_objective), max(of_objective)
        ranges.append((low, high, high > low and is_relevant(high - low, low, one)))

    def regrets(index: int) -> list[float]:
        pairs = zip(means[index], ranges, strict=True)
        return [(mean - low) / (high - low) if counts else 0.0 for mean, (low, high, counts) in pairs]

    return min(candidates, key=lambda index: (max(regrets(index)), sum(regrets(index)), index))


@dataclass(frozen=True, slots=True)
class RecommendedRow:
    """A row of figures of the recommendation.

    Attributes:
        title: what the figures are.
        cells: per objective, the figure and whether the recommended combination has the lowest mean on the front.
    """

    title: str
    cells: tuple[tuple[Cell, bool], ...]


@dataclass(frozen=True, slots=True)
class RecommendedCell:
    """The recommended combination.

    Attributes:
        cell: assignor and setting.
        choice: what is recommended, in one sentence.
        titles: titles of the objectives.
        rows: its means, the lowest on the front, and the differences from the baseline in the same setting.
        command: command that repeats its runs.
    """

    cell: AggregatedCell
    choice: str
    titles: tuple[str, ...]
    rows: tuple[RecommendedRow, ...]
    command: str


def recommended_cell(sweep: AggregatedSweep) -> RecommendedCell | None:
    """Return the most balanced cell of the Pareto front (see `most_balanced`).

    The result is None without a cell with known objectives; of equal cells, it is the first.
    """
    means = [sweep.means.get(metric.name, {}) for metric in sweep.objectives]
    front = [
        index
        for index, cell in enumerate(sweep.cells)
        if cell.row["on_front"] and all(index in known for known in means)
    ]
    of_front = [[known[index].mean for known in means] for index in front]
    is_stable = [sweep.cells[index].row["stable"] == 1 for index in front]
    balanced = most_balanced(of_front, is_stable, [least_relevant(metric.name) for metric in sweep.objectives])
    if balanced is None:
        return None
    chosen = front[balanced]
    lowest = [min(of_objective) for of_objective in zip(*of_front, strict=True)]
    cell = sweep.cells[chosen]
    is_baseline = " (the baseline)" if cell.assignor == sweep.baseline else ""
    choice = f"Start with {printable(cell.assignor)}{is_baseline} and {printable(cell.label)}."
    titles = tuple(metric.title for metric in sweep.objectives)
    return RecommendedCell(
        cell, choice, titles, tuple(_rows(sweep, chosen, lowest)), command(sweep, cell.assignor, cell.args)
    )


def _rows(sweep: AggregatedSweep, index: int, lowest: Sequence[float]) -> Iterator[RecommendedRow]:
    means = [sweep.means[metric.name][index] for metric in sweep.objectives]
    known = list(zip(sweep.objectives, means, lowest, strict=True))
    yield RecommendedRow(
        "Recommended",
        tuple((mean_cell(metric, mean), metric.write(mean.mean) == metric.write(low)) for metric, mean, low in known),
    )
    yield RecommendedRow(
        "Lowest on the front", tuple((Cell(metric.write(low), (), low), False) for metric, _, low in known)
    )
    differences = [sweep.differences.get(metric.name, {}).get(index) for metric in sweep.objectives]
    if sweep.cells[index].assignor != sweep.baseline and any(differences):
        yield RecommendedRow(
            f"Difference from the baseline {printable(sweep.baseline)}",
            tuple(
                (_difference(metric, difference, mean.mean), False)
                for metric, difference, mean in zip(sweep.objectives, differences, means, strict=True)
            ),
        )


def _difference(metric: Metric, difference: MeanEstimate | None, mean: float) -> Cell:
    cell = difference_cell(metric, difference)
    if difference is None:
        return cell
    if not is_relevant(difference.mean, mean - difference.mean, least_relevant(metric.name)):
        return Cell("no difference", (), difference.mean)
    if excludes_zero(difference):
        return cell
    return replace(cell, notes=(*cell.notes, "not significant"))
