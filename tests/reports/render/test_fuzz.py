"""The result of a search in words and tables: what is proven is said, and names are inert."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reports.analysis.review.fuzzing import FoundViolation, FuzzReport, ScenarioSize, WorstCase, fuzz_record
from reports.analysis.review.outcomes import OptimumGap
from reports.render.fuzz import fuzz_report
from reports.render.report_formats import report_csv, report_markdown, report_text

WORST = WorstCase("cost_above_bound", 30.0, OptimumGap(40, 10, True), 7, 5, ScenarioSize(2, 1, 0), "worst.yaml")
HOSTILE = "pkg:\x1b[31mMine<script>|\u202e"
VIOLATIONS = (
    FoundViolation("complete", "task 0_1 on no client", 0, 1, ScenarioSize(1, 2, 1), "complete.yaml", is_new=False),
    FoundViolation("valid", f"raised {HOSTILE}", 3, 2, None, None, is_new=True),
)
REPORT = FuzzReport(
    HOSTILE, 1, 16, 48, 9, 80, 500, 15, 16, VIOLATIONS, ("no-oscillation.yaml",), WORST, "cost_above_bound"
)


def test_text_has_everything_at_80_columns() -> None:
    text = report_text(fuzz_report(REPORT), 80, color=False)
    assert max(map(len, text.splitlines())) <= 80
    words = " ".join(text.split())
    assert "2 violations (1 of the corpus) after 16 cases: complete, valid." in words
    assert "complete.yaml: 1 client, 2 tasks, 1 event, seed 1 (known from the corpus)" in words
    assert "did not recur when the case was run again, seed 2 (case 3)" in words
    assert "KIP-925 cost 40, 30 above 10 (+300 %), the proven optimum." in words
    assert "proven in 15 of 16 cases" in words
    assert "No longer violated: no-oscillation.yaml." in words
    assert "16 cases after 32 earlier ones" in words


def test_a_bound_is_not_called_optimum() -> None:
    worst = replace(WORST, gap=OptimumGap(40, 0, False))
    words = " ".join(report_text(fuzz_report(replace(REPORT, worst=worst)), 80, color=False).split())
    assert "KIP-925 cost 40, 40 above 0, a lower bound; the optimum is not proven." in words


def test_another_objective_and_none() -> None:
    worst = replace(WORST, metric="downtime_ms", value=61_000.0, gap=None)
    assert "Task downtime (sum): 61 s." in report_text(fuzz_report(replace(REPORT, worst=worst)), 80, color=False)
    text = report_text(fuzz_report(replace(REPORT, worst=None, violations=())), 80, color=False)
    assert "No violation in 16 cases (500 states)." in text
    assert "Worst case: none" in text


@pytest.mark.parametrize("format_", ["csv", "markdown"])
def test_names_are_inert_in_tables(format_: str) -> None:
    text = (report_csv if format_ == "csv" else report_markdown)(fuzz_report(REPORT))
    assert "complete.yaml" in text.replace("\\", "")
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert format_ == "csv" or "<script>" not in text


def test_record_has_the_worst_case_in_words() -> None:
    record = fuzz_record(REPORT)
    assert record["worst"]["text"].endswith("the proven optimum")
    assert [item["is_new"] for item in record["violations"]] == [False, True]
