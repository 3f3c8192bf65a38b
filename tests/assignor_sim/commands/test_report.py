"""`assignor-sim report`, from directories of results to one page."""

from __future__ import annotations

from pathlib import Path

import pytest

from reports.render.figures.run_figures import RUN_FIGURES
from simulator.results.result_directory import write_results
from tests.assignor_sim.conftest import Shell
from tests.reports.sample_player_runs import player_runs
from tests.reports.sample_runs import MANIFEST


@pytest.fixture
def results(shell: Shell) -> Path:
    write_results(shell.folder / "first", player_runs(), MANIFEST)
    return shell.folder / "first"


def test_a_page_is_made_from_a_directory(shell: Shell, results: Path) -> None:
    ended = shell("report", "first")
    assert (ended.code, ended.out, ended.err) == (0, "report.html\n", "")
    text = (shell.folder / "report.html").read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert 'id="player-data"' in text


def test_run_and_report_make_the_same_page(shell: Shell, small: Path) -> None:
    assert shell("run", "small.yaml", "--out", "results").code == 0
    ended = shell("report", "results", "-o", "-")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == (shell.folder / "results" / "report.html").read_text(encoding="utf-8")


def test_two_directories_make_one_page(shell: Shell, results: Path) -> None:
    write_results(shell.folder / "second", player_runs(), MANIFEST)
    assert shell("report", "first", "second", "--out", "both.html").code == 0
    text = (shell.folder / "both.html").read_text(encoding="utf-8")
    assert '"label":"second: calm"' in text


@pytest.mark.parametrize("arguments", [(), ("--figure-format", "svg", "--figure-format", "pdf")])
def test_figures_are_saved_on_request(shell: Shell, results: Path, arguments: tuple[str, ...]) -> None:
    assert shell("report", "first", "--figures", "drawn/here", *arguments).code == 0
    formats = arguments[1::2] or ("png",)
    expected = {f"{draw.__name__}.{each}" for draw in RUN_FIGURES for each in formats}
    assert {path.name for path in (shell.folder / "drawn" / "here").iterdir()} == expected


def test_what_is_no_directory_of_results_is_said(shell: Shell, results: Path) -> None:
    ended = shell("report", "first", "nowhere")
    assert ended.code == 2
    assert ended.err.startswith("nowhere: not a result directory")
    assert not (shell.folder / "report.html").exists()


def test_a_page_that_cannot_be_written_is_said(shell: Shell, results: Path) -> None:
    ended = shell("report", "first", "-o", "no/such/folder/report.html")
    assert ended.code == 2
    assert "No such file or directory" in ended.err
    assert "Traceback" not in ended.err


def test_help_shows_an_example(shell: Shell) -> None:
    assert "assignor-sim report out/first -o first.html" in shell("report", "--help").out
