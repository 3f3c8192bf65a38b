"""Rows of plans and their records."""

from __future__ import annotations

from reports.analysis.plans.results import parse_plan_rows, records
from tests.reports.sample_plans import results


def test_plan_rows_are_read_back_from_their_records() -> None:
    rows = results().rows
    parsed = parse_plan_rows(records(rows))
    assert records(parsed) == records(rows)
    assert [row.has_plan for row in parsed] == [row.has_plan for row in rows]
