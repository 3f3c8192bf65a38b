"""Results of every scenario can be stored and read again, also of clients that do not announce their racks."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

import assignor_sim as sim
from assignor_sim.api.results import RunResult
from scenarios.load import Scenario, load, loads
from scenarios.shipped import list_scenarios
from simulator.results.result_directory import read_results, write_results
from tests.assignor_sim.conftest import SMALL as SMALL_RUN
from tests.assignor_sim.conftest import Shell
from tests.scenarios.scenario_texts import FULL, RUNNING, SMALL

pytestmark = pytest.mark.answers

WITHOUT_RACKS = SMALL_RUN.replace("threads: 2", "threads: 2, client_rack: false")


def check_readable(scenario: Scenario, folder: Path) -> None:
    """Check that the tables of a short run are those that were written."""
    early = tuple(event for event in scenario.blueprint.events if event.at_ms < 2_400_000)
    short = dataclasses.replace(scenario.blueprint, duration_ms=2_400_000, events=early)
    result: RunResult = sim.run(
        dataclasses.replace(scenario, blueprint=short), seed=1, keep_traces=False, ranges=False, max_rebalances=12
    )
    write_results(folder, result.tables, result.manifest, {})
    tables, _ = read_results(folder)
    assert all(tables[name].equals(table) for name, table in result.tables.items() if name in tables)


@pytest.mark.parametrize("path", list_scenarios(), ids=lambda path: path.stem)
def test_results_of_shipped_scenarios_can_be_read(path: Path, tmp_path: Path) -> None:
    check_readable(load(path), tmp_path / "out")


@pytest.mark.parametrize("text", [SMALL, FULL, RUNNING, WITHOUT_RACKS], ids=["small", "full", "running", "no racks"])
def test_results_of_other_scenarios_can_be_read(text: str, tmp_path: Path) -> None:
    check_readable(loads(text), tmp_path / "out")


@pytest.mark.slow
def test_show_prints_runs_of_clients_that_do_not_announce_their_racks(tmp_path: Path) -> None:
    sim.run(loads(WITHOUT_RACKS)).save(tmp_path / "out")
    shell = Shell(tmp_path)
    result = shell("show", "out", COLUMNS="80")
    assert (result.code, result.err) == (0, "")
    assert "high_availability" in result.out
    assert '"cross_rack_source_partitions": null' in shell("show", "out", "--format", "json").out
