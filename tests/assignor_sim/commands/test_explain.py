"""`assignor-sim explain`: why a task moved, from a directory of results."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assignor_sim.api.running import run as simulate
from assignor_sim.api.stored_scenario import read_stored_scenario, stored_scenario_files
from reports.analysis.explanation import explain
from reports.render.terminal.explanation import record
from scenarios.load import load
from scenarios.shipped import library_folder
from simulator.results.result_directory import read_results, write_results
from tests.assignor_sim.conftest import SMALL, Shell

RACK_AWARE = (
    ("application.configs.rack.aware.assignment.strategy", "min_traffic"),
    ("application.configs.rack.aware.assignment.traffic_cost", "10"),
    ("application.configs.rack.aware.assignment.non_overlap_cost", "1"),
)


def write(directory: Path, scenario: Path, overrides: tuple[tuple[str, str], ...], *assignors: str) -> None:
    """What `run --out` writes, without figures and report."""
    loaded = load(scenario, overrides)
    comparison = simulate(loaded, assignors)
    write_results(directory, comparison.tables, comparison.manifest, stored_scenario_files(loaded))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explain")
    (folder / "small.yaml").write_text(SMALL)
    write(folder / "results", folder / "small.yaml", RACK_AWARE)
    (folder / "small.yaml").unlink()
    return folder / "results"


@pytest.fixture
def results(shell: Shell, written: Path) -> Path:
    return Path(shutil.copytree(written, shell.folder / "results"))


def told(shell: Shell, *arguments: str) -> list[dict[str, Any]]:
    ended = shell("explain", "results", "--format", "json", *arguments)
    assert (ended.code, ended.err) == (0, "")
    records: list[dict[str, Any]] = json.loads(ended.out)
    return records


def moves_of(results: Path, task: str, assignor: str) -> list[tuple[object, ...]]:
    rows = pq.read_table(results / "moves.parquet").to_pylist()
    return [
        (row["round"], row["role"], row["from_client"], row["to_client"])
        for row in rows
        if row["task"] == task and row["assignor"] == assignor
    ]


def test_every_task_of_a_run_can_be_asked_and_every_move_of_it_is_told(written: Path) -> None:
    tables, _ = read_results(written)
    for task in [f"0_{partition}" for partition in range(6)]:
        for assignor in ("high_availability", "sticky"):
            each = record(explain(tables, assignor, None, task))
            found = [
                (move["round"], move["role"], move["from_client"], move["to_client"])
                for move in each["moves"]
                if move["round"] != 1
            ]
            assert found == moves_of(written, task, assignor)
            assert all(step["words"] for move in each["moves"] for step in move["steps"])


def test_what_cost_would_have_kept_a_task_is_found_by_running_again(shell: Shell, results: Path) -> None:
    evens = [
        (move["break_even"], move["no_break_even"])
        for task in ("0_3", "0_5")
        for each in told(shell, "--task", task, "--assignor", "high_availability")
        for move in each["moves"]
        if move["role"] == "active" and move["from_client"] is not None
    ]
    assert evens
    assert all(why != "not_asked" for _, why in evens)


def test_a_task_that_never_moved_gets_an_answer(shell: Shell, results: Path) -> None:
    ended = shell("explain", "results", "--task", "0_0", "--assignor", "sticky")
    assert ended.code == 0, ended.err
    assert "0_0 in small, sticky, seed 1\n" in ended.out
    assert "Round 1: placed on " in ended.out
    assert "Never moved in 2 rounds." in ended.out


def test_a_round_in_which_a_task_stayed_says_since_when(shell: Shell, results: Path) -> None:
    ended = shell("explain", "results", "--task", "0_0", "--assignor", "sticky", "--round", "2")
    assert ended.code == 0, ended.err
    assert "Round 2: stayed on app-2, assigned in round 1:" in ended.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--task", "7_7"), "no task '7_7' in this application (tasks: 0_0, 0_1, 0_2, 0_3, 0_4, 0_5)"),
        (("--task", "nonsense"), "no task 'nonsense' in this application"),
        (("--task", "0_0", "--round", "99"), "no round 99 of high_availability (rounds: 1 to "),
        (("--task", "0_0", "--seed", "9"), "no seed 9 of high_availability (seeds: 1)"),
        (("--task", "0_0", "--assignor", "nobody"), "'nobody' in these results"),
    ],
)
def test_what_is_not_there_is_named(shell: Shell, results: Path, arguments: tuple[str, ...], said: str) -> None:
    ended = shell("explain", "results", *arguments)
    assert ended.code == 2
    assert said in ended.err
    assert "Traceback" not in ended.err


def test_a_directory_without_results_is_bad_input(shell: Shell) -> None:
    ended = shell("explain", ".", "--task", "0_0")
    assert ended.code == 2
    assert "not a result directory" in ended.err


def warned(shell: Shell, results: Path) -> str:
    """What is said where the run cannot be made again; the reasons in the results are told all the same."""
    ended = shell("explain", "results", "--task", "0_3", "--assignor", "high_availability")
    assert ended.code == 0
    assert "the cost at which the task would have stayed is unknown" in ended.err
    assert "1. to " in ended.out
    return ended.err


def test_another_text_of_the_scenario_is_said(shell: Shell, results: Path) -> None:
    kept = results / "scenario" / "small.yaml"
    kept.write_text(kept.read_text().replace("6 MB/s", "7 MB/s"))
    assert "is not the scenario of the results" in warned(shell, results)


def test_results_of_another_model_are_said(shell: Shell, results: Path) -> None:
    manifest = json.loads((results / "manifest.json").read_text())
    (results / "manifest.json").write_text(json.dumps({**manifest, "model": 0}))
    assert "results of model 0; this version has model" in warned(shell, results)


def test_a_kept_scenario_that_is_gone_is_said(shell: Shell, results: Path) -> None:
    shutil.rmtree(results / "scenario")
    assert "no such file" in warned(shell, results)


def test_results_that_running_again_does_not_give_are_said(shell: Shell, results: Path) -> None:
    table = pq.read_table(results / "assignments.parquet")
    clients = ["app-0" if name == "app-1" else name for name in table["client"].to_pylist()]
    column = table.schema.get_field_index("client")
    pq.write_table(
        table.set_column(column, table.schema.field(column), pa.array(clients)), results / "assignments.parquet"
    )
    assert "gives other assignments than this result has" in warned(shell, results)


def test_what_a_scenario_imports_is_kept_with_it(shell: Shell) -> None:
    write(shell.folder / "results", library_folder() / "order_processing.yaml", (("duration", "2h"),), "HA")
    kept = shell.folder / "results" / "scenario"
    assert (kept / "order_processing.yaml").is_file()
    assert (kept / "captured" / "topology.txt").is_file()
    assert told(shell, "--task", "6_5")[0]["moves"]


def test_what_is_imported_from_above_the_scenario_stays_within_the_results(shell: Shell) -> None:
    inner = shell.folder / "scenarios"
    inner.mkdir()
    shutil.copytree(library_folder() / "captured", shell.folder / "captured")
    text = (library_folder() / "order_processing.yaml").read_text().replace("captured/", "../captured/")
    (inner / "order_processing.yaml").write_text(text)
    write(shell.folder / "results", inner / "order_processing.yaml", (("duration", "2h"),), "HA")
    kept = shell.folder / "results" / "scenario"
    assert (kept / "up" / "order_processing.yaml").is_file()
    assert (kept / "captured" / "topology.txt").is_file()
    shutil.rmtree(shell.folder / "captured")
    shutil.rmtree(inner)
    _, manifest = read_results(shell.folder / "results")
    assert read_stored_scenario(shell.folder / "results", manifest).imports
