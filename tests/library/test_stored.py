"""The shipped scenarios come to what is stored beside them, and a planted change is found."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from assignor_sim.cli import app
from assignor_sim.comparison import compare
from reports.stored import StoredError, differences, read_stored, stored, write_stored
from scenarios.load import load

LIBRARY = Path(__file__).parents[2] / "scenarios" / "library"
NAMES = sorted(path.stem for path in LIBRARY.glob("*.yaml"))
SMALL = "cold_start"


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_scenario_comes_to_what_is_stored(name: str) -> None:
    expected = LIBRARY / f"{name}.expected.json"
    before = read_stored(expected.read_text(encoding="utf-8"), expected.name)
    assert not differences(before, stored(compare(load(LIBRARY / f"{name}.yaml")).tables))


@pytest.fixture(scope="module")
def results() -> str:
    return (LIBRARY / f"{SMALL}.expected.json").read_text(encoding="utf-8")


def test_what_is_written_is_what_is_read(results: str) -> None:
    assert write_stored(read_stored(results, "file")) == results


def test_a_planted_change_of_one_task_is_found(results: str) -> None:
    before = read_stored(results, "file")
    now = copy.deepcopy(before)
    now["runs"][0]["final"]["0_3"] = ["pod-6"]
    [line] = differences(before, now)
    assert line.startswith("cold-start, high_availability, seed 1: task 0_3: ")
    assert line.endswith("was stored, now pod-6")


def test_a_changed_figure_and_the_first_round_that_differs_are_named(results: str) -> None:
    before = read_stored(results, "file")
    now = copy.deepcopy(before)
    now["runs"][1]["figures"]["active_moves"] += 1
    now["runs"][1]["rounds"][2]["digest"] = "0"
    lines = differences(before, now)
    assert len(lines) == 2
    assert "active_moves: " in lines[0]
    assert lines[1].endswith("round 3 is the first that differs: digest")


def test_runs_that_came_or_went_are_named(results: str) -> None:
    before = read_stored(results, "file")
    less = {**before, "runs": before["runs"][1:]}
    assert differences(before, less) == ["cold-start, high_availability, seed 1: is not run any more"]
    assert differences(less, before) == ["cold-start, high_availability, seed 1: was not stored"]


@pytest.mark.parametrize("text", ["", "[]", '{"format": 0, "runs": []}', '{"format": 1}'])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(StoredError, match=r"^here\.json: not stored results"):
        read_stored(text, "here.json")


def test_the_commands_store_verify_and_notice(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text((LIBRARY / f"{SMALL}.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    run = CliRunner().invoke
    assert run(app, ["verify", str(file)]).exit_code == 2
    assert run(app, ["record", str(file)]).exit_code == 0
    assert run(app, ["record", str(file)]).output.strip().endswith("unchanged")
    assert run(app, ["verify", str(file)]).exit_code == 0
    expected = tmp_path / "mine.expected.json"
    changed = json.loads(expected.read_text(encoding="utf-8"))
    changed["runs"][0]["figures"]["rounds"] = 1
    expected.write_text(json.dumps(changed), encoding="utf-8")
    again = run(app, ["verify", str(file)])
    assert again.exit_code == 1
    assert "rounds: 1 was stored" in again.output
