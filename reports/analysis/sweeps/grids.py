"""What pages show of a sweep: tables and heat map, the best and the recommended cells, and a sentence on each part.

Tables have a readable number of rows. The recommended cell is the most balanced one on the Pareto front: no objective
is much worse in it than the lowest on the front.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from reports.analysis.cells import HEAT_STEPS, UNKNOWN, Cell, Grid
from reports.analysis.formatting import format_count, format_percent, format_range
from reports.analysis.metrics import METRIC, Metric, is_relevant, least_relevant
from reports.analysis.sweeps.aggregated_sweep import AggregatedCell, AggregatedSweep, MeanEstimate, Row, command
from reports.analysis.text import printable
from simulator.plurals import counted


def mean_cell(metric: Metric, estimate: MeanEstimate | None) -> Cell:
    """Return a mean with its interval as a note."""
    if estimate is None:
        return Cell(UNKNOWN)
    return Cell(metric.write(estimate.mean), tuple(filter(None, [interval(metric, estimate)])), estimate.mean)


def interval(metric: Metric, estimate: MeanEstimate) -> str:
    """Return an interval such as `10–15 MB/s`; empty without an interval, or if its width is 0."""
    if estimate.low is None or estimate.high is None or estimate.low == estimate.high:
        return ""
    return format_range(estimate.low, estimate.high, metric.write)


def difference_cell(metric: Metric, estimate: MeanEstimate | None) -> Cell:
    """Return a difference with its interval as a note."""
    if estimate is None:
        return Cell(UNKNOWN)
    return Cell(
        signed(metric, estimate.mean), tuple(filter(None, [difference_interval(metric, estimate)])), estimate.mean
    )


def difference_interval(metric: Metric, estimate: MeanEstimate) -> str:
    """Return an interval such as `−12 to +3`; empty without an interval, or if its width is 0."""
    if estimate.low is None or estimate.high is None or estimate.low == estimate.high:
        return ""
    return f"{signed(metric, estimate.low)} to {signed(metric, estimate.high)}"


def signed(metric: Metric, value: float) -> str:
    """Return a number with its sign; without a sign if it rounds to 0."""
    text = metric.write(abs(value))
    if text == metric.write(0):
        return text
    return f"{'−' if value < 0 else '+'}{text}"


def excludes_zero(estimate: MeanEstimate) -> bool:
    """Return whether the interval excludes 0."""
    return estimate.low is not None and estimate.high is not None and (estimate.low > 0 or estimate.high < 0)


def share(value: float) -> str:
    """Return a share of 1 as a whole percentage."""
    return format_percent(round(100 * value))


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
