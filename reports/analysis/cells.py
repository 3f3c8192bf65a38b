"""The formatted cells and columns of a comparison, shared by terminal, pages and notebooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from reports.analysis.comparison import ComparisonRow, Spread, verdict_text
from reports.analysis.formatting import format_count, format_duration, format_number, format_range
from reports.analysis.metrics import ALL_METRICS, METRIC, Metric
from simulator.plurals import counted

UNKNOWN = "n/a"
NO_RACK = "no rack"

HEAT_STEPS = 10
"""Number of color steps of a heat map."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A formatted value.

    Attributes:
        text: the value as text.
        notes: notes below or after the value, such as the range over the seeds.
        value: the value without rounding, for sorting and for scripts; None if unknown.
        emphasis: `good` or `bad`; empty for neither.
        heat: step of the color of a heat map, up to `HEAT_STEPS`; None without a color.
        link: key of folded blocks that the first cell of a row links to; empty for none.
    """

    text: str
    notes: tuple[str, ...] = ()
    value: float | None = field(default=None, compare=False)
    emphasis: str = ""
    heat: int | None = None
    link: str = ""

    def __str__(self) -> str:
        return f"{self.text} ({', '.join(self.notes)})" if self.notes else self.text


@dataclass(frozen=True, slots=True)
class Grid:
    """A table with a title per column and a title per line.

    Attributes:
        columns: titles of the columns.
        lines: title and cells of each line.
    """

    columns: tuple[str, ...]
    lines: tuple[tuple[str, tuple[Cell, ...]], ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the comparison.

    Attributes:
        header: short title in one or two lines, for terminals.
        title: full title.
        metric: the metric that determines the best row.
        cell: computes the cell of a row.
    """

    header: str
    title: str
    metric: Metric
    cell: Callable[[ComparisonRow], Cell]


def metric_cell(row: ComparisonRow, metric: Metric) -> Cell:
    """Return the median of a metric, with notes if seeds differ or the metric is unknown in some runs."""
    spread = row.spreads[metric.name]
    if spread is None:
        return Cell(UNKNOWN)
    return Cell(metric.write(spread.median), _notes(spread, metric, len(row.seeds)), spread.median)


def partitions_above_bound_cell(row: ComparisonRow) -> Cell:
    """Return the cross-rack source partitions above their lower bound: `+12 (33%)`, or `at bound`."""
    name = "cross_rack_source_partitions_above_bound"
    above, percent = row.spreads[name], row.spreads[f"{name}_percent"]
    if above is None:
        return Cell(UNKNOWN)
    in_percent = f" ({format_number(round(percent.median))}%)" if percent else ""
    text = f"+{format_count(above.median)}{in_percent}" if above.median else "at bound"
    return Cell(text, _notes(above, METRIC[name], len(row.seeds)), above.median)


def cost_above_bound_cell(row: ComparisonRow) -> Cell:
    """Return the cost above its bound in the deciding round, with a note on whether the optimum is proven."""
    cell = above_bound_cell(row, "cost_above_bound")
    return cell if cell.text == UNKNOWN else replace(cell, notes=(*cell.notes, *_proven(row)))


def above_bound_cell(row: ComparisonRow, name: str) -> Cell:
    """Return a cost above its lower bound: `+33%`, `+12` if the bound is 0, or `at bound`."""
    above, percent = row.spreads[name], row.spreads[f"{name}_percent"]
    if above is None:
        return Cell(UNKNOWN)
    metric = METRIC[name]
    text = f"+{metric.write(above.median)}" if percent is None else f"+{format_number(round(percent.median))}%"
    notes = _notes(percent or above, METRIC[f"{name}_percent"] if percent else metric, len(row.seeds))
    return Cell(text if above.median else "at bound", notes, above.median)


def _proven(row: ComparisonRow) -> tuple[str, ...]:
    exact, runs = sum(proof.is_exact for proof in row.proofs), len(row.proofs)
    if not runs:
        return ()
    return ("proven" if exact == runs else f"proven {exact}/{runs}" if exact else "unproven",)


