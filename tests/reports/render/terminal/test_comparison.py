"""The comparison as table, JSON, CSV and Markdown."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from rich.cells import cell_len

from reports.analysis.comparison import compare_runs
from reports.analysis.notes import records
from reports.render.terminal.comparison import COLUMNS, columns_for, render
from simulator.results.files import csv_cell
from tests.reports.sample_runs import HOSTILE, four_assignors, tables

WIDTHS = (60, 80, 100, 160)


def test_wide_terminal_has_one_row_per_assignor_and_all_columns() -> None:
    lines = render(four_assignors(), width=160, color=False).splitlines()
    header = " ".join(lines[1:4])
    assert all(
        word in header for column in columns_for(compare_runs(four_assignors())) for word in column.header.split("\n")
    )
    [row] = [line for line in lines if line.startswith("HA balance_subtopology")]
    for cell in ("39 ", "+8%", "32.6 MB/s ", "24 ", "2 ", "12 min ", "52.4 GB ", "25 s*", "0.5 ", "1*", "3/48*"):
        assert f" {cell}" in f"{row} "


@pytest.mark.parametrize("width", [40, 60, 80, 99, 100, 120])
def test_no_metric_is_dropped_for_lack_of_width(width: int) -> None:
    columns = columns_for(compare_runs(four_assignors()))
    text = render(four_assignors(), width=width, color=False)
    for column in columns:
        assert any(all(word in text for word in name.split()) for name in (column.title, column.header)), column.title


def test_table_turns_below_100_columns() -> None:
    runs = tables([{"assignor": "a"}, {"assignor": "b"}])
    assert render(runs, width=99, metrics=["active_moves"]).splitlines()[3].startswith("Verdict")
    assert render(runs, width=100, metrics=["active_moves"]).splitlines()[-2].startswith("b ")


def test_wide_table_has_one_row_per_assignor_on_any_terminal() -> None:
    runs = four_assignors()
    assert (
        render(runs, width=80, wide=True, color=False).splitlines()[:9]
        == (render(runs, width=160, color=False).splitlines()[:9])
    )


@pytest.mark.parametrize("format", ["table", "markdown", "json", "csv"])
def test_selected_metrics_are_the_only_ones_in_every_format(format: str) -> None:
    text = render(four_assignors(), format, width=80, metrics=["restored_bytes", "worst_rack_loss"])
    if format in ("json", "csv"):
        assert "restored_bytes" in text
        assert "worst_rack_loss" in text
        assert "active_moves" not in text
    else:
        assert re.findall(r"Active task moves|Restored state|if the worst rack", text) == [
            "Restored state",
            "if the worst rack",
        ]


def test_no_star_marks_several_assignors_that_are_each_at_their_own_bound() -> None:
    at_bound = [{"assignor": name, "total_cost": 36, "total_cost_bound": 36} for name in ("a", "b")]
    text = render(tables([*at_bound, {"assignor": "c"}]), width=160, color=False)
    assert "at bound" in text
    assert "at bound*" not in text
    assert "at bound*" in render(tables([at_bound[0], {"assignor": "c"}]), width=160, color=False)


@pytest.mark.parametrize(
    ("variables", "colored"),
    [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
)
def test_environment_decides_on_colors(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], colored: bool
) -> None:
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert ("\x1b" in render(four_assignors())) == colored


def test_columns_without_information_are_left_out() -> None:
    plain = render(four_assignors(), width=160, color=False)
    assert not re.search(r"\bleader\b|\$", plain)
    runs = [
        {"assignor": "a", "cross_rack_usd_per_day": 12.5},
        {"assignor": "b", "cross_rack_usd_per_day": 10.25, "leader_compute_ms": 1e3},
    ]
    lines = render(tables(runs), width=180, color=False).splitlines()
    assert [re.findall(r"\$[\d.]+\*?", line) for line in lines[5:7]] == [["$12.50"], ["$10.25*"]]
    assert len(columns_for(compare_runs(tables(runs)))) == len(COLUMNS)
    assert " leader" in lines[2]
    assert " 1 s " in lines[6]


def test_notes_are_in_every_format() -> None:
    results = tables([{"assignor": "a"}, {"assignor": "b", "verdict": "failed", "cause": "boom | *now*"}])
    assert "– b failed: boom | *now*.\n" in render(results, width=160, color=False)
    assert "\n- b failed\\: boom \\| \\*now\\*\\.\n" in render(results, "markdown")
    assert [record["notes"] for record in json.loads(render(results, "json"))] == [[], ["b failed: boom | *now*."]]
    assert [row["notes"] for row in csv.DictReader(io.StringIO(render(results, "csv")))] == [
        "",
        "b failed: boom | *now*.",
    ]


def test_80_columns_have_one_row_per_metric() -> None:
    lines = render(four_assignors(), width=80, color=False).splitlines()
    [traffic] = [line for line in lines if line.startswith("Cross-rack traffic")]
    assert re.findall(r"[\d.]+ MB/s\*?", traffic) == ["48.3 MB/s", "30.1 MB/s*", "32.6 MB/s", "48.3 MB/s"]
    assert "52.4 GB" in "".join(lines)


def test_assignors_that_do_not_fit_continue_in_a_second_table() -> None:
    names = [f"mine {number}" for number in range(9)]
    text = render(
        tables([{"assignor": name, "cross_rack_usd_per_day": 123.0} for name in names]), width=70, color=False
    )
    assert re.findall(r"mine \d", text) == names
    assert text.count("Cross-rack traffic") > 1


@pytest.mark.parametrize("width", WIDTHS)
def test_lines_fit_width_of_terminal(width: int) -> None:
    seeds = [{"assignor": name, "seed": s, "downtime_ms": s * 10**6} for name in HOSTILE for s in range(3)]
    for results in (four_assignors(), tables(seeds), tables([])):
        assert max(cell_len(line) for line in render(results, width=width, color=False).splitlines()) <= width


def test_range_over_seeds_is_below_the_median() -> None:
    runs = [{"seed": seed, "cross_rack_bytes_per_s": seed * 1e7} for seed in (1, 2, 5)]
    text = render(tables(runs), width=160, color=False)
    assert "(median of 3 seeds, range below)" in text
    assert "20 MB/s" in text
    assert "10–50 MB/s" in text


def test_unstable_assignor_shows_its_verdict() -> None:
    run = {"verdict": "cycling", "time_to_converge_ms": None}
    assert "cycling" in render(tables([run]), width=160, color=False)


@pytest.mark.parametrize(
    ("run", "text"),
    [
        ({"total_cost": 36}, " at bound"),
        ({"total_cost_bound": None}, " n/a"),
        ({"total_cost_bound": 0}, " +48 "),
        ({"tasks_without_rack_redundancy": None}, " n/a"),
        ({"tasks_without_rack_redundancy": 0, "stateful_tasks": 0}, " n/a"),
    ],
)
def test_special_values_have_a_text(run: dict[str, int | None], text: str) -> None:
    assert text in render(tables([run]), width=160, color=False)


def test_best_value_is_marked_with_and_without_color() -> None:
    plain, colored = (render(four_assignors(), width=160, color=color) for color in (False, True))
    assert "\x1b" not in plain
    assert "30.1 MB/s*" in plain
    assert "\x1b[1;32m30.1 MB/s" in colored
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == plain


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_labels_are_drawn_as_text(name: str) -> None:
    text = render(tables([{"assignor": name, "scenario": name}]), width=400, color=False)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e]", text)
    if "[" in name and "\x1b" not in name:
        assert name in text


@pytest.mark.parametrize("name", HOSTILE)
def test_json_and_csv_preserve_names_and_numbers(name: str) -> None:
    results = tables([{"assignor": name, "cross_rack_bytes_per_s": 1e7 / 3, "stateful_cost": None}, {"assignor": "b"}])
    expected = records(compare_runs(results))
    assert json.loads(render(results, "json")) == expected
    rows = list(csv.DictReader(io.StringIO(render(results, "csv"))))
    assert list(rows[0]) == list(expected[0])
    assert [row["assignor"] for row in rows] == [csv_cell(name), "b"]
    assert float(rows[0]["cross_rack_bytes_per_s"]) == 1e7 / 3
    assert (rows[0]["stateful_cost"], rows[1]["stateful_cost"], rows[0]["seeds"]) == ("", "480", "7")


def test_hostile_names_do_not_break_markdown() -> None:
    results = tables([{"assignor": name} for name in HOSTILE])
    lines = render(results, "markdown").splitlines()
    assert len(lines) == 2 + len(HOSTILE)
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {len(columns_for(compare_runs(results))) + 2}
    assert "<" not in "".join(lines)
    assert "\\`a\\` \\*b\\* \\_c\\_" in "".join(lines)


def test_best_value_is_bold_in_markdown() -> None:
    assert "| **30.1 MB/s** |" in render(four_assignors(), "markdown")


@pytest.mark.parametrize(("format", "text"), [("table", "No runs.\n"), ("markdown", "No runs.\n"), ("json", "[]\n")])
def test_no_runs_have_a_message(format: str, text: str) -> None:
    assert render(tables([], []), format, width=80, color=False) == text


def test_csv_without_runs_has_only_a_header() -> None:
    empty, single = (render(results, "csv").splitlines() for results in (tables([], []), tables()))
    assert empty == single[:1]


def test_unknown_format_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"'xml' is not a format \(formats: table, json, csv, markdown\)"):
        render(tables(), "xml")


def test_every_scenario_has_a_table() -> None:
    results = tables([{"scenario": scenario, "assignor": name} for scenario in ("one", "two") for name in ("a", "b")])
    lines = render(results, width=160, color=False).splitlines()
    assert "one" in lines
    assert "two" in lines
    assert "**two**" in render(results, "markdown")


def test_table_imports_no_heavy_libraries(tmp_path: Path) -> None:
    for name, table in tables().items():
        with pa.OSFile(str(tmp_path / name), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    code = """
import sys
from pathlib import Path
import pyarrow as pa
from reports.render.terminal.comparison import render
tables = {path.name: pa.ipc.open_file(path).read_all() for path in Path(sys.argv[1]).iterdir()}
render(tables, "table", width=100)
print([name for name in ("matplotlib", "pandas", "jinja2", "simulator.world") if name in sys.modules])
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"
