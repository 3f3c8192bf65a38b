"""Scenarios as tests in somebody else's project, by the plug-in for pytest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from assignor_sim.api import regression
from tests.assignor_sim.conftest import SMALL

OWN_TEST = """
import pytest

def test_it_comes_to_rest(scenario, assignor_sim):
    comparison = assignor_sim.run(scenario, ["sticky"])
    assert comparison.tables["runs"]["verdict"].to_pylist() == ["stable"]

@pytest.mark.parametrize("scenario", ["../scenarios/small.yaml"], indirect=True)
def test_one_is_named(scenario):
    assert scenario.name == "small"
"""


class Project:
    """Another project, in which only assignor-sim is installed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scenario = self.write("scenarios/small.yaml", SMALL)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def pytest(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pytest", "-p", "assignor_sim.pytest_plugin", "-p", "no:cacheprovider"]
        return subprocess.run(
            [*command, *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            timeout=120,
        )


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_scenarios_are_tests_that_fail_with_what_has_changed(project: Project) -> None:
    first = project.pytest("--assignor-scenarios", "scenarios", "-rs")
    assert first.returncode == 0, first.stdout
    assert "no stored results: assignor-sim record small.yaml, or pytest --assignor-update" in first.stdout
    assert project.pytest("--assignor-scenarios", "scenarios", "--assignor-update").returncode == 0
    passed = project.pytest("--assignor-scenarios", "scenarios", "-v")
    assert "scenarios/small.yaml::as_stored PASSED" in passed.stdout
    stored = regression.stored_results_path(project.scenario)
    text = stored.read_text(encoding="utf-8")
    stored.write_text(text.replace('"0_3": ["app-', '"0_3": ["pod-', 1), encoding="utf-8")
    failed = project.pytest("--assignor-scenarios", "scenarios")
    assert failed.returncode == 1
    assert "round 1: task 0_3 was on pod-" in failed.stdout
    assert "Traceback" not in failed.stdout


def test_own_tests_take_every_scenario_in_turn_or_the_one_that_they_name(project: Project) -> None:
    project.write("tests/test_own.py", OWN_TEST)
    project.write("scenarios/more.yaml", SMALL)
    done = project.pytest("--assignor-scenarios", "scenarios", "tests", "-v")
    assert done.returncode == 0, done.stdout
    for name in ("rest[small]", "rest[more]", "named[../scenarios/small.yaml]"):
        assert f"tests/test_own.py::test_{'it_comes_to_' if 'rest' in name else 'one_is_'}{name} PASSED" in done.stdout
    assert "scenarios/more.yaml::as_stored SKIPPED" in done.stdout
    without = project.pytest("tests", "-rs")
    assert "1 passed, 1 skipped" in without.stdout
    assert "no scenarios: pytest --assignor-scenarios DIR" in without.stdout


def test_a_project_with_a_fixture_of_the_same_name_keeps_its_own(project: Project) -> None:
    project.write(
        "tests/test_own.py",
        "import pytest\n\n@pytest.fixture\ndef scenario():\n    return 5\n\n"
        "def test_own(scenario):\n    assert scenario == 5\n",
    )
    assert "1 passed" in project.pytest("tests", "--assignor-scenarios", "scenarios", "-k", "own").stdout


def test_mistakes_are_messages(project: Project) -> None:
    nowhere = project.pytest("--assignor-scenarios", "nowhere")
    assert nowhere.returncode == pytest.ExitCode.USAGE_ERROR
    assert "nowhere: no such directory" in nowhere.stderr
    wrong = project.pytest("--assignor-scenarios", "scenarios", "--assignor-tolerance", "speed=3")
    assert wrong.returncode == pytest.ExitCode.USAGE_ERROR
    assert "--assignor-tolerance speed=3: 'speed' is not a metric" in wrong.stderr
    project.scenario.write_text("cluster: 5\n", encoding="utf-8")
    bad = project.pytest("--assignor-scenarios", "scenarios", "--assignor-update")
    assert bad.returncode == 1
    assert "small.yaml:1: " in bad.stdout
    assert "Traceback" not in bad.stdout


def test_where_it_is_not_used_it_imports_nothing_of_ours(project: Project) -> None:
    project.write(
        "tests/test_own.py",
        "import sys\n\ndef test_own():\n"
        "    ours = {'assignors', 'scenarios', 'simulator', 'reports', 'numpy', 'pyarrow', 'typer'}\n"
        "    assert not ours & {name.partition('.')[0] for name in sys.modules}\n",
    )
    done = project.pytest("tests")
    assert done.returncode == 0, done.stdout