def convergence_cell(row: ComparisonRow) -> Cell:
    """Return the time to converge, or the verdict if it is unknown in all runs."""
    spread = row.spreads["time_to_converge_ms"]
    if spread is None:
        return Cell(verdict_text(row))
    return metric_cell(row, METRIC["time_to_converge_ms"])


def event_cell(row: Mapping[str, Any]) -> Cell:
    """Return the time to converge after an event (a row of `convergence`); `> 3 h` if the group did not converge."""
    is_known = row["time_to_converge_ms"] is not None
    time = format_duration(row["observed_ms"])
    notes = [counted(row["rebalances"], "rebalance")]
    notes += [] if is_known else [row["verdict"]]
    notes += [] if row["cut_short_by"] is None else [f"cut short by event {row['cut_short_by']}"]
    return Cell(time if is_known else f"> {time}", tuple(notes), row["time_to_converge_ms"])


def rack_redundancy_cell(row: ComparisonRow) -> Cell:
    """Return the stateful tasks with all copies in one rack out of all stateful tasks: `3/48`."""
    count, total = row.spreads["tasks_without_rack_redundancy"], row.spreads["stateful_tasks"]
    if count is None or total is None or not total.maximum:
        return Cell(UNKNOWN)
    of_all = f"/{format_count(total.median)}" if total.minimum == total.maximum else ""
    text = format_count(count.median) + of_all
    return Cell(text, _notes(count, METRIC["tasks_without_rack_redundancy"], len(row.seeds)), count.median)


def metric_column(
    name: str, header: str, cell: Callable[[ComparisonRow], Cell] | None = None, title: str | None = None
) -> Column:
    """Return the column of a metric.

    `header`: short title in one or two lines. `cell`: computes the cell of a row; by default, the formatted metric.
    `title`: full title; by default, that of the metric.
    """
    metric = ALL_METRICS[name]
    return Column(header, title or metric.title, metric, cell or (lambda row: metric_cell(row, metric)))


COLUMNS: tuple[Column, ...] = (
    metric_column("cross_rack_source_partitions", "cross-\nrack par-\ntitions"),
    metric_column("cost_above_bound", "cost\nabove\nbound", cost_above_bound_cell, title="Cost above lower bound"),
    metric_column("cross_rack_bytes_per_s", "cross-\nrack\ntraffic"),
    metric_column("cross_rack_usd_per_day", "cross-\nrack cost\nper day"),
    metric_column("active_moves", "active\nmoves"),
    metric_column("standby_moves", "standby\nmoves"),
    metric_column("restored_bytes", "state\nrestored"),
    metric_column("longest_downtime_ms", "longest\ntask\noutage"),
    metric_column("worst_downtime_ms", "worst\ndowntime\nin total"),
    metric_column("rebalances_to_converge", "rebal-\nances to\nconverge", title="Rebalances to converge"),
    metric_column("time_to_converge_ms", "time to\nconverge", convergence_cell, title="Time to converge"),
    metric_column("leader_compute_ms", "leader\ncompute"),
    metric_column("load_skew", "load\nskew"),
    metric_column("subtopology_skew", "subto-\npology\nskew"),
    metric_column("tasks_without_rack_redundancy", "no rack\nredun-\ndancy", rack_redundancy_cell),
)
"""Columns of a comparison by default, which a conclusion must not contradict; JSON and CSV have all metrics.

The legend below the table replaces the qualifiers of three titles.
"""


def verdict_column() -> Column:
    """Return the column of verdicts, which has no best row."""
    return Column("verdict", "Verdict", METRIC["rebalances"], lambda row: Cell(verdict_text(row)))


def _notes(spread: Spread, metric: Metric, seeds: int) -> tuple[str, ...]:
    notes = []
    if spread.minimum != spread.maximum:
        notes.append(format_range(spread.minimum, spread.maximum, metric.write))
    if spread.runs < seeds:
        notes.append(f"{spread.runs}/{seeds} runs")
    return tuple(notes)
