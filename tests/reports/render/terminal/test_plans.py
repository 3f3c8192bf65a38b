"""The comparison of plans: tables at any width, and JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from reports.analysis.plans.columns import COLUMNS
from reports.analysis.plans.plan_row import CRITERIA, FIGURES, TODAY, PlanRow, records
from reports.render.terminal.plans import render

ABOUT: dict[str, Any] = {"title": "prod: 3 brokers", "asked": "without broker 2", "cluster": {"brokers": 3}}
CURRENT: dict[str, float | None] = {
    "storage_bytes_range": 2_660_000_000_000, "storage_bytes_cv": 0.447, "replicas_range": 216,
    "topic_replicas_range": 25, "broken_replication_factor": 0, "broken_duplicate": 0,
    "broken_forbidden_broker": 216, "broken_rack": 12, "leaders_range": 111, "topic_leaders_range": 17,
    "broker_down_range": 139, "broker_down_leaderless": 9, "rack_down_range": 163, "rack_down_leaderless": 0,
}  # fmt: skip
PLANNED: dict[str, float | None] = {
    **CURRENT, "broken_forbidden_broker": 0, "broken_rack": 0, "replicas_moved": 1212,
    "bytes_moved": 15_900_000_000_000, "leaders_changed_by_order": 91, "leaders_changed_by_copy": 412,
    "rerun_replicas_moved": 574, "rerun_leaders_changed": 368, "distinct_plans": 20, "shuffles": 20,
}  # fmt: skip
NOW = PlanRow(TODAY, figures=CURRENT, aims=frozenset(CRITERIA))
GOOD = PlanRow("kafka_generate_striped", "feasible", figures=PLANNED, aims=frozenset(CRITERIA), changes=3, elections=1)
FAILED = PlanRow("kafka_assigner", "not_applicable", "it cannot drain", notes=("and more",))
PAGE = Path(__file__).parents[4] / "docs" / "reference" / "plan-criteria.md"


def text(*rows: PlanRow, width: int = 120) -> str:
    return render(ABOUT, rows, width=width, color=False)


def cells(*rows: PlanRow, width: int = 120) -> list[list[str]]:
    """Return the words of each line of the table."""
    lines = text(*rows, width=width).splitlines()
    rule = next(number for number, line in enumerate(lines) if line.startswith("───"))
    return [line.split() for line in lines[rule + 1 :]]


def test_every_criterion_has_a_column_and_every_column_is_documented() -> None:
    assert {column.criterion for column in COLUMNS} == set(CRITERIA)
    sections = [line[3:] for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("## ")]
    assert [title for title in sections if title in {column.title for column in COLUMNS}] == [
        column.title for column in COLUMNS
    ]


def test_every_metric_is_documented() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in FIGURES if f"`{name}`" not in page] == []


def test_table_fits_120_columns() -> None:
    lines = text(NOW, GOOD).splitlines()
    assert sum(line.startswith("strategy") for line in lines) == 1
    assert max(map(cell_len, lines)) <= 120


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 120, 200])
def test_narrow_terminal_splits_columns_over_several_tables(width: int) -> None:
    output = text(NOW, GOOD, width=width)
    assert max(map(cell_len, output.splitlines())) <= max(width, 34)
    for column in COLUMNS:
        assert output.count(column.header.split("\n")[0]) >= 1
    assert ("kafka_generate_striped" in output) == (width > 20)


def test_notes_are_below_the_values_of_a_row() -> None:
    today, today_notes, figures, notes = cells(NOW, GOOD)[:4]
    assert today == ["today", "2.66", "TB", "216", "228", "111", "139", "163"]
    assert today_notes == ["cv", "0.45", "25", "excluded…", "17", "9", "lost"]
    assert figures[0] == "kafka_generate_striped"
    assert figures[1:] == ["2.66", "TB", "216", "0", "1,212", "15.9", "TB", "111", "503", "574", "20", "139", "163"]
    assert notes == ["feasible", "cv", "0.45", "25", "17", "412", "new", "368", "led", "of", "20", "9", "lost"]


def test_criteria_that_are_no_objective_are_in_brackets() -> None:
    storage_only = PlanRow("modest", "feasible", figures=PLANNED, aims=frozenset({"storage"}))
    figures = cells(storage_only)[0]
    assert figures[:4] == ["modest", "2.66", "TB", "216"]
    assert all(word.startswith("(") or word.endswith(")") for word in figures[4:])


def test_unknown_values_are_not_zero() -> None:
    unknown = PlanRow("s", "feasible", figures={**PLANNED, "storage_bytes_range": None, "bytes_moved": None,
                                                "rack_down_range": None, "broken_rack": None,
                                                "storage_bytes_cv": None})  # fmt: skip
    output = text(unknown)
    assert output.count("(n/a)") == 3
    assert "no racks" in output


def test_failed_second_run_is_unknown_and_skipped_run_is_empty() -> None:
    failed_rerun = PlanRow(
        "s", "feasible", figures={**PLANNED, "rerun_replicas_moved": None, "rerun_leaders_changed": None}
    )
    assert "(n/a)" in text(failed_rerun)
    without_shuffles = {name: value for name, value in PLANNED.items() if name not in ("shuffles", "distinct_plans")}
    assert "n/a" not in text(PlanRow("s", "feasible", figures=without_shuffles))


def test_strategy_without_a_plan_has_a_reason_and_no_row() -> None:
    lines = text(NOW, FAILED).splitlines()
    assert "– kafka_assigner: not applicable: it cannot drain" in lines
    assert "– kafka_assigner: and more" in lines
    assert not any(line.startswith("kafka_assigner") for line in lines)


def test_request_is_below_the_cluster() -> None:
    assert text(NOW).splitlines()[:2] == ["prod: 3 brokers", "Requested: without broker 2."]
    assert "Requested" not in render({**ABOUT, "asked": ""}, [NOW], width=120)


def test_written_files_are_counted() -> None:
    written = PlanRow("s", "feasible", figures=PLANNED, changes=1, elections=2, batches=1, folder="out/s")
    assert "– s: 1 partition, 2 elections, 1 batch in out/s" in text(written)
    assert " in out" not in text(GOOD)
    unchanged = PlanRow("s", "feasible", figures=PLANNED, changes=0, elections=0)
    assert "– s: nothing to change" in text(unchanged)
    assert "nothing to change" not in text(PlanRow("s", "feasible", figures=PLANNED, changes=0, elections=1))


def test_proven_bound_is_reported() -> None:
    def objective_line(bound: float | None) -> str:
        row = PlanRow("s", "feasible", figures=PLANNED, objective="replicas moved", value=12, bound=bound)
        return text(row).splitlines()[-1]

    assert objective_line(12) == "– s: replicas moved: 12, proven optimal"
    assert objective_line(11) == "– s: replicas moved: 12, proven bound 11"
    assert objective_line(None) == "– s: replicas moved: 12"


def test_moves_have_their_lower_bound() -> None:
    assert "of 672" in text(PlanRow("s", "feasible", figures={**PLANNED, "replicas_moved_bound": 672}))


def test_records_have_all_metrics_and_equal_keys() -> None:
    parsed = json.loads(render(ABOUT, [NOW, GOOD, FAILED], "json"))
    assert parsed["cluster"] == {"brokers": 3}
    today, good, failed = parsed["plans"]
    assert list(today) == list(good) == list(failed)
    assert {name: good[name] for name in PLANNED} == PLANNED
    assert (failed["status"], failed["reason"], failed["replicas_moved"]) == ("not_applicable", "it cannot drain", None)
    assert records([NOW])[0]["status"] is None


def test_names_are_drawn_as_text() -> None:
    hostile = PlanRow("[red]x\x1b[31m", "failed", "a\nb [bold]\u202e")
    output = render({**ABOUT, "title": "[x]\x1b"}, [NOW, hostile], width=120, color=False)
    assert "– [red]x\\x1b[31m: failed: a\\nb [bold]\\u202e" in output
    assert "\x1b" not in output


def test_unknown_format_is_rejected() -> None:
    with pytest.raises(ValueError, match="'xml' is not a format"):
        render(ABOUT, [NOW], "xml")
