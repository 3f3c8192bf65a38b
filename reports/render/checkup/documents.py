"""A checkup as Markdown for a comment on a change, and its grades as CSV for scripts."""

from __future__ import annotations

from reports.analysis.checkup.report import CheckupReport, grade_records
from reports.render.checkup.rows import (
    answer,
    card_rows,
    change_lines,
    method,
    title,
    unknown_areas,
    worse_lines,
)
from reports.render.markdown import markdown_table, markdown_text
from reports.render.terminal.facts import FactTable, render


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
    return render([FactTable("grades", "Grades", dict(zip(keys, keys, strict=True)), rows)], "csv")
