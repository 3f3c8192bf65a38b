"""What to see in each part of a sweep: one sentence per part, from its figures."""

from __future__ import annotations

from reports.analysis.metrics import Metric
from reports.analysis.sweeps.aggregated_sweep import AggregatedSweep
from reports.analysis.sweeps.formatting import excludes_zero, share
from reports.analysis.sweeps.grids import HeatMap, factor_shares
from reports.analysis.text import printable
from simulator.plurals import counted


def front_sentence(sweep: AggregatedSweep) -> str:
    """Return the range of the first two objectives on the Pareto front; empty without a front."""
    front = [index for index, cell in enumerate(sweep.cells) if cell.row["on_front"]]
    parts = []
    for metric in sweep.objectives[:2]:
        known = [(estimate.mean, index) for index in front if (estimate := sweep.means.get(metric.name, {}).get(index))]
        if known:
            low, high = metric.write(min(known)[0]), metric.write(max(known)[0])
            cell = sweep.cells[min(known)[1]]
            where = f"{printable(cell.assignor)} with {printable(cell.label)}"
            spread = f"{metric.title} from {low} ({where}) to {high}"
            parts.append(f"{metric.title} {low} in all cells" if low == high else spread)
    return f"On the front: {'; '.join(parts)}." if parts else ""


def sensitivity_sentence(sweep: AggregatedSweep) -> str:
    """Return the factor that explains most of the variance of each of the first two objectives."""
    parts, by_metric = [], factor_shares(sweep)
    for metric in sweep.objectives[:2]:
        shares = {name: row["share"] for name, row in by_metric.get(metric.name, {}).items() if row["share"]}
        if shares:
            factor = max(shares, key=lambda name: shares[name])
            explained = f"{share(shares[factor])} of the variance"
            parts.append(f"{metric.title} depends most on {printable(factor)} ({explained})")
    return f"{'; '.join(parts)}." if parts else ""


def heat_sentence(sweep: AggregatedSweep, heat: HeatMap) -> str:
    """Return the pairs of levels with the lowest and the highest mean; empty without known means."""
    known = [
        (cell.value, row, column)
        for row, cells in enumerate(heat.cells)
        for column, cell in enumerate(cells)
        if cell.value is not None
    ]
    if not known:
        return ""
    factors = [printable(sweep.factors[factor].name) for factor in heat.factors]

    def described(extreme: tuple[float, int, int]) -> str:
        value, row, column = extreme
        levels = (printable(heat.rows[row]), printable(heat.columns[column]))
        at = ", ".join(f"{factor}={level}" for factor, level in zip(factors, levels, strict=True))
        return f"{heat.metric.write(value)} at {at}"

    low, high = min(known), max(known)
    if heat.metric.write(low[0]) == heat.metric.write(high[0]):
        return f"{heat.metric.title} is {heat.metric.write(low[0])} at all levels."
    return f"{heat.metric.title}: lowest {described(low)}; highest {described(high)}."


def differences_sentence(sweep: AggregatedSweep, metric: Metric) -> str:
    """Return in how many cells a metric differs significantly from the baseline; empty without differences."""
    differences = list(sweep.differences.get(metric.name, {}).values())
    if not differences:
        return ""
    lower = sum(excludes_zero(difference) and difference.mean < 0 for difference in differences)
    higher = sum(excludes_zero(difference) and difference.mean > 0 for difference in differences)
    cells = counted(len(differences), "cell")
    return (
        f"{metric.title}, {cells} compared with the baseline {printable(sweep.baseline)}: significantly lower in "
        f"{lower:,}, higher in {higher:,}, not significant in {len(differences) - lower - higher:,}."
    )
