"""The report of a checkup: report card, findings, the recommended setting with its rollout, and all figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from reports.analysis.cells import Cell
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
from reports.document import (
    Block,
    CodeLines,
    Emphasis,
    Paragraph,
    Points,
    Report,
    ReportColumn,
    ReportFormat,
    ReportRow,
    ReportSection,
    ReportTable,
    records_table,
)
from simulator.plurals import counted

LIMIT_HEADERS: Final = ("area", "figure", "A up to", "B", "C", "D")
UNKNOWN: Final = "–"

_TEXT: Final[tuple[ReportFormat, ...]] = ("terminal", "markdown")
_DOCUMENTS: Final[tuple[ReportFormat, ...]] = ("markdown", "page")
_EMPHASES: Final[dict[str | None, Emphasis]] = {"A": "good", "B": "good", "C": "", "D": "bad", "F": "bad"}
_MAX_WORSE: Final = 4
_SETTING_NOTE: Final = (
    "Means over the seeds of the search, the best first. A setting marked as a migration needs another group protocol, "
    "and is compared, but never recommended. A screened setting ran in some situations only, such as those that decide "
    "the current grades: figures of others may be higher."
)


def checkup_report(checkup: CheckupReport) -> Report:
    """Return the report of a checkup; CSV has the grades of the current and of the recommended setting."""
    method = (
        f"{counted(checkup.runs, 'simulated run')} of {counted(len(checkup.situations), 'situation')} with "
        f"{counted(len(checkup.cards), 'setting')}; grades are means over {counted(checkup.today.seeds, 'seed')}."
    )
    keys = ("setting", "area", "grade", "value", "worst", "situation")
    lead: list[Block] = [
        records_table("grades", {key: key for key in keys}, grade_records(checkup)),
        Paragraph(method, "note", only=_TEXT),
        Paragraph(_answer(checkup), "conclusion"),
        _card(checkup.today, checkup.recommended),
    ]
    findings = [
        f"{finding.title} ({finding.evidence})." + (f" Helps: {finding.remedy}." if finding.remedy else "")
        for finding in checkup.findings
    ]
    sections = [
        ReportSection("answer", "Report card", lead, leads=True),
        ReportSection("findings", "Findings", [Points(findings)]),
        *(() if checkup.recommended is None else _recommendation(checkup)),
        ReportSection("remarks", "Remarks", list(_remarks(checkup)), has_heading=False),
        *_figures(checkup),
    ]
    title = f"{checkup.application}: {checkup.size}"
    return Report(title, sections, window_title=f"Checkup of {checkup.application}", subtitle=method)


def first_card(card: ReportCard) -> Report:
    """Return the first report card of the current setting, which appears before the search."""
    return Report(f"First answer, {card.seeds} seeds", [ReportSection("card", "", [_card(card, None)], leads=True)])


def comparison_lines(comparison: LockComparison, name: str) -> list[str]:
    """Return what has changed since a stored checkup, one line each."""
    found = [f"changed: {fact}" for fact in comparison.facts]
    found += [f"{'worse' if change.is_worse else 'better'}: {change_line(change)}" for change in comparison.grades]
    if not found:
        found = [f"no change since {name}"]
    return [*found, *([f"note: {comparison.note}"] if comparison.note else [])]


def limit_rows(areas: Sequence[Area]) -> Iterator[tuple[str, ...]]:
    """Yield the limits of the grades of each area."""
    for area in areas:
        yield (area.title, area.figure, *(area.write(limit) for limit in area.limits))


def _answer(checkup: CheckupReport) -> str:
    if checkup.verdict == "out_of_time":
        return "No better setting was found before the time was over; there may be one."
    if checkup.recommended is None:
        return "Keep the current setting: no setting that was tried is better without a worse grade."
    better = [
        f"{old.definition.title} {old.grade} → {new.grade}"
        for old, new in zip(checkup.today.areas, checkup.recommended.areas, strict=True)
        if old.grade != new.grade
    ]
    changed = ", ".join(better) or "no other grade, but significantly better figures"
    return f"Change {counted(len(checkup.changes), 'setting')}: {changed}."


def _card(today: ReportCard, recommended: ReportCard | None) -> ReportTable:
    cards = {"Now": today, **({} if recommended is None else {"Recommended": recommended})}
    columns = [
        ReportColumn("area", "Area"),
        *(ReportColumn(title.lower(), title) for title in cards),
        ReportColumn("figure", "Figure", only=_TEXT),
    ]
    rows: list[ReportRow] = []
    for graded in today.areas:
        area = graded.definition
        grades = [card.graded(area.key) for card in cards.values()]
        cells = [Cell(_graded(one), emphasis=_EMPHASES.get(one.grade, "note")) for one in grades]
        rows.append([Cell(area.title, (area.figure,)), *cells, Cell(area.figure, emphasis="note")])
    return ReportTable("report_card", columns, rows)


def _graded(graded: GradedArea) -> str:
    return UNKNOWN if graded.grade is None else f"{graded.grade} {graded.text}"


def _recommendation(checkup: CheckupReport) -> Iterator[ReportSection]:
    properties = CodeLines(list(_change_lines(checkup.changes)), "diff")
    yield ReportSection("recommendation", "Properties", [properties])
    if worse := list(_worse_lines(checkup)):
        more = len(worse) - _MAX_WORSE
        first = [*worse[:_MAX_WORSE], *([f"{more} more (--out DIR, --format json)"] if more > 0 else [])]
        points = [Points(first, only=("terminal",)), Points(worse, only=_DOCUMENTS)]
        yield ReportSection("worse", "What gets worse", points)
    if (rollout := checkup.rollout) is not None:
        steps: list[Block] = [Paragraph(rollout.note, "note"), Points(rollout.steps, is_numbered=True)]
        yield ReportSection("rollout", "Rollout", steps)
        yield ReportSection("afterwards", "Afterwards", [Points(rollout.checks)])


def _change_lines(changes: Sequence[SettingChange]) -> Iterator[str]:
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


def _worse_lines(checkup: CheckupReport) -> Iterator[str]:
    """Yield the metrics that the recommended setting makes significantly worse, those that grow most first.

    Of each metric, the situation counts in which it grows most.
    """
    worst: dict[str, tuple[float, str]] = {}
    for situation in checkup.situations:
        for figure in situation.figures:
            metric = METRIC[str(figure.name)]
            if figure.direction <= 0 or not metric.lower_is_better or figure.before is None or figure.after is None:
                continue
            growth = figure.after / figure.before if figure.before else math.inf
            values = f"{metric.write(figure.before)} → {metric.write(figure.after)}"
            line = f"{metric.title}: {values} ({_lower(situation.title)})"
            worst[metric.name] = max(worst.get(metric.name, (0.0, "")), (growth, line))
    yield from (line for _, line in sorted(worst.values(), reverse=True))


def _lower(title: str) -> str:
    return title[0].lower() + title[1:]


def _remarks(checkup: CheckupReport) -> Iterator[Points]:
    unknown = [
        f"{graded.definition.title} is not graded: {graded.definition.unknown}."
        for graded in checkup.today.areas
        if graded.grade is None
    ]
    left_out = [f"Left out: {_lower(name)} ({reason})." for name, reason in checkup.left_out]
    yield Points([*checkup.remarks, *unknown, *left_out], "note")
    yield Points(checkup.notes, "note", only=("page",))


def _figures(checkup: CheckupReport) -> Iterator[ReportSection]:
    """Yield the sections that only pages have."""
    changes: tuple[str, ...] = ("now", "then", "difference", "95 % CI")
    if checkup.recommended is None:
        changes = changes[:1]
    else:
        gains = [
            (checkup.area(str(gain.name)).figure, *_changed(gain, checkup.area(str(gain.name)).text))
            for gain in checkup.gains
        ]
        yield _section("gain", "Gain", ("figure", *changes), gains)
    figures = list(_situation_rows(checkup.situations, len(changes)))
    yield _section("situations", "Situations", ("situation and figure", *changes), figures)
    settings = list(_setting_rows(checkup.cards))
    titles = ("setting", *(area.title for area in checkup.areas))
    yield _section("settings", "Settings that were tried", titles, settings, _SETTING_NOTE)
    limits = list(limit_rows(checkup.areas))
    yield _section("limits", "Limits of the grades", LIMIT_HEADERS, limits, "Above the limit of D: F.")


def _section(
    key: str, title: str, headers: Sequence[str], rows: Sequence[Sequence[str]], note: str = ""
) -> ReportSection:
    columns = [
        ReportColumn(header, f"{header[0].upper()}{header[1:]}", is_number=header != "figure") for header in headers
    ]
    table = ReportTable(key, columns, rows, only=("page",))
    return ReportSection(key, title, [table, Paragraph(note, "note", only=("page",))])


def _setting_rows(cards: Sequence[ReportCard]) -> Iterator[tuple[str, ...]]:
    for card in cards:
        remark = " (migration)" if card.is_migration else " (screened)" if card.is_partial else ""
        yield (f"{card.setting}{remark}", *map(_graded, card.areas))


def _situation_rows(situations: Sequence[SituationFigures], values: int) -> Iterator[tuple[str, ...]]:
    for situation in situations:
        for figure in situation.figures:
            metric = METRIC[str(figure.name)]
            yield (f"{situation.title}: {metric.title}", *_changed(figure, metric.write)[:values])


def _changed(change: MetricChange, write: Callable[[float], str]) -> tuple[str, str, str, str]:
    """Return the values before and after, the difference with its sign, and the interval."""
    if change.before is None or change.after is None or change.difference is None:
        return UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN
    values = write(change.before), write(change.after)
    if FAILED in (change.before, change.after):
        return *values, UNKNOWN, UNKNOWN
    interval = UNKNOWN
    if change.interval is not None:
        interval = " to ".join(_signed(value, write) for value in change.interval)
    return *values, _signed(change.difference, write), interval


def _signed(value: float, write: Callable[[float], str]) -> str:
    sign = "−" if value < 0 else "+" if value > 0 else ""
    return f"{sign}{write(abs(value))}"
