"""A checkup as text for terminals: one screen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reports.analysis.checkup.lock import LockComparison, change_line
from reports.analysis.checkup.report import CheckupReport, ReportCard
from reports.analysis.text import printable
from reports.render.checkup.rows import (
    answer,
    card_rows,
    change_lines,
    method,
    title,
    unknown_areas,
    worse_lines,
)
from reports.render.terminal.conclusion import point
from reports.render.terminal.console import BAD, GOOD, HEADER, QUIET, grid, keep_figures, lines

_STYLES: Final = {"A": GOOD, "B": GOOD, "C": "", "D": BAD, "F": BAD}
_MAX_WORSE: Final = 4
_MAX_LEFT_OUT: Final = 3


def terminal(report: CheckupReport, *, width: int | None = None, color: bool | None = None) -> str:
    """Render a checkup as text that ends with a newline."""
    return lines(_parts(report), width, color=color)


def first_card(card: ReportCard, *, width: int | None = None, color: bool | None = None) -> str:
    """Render the first report card of the current setting, which appears before the search."""
    return lines([Text(f"First answer, {card.seeds} seeds", style=HEADER), _card(card, None)], width, color=color)


def comparison_lines(comparison: LockComparison, name: str) -> list[str]:
    """Return what has changed since a stored checkup, one line each."""
    found = [f"changed: {fact}" for fact in comparison.facts]
    found += [f"{'worse' if change.is_worse else 'better'}: {change_line(change)}" for change in comparison.grades]
    if not found:
        found = [f"no change since {name}"]
    return [*found, *([f"note: {comparison.note}"] if comparison.note else [])]


def _parts(report: CheckupReport) -> Iterator[RenderableType]:
    yield Text(printable(title(report)), style=HEADER)
    yield Text(printable(method(report)), style=QUIET)
    yield Text()
    yield _card(report.today, report.recommended)
    yield Text(f"\n{printable(answer(report))}", style=HEADER)
    if report.findings:
        yield Text("\nFindings", style=HEADER)
        for finding in report.findings:
            yield point(f"{finding.title} ({finding.evidence}).")
            if finding.remedy:
                yield Padding(Text(keep_figures(f"Helps: {printable(finding.remedy)}.")), (0, 0, 0, 2))
    if report.recommended is not None:
        yield from _recommendation(report)
    notes = [*report.remarks, *unknown_areas(report.today)]
    notes += [f"Left out: {name[0].lower()}{name[1:]} ({reason})." for name, reason in report.left_out[:_MAX_LEFT_OUT]]
    if notes:
        yield Text()
        yield from (point(note, QUIET) for note in notes)


def _recommendation(report: CheckupReport) -> Iterator[RenderableType]:
    yield Text("\nProperties", style=HEADER)
    for line in change_lines(report.changes):
        style = GOOD if line.startswith("+") else BAD if line.startswith("-") else QUIET
        yield Text(printable(line), style=style, no_wrap=True, overflow="ignore")
    worse = list(worse_lines(report))
    if worse:
        yield Text("\nWhat gets worse", style=HEADER)
        yield from map(point, worse[:_MAX_WORSE])
        if len(worse) > _MAX_WORSE:
            yield point(f"{len(worse) - _MAX_WORSE} more (--out DIR, --format json)", QUIET)
    if report.rollout is not None:
        yield Text("\nRollout", style=HEADER)
        yield Text(report.rollout.note, style=QUIET)
        yield from map(point, report.rollout.steps)
        yield Text("Afterwards", style=HEADER)
        yield from map(point, report.rollout.checks)


def _card(today: ReportCard, recommended: ReportCard | None) -> Table:
    table = grid()
    table.padding = (0, 2, 0, 0)
    table.add_column("Area")
    table.add_column("Now")
    if recommended is not None:
        table.add_column("Recommended")
    table.add_column("Figure", overflow="fold")
    for name, grade, value, new_grade, new_value, figure in card_rows(today, recommended):
        cells = [Text(name), Text(f"{grade} {value}", style=_STYLES.get(grade, QUIET))]
        if recommended is not None:
            cells.append(Text(f"{new_grade} {new_value}", style=_STYLES.get(new_grade, QUIET)))
        table.add_row(*cells, Text(figure, style=QUIET))
    return table
