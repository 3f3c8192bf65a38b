"""`assignor-sim report` of result directories of runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from reports.render.figures.run_figures import RUN_FIGURES
from simulator.results.result_directory import write_results
from tests.assignor_sim.conftest import Shell
from tests.reports.sample_player_runs import PLAYER_MANIFEST, player_runs

pytestmark = pytest.mark.answers


@pytest.fixture
def results(shell: Shell) -> Path:
    write_results(shell.folder / "first", player_runs(), PLAYER_MANIFEST)
    return shell.folder / "first"


def test_page_is_written_for_a_directory(shell: Shell, results: Path) -> None:
    result = shell("report", "first")
    assert (result.code, result.out, result.err) == (0, "report.html\n", "")
    text = (shell.folder / "report.html").read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert 'id="player-data"' in text


def test_report_recreates_the_page_of_a_run(shell: Shell, small: Path) -> None:
    assert shell("run", "small.yaml", "--out", "results").code == 0
    result = shell("report", "results", "-o", "-")
    assert (result.code, result.err) == (0, "")
    assert result.out == (shell.folder / "results" / "report.html").read_text(encoding="utf-8")


def test_two_directories_share_a_page(shell: Shell, results: Path) -> None:
    write_results(shell.folder / "second", player_runs(), PLAYER_MANIFEST)
    assert shell("report", "first", "second", "--out", "both.html").code == 0
    text = (shell.folder / "both.html").read_text(encoding="utf-8")
    assert '"label":"second: calm"' in text


@pytest.mark.parametrize(
    "arguments",
    [(), pytest.param(("--figure-format", "svg", "--figure-format", "pdf"), marks=pytest.mark.slow)],
)
def test_figures_are_saved_on_request(shell: Shell, results: Path, arguments: tuple[str, ...]) -> None:
    assert shell("report", "first", "--figures", "drawn/here", *arguments).code == 0
    formats = arguments[1::2] or ("png",)
    expected = {f"{draw.__name__}.{suffix}" for draw in RUN_FIGURES for suffix in formats}
    assert {path.name for path in (shell.folder / "drawn" / "here").iterdir()} == expected


def test_missing_result_directory_is_rejected(shell: Shell, results: Path) -> None:
    result = shell("report", "first", "nowhere")
    assert result.code == 2
    assert result.err.startswith("error: nowhere: not a result directory")
    assert not (shell.folder / "report.html").exists()


def test_unwritable_page_is_reported(shell: Shell, results: Path) -> None:
    result = shell("report", "first", "-o", "no/such/folder/report.html")
    assert result.code == 2
    assert "the folder no/such/folder does not exist" in result.err
