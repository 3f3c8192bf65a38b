"""`assignor-sim record` and `verify`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner, Result

from assignor_sim.api import regression
from assignor_sim.cli import app
from tests.assignor_sim.conftest import SMALL


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return what `record` stores for the small scenario."""
    file = tmp_path_factory.mktemp("recorded") / "small.yaml"
    file.write_text(SMALL, encoding="utf-8")
    assert regression.record(file) == "stored"
    return regression.stored_results_path(file).read_text(encoding="utf-8")


@pytest.fixture
def file(tmp_path: Path, recorded: str) -> Path:
    """Return the small scenario in its own directory, with its stored results."""
    file = tmp_path / "small.yaml"
    file.write_text(SMALL, encoding="utf-8")
    regression.stored_results_path(file).write_text(recorded, encoding="utf-8")
    return file


def edit_stored(file: Path, edit: Any) -> None:
    """Edit the stored results of a scenario."""
    path = regression.stored_results_path(file)
    data = json.loads(path.read_text(encoding="utf-8"))
    edit(data)
    path.write_text(json.dumps(data), encoding="utf-8")


def test_recorded_results_verify_and_are_not_rewritten(file: Path) -> None:
    before = regression.stored_results_path(file).stat().st_mtime_ns
    assert run("verify", file).output == f"{file}: as stored\n"
    assert run("record", file).output.endswith("small.expected.json: unchanged\n")
    assert regression.stored_results_path(file).stat().st_mtime_ns == before


def test_unchanged_results_still_remove_what_a_killed_writer_has_left(file: Path) -> None:
    target = regression.stored_results_path(file)
    lock = target.with_name(f".{target.name}.lock")
    lock.touch()
    assert run("record", file).output.endswith("small.expected.json: unchanged\n")
    assert not lock.exists()


def test_changed_task_of_one_round_is_reported(file: Path) -> None:
    def move_task(data: Any) -> None:
        data["runs"][0]["rounds"][2]["changes"]["0_3"] = ["app-2", "late"]

    edit_stored(file, move_task)
    result = run("verify", file)
    assert result.exit_code == 1
    headline, title, line = result.output.splitlines()
    assert headline == f"{file}: 1 difference; neither the scenario nor the model has changed, nor any version"
    assert title.strip() == "high_availability, seed 1"
    assert line.strip().startswith("round 3: task 0_3: stored on app-2, standby on late, now on ")


DEFAULT_ASSIGNOR = """
import assignor_sim as sim


class Mine:
    def assign(self, state):
        return sim.HighAvailability().assign(state)
"""
SWAPPING_ASSIGNOR = """
from dataclasses import replace

import assignor_sim as sim


class Mine:
    def assign(self, state):
        first, second, *rest = sim.HighAvailability().assign(state).assignment
        swapped = replace(first, tasks=second.tasks), replace(second, tasks=first.tasks)
        return sim.TaskAssignment((*swapped, *rest))
"""


