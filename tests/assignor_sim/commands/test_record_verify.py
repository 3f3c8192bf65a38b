"""`assignor-sim record` and `verify`, as a team uses them."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner, Result

import assignor_sim as sim
from assignor_sim.api import regression
from assignor_sim.cli import app
from assignors import registry
from assignors.tasks.high_availability import HighAvailability
from tests.assignor_sim.conftest import SMALL


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What `record` stores of the small scenario."""
    file = tmp_path_factory.mktemp("recorded") / "small.yaml"
    file.write_text(SMALL, encoding="utf-8")
    assert regression.record(file) == "stored"
    return regression.stored_results_path(file).read_text(encoding="utf-8")


@pytest.fixture
def file(tmp_path: Path, recorded: str) -> Path:
    """The small scenario in a directory of its own, with its stored results."""
    file = tmp_path / "small.yaml"
    file.write_text(SMALL, encoding="utf-8")
    regression.stored_results_path(file).write_text(recorded, encoding="utf-8")
    return file


def change(file: Path, edit: Any) -> None:
    """Change the stored results of a scenario as with an editor."""
    path = regression.stored_results_path(file)
    data = json.loads(path.read_text(encoding="utf-8"))
    edit(data)
    path.write_text(json.dumps(data), encoding="utf-8")


def test_what_was_recorded_verifies_and_is_not_written_again(file: Path) -> None:
    before = regression.stored_results_path(file).stat().st_mtime_ns
    assert run("verify", file).output == f"{file}: as stored\n"
    assert run("record", file).output.endswith("small.expected.json: unchanged\n")
    assert regression.stored_results_path(file).stat().st_mtime_ns == before


def test_a_planted_change_of_one_task_in_one_round_is_found_and_named(file: Path) -> None:
    def plant(data: Any) -> None:
        data["runs"][0]["rounds"][2]["changes"]["0_3"] = ["app-2", "late"]

    change(file, plant)
    ended = run("verify", file)
    assert ended.exit_code == 1
    headline, title, line = ended.output.splitlines()
    assert headline == f"{file}: 1 difference; neither the scenario nor the model has changed, nor any version"
    assert title.strip() == "high_availability, seed 1"
    assert line.strip().startswith("round 3: task 0_3: stored on app-2, standby on late, now on ")


class Swapped:
    """Kafka's default, but the first two clients get what the other should have had."""

    def assign(self, state: sim.ApplicationState) -> sim.TaskAssignment:
        one, other, *rest = HighAvailability().assign(state).assignment
        swapped = replace(one, tasks=other.tasks), replace(other, tasks=one.tasks)
        return sim.TaskAssignment((*swapped, *rest))


