"""Scenarios as tests in a user's project, by the pytest plug-in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from assignor_sim.api import regression
from tests.assignor_sim.conftest import SMALL

pytestmark = pytest.mark.answers

USER_TEST = """
import pytest

def test_run_is_stable(scenario, assignor_sim):
    comparison = assignor_sim.run(scenario, ["sticky"])
    assert comparison.tables["runs"]["verdict"].to_pylist() == ["stable"]

@pytest.mark.parametrize("scenario", ["../scenarios/small.yaml"], indirect=True)
def test_scenario_by_path(scenario):
    assert scenario.name == "small"
"""


ADDED_METRIC = """
from simulator.results.run_metrics import MOVES, RUN_METRICS, MetricUnit, RunMetric

RUN_METRICS["known_clients"] = RunMetric(
    "known_clients", "Known clients", MetricUnit.COUNT, "Clients that ever join.",
    lambda run: len(run.trace.world.clients), int, group=MOVES,
)
"""
USER_TEST_OF_THE_METRIC = """
def test_metric_is_a_column_of_results_and_comparisons(scenario, assignor_sim):
    from reports.render.terminal.comparison import render

    tables = assignor_sim.run(scenario, ["sticky"]).tables
    [value] = tables["runs"]["known_clients"].to_pylist()
    assert "known_clients" in render(tables, "csv")
    assert f"| assignor | Known clients |\\n| --- | ---: |\\n| sticky | {value} |" in render(
        tables, "markdown", metrics=["known_clients"]
    )
"""


class Project:
    """A user's project, in which only assignor-sim is installed."""

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


def test_scenarios_are_tests_that_fail_with_the_differences(project: Project) -> None:
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
    assert "round 1: task 0_3: stored on pod-" in failed.stdout
    assert "Traceback" not in failed.stdout


@pytest.mark.slow
def test_one_declaration_adds_a_metric_without_breaking_stored_results_and_its_removal_is_said(
    project: Project,
) -> None:
    regression.record(project.scenario)
    stored = regression.stored_results_path(project.scenario)
    declaration = project.write("conftest.py", ADDED_METRIC)
    user_test = project.write("tests/test_user.py", USER_TEST_OF_THE_METRIC)
    added = project.pytest("--assignor-scenarios", "scenarios", "tests", "-v")
    assert added.returncode == 0, added.stdout
    assert "scenarios/small.yaml::as_stored PASSED" in added.stdout
    assert "known_clients" not in stored.read_text(encoding="utf-8")
    assert project.pytest("--assignor-scenarios", "scenarios", "--assignor-update").returncode == 0
    num_runs = stored.read_text(encoding="utf-8").count('"known_clients": ')
    assert num_runs > 0
    declaration.unlink()
    user_test.unlink()
    removed = project.pytest("--assignor-scenarios", "scenarios")
    assert removed.returncode == 1
    failures, _, _ = removed.stdout.partition("short test summary info")
    assert failures.count("; this version has no such metric, record again\n") == num_runs
    assert regression.record(project.scenario).startswith(f"stored, {num_runs} difference")
    assert project.pytest("--assignor-scenarios", "scenarios").returncode == 0


def test_fixture_runs_over_all_scenarios_or_the_named_one(project: Project) -> None:
    project.write("tests/test_user.py", USER_TEST)
    project.write("scenarios/more.yaml", SMALL)
    process = project.pytest("--assignor-scenarios", "scenarios", "tests", "-v")
    assert process.returncode == 0, process.stdout
    for name in ("run_is_stable[small]", "run_is_stable[more]", "scenario_by_path[../scenarios/small.yaml]"):
        assert f"tests/test_user.py::test_{name} PASSED" in process.stdout
    assert "scenarios/more.yaml::as_stored SKIPPED" in process.stdout
    unparametrized = project.pytest("tests", "-rs")
    assert "1 passed, 1 skipped" in unparametrized.stdout
    assert "no scenarios: pytest --assignor-scenarios DIR" in unparametrized.stdout


def test_fixture_of_the_project_takes_precedence(project: Project) -> None:
    project.write(
        "tests/test_user.py",
        "import pytest\n\n@pytest.fixture\ndef scenario():\n    return 5\n\n"
        "def test_user(scenario):\n    assert scenario == 5\n",
    )
    assert "1 passed" in project.pytest("tests", "--assignor-scenarios", "scenarios", "-k", "test_user").stdout


def test_mistakes_are_reported_without_traceback(project: Project) -> None:
    missing = project.pytest("--assignor-scenarios", "nowhere")
    assert missing.returncode == pytest.ExitCode.USAGE_ERROR
    assert "nowhere: no such directory" in missing.stderr
    wrong = project.pytest("--assignor-scenarios", "scenarios", "--assignor-tolerance", "speed=3")
    assert wrong.returncode == pytest.ExitCode.USAGE_ERROR
    assert "--assignor-tolerance speed=3: 'speed' is not a metric" in wrong.stderr
    project.scenario.write_text("cluster: 5\n", encoding="utf-8")
    bad = project.pytest("--assignor-scenarios", "scenarios", "--assignor-update")
    assert bad.returncode == 1
    assert "small.yaml:1: " in bad.stdout
    assert "Traceback" not in bad.stdout


def test_unused_plugin_imports_no_package_of_this_project(project: Project) -> None:
    project.write(
        "tests/test_user.py",
        "import sys\n\ndef test_user():\n"
        "    packages = {'assignors', 'scenarios', 'simulator', 'reports', 'numpy', 'pyarrow', 'typer'}\n"
        "    assert not packages & {name.partition('.')[0] for name in sys.modules}\n",
    )
    process = project.pytest("tests")
    assert process.returncode == 0, process.stdout


def test_expectations_are_a_test_without_stored_results(project: Project) -> None:
    project.write("scenarios/met.yaml", SMALL + "expect: {worst_downtime_ms: '< 1h'}\n")
    project.write("scenarios/unmet.yaml", SMALL + "expect: {rebalances: '< 1'}\n")
    result = project.pytest("--assignor-scenarios", "scenarios", "-v")
    assert "scenarios/met.yaml::as_expected PASSED" in result.stdout
    assert "scenarios/unmet.yaml::as_expected FAILED" in result.stdout
    assert "unmet.yaml:23: expect.rebalances: sticky: expected < 1; found " in result.stdout
    assert "1 failed, 1 passed, 1 skipped" in result.stdout
