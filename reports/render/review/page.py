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
    METRIC_HEADERS,
    NOTES,
    finding_row,
    metric_rows,
    remarks,
    size,
    title,
)


def page(report: ReviewReport) -> str:
    """Render a review as one self-contained HTML file; the same report gives the same text."""
    sections = [
        Section("invariants", "Invariants", "review/invariants.html.j2", _invariants(report)),
        Section(
            "metrics",
            "Metrics over all families",
            "review/metrics.html.j2",
            {"headers": METRIC_HEADERS, "rows": list(metric_rows(report)), "notes": [*remarks(report), *NOTES]},
        ),
        Section("families", "Families", "review/families.html.j2", {"families": _families(report)}),
        Section("definitions", "Definitions", "run/definitions.html.j2", {"metrics": _definitions(report)}),
    ]
    subtitle = f"{report.conclusion} {size(report)}."
    return render_page(f"Review of {report.head} against {report.base}", [title(report)], "", subtitle, sections)


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
