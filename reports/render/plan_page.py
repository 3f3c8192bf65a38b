"""Plans as sections of a page: comparison, loads before and after, and moves.

The first section has the question, the recommended plan, headline figures, and copying against balance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from reports.analysis.cells import Cell
from reports.analysis.plans.broker_tables import (
    ADDITIONAL,
    MAX_PAIRS,
    LoadDistribution,
    batch_grid,
    disk_usage_grid,
    load_distributions,
    load_grid,
    move_matrices,
    pair_grid,
)
from reports.analysis.plans.conclusion import COLUMNS, PlanColumn, PlanConclusion, conclude_plans, violations
from reports.analysis.plans.results import TODAY, PlanResults, PlanRow, remarks, status_words
from reports.analysis.text import printable
from reports.render.drawing.chart_axes import Unit, bytes_unit
from reports.render.drawing.line_chart import COLORS
from reports.render.drawing.scatter_chart import ScatterPoint, scatter_chart
from reports.render.figures.plan_figures import draw_load
from reports.render.html.inline_figures import InlineFigure, inline_figure
from reports.render.html.manifest_lines import manifest_lines
from reports.render.html.shell import Section

if TYPE_CHECKING:
    from markupsafe import Markup


_MIN_POINTS = 2
_MAX_POINTS = 12
"""Points whose names a scatter chart can show without overlaps."""


def answer_section(results: PlanResults, id: str, title: str) -> Section:
    """Return the section that leads the page."""
    conclusion = conclude_plans(results)
    context: dict[str, object] = {
        "id": id,
        "conclusion": conclusion,
        "colors": COLORS,
        "scatter": _scatter(results, conclusion),
    }
    return Section(id, title, "plan/answer.html.j2", context, leads=True)


def _scatter(results: PlanResults, conclusion: PlanConclusion) -> Markup | None:
    """Return a chart of the figures for copying and balance; None if there are too few or too many plans."""
    from markupsafe import Markup

    x, y = conclusion.cost, conclusion.balance
    shown = {row.strategy: index for index, row in enumerate(conclusion.rows)}
    points = []
    for row in results.rows:
        across, up = x.value(row), y.value(row)
        if row.strategy in shown and row.strategy != TODAY and across is not None and up is not None:
            keeps_rules = not conclusion.rows[shown[row.strategy]].violations
            points.append(ScatterPoint(row.strategy, shown[row.strategy], float(across), float(up), keeps_rules))
    if not _MIN_POINTS <= len(points) <= _MAX_POINTS:
        return None
    title = f"{x.full_title} and {y.full_title} of each plan"
    units = (_unit(x, max(point.x for point in points)), _unit(y, max(point.y for point in points)))
    # The chart escapes its texts.
    return Markup(scatter_chart(title, points, x.full_title, y.full_title, *units))


def _unit(column: PlanColumn, maximum: float) -> Unit:
    return bytes_unit(maximum) if column.title.startswith("Bytes") else Unit(1.0, "", is_whole=True)


_LEADERS_CHANGED = ("leaders_changed_by_order", "leaders_changed_by_copy")
_OF_LEADERS = ("leadership", "failover")
"""Criteria that a change of leaders alone improves."""

_FACTS = ("command", "directory", "versions")


@dataclass(frozen=True, slots=True)
class CriterionLine:
    """One criterion of all plans.

    Attributes:
        column: the criterion.
        cells: for each plan, the cell, whether it is best, and whether the criterion is an objective of the strategy.
    """

    column: PlanColumn
    cells: tuple[tuple[Cell, bool, bool], ...]


def plan_sections(plans: Sequence[PlanResults]) -> list[Section]:
    """Return the conclusion of each plan directory, then the section of each."""
    numbered = [(f"plan-{number}", results) for number, results in enumerate(plans, 1)]
    conclusions = [
        answer_section(results, f"{id}-answer", _answer_title(results, is_only=len(plans) == 1))
        for id, results in numbered
    ]
    return [*conclusions, *(_section(results, id) for id, results in numbered)]


def criterion_lines(rows: Sequence[PlanRow]) -> list[CriterionLine]:
    """Return the criteria that at least one plan has.

    The lowest figure is best if figures differ, among plans that violate no rule and copy replicas: a plan that copies
    nothing trivially moves the least. Where leaders are an objective, plans that change only leaders count, too.
    """
    known = [column for column in COLUMNS if any(column.cell(row)[0] for row in rows)]
    return [CriterionLine(column, tuple(_cells(column, rows))) for column in known]


def _section(results: PlanResults, id: str) -> Section:
    rows = [row for row in results.rows if row.has_plan]
    moves = move_matrices(results, "move")
    context: dict[str, object] = {
        "id": id,
        "definitions_id": "plan-1",
        "request": results.manifest["asked"],
        "warnings": results.manifest["remarks"],
        "rows": [(row, "" if row.strategy == TODAY else status_words(row.status)) for row in rows],
        "lines": criterion_lines(rows),
        "columns": COLUMNS,
        "notes": [(row.strategy, remark) for row in results.rows for remark in remarks(row)],
        "loads": [
            [(load, _figure(load, results, id), load_grid(load)) for load in loads_of_measure]
            for loads_of_measure in _loads_by_measure(results)
        ],
        "disk_usage": disk_usage_grid(results),
        "moves": moves,
        "has_additional": any(ADDITIONAL in matrix.sources for matrix in moves),
        "copies": move_matrices(results, "copy"),
        "pairs": [(name, grid) for name in results.planned if (grid := pair_grid(results, name)).lines],
        "batches": [(name, grid) for name in results.planned if (grid := batch_grid(results, name)).lines],
        "max_pairs": MAX_PAIRS,
        "provenance": list(_provenance(results)),
    }
    folder = results.manifest.get("directory")
    location = f"in {folder}: " if folder else "for "
    return Section(id, f"Plans {printable(location + results.title)}", "plan/plan.html.j2", context)


def _answer_title(results: PlanResults, *, is_only: bool) -> str:
    folder = results.manifest.get("directory")
    if is_only:
        return "Conclusion"
    return f"Conclusion: {printable(f'{folder}: {results.source}' if folder else results.source)}"


def _cells(column: PlanColumn, rows: Sequence[PlanRow]) -> Iterator[tuple[Cell, bool, bool]]:
    candidates = [row for row in rows if row.strategy != TODAY and _can_be_best(row, column)]
    values = {value for row in candidates if (value := column.value(row)) is not None}
    lowest = min(values) if len(values) > 1 else None
    for row in rows:
        text, note = column.cell(row)
        value = column.value(row) if text else None
        is_aim = row.strategy == TODAY or column.criterion in row.aims
        cell = Cell(text or "–", (note,) if note else (), value)
        yield cell, row in candidates and value is not None and value == lowest, is_aim


def _can_be_best(row: PlanRow, column: PlanColumn) -> bool:
    """Return whether a plan violates no rule and copies replicas, or changes leaders if they are its objective."""
    if violations(row):
        return False
    if row.figures.get("replicas_moved") != 0:  # None is unknown.
        return True
    changed = sum(row.figures.get(name) or 0 for name in _LEADERS_CHANGED)
    return bool(changed) and column.criterion in _OF_LEADERS and column.criterion in row.aims


def _loads_by_measure(results: PlanResults) -> list[list[LoadDistribution]]:
    """Return the loads of each measure, by broker and by rack."""
    return [
        list(measure_loads)
        for _, measure_loads in groupby(load_distributions(results), key=lambda load: load.measure.name)
    ]


def _figure(load: LoadDistribution, results: PlanResults, id: str) -> InlineFigure:
    description = f"{load.title} before and after; tables hold the numbers"
    return inline_figure(draw_load, (load, results.source), f"{id}-{load.measure.name}-{load.level}", description)


def _provenance(results: PlanResults) -> Iterator[tuple[str, str]]:
    yield from ((term, text) for term, text in manifest_lines(results.manifest) if term in _FACTS and text)
