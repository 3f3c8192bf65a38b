"""The comparison on a page: one row per metric, one column per assignor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from reports.analysis.cells import (
    Cell,
    Column,
    above_bound_cell,
    cost_above_bound_cell,
    metric_column,
    partitions_above_bound_cell,
    rack_redundancy_cell,
    verdict_column,
)
from reports.analysis.comparison import ComparisonRow, best_rows, rows_by_scenario
from reports.analysis.metrics import METRICS
from reports.analysis.notes import Note, notes

_COMBINED_CELLS: dict[str, Callable[[ComparisonRow], Cell]] = {
    "cross_rack_source_partitions_above_bound": partitions_above_bound_cell,
    "cost_above_bound": cost_above_bound_cell,
    "mean_cost_above_bound": partial(above_bound_cell, name="mean_cost_above_bound"),
    "worst_cost_above_bound": partial(above_bound_cell, name="worst_cost_above_bound"),
    "tasks_without_rack_redundancy": rack_redundancy_cell,
}
"""Cells that show several metrics, by the metric of their row."""

_SHOWN_IN_COMBINED_CELLS = (
    "cross_rack_source_partitions_above_bound_percent",
    "cost_above_bound_percent",
    "mean_cost_above_bound_percent",
    "worst_cost_above_bound_percent",
    "tasks_without_rack_redundancy_percent",
    "stateful_tasks",
)
"""Metrics that have no row because another row shows them."""

_ONLY_IF_KNOWN = ("cross_rack_usd_per_day", "cross_rack_usd")


@dataclass(frozen=True, slots=True)
class MetricLine:
    """One metric of all assignors.

    Attributes:
        title: title of the metric.
        name: key of the metric in data; empty for the verdict.
        cells: for each assignor, the cell and whether it is best.
    """

    title: str
    name: str
    cells: tuple[tuple[Cell, bool], ...]

    @property
    def differs(self) -> bool:
        """Whether the assignors differ in the metric; always for a single assignor."""
        return len(self.cells) < 2 or len({(cell.text, cell.notes) for cell, _ in self.cells}) > 1


@dataclass(frozen=True, slots=True)
class MetricGroup:
    """A group of related metrics.

    Attributes:
        title: title of the group; empty for the verdict.
        lines: the metrics.
    """

    title: str
    lines: tuple[MetricLine, ...]

    @property
    def differs(self) -> bool:
        """Whether the assignors differ in any metric of the group."""
        return any(line.differs for line in self.lines)


@dataclass(frozen=True, slots=True)
class ComparisonTable:
    """The comparison of one scenario.

    Attributes:
        scenario: name of the scenario.
        rows: one per assignor.
        groups: the metrics.
        notes: notes below the table.
    """

    scenario: str
    rows: Sequence[ComparisonRow]
    groups: tuple[MetricGroup, ...]
    notes: Sequence[Note]

    @property
    def total(self) -> int:
        """Number of metrics."""
        return sum(bool(line.name) for group in self.groups for line in group.lines)

    @property
    def differing(self) -> int:
        """Number of metrics in which the assignors differ."""
        return sum(bool(line.name) and line.differs for group in self.groups for line in group.lines)


def comparison_tables(rows: Sequence[ComparisonRow]) -> list[ComparisonTable]:
    """Return one table per scenario."""
    return [_comparison(scenario, scenario_rows) for scenario, scenario_rows in rows_by_scenario(rows).items()]


def _comparison(scenario: str, rows: Sequence[ComparisonRow]) -> ComparisonTable:
    columns: list[Column] = [
        metric_column(metric.name, metric.title, _COMBINED_CELLS.get(metric.name))
        for metric in METRICS
        if metric.name not in _SHOWN_IN_COMBINED_CELLS
        and (metric.name not in _ONLY_IF_KNOWN or any(row.spreads[metric.name] for row in rows))
    ]
    groups = [MetricGroup("", (_line(rows, verdict_column(), ""),))]
    for title, group_columns in groupby(columns, key=lambda column: column.metric.group):
        groups.append(MetricGroup(title, tuple(_line(rows, column, column.metric.name) for column in group_columns)))
    return ComparisonTable(scenario, rows, tuple(groups), notes(rows))


def _line(rows: Sequence[ComparisonRow], column: Column, name: str) -> MetricLine:
    winners = best_rows(rows, column.metric)
    return MetricLine(column.title, name, tuple((column.cell(row), row in winners) for row in rows))
