"""What stands in the cells of a comparison, as text: shared by all outputs that people read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from reports.analysis.comparison import ComparisonRow, Spread, verdict_text
from reports.analysis.formatting import format_count, format_duration, format_number, format_range
from reports.analysis.metric import Metric
from reports.analysis.metrics import METRIC

UNKNOWN = "n/a"


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure: what is read first, and notes on it: the range over the seeds, and how many of them have it.

    `value` is the figure in its unit without rounding, for sorting and for scripts; None if it is not known.
    """

    text: str
    notes: tuple[str, ...] = ()
    value: float | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.text} ({', '.join(self.notes)})" if self.notes else self.text


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the comparison.

    Attributes:
        header: short, in one or two lines.
        title: in full.
        metric: what its best value is judged by.
        cell: the cell of a row.
    """

    header: str
    title: str
    metric: Metric
    cell: Callable[[ComparisonRow], Cell]


def metric_cell(row: ComparisonRow, metric: Metric) -> Cell:
    """A metric: its median, and the range if seeds differ or only some runs have it."""
    spread = row.spreads[metric.name]
    if spread is None:
        return Cell(UNKNOWN)
    return Cell(metric.write(spread.median), _notes(spread, metric, len(row.seeds)), spread.median)


def gap_cell(row: ComparisonRow) -> Cell:
    """The gap to the lower bound of partitions: `+12 (33%)`, or `at bound`."""
    gap, percent = (
        row.spreads["cross_rack_source_partitions_above_bound"],
        row.spreads["cross_rack_source_partitions_above_bound_percent"],
    )
    if gap is None:
        return Cell(UNKNOWN)
    in_percent = f" ({format_number(round(percent.median))}%)" if percent else ""
    text = f"+{format_count(gap.median)}{in_percent}" if gap.median else "at bound"
    return Cell(text, _notes(gap, METRIC["cross_rack_source_partitions_above_bound"], len(row.seeds)), gap.median)


def cost_above_bound_cell(row: ComparisonRow) -> Cell:
    """The cost above the bound in the deciding round, as in `above_bound_cell`, and whether the optimum is proven."""
    cell = above_bound_cell(row, "cost_above_bound")
    return cell if cell.text == UNKNOWN else replace(cell, notes=(*cell.notes, *_proven(row)))


def above_bound_cell(row: ComparisonRow, name: str) -> Cell:
    """The cost above its lower bound, by the metric's name: `+33%`, or `+12` where the bound is 0, or `at bound`."""
    gap, percent = row.spreads[name], row.spreads[f"{name}_percent"]
    if gap is None:
        return Cell(UNKNOWN)
    metric = METRIC[name]
    above = f"+{metric.write(gap.median)}" if percent is None else f"+{format_number(round(percent.median))}%"
    notes = _notes(percent or gap, METRIC[f"{name}_percent"] if percent else metric, len(row.seeds))
    return Cell(above if gap.median else "at bound", notes, gap.median)


def _proven(row: ComparisonRow) -> tuple[str, ...]:
    exact, runs = sum(each.is_exact for each in row.proofs), len(row.proofs)
    if not runs:
        return ()
    return ("proven" if exact == runs else f"proven {exact}/{runs}" if exact else "unproven",)


def convergence_cell(row: ComparisonRow) -> Cell:
    """How long the group took to converge, or the verdict if that is not known of any run."""
    spread = row.spreads["time_to_converge_ms"]
    if spread is None:
        return Cell(verdict_text(row))
    return metric_cell(row, METRIC["time_to_converge_ms"])


def event_cell(row: Mapping[str, Any]) -> Cell:
    """How long the group took to converge after an event (a row of `convergence`), or had not: `> 3 h`."""
    is_known = row["time_to_converge_ms"] is not None
    time = format_duration(row["observed_ms"])
    count = row["rebalances"]
    notes = [f"{format_count(count)} rebalance{'' if count == 1 else 's'}"]
    notes += [] if is_known else [row["verdict"]]
    notes += [] if row["cut_short_by"] is None else [f"cut short by event {row['cut_short_by']}"]
    return Cell(time if is_known else f"> {time}", tuple(notes), row["time_to_converge_ms"])


def rack_redundancy_cell(row: ComparisonRow) -> Cell:
    """How many of the stateful tasks have all copies in one rack: `3/48`."""
    count, every = row.spreads["tasks_without_rack_redundancy"], row.spreads["stateful_tasks"]
    if count is None or every is None or not every.most:
        return Cell(UNKNOWN)
    of_all = f"/{format_count(every.median)}" if every.least == every.most else ""
    text = format_count(count.median) + of_all
    return Cell(text, _notes(count, METRIC["tasks_without_rack_redundancy"], len(row.seeds)), count.median)


def metric_column(
    name: str, header: str, cell: Callable[[ComparisonRow], Cell] | None = None, title: str | None = None
) -> Column:
    """A column about a metric; without a function for its cells, one that shows just the metric."""
    metric = METRIC[name]
    return Column(header, title or metric.title, metric, cell or (lambda row: metric_cell(row, metric)))


def verdict_column() -> Column:
    """How the runs ended; nothing in it is best."""
    return Column("verdict", "Verdict", METRIC["rebalances"], lambda row: Cell(verdict_text(row)))


def _notes(spread: Spread, metric: Metric, seeds: int) -> tuple[str, ...]:
    notes = []
    if spread.least != spread.most:
        notes.append(format_range(spread.least, spread.most, metric.write))
    if spread.runs < seeds:
        notes.append(f"{spread.runs}/{seeds} runs")
    return tuple(notes)
