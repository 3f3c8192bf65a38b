"""Plans side by side: the table at any width, and the records for scripts."""

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
STANDING: dict[str, float | None] = {
    "storage_bytes_range": 2_660_000_000_000, "storage_bytes_cv": 0.447, "replicas_range": 216,
    "topic_replicas_range": 25, "broken_replication_factor": 0, "broken_duplicate": 0,
    "broken_forbidden_broker": 216, "broken_rack": 12, "leaders_range": 111, "topic_leaders_range": 17,
    "broker_down_range": 139, "broker_down_leaderless": 9, "rack_down_range": 163, "rack_down_leaderless": 0,
}  # fmt: skip
PLANNED: dict[str, float | None] = {
    **STANDING, "broken_forbidden_broker": 0, "broken_rack": 0, "replicas_moved": 1212,
    "bytes_moved": 15_900_000_000_000, "leaders_changed_by_order": 91, "leaders_changed_by_copy": 412,
    "rerun_replicas_moved": 574, "rerun_leaders_changed": 368, "distinct_plans": 20, "shuffles": 20,
}  # fmt: skip
NOW = PlanRow(TODAY, figures=STANDING, aims=frozenset(CRITERIA))
GOOD = PlanRow("kafka_generate_striped", "feasible", figures=PLANNED, aims=frozenset(CRITERIA), changes=3, elections=1)
FAILED = PlanRow("kafka_assigner", "not_applicable", "it cannot drain", notes=("and more",))
PAGE = Path(__file__).parents[4] / "docs" / "reference" / "plan-criteria.md"


def text(*rows: PlanRow, width: int = 120) -> str:
    return render(ABOUT, rows, width=width, color=False)


def cells(*rows: PlanRow, width: int = 120) -> list[list[str]]:
    """The words of each line of the table."""
    lines = text(*rows, width=width).splitlines()
    rule = next(number for number, line in enumerate(lines) if line.startswith("───"))
    return [line.split() for line in lines[rule + 1 :]]


def test_every_criterion_has_a_column_and_every_column_a_section_in_the_reference() -> None:
    assert {column.criterion for column in COLUMNS} == set(CRITERIA)
    sections = [line[3:] for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("## ")]
    assert [title for title in sections if title in {column.title for column in COLUMNS}] == [
        column.title for column in COLUMNS
    ]


def test_the_reference_names_every_figure() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in FIGURES if f"`{name}`" not in page] == []


def test_at_120_columns_all_of_it_is_one_table() -> None:
    lines = text(NOW, GOOD).splitlines()
    assert sum(line.startswith("strategy") for line in lines) == 1
    assert max(map(cell_len, lines)) <= 120


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 120, 200])
def test_a_narrow_terminal_gets_the_same_columns_in_tables_below_each_other(width: int) -> None:
    drawn = text(NOW, GOOD, width=width)
    assert max(map(cell_len, drawn.splitlines())) <= max(width, 34)
    for column in COLUMNS:
        assert drawn.count(column.header.split("\n")[0]) >= 1
    assert ("kafka_generate_striped" in drawn) == (width > 20)


def test_a_row_has_its_status_and_what_explains_its_figures_below_them() -> None:
    today, today_notes, figures, notes = cells(NOW, GOOD)[:4]
    assert today == ["today", "2.66", "TB", "216", "228", "111", "139", "163"]
    assert today_notes == ["cv", "0.45", "25", "broker…", "17", "9", "lost"]
    assert figures[0] == "kafka_generate_striped"
    assert figures[1:] == ["2.66", "TB", "216", "0", "1,212", "15.9", "TB", "111", "503", "574", "20", "139", "163"]
    assert notes == ["feasible", "cv", "0.45", "25", "17", "412", "new", "368", "led", "of", "20", "9", "lost"]


def test_what_a_strategy_does_not_aim_at_stands_in_brackets() -> None:
    modest = PlanRow("modest", "feasible", figures=PLANNED, aims=frozenset({"storage"}))
    figures = cells(modest)[0]
    assert figures[:4] == ["modest", "2.66", "TB", "216"]
    assert all(word.startswith("(") or word.endswith(")") for word in figures[4:])


