"""`traffic: {from: …}` through the commands, however the ingested directory is named and wherever results go."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from assignor_sim.api.stored_scenario import StoredScenarioError, read_stored_scenario, stored_scenario_files
from assignor_sim.cli import app
from scenarios.load import load
from simulator.results.result_directory import read_results
from tests.assignor_sim.conftest import SMALL
from tests.scenarios.ingested_folders import rows_of_day, write_ingested_folder

MEASURED = SMALL.replace(", bytes_per_s: 6 MB/s, size: 6 GB", "").replace("duration: 6h", "duration: 2h")


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


@dataclass(frozen=True)
class Measured:
    """A scenario whose traffic was ingested; `ingested` is where, `name` what the scenario calls it."""

    scenario: Path
    ingested: Path
    name: str


@pytest.fixture(params=["beside", "below", "above", "absolute"])
def measured(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Measured:
    home = tmp_path / "home"
    folder, name = {
        "beside": (home, "march"),
        "below": (home, "ingested/march"),
        "above": (home / "scenarios", "../ingested/march"),
        "absolute": (home, str(tmp_path / "elsewhere" / "march")),
    }[str(request.param)]
    folder.mkdir(parents=True)
    ingested = Path(os.path.normpath(folder / name))
    write_ingested_folder(
        ingested, rows_of_day("orders", 3, records=10), rows_of_day("orders", 6)[72:], sizes={"orders": [10**9] * 6}
    )
    (folder / "measured.yaml").write_text(f"{MEASURED}traffic: {{from: {name}, quantile: p95}}\n")
    monkeypatch.chdir(home)
    return Measured((folder / "measured.yaml").relative_to(home), ingested, name)


def move_away(measured: Measured, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Move the results to another directory, and work from there; remove what a relative path has led to."""
    elsewhere = measured.ingested.parents[1] / "moved"
    shutil.move("results", elsewhere / "archive" / "results")
    monkeypatch.chdir(elsewhere)
    if not Path(measured.name).is_absolute():
        shutil.rmtree(measured.ingested)
    return Path("archive", "results")


def test_a_run_writes_its_results(measured: Measured) -> None:
    ended = run("run", measured.scenario, "--out", "results")
    assert ended.exit_code == 0, ended.output
    manifest = json.loads(Path("results", "manifest.json").read_text())
    assert list(manifest["scenario"]["imports"]) == [measured.name]
    is_kept = Path("results", "scenario").joinpath(*Path(measured.name).parts[-2:], "rates", "part-1.parquet").exists()
    assert is_kept != Path(measured.name).is_absolute()
    assert (f"note: explain will read {measured.name} again" in ended.stderr) != is_kept


def test_results_need_nothing_else_than_their_directory(measured: Measured, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("run", measured.scenario, "--out", "results").exit_code == 0
    results = move_away(measured, monkeypatch)
    _, manifest = read_results(results)
    assert dict(read_stored_scenario(results, manifest).imports) == manifest["scenario"]["imports"]
    explained = run("explain", results, "--task", "0_3")
    assert (explained.exit_code, explained.stderr) == (0, ""), explained.output
    shown = run("show", results)
    assert shown.exit_code == 0, shown.output
    assert run("diff", results, "--round", "2").exit_code == 0
    assert run("report", results, "-o", "page.html").exit_code == 0
    assert Path("page.html").stat().st_size


def test_what_was_recorded_verifies_from_anywhere(measured: Measured, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("validate", measured.scenario).exit_code == 0
    assert run("record", measured.scenario).exit_code == 0
    scenario = measured.scenario.absolute()
    monkeypatch.chdir("/")
    verified = run("verify", scenario)
    assert (verified.exit_code, verified.output) == (0, f"{scenario}: as stored\n")


def test_assignors_are_compared_on_measured_traffic(measured: Measured) -> None:
    pair = ("--assignor", "high_availability", "--assignor", "sticky")
    compared = run("compare", measured.scenario, *pair, "--seeds", "2")
    assert compared.exit_code == 0, compared.output
    assert run("frontier", measured.scenario).exit_code == 0


def test_measurements_that_change_during_a_run_are_not_kept(measured: Measured) -> None:
    loaded = load(measured.scenario)
    shutil.rmtree(measured.ingested)
    write_ingested_folder(measured.ingested, rows_of_day("orders", 6, records=11))
    with pytest.raises(StoredScenarioError, match="has changed since the scenario was loaded"):
        stored_scenario_files(loaded)


@pytest.mark.parametrize("remove", [shutil.rmtree, lambda path: (path / "manifest.json").unlink()])
def test_measurements_that_go_during_a_run_are_missed(measured: Measured, remove: Callable[[Path], None]) -> None:
    loaded = load(measured.scenario)
    remove(measured.ingested)
    with pytest.raises(StoredScenarioError, match="march"):
        stored_scenario_files(loaded)
