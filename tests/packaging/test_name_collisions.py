"""A user's project whose folders have the names of this project's packages: `reports/`, `scenarios/`, …

A wheel has one top-level package, `assignor_sim`, so the user's packages and this project's never meet. A checkout has
six: there the project's packages come first once `assignor_sim` is imported.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.assignor_sim.conftest import SMALL

ROOT = Path(__file__).parents[2]
NAMES = ("assignors", "pipeline", "reports", "scenarios", "simulator")
USE = """
import reports, scenarios, simulator, pipeline, assignors
import assignor_sim as sim
result = sim.run(sim.load("small.yaml"), "sticky", seed=1)
assert len(result.to_pandas()) == 1
import reports.monthly
assert {each.OWNER for each in (reports, scenarios, simulator, pipeline, assignors)} == {"user"}
assert reports.monthly.OWNER == "user"
print("works")
"""
OWN_TEST = """
from reports import OWNER

def test_both_packages(assignor_sim):
    result = assignor_sim.run(assignor_sim.load("small.yaml"), "sticky", seed=1)
    assert OWNER == "user"
    assert len(result.to_pandas()) == 1
"""


@dataclass(frozen=True)
class Project:
    """A user's project with colliding names, and where assignor-sim is imported from.

    Attributes:
        folder: the project.
        path: what is on `PYTHONPATH`.
    """

    folder: Path
    path: Path

    def python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(self.path), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            timeout=120,
        )


def user_project(folder: Path) -> Path:
    for name in NAMES:
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text("OWNER = 'user'\n")
    (folder / "reports" / "monthly.py").write_text("OWNER = 'user'\n")
    (folder / "small.yaml").write_text(SMALL)
    (folder / "use.py").write_text(USE)
    (folder / "test_own.py").write_text(OWN_TEST)
    (folder / "pytest.ini").write_text("[pytest]\n")
    return folder


@pytest.fixture
def project(tmp_path: Path, installed: Path) -> Project:
    return Project(user_project(tmp_path), installed)


@pytest.fixture
def project_of_checkout(tmp_path: Path) -> Project:
    return Project(user_project(tmp_path), ROOT)


def test_a_wheel_comes_from_where_it_was_installed(project: Project, installed: Path) -> None:
    done = project.python("-c", "import assignor_sim; print(assignor_sim.__file__)")
    assert Path(done.stdout.strip()).is_relative_to(installed), done.stderr


@pytest.mark.parametrize("arguments", [["-c", USE], ["use.py"], ["-m", "use"]], ids=["-c", "script", "-m"])
def test_both_packages_of_one_name_work_in_one_process(project: Project, arguments: list[str]) -> None:
    done = project.python(*arguments)
    assert done.stdout == "works\n", done.stderr


def test_the_command_runs_in_such_a_folder(project: Project) -> None:
    script = "import sys; from assignor_sim.cli import main; sys.exit(main())"
    for command in (["-m", "assignor_sim"], ["-c", script]):
        done = project.python(*command, "run", "small.yaml", "--assignor", "sticky", "--out", f"out{len(command[1])}")
        assert done.returncode == 0, done.stderr
        assert "sticky" in done.stdout


@pytest.mark.parametrize("mode", ["prepend", "append", "importlib"])
def test_the_pytest_plugin_runs_in_such_a_folder(project: Project, mode: str) -> None:
    arguments = ["-m", "pytest", "-q", f"--import-mode={mode}", "-p", "assignor_sim.pytest_plugin"]
    done = project.python(*arguments, "-p", "no:cacheprovider")
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_sweeps_name_the_nested_module_for_their_workers(project: Project) -> None:
    done = project.python("-c", "from assignor_sim.pipeline.worker import simulate_chunks as f; print(f.__module__)")
    assert done.stdout == "assignor_sim.pipeline.worker\n", done.stderr


def test_in_a_checkout_its_packages_come_first(project_of_checkout: Project) -> None:
    code = "import assignor_sim as sim, reports; print(len(sim.load('small.yaml').seeds), hasattr(reports, 'OWNER'))"
    done = project_of_checkout.python("-c", code)
    assert done.stdout.split()[1:] == ["False"], done.stderr
    done = project_of_checkout.python("-m", "assignor_sim", "validate", "small.yaml")
    assert done.returncode == 0, done.stderr


def test_in_a_checkout_a_package_of_the_user_that_came_first_is_named(project_of_checkout: Project) -> None:
    done = project_of_checkout.python("-c", "import reports, assignor_sim")
    assert "package 'reports' was imported from" in done.stderr
    assert "install the wheel" in done.stderr
