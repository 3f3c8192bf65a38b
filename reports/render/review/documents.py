"""A review as Markdown for a comment on a pull request, CSV for scripts, and JUnit XML for CI servers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from reports.analysis.paired_comparison import ComparisonVerdict
from reports.analysis.review.outcomes import INVARIANTS
from reports.analysis.review.records import report_record
from reports.analysis.review.report import ReviewReport
from reports.analysis.text import printable
from reports.render.markdown import markdown_table, markdown_text
from reports.render.review.rows import (
    FINDING_HEADERS,
    INVARIANT_HEADERS,
    METRIC_HEADERS,
    NOTES,
    finding_row,
    gap_line,
    invariant_rows,
    metric_rows,
    remarks,
    significant,
    size,
    title,
    violation_lines,
)
from reports.render.terminal.facts import FactTable, render
from reports.render.verification import xml_lines

MAX_LINES: Final = 60
"""Maximum number of lines of the Markdown report."""


def markdown(report: ReviewReport) -> str:
    """Return a review as Markdown of at most `MAX_LINES` lines, with its details folded."""
    head = [
        f"### {markdown_text(title(report))}",
        "",
        markdown_text(report.conclusion),
        "",
        markdown_text(size(report)),
    ]
    if broken := invariant_rows(report):
        table = markdown_table(INVARIANT_HEADERS, broken, range(1, 4)).splitlines()
        head += ["", *table, "", *(f"- {markdown_text(line)}" for line in violation_lines(report))]
    gaps = [gap_line(report)] if gap_line(report) else []
    notes = ["", *(f"- {markdown_text(note)}" for note in (*gaps, *remarks(report), *NOTES))]
    metrics = _folded("Metrics over all families", markdown_table(METRIC_HEADERS, metric_rows(report), range(1, 6)))
    room = MAX_LINES - len(head) - len(notes) - len(metrics) - 8
    found = significant(report)
    shown = found[: max(0, room)]
    findings = []
    if found:
        table_text = markdown_table(FINDING_HEADERS, map(finding_row, shown), range(2, 8))
        left_out = len(found) - len(shown)
        tail = f" ({left_out} more in the full report)" if left_out else ""
        findings = _folded(f"{len(found)} significant differences{tail}", table_text)
    return "\n".join([*head, *metrics, *findings, *notes]) + "\n"


def csv_of_findings(report: ReviewReport) -> str:
    """Return every finding as a row of CSV; the columns are the keys of JSON, after that of the family."""
    rows = [
        {"family": family["name"], **finding}
        for family in report_record(report)["families"]
        for finding in family["findings"]
    ]
    keys = list(rows[0]) if rows else ["family"]
    return render([FactTable("findings", "Findings", dict(zip(keys, keys, strict=True)), rows)], "csv")


def _folded(summary: str, content: str) -> list[str]:
    return ["", "<details>", f"<summary>{summary}</summary>", "", *content.splitlines(), "", "</details>"]


def junit(report: ReviewReport) -> bytes:
    """Return a review as JUnit XML: one test case per invariant, and one per family and metric.

    A test case fails if the assignor under review violates the invariant, or is significantly worse.
    """
    root = Element("testsuites", name="assignor-sim review")
    _suite(root, "invariants", list(_invariant_cases(report)))
    for family in report.families:
        cases = []
        for finding in family.findings:
            row = finding_row(finding)
            is_worse = finding.verdict is ComparisonVerdict.WORSE
            text = f"{row[2]} → {row[3]}, difference {row[4]} (95 % CI {row[5]}), p {row[7]}"
            cases.append((finding.comparison.metric, text if is_worse else ""))
        _suite(root, family.name, cases)
    indent(root)
    return bytes(tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _invariant_cases(report: ReviewReport) -> Iterator[tuple[str, str]]:
    examples = {line.partition(":")[0]: line for line in violation_lines(report)}
    for invariant in INVARIANTS:
        yield invariant, examples.get(invariant, "")


def _suite(root: Element, name: str, cases: list[tuple[str, str]]) -> None:
    failures = sum(bool(text) for _, text in cases)
    suite = SubElement(
        root, "testsuite", name=name, tests=str(len(cases)), failures=str(failures), errors="0", time="0"
    )
    for case, text in cases:
        element = SubElement(suite, "testcase", classname=f"review.{name}", name=printable(case), time="0")
        if text:
            SubElement(element, "failure", message=xml_lines(text).splitlines()[0]).text = xml_lines(text)
