"""The forms of a review: terminal, Markdown, JUnit and page agree, and stay within their limits."""

from __future__ import annotations

import csv
import io
from functools import cache
from xml.etree import ElementTree

from reports.analysis.review.outcomes import (
    AssignorOutcome,
    CaseOutcome,
    InvariantViolation,
    OptimumGap,
    ShrunkScenario,
)
from reports.analysis.review.report import ReviewReport, build_report
from reports.document import Report
from reports.render.report_formats import report_csv, report_markdown, report_page, report_text
from reports.render.review import MAX_LINES, review_junit, review_report

METRICS = ["active_moves", "standby_moves", "load_skew"]


def a_large_report() -> ReviewReport:
    """Return a report in which everything is worse, and every kind of line occurs."""
    violation = (InvariantViolation("complete", "task <b>0_0</b> | on no client"),)
    outcomes = [
        CaseOutcome(
            f"family-{family}",
            f"case-{family}-{number}",
            number,
            AssignorOutcome({metric: float(number + 1) for metric in METRICS}, gap=OptimumGap(12, 12, True)),
            AssignorOutcome(
                {metric: float(2 * number + 3) for metric in METRICS},
                None,
                violation,
                2,
                gap=OptimumGap(12 + number, 12, number > 2),
            ),
        )
        for family in range(15)
        for number in range(12)
    ]
    outcomes.append(CaseOutcome("family-0", "odd", 1, skipped="not with these configs"))
    shrunk = ShrunkScenario("complete", "m", "family-0", "case-0-0", 1, "name: <x>\n", 1, 2, 0, 9)
    return build_report(outcomes, ("a", "b<script>"), METRICS, {}, "standard 1", 1, [shrunk])


@cache
def report() -> ReviewReport:
    return a_large_report()


def document() -> Report:
    return review_report(report())


def test_markdown_fits_a_comment_and_folds_its_details() -> None:
    text = report_markdown(document())
    assert len(text.splitlines()) <= MAX_LINES
    assert text.count("<details>") == text.count("</details>") == 2
    assert "<script>" not in text
    assert "more in the full report" in text
    assert "complete.yaml" in text.replace("\\", "")


def test_terminal_fits_80_columns() -> None:
    text = report_text(document(), 80, color=False)
    end = " ".join(text.partition("Conclusion\n")[2].split())
    assert end == f"– {report().conclusion}", "the conclusion is not on the last screen"
    assert max(map(len, text.splitlines())) <= 80
    assert "smallest scenario: violations/complete.yaml" in " ".join(text.split())
    assert "Violates complete (180)" in text


def test_the_gap_to_the_optimum_is_shown_with_the_status_of_its_proof() -> None:
    [line] = [line for line in report_text(document(), 80, color=False).splitlines() if line.startswith("family-7 ")][
        :1
    ]
    assert line.split() == ["family-7", "0.0", "5.5", "0", "11", "12/12", "1/12", "12/9"]
    text = report_markdown(document()).replace("\\", "")
    assert "cost 0.0 (base) and 5.5 (head) above the optimum" in text
    assert "proven in 315 of 360 runs; in the others, the cost is above a lower bound" in text
    assert "Gap to the optimum" in report_page(document())


def test_junit_fails_for_each_violation_and_each_worse_metric() -> None:
    root = ElementTree.fromstring(review_junit(report()))
    worse = sum(str(finding.verdict) == "worse" for finding in report().findings)
    assert worse > 0
    assert len(root.findall(".//failure")) == worse + 1
    assert [suite.get("name") for suite in root][:2] == ["invariants", "family-0"]


def test_csv_has_every_finding() -> None:
    rows = list(csv.DictReader(io.StringIO(report_csv(document()))))
    assert [(row["family"], row["metric"], row["wins"]) for row in rows] == [
        (finding.comparison.scenario, finding.comparison.metric, str(finding.wins)) for finding in report().findings
    ]


def test_the_page_escapes_names_and_has_every_family() -> None:
    text = report_page(document())
    assert "b<script>" not in text
    assert all(f">family-{number}</bdi></h3>" in text for number in range(15))
    assert "name: &lt;x&gt;" in text
    assert text == report_page(review_report(a_large_report()))
    assert text.index('<p class="conclusion">') < text.index(">Invariants</h2>")
