"""The comparison as text."""

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
from reports.analysis.comparison_records import records
from reports.render.terminal.comparison import COLUMNS, columns_for, render
from tests.reports.sample_runs import HOSTILE, four_assignors, tables

WIDTHS = (60, 80, 100, 160)


def test_a_wide_terminal_gets_a_row_an_assignor_with_every_column() -> None:
    lines = render(four_assignors(), width=160, color=False).splitlines()
    header = " ".join(lines[1:3])
    assert all(
        word in header for each in columns_for(compare_runs(four_assignors())) for word in each.header.split("\n")
    )
    [row] = [line for line in lines if line.startswith("HA balance_subtopology")]
    for cell in ("39 ", "+8%", "32.6 MB/s ", "24 ", "2 ", "12 min ", "52.4 GB ", "25 s*", "0.5 ", "1*", "3/48*"):
        assert f" {cell}" in f"{row} "


def test_a_hundred_columns_keep_what_matters_and_say_what_is_left_out() -> None:
    text = render(four_assignors(), width=100, color=False)
    assert "+44%" in text
    assert "11/48" in text
    assert "Hidden for lack of width: standby moves, state restored." in text
    assert "52.4 GB" not in text


def test_what_says_nothing_has_no_column() -> None:
    plain = render(four_assignors(), width=160, color=False)
    assert not re.search(r"\bcost\b|\bleader\b|\$", plain)
    runs = [
        {"assignor": "a", "cross_rack_usd": 12.5},
        {"assignor": "b", "cross_rack_usd": 10.25, "leader_compute_ms": 1e3},
    ]
    lines = render(tables(runs), width=180, color=False).splitlines()
    assert [re.findall(r"\$[\d.]+\*?", line) for line in lines[4:6]] == [["$12.50"], ["$10.25*"]]
    assert len(columns_for(compare_runs(tables(runs)))) == len(COLUMNS)
    assert " leader" in lines[1]
    assert " 1 s " in lines[5]


def test_the_dearest_table_still_fits_a_hundred_columns_as_a_row_an_assignor() -> None:
    runs = [
        {"assignor": name, "cross_rack_usd": 123.0, "leader_compute_ms": 120_000.0, "worst_downtime_ms": 7_000_000}
        for name in ("HA none", "HA min_traffic", "HA balance_subtopology", "sticky")
    ]
    lines = render(tables(runs), width=100, color=False).splitlines()
    assert [line.split()[0] for line in lines[4:] if "$123" in line] == ["HA", "HA", "HA", "sticky"]


def test_notes_stand_below_the_table_and_in_the_records() -> None:
    made = tables([{"assignor": "a"}, {"assignor": "b", "verdict": "failed", "cause": "boom | *now*"}])
    assert "– b failed: boom | *now*.\n" in render(made, width=160, color=False)
    assert "\n- b failed\\: boom \\| \\*now\\*\\.\n" in render(made, "markdown")
    assert [record["notes"] for record in json.loads(render(made, "json"))] == [[], ["b failed: boom | *now*."]]
    assert [row["notes"] for row in csv.DictReader(io.StringIO(render(made, "csv")))] == ["", "b failed: boom | *now*."]


def test_eighty_columns_get_a_row_a_metric() -> None:
    lines = render(four_assignors(), width=80, color=False).splitlines()
    [traffic] = [line for line in lines if line.startswith("Cross-rack traffic")]
    assert re.findall(r"[\d.]+ MB/s\*?", traffic) == ["48.3 MB/s", "30.1 MB/s*", "32.6 MB/s", "48.3 MB/s"]
    assert "52.4 GB" in "".join(lines)


def test_assignors_that_do_not_fit_side_by_side_follow_below() -> None:
    names = [f"mine {number}" for number in range(9)]
    text = render(tables([{"assignor": name, "cross_rack_usd": 123.0} for name in names]), width=70, color=False)
    assert re.findall(r"mine \d", text) == names
    assert text.count("Cross-rack traffic") > 1


@pytest.mark.parametrize("width", WIDTHS)
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    seeds = [{"assignor": name, "seed": s, "downtime_ms": s * 10**6} for name in HOSTILE for s in range(3)]
    for made in (four_assignors(), tables(seeds), tables([])):
        assert max(cell_len(line) for line in render(made, width=width, color=False).splitlines()) <= width


