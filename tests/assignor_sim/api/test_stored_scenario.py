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

pytestmark = pytest.mark.answers

MEASURED = SMALL.replace(", bytes_per_s: 6 MB/s, size: 6 GB", "").replace("duration: 6h", "duration: 2h")


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


@dataclass(frozen=True)
class Measured:
    """A scenario with measured traffic.

    Attributes:
        scenario: the scenario file.
        ingested: the directory of `assignor-sim ingest`.
        name: the path of that directory in the scenario.
    """

    scenario: Path
    ingested: Path
    name: str


@pytest.fixture(
    params=["beside", *(pytest.param(place, marks=pytest.mark.slow) for place in ("below", "above")), "absolute"]
)
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
    """Move the results to another working directory; remove the measurements unless their path is absolute."""
    elsewhere = measured.ingested.parents[1] / "moved"
    shutil.move("results", elsewhere / "archive" / "results")
    monkeypatch.chdir(elsewhere)
    if not Path(measured.name).is_absolute():
        shutil.rmtree(measured.ingested)
    return Path("archive", "results")


def test_results_contain_the_measurements_and_can_be_moved(measured: Measured, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run("run", measured.scenario, "--out", "results")
    assert result.exit_code == 0, result.output
    manifest = json.loads(Path("results", "manifest.json").read_text())
    assert list(manifest["scenario"]["imports"]) == [measured.name]
    rates = Path(*Path(measured.name).parts[-2:], "rates", "part-1.parquet")
    is_stored = Path("results", "scenario", rates).exists()
    assert is_stored != Path(measured.name).is_absolute()
    assert (f"note: explain will read {measured.name} again" in result.stderr) != is_stored

    results = move_away(measured, monkeypatch)
    _, manifest = read_results(results)
    assert dict(read_stored_scenario(results, manifest).imports) == manifest["scenario"]["imports"]
    explanation = run("explain", results, "--task", "0_3")
    assert (explanation.exit_code, explanation.stderr) == (0, ""), explanation.output
    assert run("show", results).exit_code == 0
    assert run("diff", results, "--round", "2").exit_code == 0
    assert run("report", results, "-o", "page.html").exit_code == 0
    assert Path("page.html").stat().st_size


def test_recorded_results_verify_from_another_folder(measured: Measured, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("validate", measured.scenario).exit_code == 0
    assert run("record", measured.scenario).exit_code == 0
    scenario = measured.scenario.absolute()
    monkeypatch.chdir("/")
    verification = run("verify", scenario)
    assert (verification.exit_code, verification.output) == (0, f"{scenario}: as stored\n")


def test_assignors_are_compared_on_measured_traffic(measured: Measured) -> None:
    pair = ("--assignor", "high_availability", "--assignor", "sticky")
    comparison = run("compare", measured.scenario, *pair, "--seeds", "2")
    assert comparison.exit_code == 0, comparison.output
    assert run("frontier", measured.scenario).exit_code == 0


def test_measurements_changed_during_a_run_are_rejected(measured: Measured) -> None:
    loaded = load(measured.scenario)
    shutil.rmtree(measured.ingested)
    write_ingested_folder(measured.ingested, rows_of_day("orders", 6, records=11))
    with pytest.raises(StoredScenarioError, match="has changed since the scenario was loaded"):
        stored_scenario_files(loaded)


@pytest.mark.parametrize("remove", [shutil.rmtree, lambda path: (path / "manifest.json").unlink()])
def test_measurements_removed_during_a_run_are_rejected(measured: Measured, remove: Callable[[Path], None]) -> None:
    loaded = load(measured.scenario)
    remove(measured.ingested)
    with pytest.raises(StoredScenarioError, match="march"):
        stored_scenario_files(loaded)
