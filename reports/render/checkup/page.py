"""A checkup as a page."""

from __future__ import annotations

from reports.analysis.checkup.report import CheckupReport
from reports.render.checkup.rows import (
    GAIN_HEADERS,
    LIMIT_HEADERS,
    SITUATION_HEADERS,
    answer,
    card_rows,
    change_lines,
    gain_rows,
    limit_rows,
    method,
    setting_headers,
    setting_rows,
    situation_rows,
    title,
    unknown_areas,
    worse_lines,
)
from reports.render.html.shell import Section, render_page

_TABLE = "review/metrics.html.j2"


def page(report: CheckupReport) -> str:
    """Render a checkup as one self-contained HTML file; the same report gives the same text."""
    sections = [_answer(report)]
    if report.findings:
        content = {"findings": report.findings}
        sections.append(Section("findings", "Findings", "checkup/findings.html.j2", content))
    if report.recommended is not None:
        sections += [_recommendation(report), _table("gain", "Gain", GAIN_HEADERS, list(gain_rows(report)))]
    situations = list(situation_rows(report))
    left_out = [f"Left out: {name} ({reason})." for name, reason in report.left_out]
    if report.recommended is None:
        situations = [row[:2] for row in situations]
    headers = SITUATION_HEADERS if report.recommended is not None else SITUATION_HEADERS[:2]
    settings, limits = list(setting_rows(report)), list(limit_rows(report.areas))
    sections += [
        _table("situations", "Situations", headers, situations, left_out),
        _table("settings", "Settings that were tried", setting_headers(report), settings, _SETTING_NOTES),
        _table("limits", "Limits of the grades", LIMIT_HEADERS, limits, ["Above the limit of D: F."]),
    ]
    return render_page(f"Checkup of {report.application}", [title(report)], "", f"{method(report)}.", sections)


_SETTING_NOTES = [
    "Means over the seeds of the search, the best first. A setting marked as a migration needs another group protocol, "
    "and is compared, but never recommended. A screened setting ran only in the situations that decide the current "
    "grades, which were enough to rule it out: its other figures may be higher."
]


def _answer(report: CheckupReport) -> Section:
    content = {
        "answer": answer(report),
        "rows": list(card_rows(report.today, report.recommended)),
        "recommended": report.recommended is not None,
        "notes": [*report.remarks, *unknown_areas(report.today), *report.notes],
    }
    return Section("answer", "Report card", "checkup/answer.html.j2", content, leads=True)


def _recommendation(report: CheckupReport) -> Section:
    rollout = report.rollout
    content = {
        "changes": list(change_lines(report.changes)),
        "worse": list(worse_lines(report)),
        "note": "" if rollout is None else rollout.note,
        "steps": () if rollout is None else rollout.steps,
        "checks": () if rollout is None else rollout.checks,
    }
    return Section("recommendation", "Recommendation", "checkup/recommendation.html.j2", content)


def _table(
    id: str, heading: str, headers: tuple[str, ...], rows: list[tuple[str, ...]], notes: list[str] | None = None
) -> Section:
    content = {"headers": headers, "rows": rows, "notes": notes or [], "label": heading, "csv": id}
    return Section(id, heading, _TABLE, content)
