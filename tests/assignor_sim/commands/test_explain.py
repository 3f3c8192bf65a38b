"""`assignor-sim explain`: why a task moved, from a result directory."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from assignor_sim.api.running import run as simulate
from assignor_sim.api.stored_scenario import read_stored_scenario, stored_scenario_files
from reports.analysis.explanation import explain
from reports.render.explanation import record
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
    """Write what `run --out` writes, without figures and report."""
    loaded = load(scenario, overrides)
    comparison = simulate(loaded, assignors)
    write_results(directory, comparison.tables, comparison.manifest, stored_scenario_files(loaded))


@pytest.fixture(scope="module")
def shared_results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explain")
    (folder / "small.yaml").write_text(SMALL)
    write(folder / "results", folder / "small.yaml", RACK_AWARE)
    (folder / "small.yaml").unlink()
    return folder / "results"


@pytest.fixture
def results(shell: Shell, shared_results: Path) -> Path:
    return Path(shutil.copytree(shared_results, shell.folder / "results"))


def explain_as_json(shell: Shell, *arguments: str) -> list[dict[str, Any]]:
    result = shell("explain", "results", "--format", "json", *arguments)
    assert (result.code, result.err) == (0, "")
    records: list[dict[str, Any]] = json.loads(result.out)
    return records


def recorded_moves(results: Path, task: str, assignor: str) -> list[tuple[object, ...]]:
    rows = pq.read_table(results / "moves.parquet").to_pylist()
    return [
        (row["round"], row["role"], row["from_client"], row["to_client"])
        for row in rows
        if row["task"] == task and row["assignor"] == assignor
    ]


def test_every_move_of_every_task_is_explained(shared_results: Path) -> None:
    tables, _ = read_results(shared_results)
    for task in [f"0_{partition}" for partition in range(6)]:
        for assignor in ("high_availability", "sticky"):
            explanation = record(explain(tables, assignor, None, task))
            moves = [
                (move["round"], move["role"], move["from_client"], move["to_client"])
                for move in explanation["moves"]
                if move["round"] != 1
            ]
            assert moves == recorded_moves(shared_results, task, assignor)
            assert all(step["words"] for move in explanation["moves"] for step in move["steps"])


def test_break_even_costs_are_computed_by_another_run(shell: Shell, results: Path) -> None:
    break_evens = [
        (move["break_even"], move["no_break_even"])
        for task in ("0_3", "0_5")
        for explanation in explain_as_json(shell, "--task", task, "--assignor", "high_availability")
        for move in explanation["moves"]
        if move["role"] == "active" and move["from_client"] is not None
    ]
    assert break_evens
    assert all(reason != "not_requested" for _, reason in break_evens)


def test_task_that_never_moved_is_explained(shell: Shell, results: Path) -> None:
    result = shell("explain", "results", "--task", "0_0", "--assignor", "sticky")
    assert result.code == 0, result.err
    assert "0_0 in small, sticky, seed 1\n" in result.out
    assert "Round 1: placed on " in result.out
    assert "Never moved in 2 rounds." in result.out


def test_round_in_which_a_task_stayed_names_its_placement(shell: Shell, results: Path) -> None:
    result = shell("explain", "results", "--task", "0_0", "--assignor", "sticky", "--round", "2")
    assert result.code == 0, result.err
    assert "Round 2: stayed on app-2, assigned in round 1:" in result.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--task", "7_7"), "no task '7_7' in this application (tasks: 0_0, 0_1, 0_2, 0_3, 0_4, 0_5)"),
        (("--task", "nonsense"), "no task 'nonsense' in this application"),
        (("--task", "0_0", "--round", "99"), "no round 99 of high_availability (rounds: 1 to "),
        (("--task", "0_0", "--seed", "9"), "no seed 9 of high_availability (seeds: 1)"),
        (("--task", "0_0", "--assignor", "unknown"), "'unknown' in these results"),
    ],
)
def test_unknown_task_round_seed_or_assignor_is_rejected(
    shell: Shell, results: Path, arguments: tuple[str, ...], message: str
) -> None:
    result = shell("explain", "results", *arguments)
    assert result.code == 2
    assert message in result.err


def test_directory_without_results_is_rejected(shell: Shell) -> None:
    result = shell("explain", ".", "--task", "0_0")
    assert result.code == 2
    assert "not a result directory" in result.err


def explain_with_warning(shell: Shell, results: Path) -> str:
    """Return the warning of a run that cannot be repeated; check that the recorded reasons are printed."""
    result = shell("explain", "results", "--task", "0_3", "--assignor", "high_availability")
    assert result.code == 0
    assert "the cost at which the task would have stayed is unknown" in result.err
    assert "1. to " in result.out
    return result.err


def test_changed_scenario_gives_a_warning(shell: Shell, results: Path) -> None:
    stored = results / "scenario" / "small.yaml"
    stored.write_text(stored.read_text().replace("6 MB/s", "7 MB/s"))
    assert "is not the scenario of the results" in explain_with_warning(shell, results)


def test_results_of_another_model_give_a_warning(shell: Shell, results: Path) -> None:
    manifest = json.loads((results / "manifest.json").read_text())
    (results / "manifest.json").write_text(json.dumps({**manifest, "model": 0}))
    assert "results of model 0; this version has model" in explain_with_warning(shell, results)


def test_missing_scenario_gives_a_warning(shell: Shell, results: Path) -> None:
    shutil.rmtree(results / "scenario")
    assert "no such file" in explain_with_warning(shell, results)


def test_results_that_cannot_be_reproduced_give_a_warning(shell: Shell, results: Path) -> None:
    table = pq.read_table(results / "assignments.parquet")
    swapped = {"app-0": "app-1", "app-1": "app-0"}
    clients = [swapped.get(name, name) for name in table["client"].to_pylist()]
    column = table.schema.get_field_index("client")
    pq.write_table(
        table.set_column(column, table.schema.field(column), pa.array(clients)), results / "assignments.parquet"
    )
    assert "gives other assignments than this result has" in explain_with_warning(shell, results)


def test_results_of_others_import_nothing(shell: Shell, results: Path, importable_folder: Path) -> None:
    """A manifest that names a module must not have it imported, unless the caller names the assignor."""
    marker = shell.folder / "imported"
    shell.write(
        "evil.py",
        f"import assignor_sim\nopen({str(marker)!r}, 'w').close()\n"
        "class Evil:\n    def assign(self, state):\n        return assignor_sim.TaskAssignment(())\n",
    )
    tables, manifest = read_results(results)
    [assignor, *_] = manifest["assignors"]
    only = {name: table.filter(pc.equal(table["assignor"], assignor["label"])) for name, table in tables.items()}
    renamed = {
        name: table.set_column(
            table.schema.get_field_index("assignor"), "assignor", pa.array(["evil:Evil"] * table.num_rows, pa.string())
        )
        for name, table in only.items()
    }
    manifest["assignors"] = [{**assignor, "assignor": "evil:Evil", "label": "evil:Evil"}]
    stored = {path: path.read_bytes() for path in (results / "scenario").rglob("*") if path.is_file()}
    write_results(
        results, tables | renamed, manifest, {str(path.relative_to(results)): text for path, text in stored.items()}
    )
    for command in (("explain", "results", "--task", "0_0"), ("show", "results"), ("diff", "results", "results")):
        outcome = shell(*command)
        assert not marker.exists(), command
        if command[0] == "explain":
            assert (
                "simulated with evil:Evil, which is not built-in; name it to load its code (--assignor evil:Evil)"
                in (outcome.err)
            )
    shell("explain", "results", "--task", "0_0", "--assignor", "evil:Evil")
    assert marker.exists()


def test_imports_of_a_scenario_are_stored(shell: Shell) -> None:
    write(shell.folder / "results", library_folder() / "order_processing.yaml", (("duration", "2h"),), "HA")
    stored = shell.folder / "results" / "scenario"
    assert (stored / "order_processing.yaml").is_file()
    assert (stored / "captured" / "topology.txt").is_file()
    assert explain_as_json(shell, "--task", "6_5")[0]["moves"]


def test_imports_from_a_parent_folder_are_stored_in_the_results(shell: Shell) -> None:
    inner = shell.folder / "scenarios"
    inner.mkdir()
    shutil.copytree(library_folder() / "captured", shell.folder / "captured")
    text = (library_folder() / "order_processing.yaml").read_text().replace("captured/", "../captured/")
    (inner / "order_processing.yaml").write_text(text)
    write(shell.folder / "results", inner / "order_processing.yaml", (("duration", "2h"),), "HA")
    stored = shell.folder / "results" / "scenario"
    assert (stored / "up" / "order_processing.yaml").is_file()
    assert (stored / "captured" / "topology.txt").is_file()
    shutil.rmtree(shell.folder / "captured")
    shutil.rmtree(inner)
    _, manifest = read_results(shell.folder / "results")
    assert read_stored_scenario(shell.folder / "results", manifest).imports
