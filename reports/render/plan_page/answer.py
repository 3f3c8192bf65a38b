"""The first section of plans: question, recommended plan, headline figures, and copying against balance."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from reports.analysis.plans.columns import PlanColumn
from reports.analysis.plans.conclusion import PlanConclusion, conclude_plans
from reports.analysis.plans.plan_row import TODAY
from reports.analysis.plans.results import PlanResults
from reports.render.drawing.chart_axes import Unit, bytes_unit
from reports.render.drawing.line_chart import COLORS
from reports.render.drawing.scatter_chart import ScatterPoint, scatter_chart
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
        "command": _command(results, conclusion.chosen),
        "scatter": _scatter(results, conclusion),
    }
    return Section(id, title, "plan/answer.html.j2", context, leads=True)


def _command(results: PlanResults, chosen: str) -> str:
    """Return the command that executes a plan; empty if its files were not written, or are batches."""
    for row in results.rows:
        if row.strategy == chosen and row.folder is not None and row.batches is None and row.changes:
            file = shlex.quote(f"{row.folder}/reassignment.json")
            return (
                f"kafka-reassign-partitions.sh --bootstrap-server BROKER:9092 --execute --reassignment-json-file {file}"
            )
    return ""


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
