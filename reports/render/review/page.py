"""A review as a page."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from reports.analysis.metrics import COMPARABLE_METRICS
from reports.analysis.review.outcomes import INVARIANTS
from reports.analysis.review.report import ReviewReport
from reports.render.html.shell import Section, render_page
from reports.render.review.rows import (
    FINDING_HEADERS,
    GAP_HEADERS,
    GAP_NOTE,
    METRIC_HEADERS,
    NOTES,
    finding_row,
    gap_rows,
    metric_rows,
    remarks,
    size,
    title,
)


def page(report: ReviewReport) -> str:
    """Render a review as one self-contained HTML file; the same report gives the same text."""
    sections = [
        Section("conclusion", "Conclusion", "review/conclusion.html.j2", {"conclusion": report.conclusion}),
        Section("invariants", "Invariants", "review/invariants.html.j2", _invariants(report)),
        Section(
            "metrics",
            "Metrics over all families",
            "review/metrics.html.j2",
            {"headers": METRIC_HEADERS, "rows": list(metric_rows(report)), "notes": [*remarks(report), *NOTES]},
        ),
        *_gaps(report),
        Section("families", "Families", "review/families.html.j2", {"families": _families(report)}),
        Section("definitions", "Definitions", "run/definitions.html.j2", {"metrics": _definitions(report)}),
    ]
    heading = f"Review of {report.head} against {report.base}"
    return render_page(heading, [title(report)], "", f"{size(report)}.", sections)


def _gaps(report: ReviewReport) -> list[Section]:
    rows = gap_rows(report)
    if not rows:
        return []
    content = {"headers": GAP_HEADERS, "rows": rows, "notes": [GAP_NOTE], "label": "Gap to the optimum", "csv": "gaps"}
    return [Section("gaps", "Gap to the optimum", "review/metrics.html.j2", content)]


def _invariants(report: ReviewReport) -> dict[str, Any]:
    return {
        "counts": [(one, INVARIANTS[one.invariant]) for one in report.invariants],
        "shrunk": list(report.shrunk),
    }


def _families(report: ReviewReport) -> list[dict[str, Any]]:
    return [
        {
            "name": family.name,
            "description": family.description,
            "scenarios": family.scenarios,
            "cases": family.cases,
            "headers": FINDING_HEADERS[1:],
            "rows": [finding_row(finding)[1:] for finding in family.findings if finding.comparison.pairs],
        }
        for family in report.families
    ]


def _definitions(report: ReviewReport) -> list[tuple[str, list[Any]]]:
    names = {finding.comparison.metric for finding in report.findings}
    used = [metric for name, metric in COMPARABLE_METRICS.items() if name in names]
    return [(group, list(metrics)) for group, metrics in groupby(used, key=lambda metric: metric.group)]