def test_several_seeds_show_the_range_below_the_median() -> None:
    runs = [{"seed": seed, "cross_rack_bytes_per_s": seed * 1e7} for seed in (1, 2, 5)]
    text = render(tables(runs), width=160, color=False)
    assert "(median of 3 seeds, range below)" in text
    assert "20 MB/s" in text
    assert "10–50 MB/s" in text


def test_an_assignor_that_never_settles_shows_its_verdict() -> None:
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
def test_what_is_special_about_a_figure_is_said(run: dict[str, int | None], text: str) -> None:
    assert text in render(tables([run]), width=160, color=False)


def test_the_best_is_marked_without_colour_and_coloured_with_it() -> None:
    plain, colored = (render(four_assignors(), width=160, color=color) for color in (False, True))
    assert "\x1b" not in plain
    assert "30.1 MB/s*" in plain
    assert "\x1b[1;32m30.1 MB/s" in colored
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == plain


@pytest.mark.parametrize("name", HOSTILE)
def test_a_label_is_text_in_a_terminal(name: str) -> None:
    text = render(tables([{"assignor": name, "scenario": name}]), width=400, color=False)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e]", text)
    if "[" in name and "\x1b" not in name:
        assert name in text


@pytest.mark.parametrize("name", HOSTILE)
def test_json_and_csv_give_names_and_numbers_back(name: str) -> None:
    made = tables([{"assignor": name, "cross_rack_bytes_per_s": 1e7 / 3, "active_cost": None}, {"assignor": "b"}])
    wanted = records(compare_runs(made))
    assert json.loads(render(made, "json")) == wanted
    read = list(csv.DictReader(io.StringIO(render(made, "csv"))))
    assert list(read[0]) == list(wanted[0])
    assert [row["assignor"] for row in read] == [name, "b"]
    assert float(read[0]["cross_rack_bytes_per_s"]) == 1e7 / 3
    assert (read[0]["active_cost"], read[1]["active_cost"], read[0]["seeds"]) == ("", "480", "7")


def test_markdown_is_a_table_that_no_name_breaks() -> None:
    made = tables([{"assignor": name} for name in HOSTILE])
    lines = render(made, "markdown").splitlines()
    assert len(lines) == 2 + len(HOSTILE)
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {len(columns_for(compare_runs(made))) + 2}
    assert "<" not in "".join(lines)
    assert "\\`a\\` \\*b\\* \\_c\\_" in "".join(lines)


def test_markdown_sets_the_best_in_bold() -> None:
    assert "| **30.1 MB/s** |" in render(four_assignors(), "markdown")


@pytest.mark.parametrize(("format", "text"), [("table", "No runs.\n"), ("markdown", "No runs.\n"), ("json", "[]\n")])
def test_no_runs_are_said(format: str, text: str) -> None:
    assert render(tables([], []), format, width=80, color=False) == text


def test_no_runs_leave_the_head_of_a_csv() -> None:
    empty, one = (render(made, "csv").splitlines() for made in (tables([], []), tables()))
    assert empty == one[:1]


def test_an_unknown_format_is_named() -> None:
    with pytest.raises(ValueError, match=r"'xml' is not a format \(formats: table, json, csv, markdown\)"):
        render(tables(), "xml")


def test_several_scenarios_have_a_table_each() -> None:
    made = tables([{"scenario": scenario, "assignor": name} for scenario in ("one", "two") for name in ("a", "b")])
    lines = render(made, width=160, color=False).splitlines()
    assert "one" in lines
    assert "two" in lines
    assert "**two**" in render(made, "markdown")


def test_a_table_starts_up_without_what_it_does_not_need(tmp_path: Path) -> None:
    runs = tables()["runs"]
    with pa.OSFile(str(tmp_path / "runs.arrow"), "wb") as file, pa.ipc.new_file(file, runs.schema) as writer:
        writer.write_table(runs)
    code = """
import sys
import pyarrow as pa
from reports.render.terminal.comparison import render
render({"runs": pa.ipc.open_file(sys.argv[1]).read_all()}, "table", width=100)
print([name for name in ("matplotlib", "pandas", "jinja2", "simulator") if name in sys.modules])
"""
    command = [sys.executable, "-c", code, str(tmp_path / "runs.arrow")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"
