"""A checkup as text for terminals, as Markdown for a comment on a change, as CSV for scripts, and as a page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reports.analysis.checkup.areas import FAILED, Area
from reports.analysis.checkup.report import (
    CheckupReport,
    GradedArea,
    LockComparison,
    ReportCard,
    SituationFigures,
    change_line,
    grade_records,
)
from reports.analysis.metrics import METRIC
from reports.analysis.recommendation import MetricChange, SettingChange
from reports.analysis.text import printable
from reports.render.html.shell import Section, render_page
from reports.render.markdown import markdown_table, markdown_text
from reports.render.terminal.conclusion import point
from reports.render.terminal.console import BAD, GOOD, HEADER, QUIET, grid, keep_figures, lines
from reports.render.terminal.facts import FactTable
from reports.render.terminal.facts import render as render_tables
from simulator.plurals import counted

GAIN_HEADERS: Final = ("figure", "now", "then", "difference", "95 % CI")
SITUATION_HEADERS: Final = ("situation and figure", "now", "then", "difference", "95 % CI")
LIMIT_HEADERS: Final = ("area", "figure", "A up to", "B", "C", "D")
UNKNOWN: Final = "–"

_STYLES: Final = {"A": GOOD, "B": GOOD, "C": "", "D": BAD, "F": BAD}
_MAX_WORSE: Final = 4
_MAX_LEFT_OUT: Final = 3


def title(report: CheckupReport) -> str:
    """Return the application and its size."""
    return f"{report.application}: {report.size}"


def method(report: CheckupReport) -> str:
    """Return how the figures were found."""
    return (
        f"{report.runs:,} simulated runs of {len(report.situations)} situations with {len(report.cards)} settings; "
        f"grades are means over {report.today.seeds} seeds"
    )


def answer(report: CheckupReport) -> str:
    """Return the answer in one sentence."""
    if report.recommended is None:
        return "Keep the current setting: no setting that was tried is better without a worse grade."
    better = [
        f"{old.definition.title} {old.grade} → {new.grade}"
        for old, new in zip(report.today.areas, report.recommended.areas, strict=True)
        if old.grade != new.grade
    ]
    changed = ", ".join(better) or "no other grade, but significantly better figures"
    return f"Change {counted(len(report.changes), 'setting')}: {changed}."


def card_rows(today: ReportCard, recommended: ReportCard | None) -> Iterator[tuple[str, ...]]:
    """Yield a row per area: title, grade and value now, grade and value as recommended, and the figure."""
    after = today if recommended is None else recommended
    for before, new in zip(today.areas, after.areas, strict=True):
        area = before.definition
        changed = (new.grade or UNKNOWN, _text(new)) if recommended is not None else ("", "")
        yield (area.title, before.grade or UNKNOWN, _text(before), *changed, area.figure)


def unknown_areas(today: ReportCard) -> Iterator[str]:
    """Yield why areas are not graded."""
    for graded in today.areas:
        if graded.grade is None:
            yield f"{graded.definition.title} is not graded: {graded.definition.unknown}."


def setting_headers(report: CheckupReport) -> tuple[str, ...]:
    """Return the headers of `setting_rows`."""
    return ("setting", *(area.title for area in report.areas))


def setting_rows(report: CheckupReport) -> Iterator[tuple[str, ...]]:
    """Yield a row for each setting that was tried, the best first: its changes, and the grade in each area."""
    for card in report.cards:
        remark = " (migration)" if card.is_migration else " (screened)" if card.is_partial else ""
        yield (f"{card.setting}{remark}", *(_graded(graded) for graded in card.areas))


def gain_rows(report: CheckupReport) -> Iterator[tuple[str, ...]]:
    """Yield a row for each graded area: figure, before, after, difference and interval."""
    for gain in report.gains:
        area = report.area(str(gain.name))
        yield (area.figure, *_changed(gain, area.text))


def situation_rows(report: CheckupReport) -> Iterator[tuple[str, ...]]:
    """Yield a row for each metric of each situation."""
    for situation in report.situations:
        for figure in situation.figures:
            metric = METRIC[str(figure.name)]
            yield (f"{situation.title}: {metric.title}", *_changed(figure, metric.write))


def worse_lines(report: CheckupReport) -> Iterator[str]:
    """Yield the metrics that the recommended setting makes significantly worse, those that grow most first.

    Of each metric, the situation counts in which it grows most.
    """
    worst: dict[str, tuple[float, str]] = {}
    for situation in report.situations:
        for figure in situation.figures:
            metric = METRIC[str(figure.name)]
            if figure.direction <= 0 or not metric.lower_is_better or figure.before is None or figure.after is None:
                continue
            growth = figure.after / figure.before if figure.before else math.inf
            values = f"{metric.write(figure.before)} → {metric.write(figure.after)}"
            line = f"{metric.title}: {values} ({_lower(situation)})"
            worst[metric.name] = max(worst.get(metric.name, (0.0, "")), (growth, line))
    yield from (line for _, line in sorted(worst.values(), reverse=True))


def change_lines(changes: tuple[SettingChange, ...]) -> Iterator[str]:
    """Yield the changes of properties as lines of a diff; changes elsewhere are comments."""
    for change in changes:
        if not change.is_property:
            yield f"# {change.key}: {change.after}"
        else:
            if change.before is not None:
                yield f"-{change.key}={change.before}"
            if change.after is not None:
                yield f"+{change.key}={change.after}"
        yield from (f"#   {note}" for note in change.notes)


def limit_rows(areas: Sequence[Area]) -> Iterator[tuple[str, ...]]:
    """Yield the limits of the grades of each area."""
    for area in areas:
        yield (area.title, area.figure, *(area.write(limit) for limit in area.limits))


def _lower(situation: SituationFigures) -> str:
    return situation.title[0].lower() + situation.title[1:]


def _text(graded: GradedArea) -> str:
    return UNKNOWN if graded.grade is None else graded.text


def _graded(graded: GradedArea) -> str:
    return UNKNOWN if graded.grade is None else f"{graded.grade} {graded.text}"


def _changed(change: MetricChange, write: object) -> tuple[str, str, str, str]:
    """Return the values before and after, the difference with its sign, and the interval."""
    assert callable(write)
    if change.before is None or change.after is None or change.difference is None:
        return UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN
    values = str(write(change.before)), str(write(change.after))
    if FAILED in (change.before, change.after):
        return *values, UNKNOWN, UNKNOWN
    interval = UNKNOWN
    if change.interval is not None:
        interval = " to ".join(_signed(value, write) for value in change.interval)
    return *values, _signed(change.difference, write), interval


def _signed(value: float, write: object) -> str:
    assert callable(write)
    sign = "−" if value < 0 else "+" if value > 0 else ""
    return f"{sign}{write(abs(value))}"


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


def markdown(report: CheckupReport) -> str:
    """Return a checkup as Markdown."""
    columns, headers = list(range(6)), ["area", "now", "value", "recommended", "value", "figure"]
    if report.recommended is None:
        columns, headers = [0, 1, 2, 5], ["area", "grade", "value", "figure"]
    rows = [[row[column] for column in columns] for row in card_rows(report.today, report.recommended)]
    card = markdown_table(headers, rows).rstrip()
    parts = [f"### {markdown_text(title(report))}", markdown_text(answer(report)), card]
    if report.findings:
        items = [
            f"- {markdown_text(finding.title)} ({markdown_text(finding.evidence)})."
            + (f" Helps: {markdown_text(finding.remedy)}." if finding.remedy else "")
            for finding in report.findings
        ]
        parts.append("\n".join(items))
    if report.changes:
        parts.append("```diff\n" + "\n".join(change_lines(report.changes)) + "\n```")
    if worse := list(worse_lines(report)):
        parts.append("What gets worse:\n\n" + "\n".join(f"- {markdown_text(line)}" for line in worse))
    if report.rollout is not None:
        steps = [*report.rollout.steps, *report.rollout.checks]
        parts.append("Rollout:\n\n" + "\n".join(f"- {markdown_text(step)}" for step in steps))
    parts.append(
        "\n".join(
            [*map(markdown_text, (*report.remarks, *unknown_areas(report.today))), f"{markdown_text(method(report))}."]
        )
    )
    return "\n\n".join(parts) + "\n"


def csv_of_grades(report: CheckupReport) -> str:
    """Return the grades of the current and of the recommended setting as CSV, one row for each area."""
    rows = grade_records(report)
    keys = ("setting", "area", "grade", "value", "worst", "situation")
    return render_tables([FactTable("grades", "Grades", dict(zip(keys, keys, strict=True)), rows)], "csv")


def page(report: CheckupReport) -> str:
    """Render a checkup as one self-contained HTML file; the same report gives the same text."""
    sections = [_answer_section(report)]
    if report.findings:
        content = {"findings": report.findings}
        sections.append(Section("findings", "Findings", "checkup/findings.html.j2", content))
    if report.recommended is not None:
        sections += [
            _recommendation_section(report),
            _table_section("gain", "Gain", GAIN_HEADERS, list(gain_rows(report))),
        ]
    situations = list(situation_rows(report))
    left_out = [f"Left out: {name} ({reason})." for name, reason in report.left_out]
    if report.recommended is None:
        situations = [row[:2] for row in situations]
    headers = SITUATION_HEADERS if report.recommended is not None else SITUATION_HEADERS[:2]
    settings, limits = list(setting_rows(report)), list(limit_rows(report.areas))
    sections += [
        _table_section("situations", "Situations", headers, situations, left_out),
        _table_section("settings", "Settings that were tried", setting_headers(report), settings, _SETTING_NOTES),
        _table_section("limits", "Limits of the grades", LIMIT_HEADERS, limits, ["Above the limit of D: F."]),
    ]
    return render_page(f"Checkup of {report.application}", [title(report)], "", f"{method(report)}.", sections)


_SETTING_NOTES = [
    "Means over the seeds of the search, the best first. A setting marked as a migration needs another group protocol, "
    "and is compared, but never recommended. A screened setting ran only in the situations that decide the current "
    "grades, which were enough to rule it out: its other figures may be higher."
]


def _answer_section(report: CheckupReport) -> Section:
    content = {
        "answer": answer(report),
        "rows": list(card_rows(report.today, report.recommended)),
        "recommended": report.recommended is not None,
        "notes": [*report.remarks, *unknown_areas(report.today), *report.notes],
    }
    return Section("answer", "Report card", "checkup/answer.html.j2", content, leads=True)


def _recommendation_section(report: CheckupReport) -> Section:
    rollout = report.rollout
    content = {
        "changes": list(change_lines(report.changes)),
        "worse": list(worse_lines(report)),
        "note": "" if rollout is None else rollout.note,
        "steps": () if rollout is None else rollout.steps,
        "checks": () if rollout is None else rollout.checks,
    }
    return Section("recommendation", "Recommendation", "checkup/recommendation.html.j2", content)


def _table_section(
    id: str, heading: str, headers: tuple[str, ...], rows: list[tuple[str, ...]], notes: list[str] | None = None
) -> Section:
    content = {"headers": headers, "rows": rows, "notes": notes or [], "label": heading, "csv": id}
    return Section(id, heading, "review/metrics.html.j2", content)
