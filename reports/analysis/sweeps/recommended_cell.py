"""The recommended combination of a sweep: the most balanced one on the Pareto front."""

from __future__ import annotations

from dataclasses import dataclass

from reports.analysis.metric import Metric
from reports.analysis.sweeps.aggregated_sweep import AggregatedCell, AggregatedSweep, command
from reports.analysis.sweeps.formatting import excludes_zero, signed
from reports.analysis.text import printable


@dataclass(frozen=True, slots=True)
class RecommendedCell:
    """The recommended combination.

    Attributes:
        cell: assignor and setting.
        choice: what is recommended and how close it is to the lowest mean of each objective.
        comparison: how it differs from the baseline in the same setting.
        command: command that repeats its runs.
    """

    cell: AggregatedCell
    choice: str
    comparison: str
    command: str


def recommended_cell(sweep: AggregatedSweep) -> RecommendedCell | None:
    """Return the cell of the Pareto front whose largest regret is lowest; None without a cell with known objectives.

    The regret of a cell in an objective is its distance from the lowest mean on the front, as a share of the range of
    the means on the front. Cells in which some run did not converge are considered only if there are no others.

    Returns:
        The cell; of equal cells, the one with the lowest sum of regrets, then the first.
    """
    means = [sweep.means.get(metric.name, {}) for metric in sweep.objectives]
    front = [
        index
        for index, cell in enumerate(sweep.cells)
        if cell.row["on_front"] and all(index in known for known in means)
    ]
    stable = [index for index in front if sweep.cells[index].row["stable"] == 1]
    candidates = stable or front
    if not candidates or not means:
        return None
    ranges = [(min(of_front), max(of_front)) for known in means if (of_front := [known[i].mean for i in front])]

    def regrets(index: int) -> list[float]:
        pairs = zip(means, ranges, strict=True)
        return [(known[index].mean - low) / (high - low) if high > low else 0.0 for known, (low, high) in pairs]

    chosen = min(candidates, key=lambda index: (max(regrets(index)), sum(regrets(index)), index))
    cell = sweep.cells[chosen]
    figures = [
        _figure(metric, known[chosen].mean, low)
        for metric, known, (low, _) in zip(sweep.objectives, means, ranges, strict=True)
    ]
    choice = f"{printable(cell.assignor)} with {printable(cell.label)}: {'; '.join(figures)}."
    return RecommendedCell(cell, choice, _comparison(sweep, chosen), command(sweep, cell.assignor, cell.args))


def _figure(metric: Metric, mean: float, lowest: float) -> str:
    text, best = metric.write(mean), metric.write(lowest)
    return f"{metric.title} {text} ({'lowest' if text == best else f'lowest on the front: {best}'})"


def _comparison(sweep: AggregatedSweep, index: int) -> str:
    """Return the differences from the baseline in the same setting, as a sentence."""
    cell = sweep.cells[index]
    if cell.assignor == sweep.baseline:
        return f"{printable(sweep.baseline)} is the baseline."
    texts = []
    for metric in sweep.objectives:
        difference = sweep.differences.get(metric.name, {}).get(index)
        if difference is not None:
            note = "" if excludes_zero(difference) else ", not significant"
            texts.append(f"{metric.title} {signed(metric, difference.mean)}{note}")
    if not texts:
        return ""
    return f"Difference from the baseline {printable(sweep.baseline)} in this setting: {'; '.join(texts)}."