def test_what_is_not_known_is_not_zero() -> None:
    unknown = PlanRow("s", "feasible", figures={**PLANNED, "storage_bytes_range": None, "bytes_moved": None,
                                                "rack_down_range": None, "broken_rack": None,
                                                "storage_bytes_cv": None})  # fmt: skip
    drawn = text(unknown)
    assert drawn.count("(n/a)") == 3
    assert "no racks" in drawn


def test_a_second_run_that_finds_no_plan_is_not_known_and_one_not_asked_for_is_empty() -> None:
    gone = PlanRow("s", "feasible", figures={**PLANNED, "rerun_replicas_moved": None, "rerun_leaders_changed": None})
    assert "(n/a)" in text(gone)
    unasked = {name: value for name, value in PLANNED.items() if name not in ("shuffles", "distinct_plans")}
    assert "n/a" not in text(PlanRow("s", "feasible", figures=unasked))


def test_a_strategy_without_a_plan_is_named_with_its_reason_and_not_in_the_table() -> None:
    lines = text(NOW, FAILED).splitlines()
    assert "– kafka_assigner: not applicable: it cannot drain" in lines
    assert "– kafka_assigner: and more" in lines
    assert not any(line.startswith("kafka_assigner") for line in lines)


def test_what_was_asked_stands_below_the_cluster() -> None:
    assert text(NOW).splitlines()[:2] == ["prod: 3 brokers", "Requested: without broker 2."]
    assert "Asked" not in render({**ABOUT, "asked": ""}, [NOW], width=120)


def test_files_are_counted_where_they_were_written_and_only_there() -> None:
    written = PlanRow("s", "feasible", figures=PLANNED, changes=1, elections=2, batches=1, folder="out/s")
    assert "– s: 1 partition, 2 elections, 1 batch in out/s" in text(written)
    assert " in out" not in text(GOOD)
    idle = PlanRow("s", "feasible", figures=PLANNED, changes=0, elections=0)
    assert "– s: nothing to change" in text(idle)
    assert "nothing to change" not in text(PlanRow("s", "feasible", figures=PLANNED, changes=0, elections=1))


def test_what_was_proved_is_said() -> None:
    def said(bound: float | None) -> str:
        row = PlanRow("s", "feasible", figures=PLANNED, objective="replicas moved", value=12, bound=bound)
        return text(row).splitlines()[-1]

    assert said(12) == "– s: replicas moved: 12, proven to be best"
    assert said(11) == "– s: replicas moved: 12, with 11 as proven bound"
    assert said(None) == "– s: replicas moved: 12"


def test_moves_stand_beside_the_least_that_there_can_be() -> None:
    assert "of 672" in text(PlanRow("s", "feasible", figures={**PLANNED, "replicas_moved_bound": 672}))


def test_records_have_every_figure_and_the_same_keys() -> None:
    told = json.loads(render(ABOUT, [NOW, GOOD, FAILED], "json"))
    assert told["cluster"] == {"brokers": 3}
    today, good, failed = told["plans"]
    assert list(today) == list(good) == list(failed)
    assert {name: good[name] for name in PLANNED} == PLANNED
    assert (failed["status"], failed["reason"], failed["replicas_moved"]) == ("not_applicable", "it cannot drain", None)
    assert records([NOW])[0]["status"] is None


def test_names_are_text_and_never_markup_or_codes() -> None:
    odd = PlanRow("[red]x\x1b[31m", "failed", "a\nb [bold]\u202e")
    drawn = render({**ABOUT, "title": "[x]\x1b"}, [NOW, odd], width=120, color=False)
    assert "– [red]x\\x1b[31m: failed: a\\nb [bold]\\u202e" in drawn
    assert "\x1b" not in drawn


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="'xml' is not a format"):
        render(ABOUT, [NOW], "xml")
