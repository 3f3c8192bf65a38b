"""The comparison of plans: one table at any width, its conclusion, and JSON."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from rich.cells import cell_len

from reports.analysis.plans.conclusion import COLUMNS
from reports.analysis.plans.results import BATCHES, CRITERIA, FIGURES, TODAY, PlanResults, PlanRow, records
from reports.render.plan import render
from reports.render.plan_page import criterion_lines

ABOUT: dict[str, Any] = {
    "title": "prod: 3 brokers",
    "asked": "without broker 2",
    "cluster": {"brokers": 3, "source": "prod"},
}
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
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "plan-criteria.md"


def compared(*rows: PlanRow, **about: Any) -> PlanResults:
    return PlanResults(rows, {"batches": BATCHES.empty_table()}, {**ABOUT, **about})


def text(*rows: PlanRow, width: int = 80, **about: Any) -> str:
    return render(compared(*rows, **about), width=width, color=False)


def table(*rows: PlanRow, width: int = 80) -> dict[str, list[str]]:
    """Return the cells of each line of the table by its title; a note follows the title of its figure."""
    lines = text(*rows, width=width).splitlines()
    rule = next(number for number, line in enumerate(lines) if line.startswith("───"))
    by_title: dict[str, list[str]] = {}
    figure = ""
    for line in lines[rule + 1 : lines.index("", rule)]:
        title, *cells = re.split(r" {2,}", line.strip())
        figure = figure if line.startswith("  ") else title
        by_title[f"{figure}/{title}" if line.startswith("  ") else title] = cells
    return by_title


def test_every_criterion_has_a_column_and_every_column_is_documented() -> None:
    assert {column.criterion for column in COLUMNS} == set(CRITERIA)
    sections = [line[3:] for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("## ")]
    assert [title for title in sections if title in {column.title for column in COLUMNS}] == [
        column.title for column in COLUMNS
    ]


def test_every_metric_is_documented() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in FIGURES if f"`{name}`" not in page] == []


def test_one_table_with_one_header_row_fits_80_columns() -> None:
    lines = text(NOW, GOOD).splitlines()
    assert max(map(cell_len, lines)) <= 80
    assert sum(line.startswith("───") for line in lines) == 1
    assert [line.split() for line in lines[3:6]] == [["kafka_"], ["generate_"], ["today", "striped"]]


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 120, 200])
def test_plans_that_do_not_fit_are_in_further_tables(width: int) -> None:
    others = [replace(GOOD, strategy=f"strategy{number}") for number in range(6)]
    output = text(NOW, GOOD, *others, width=width)
    assert max(map(cell_len, output.splitlines())) <= max(width, 50)
    tables = sum(line.startswith("───") for line in output.splitlines())
    for column in COLUMNS:
        assert len(re.findall(rf"^{column.header}(?:  |$)", output, re.MULTILINE)) == tables or width < 40
    assert tables == 1 or width < 120
    assert all(name.strategy in output for name in others)


def test_notes_are_below_the_figures() -> None:
    shown = table(NOW, GOOD)
    assert shown["storage max−min"] == ["2.66 TB", "2.66 TB"]
    assert shown["storage max−min/variation"] == ["cv 0.45", "cv 0.45"]
    assert shown["status"] == ["feasible"]
    assert shown["replicas moved"] == ["1,212"]
    assert shown["leaders changed/to new replicas"] == ["412 new"]
    assert shown["different plans/shuffled inputs"] == ["of 20"]
    assert shown["broker failure/without a leader"] == ["9 lost", "9 lost"]


def test_replicas_of_removed_brokers_violate_no_rule_before_the_plan() -> None:
    draining = replace(NOW, figures={**CURRENT, "broken_rack": 0})
    shown = table(draining, GOOD)
    assert shown["rule violations"] == ["0", "0"]
    assert shown["rule violations/first rule"] == ["216 to move"]
    assert table(NOW, GOOD)["rule violations"] == ["12", "0"]
    left = PlanRow("other_tool", "given", figures={**PLANNED, "broken_forbidden_broker": 216}, aims=frozenset(CRITERIA))
    assert table(NOW, left)["rule violations"] == ["12", "216"]
    assert criterion_lines([draining, GOOD])[2].cells[0][0].value == 0


def test_conclusion_has_duration_and_command_with_the_throttle() -> None:
    plan = replace(GOOD, figures={**PLANNED, "replicas_range": 3}, folder="out/my plan", changes=3, batches=None)
    batches = pa.Table.from_pylist(
        [
            {"strategy": plan.strategy, "batch": number, "partitions": 1, "replicas": 1, "bytes": 1, "elections": 0,
             "min_copy_ms": 3_600_000}
            for number in (1, 2)
        ],
        schema=BATCHES,
    )  # fmt: skip
    results = replace(compared(NOW, plan, request={"throttle_bytes_per_s": 50_000_000}), tables={"batches": batches})
    output = render(results, width=200, color=False)
    _, _, conclusion = output.partition("\nConclusion\n")
    assert "– At 50 MB/s per broker, it copies for at least 2 h.\n" in conclusion
    assert conclusion.endswith(
        "kafka-reassign-partitions.sh --bootstrap-server BROKER:9092 --execute \\\n"
        "    --reassignment-json-file 'out/my plan/reassignment.json' --throttle 50000000\n"
    )
    assert "--throttle" in text(NOW, plan)
    assert "copies for at least" not in text(NOW, plan)


def test_criteria_that_are_no_objective_are_in_brackets() -> None:
    storage_only = PlanRow("modest", "feasible", figures=PLANNED, aims=frozenset({"storage"}))
    shown = table(storage_only)
    assert (shown["storage max−min"], shown["replicas max−min"]) == (["2.66 TB"], ["216"])
    rest = [column.header for column in COLUMNS if column.criterion != "storage"]
    assert all(shown[title][0].startswith("(") and shown[title][0].endswith(")") for title in rest)


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


def test_strategy_without_a_plan_has_a_reason_and_no_column() -> None:
    lines = text(NOW, FAILED).splitlines()
    assert "– kafka_assigner: not applicable: it cannot drain" in lines
    assert "– kafka_assigner: and more" in lines
    assert not any("assigner" in line for line in lines[: lines.index("status")])


def test_request_is_below_the_cluster() -> None:
    assert text(NOW).splitlines()[:2] == ["prod: 3 brokers", "Requested: without broker 2."]
    assert "Requested" not in text(NOW, asked="")


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
        return next(line for line in text(row).splitlines() if line.startswith("– s: "))

    assert objective_line(12) == "– s: replicas moved: 12, proven optimal"
    assert objective_line(11) == "– s: replicas moved: 12, proven bound 11"
    assert objective_line(None) == "– s: replicas moved: 12"


def test_moves_have_their_lower_bound() -> None:
    assert "of 672" in text(PlanRow("s", "feasible", figures={**PLANNED, "replicas_moved_bound": 672}))


def test_records_have_all_metrics_and_equal_keys() -> None:
    parsed = json.loads(render(compared(NOW, GOOD, FAILED), "json"))
    assert parsed["cluster"] == ABOUT["cluster"]
    today, good, failed = parsed["plans"]
    assert list(today) == list(good) == list(failed)
    assert {name: good[name] for name in PLANNED} == PLANNED
    assert (failed["status"], failed["reason"], failed["replicas_moved"]) == ("not_applicable", "it cannot drain", None)
    assert records([NOW])[0]["status"] is None


def test_names_are_drawn_as_text() -> None:
    hostile = PlanRow("[red]x\x1b[31m", "failed", "a\nb [bold]\u202e")
    output = text(NOW, hostile, PlanRow("[b]\x1b", "failed", figures=PLANNED), title="[x]\x1b")
    assert "– [red]x\\x1b[31m: failed: a\\nb [bold]\\u202e" in output
    assert "\x1b" not in output


def test_unknown_format_is_rejected() -> None:
    with pytest.raises(ValueError, match="'xml' is not a format"):
        render(compared(NOW), "xml")
