"""`assignor-sim show` and `diff` of a result directory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from assignor_sim.api.running import run as simulate
from assignor_sim.cli import app
from scenarios.load import loads
from simulator.results.result_directory import write_results
from tests.assignor_sim.conftest import SMALL


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("results") / "small"
    comparison = simulate(loads(SMALL))
    write_results(directory, comparison.tables, comparison.manifest)
    return directory


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "140"})


def test_show_prints_the_comparison_and_the_rounds(results: Path) -> None:
    result = run("show", results)
    assert result.exit_code == 0, result.output
    for text in ("cross-", "high_availability, seed 1: ", "sticky, seed 1: ", "late-0 joined", "█"):
        assert text in result.stdout
    sticky = run("show", results, "--assignor", "sticky").stdout
    assert "sticky, seed 1: " in sticky
    assert "high_availability, seed 1: " not in sticky


def test_show_as_json_has_the_runs_and_their_rounds(results: Path) -> None:
    data = json.loads(run("show", results, "--assignor", "sticky", "--format", "json").stdout)
    assert [run["assignor"] for run in data["runs"]] == ["high_availability", "sticky"]
    assert {row["assignor"] for row in data["rounds"]} == {"sticky"}


def test_diff_agrees_with_the_number_of_moves(results: Path) -> None:
    rows = json.loads(run("show", results, "--assignor", "high_availability", "--format", "json").stdout)["rounds"]
    round_ = next(row for row in rows if row["active_moves"])
    options = ("--round", round_["round"], "--assignor", "high_availability")
    [diff] = json.loads(run("diff", results, *options, "--format", "json").stdout)
    moved = [task for task in diff["tasks"] if task["reason"]]
    assert len(moved) == round_["active_moves"]
    assert sum(len(client["lost"]) for client in diff["clients"]) == len(moved)
    assert sorted(task for client in diff["clients"] for task in client["gained"]) == sorted(
        task["task"] for task in moved
    )


def test_diff_shows_all_assignors_or_compares_two(results: Path) -> None:
    all_assignors = run("diff", results, "--round", "2")
    assert all_assignors.exit_code == 0
    assert "high_availability, seed 1: round 2" in all_assignors.stdout
    assert "sticky, seed 1: round 2" in all_assignors.stdout
    both = run("diff", results, "--round", "2", "--assignor", "high_availability", "--assignor", "sticky")
    assert "high_availability and sticky, seed 1: round 2" in both.stdout
    assert "only sticky" in both.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--round", "99"], "no round 99"),
        (["--round", "2", "--assignor", "HA"], "no assignor 'HA' in these results"),
        (["--round", "2", "--seed", "9"], "no seed 9 of high_availability"),
        (["--round", "2", *(["--assignor", "sticky"] * 3)], "expected one, or two"),
    ],
)
def test_unknown_round_assignor_or_seed_is_rejected(results: Path, arguments: list[str], message: str) -> None:
    result = run("diff", results, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize("command", [["show"], ["diff", "--round", "2"]])
def test_directory_without_results_of_a_run_is_rejected(tmp_path: Path, command: list[str]) -> None:
    result = run(*command, tmp_path)
    assert result.exit_code == 2
    assert "not a result directory" in result.stderr
    (tmp_path / "manifest.json").write_text('{"kind": "sweep"}', encoding="utf-8")
    result = run(*command, tmp_path)
    assert result.exit_code == 2
    assert "manifest.json: not a result directory: kind: holds 'sweep', expected runs" in result.stderr