def test_a_mutated_assignor_is_found_with_its_tasks(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    true = registry.make

    def make(info: registry.AssignorInfo, parameters: Mapping[str, Any] | None = None) -> sim.TaskAssignor:
        return Swapped() if info.name == "high_availability" else true(info, parameters)

    monkeypatch.setattr(registry, "make", make)
    ended = run("verify", file, "--format", "json")
    assert ended.exit_code == 1
    [found] = json.loads(ended.stdout)
    assert found["cause"] == "other"
    changed = found["changes"]
    assert {each["assignor"] for each in changed} == {"high_availability"}
    assert any(each["kind"] == "task" and each["round"] == 1 for each in changed)


def test_a_change_of_the_scenario_is_told_from_one_of_the_model(file: Path) -> None:
    file.write_text(SMALL.replace("num.standby.replicas: 1", "num.standby.replicas: 0"), encoding="utf-8")
    ended = run("verify", file)
    assert ended.exit_code == 1
    assert "differences; the scenario has changed since (its text)\n" in ended.output
    file.write_text(SMALL, encoding="utf-8")

    def older(data: Any) -> None:
        data["model"] = 0
        data["runs"][0]["figures"]["active_moves"] = 99

    change(file, older)
    ended = run("verify", file)
    assert ended.exit_code == 1
    assert "1 difference; the model of assignor-sim has changed since (0 then, " in ended.output


def test_a_comment_in_the_scenario_changes_no_result_and_is_said_all_the_same(file: Path) -> None:
    file.write_text(f"# A comment.\n{SMALL}", encoding="utf-8")
    ended = run("verify", file)
    assert ended.exit_code == 0
    assert ended.output == f"{file}: as stored, although the scenario has changed since (its text)\n"
    assert run("record", file).output.endswith("stored, same results\n")
    assert run("verify", file).output == f"{file}: as stored\n"


def test_a_tolerance_lets_a_figure_pass_and_a_wrong_one_is_bad_input(file: Path) -> None:
    def worse(data: Any) -> None:
        data["runs"][0]["figures"]["cross_rack_bytes"] *= 1.04

    change(file, worse)
    assert run("verify", file).exit_code == 1
    assert run("verify", file, "--tolerance", "cross_rack_bytes=5%").exit_code == 0
    assert run("verify", file, "--tolerance", "cross_rack_bytes=3%").exit_code == 1
    ended = run("verify", file, "--tolerance", "cross_rack=5%")
    assert ended.exit_code == 2
    assert "'cross_rack' is not a metric" in ended.output


def test_of_a_directory_all_that_has_stored_results_is_verified_and_the_rest_named(file: Path) -> None:
    (file.parent / "new.yaml").write_text(SMALL, encoding="utf-8")
    ended = run("verify", file.parent, "--junit", file.parent / "out.xml")
    assert ended.exit_code == 0
    assert "small.yaml: as stored\n" in ended.stdout
    assert "new.yaml: no stored results; run assignor-sim record " in ended.stderr
    suites = ElementTree.parse(file.parent / "out.xml").getroot()
    assert [(suite.get("tests"), suite.get("skipped")) for suite in suites] == [("1", "1"), ("2", "0")]


def test_bad_input_ends_with_2_and_what_else_was_named_is_verified_all_the_same(file: Path, tmp_path: Path) -> None:
    new, wrong, empty = tmp_path / "new.yaml", tmp_path / "wrong.yaml", tmp_path / "empty"
    new.write_text(SMALL, encoding="utf-8")
    wrong.write_text("cluster: 5\n", encoding="utf-8")
    regression.stored_results_path(wrong).write_text("{}", encoding="utf-8")
    empty.mkdir()
    assert run("verify", new).exit_code == 2
    ended = run("verify", wrong, file)
    assert ended.exit_code == 2
    assert "wrong.yaml:1: " in ended.stderr
    assert "small.yaml: as stored" in ended.stdout
    assert run("verify", empty).exit_code == run("verify", tmp_path / "none.yaml").exit_code == 2
    assert run("verify", file, "--junit", tmp_path / "nowhere" / "out.xml").exit_code == 2


def test_results_of_an_older_format_are_to_be_recorded_anew(file: Path) -> None:
    def older(data: Any) -> None:
        data["format"] = 1

    change(file, older)
    ended = run("verify", file)
    assert ended.exit_code == 2
    assert "not stored results of format 2; record them again" in ended.output
    assert run("record", file).output.endswith("small.expected.json: stored\n")
    assert run("verify", file).exit_code == 0


def test_ones_own_assignor_is_recorded_and_verified_by_name(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = "from assignors.tasks.legacy_sticky import LegacySticky\n\n\nclass Mine(LegacySticky):\n    '''Mine.'''\n"
    (tmp_path / "own_assignor.py").write_text(own, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert run("record", file, "--assignor", "own_assignor:Mine").exit_code == 0
    assert run("verify", file, "--assignor", "own_assignor:Mine").exit_code == 0
    ended = run("verify", file)
    assert ended.exit_code == 1
    assert "own_assignor:Mine, seed 1\n    stored, but no longer run" in ended.output
    sys.modules.pop("own_assignor")