def test_changed_assignor_is_reported_with_its_tasks(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    module = tmp_path / "changing_assignor.py"
    module.write_text(DEFAULT_ASSIGNOR, encoding="utf-8")
    assert run("record", file, "--assignor", "changing_assignor:Mine").exit_code == 0
    module.write_text(SWAPPING_ASSIGNOR, encoding="utf-8")
    sys.modules.pop("changing_assignor")
    result = run("verify", file, "--assignor", "changing_assignor:Mine", "--format", "json")
    sys.modules.pop("changing_assignor")
    assert result.exit_code == 1
    [verification] = json.loads(result.stdout)
    assert verification["cause"] == "other"
    changes = verification["changes"]
    assert {change["assignor"] for change in changes} == {"changing_assignor:Mine"}
    assert any(change["kind"] == "task" and change["round"] == 1 for change in changes)


def test_changes_of_scenario_and_model_are_distinguished(file: Path) -> None:
    file.write_text(SMALL.replace("num.standby.replicas: 1", "num.standby.replicas: 0"), encoding="utf-8")
    result = run("verify", file)
    assert result.exit_code == 1
    assert "differences; the scenario has changed since (its text)\n" in result.output
    file.write_text(SMALL, encoding="utf-8")

    def older(data: Any) -> None:
        data["model"] = 0
        data["runs"][0]["figures"]["active_moves"] = 99

    edit_stored(file, older)
    result = run("verify", file)
    assert result.exit_code == 1
    assert "1 difference; the model of assignor-sim has changed since (0 then, " in result.output


def test_changed_comment_is_reported_but_changes_no_result(file: Path) -> None:
    file.write_text(f"# A comment.\n{SMALL}", encoding="utf-8")
    result = run("verify", file)
    assert result.exit_code == 0
    assert result.output == f"{file}: as stored, although the scenario has changed since (its text)\n"
    assert run("record", file).output.endswith("stored, same results\n")
    assert run("verify", file).output == f"{file}: as stored\n"


def test_tolerance_allows_a_difference(file: Path) -> None:
    def worse(data: Any) -> None:
        data["runs"][0]["figures"]["cross_rack_bytes"] *= 1.04

    edit_stored(file, worse)
    assert run("verify", file).exit_code == 1
    assert run("verify", file, "--tolerance", "cross_rack_bytes=5%").exit_code == 0
    assert run("verify", file, "--tolerance", "cross_rack_bytes=3%").exit_code == 1
    result = run("verify", file, "--tolerance", "cross_rack=5%")
    assert result.exit_code == 2
    assert "'cross_rack' is not a metric" in result.output


def test_scenarios_without_stored_results_are_skipped_in_a_directory(file: Path) -> None:
    (file.parent / "new.yaml").write_text(SMALL, encoding="utf-8")
    result = run("verify", file.parent, "--junit", file.parent / "out.xml")
    assert result.exit_code == 0
    assert "small.yaml: as stored\n" in result.stdout
    assert "new.yaml: no stored results; run assignor-sim record " in result.stderr
    assert "error:" not in result.stderr, "a skipped scenario of a directory is no error"
    suites = ElementTree.parse(file.parent / "out.xml").getroot()
    assert [(suite.get("tests"), suite.get("skipped")) for suite in suites] == [("1", "1"), ("2", "0")]


def test_invalid_scenario_exits_with_2_after_verifying_the_others(file: Path, tmp_path: Path) -> None:
    new, wrong, empty = tmp_path / "new.yaml", tmp_path / "wrong.yaml", tmp_path / "empty"
    new.write_text(SMALL, encoding="utf-8")
    wrong.write_text("cluster: 5\n", encoding="utf-8")
    regression.stored_results_path(wrong).write_text("{}", encoding="utf-8")
    empty.mkdir()
    not_stored = run("verify", new)
    assert not_stored.exit_code == 2
    assert not_stored.stderr.startswith(f"error: {new}: no stored results; run assignor-sim record ")
    result = run("verify", wrong, file)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {wrong}:1: ")
    assert "small.yaml: as stored" in result.stdout
    assert run("verify", empty).exit_code == run("verify", tmp_path / "none.yaml").exit_code == 2
    assert run("verify", file, "--junit", tmp_path / "nowhere" / "out.xml").exit_code == 2


def test_results_of_another_format_must_be_recorded_again(file: Path) -> None:
    def older(data: Any) -> None:
        data["format"] = 1

    edit_stored(file, older)
    result = run("verify", file)
    assert result.exit_code == 2
    assert "not stored results of format 2: format: input should be 2; record them again" in result.output
    assert run("record", file).output.endswith("small.expected.json: stored\n")
    assert run("verify", file).exit_code == 0


def test_custom_assignor_is_recorded_and_verified(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "from assignors.tasks.legacy_sticky import LegacySticky\n\n\nclass Mine(LegacySticky):\n    '''Mine.'''\n"
    (tmp_path / "own_assignor.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert run("record", file, "--assignor", "own_assignor:Mine").exit_code == 0
    assert run("verify", file, "--assignor", "own_assignor:Mine").exit_code == 0
    result = run("verify", file)
    assert result.exit_code == 1
    assert "own_assignor:Mine, seed 1\n    stored, but no longer run" in result.output
    sys.modules.pop("own_assignor")
