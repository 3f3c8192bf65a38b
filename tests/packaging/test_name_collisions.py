"""A user's project with packages of the same names as this project's: `reports/`, `scenarios/`, …

A wheel has one top-level package, `assignor_sim`, so the names do not collide. A checkout has six top-level packages:
once `assignor_sim` is imported, they take precedence.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.assignor_sim.conftest import SMALL

pytestmark = pytest.mark.answers

ROOT = Path(__file__).parents[2]
NAMES = ("assignors", "pipeline", "reports", "scenarios", "simulator")
USER_CODE = """
import reports, scenarios, simulator, pipeline, assignors
import assignor_sim as sim
result = sim.run(sim.load("small.yaml"), "sticky", seed=1)
assert len(result.to_pandas()) == 1
import reports.monthly
assert {package.OWNER for package in (reports, scenarios, simulator, pipeline, assignors)} == {"user"}
assert reports.monthly.OWNER == "user"
print("works")
"""
USER_TEST = """
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


def write_project(folder: Path) -> Path:
    for name in NAMES:
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text("OWNER = 'user'\n")
    (folder / "reports" / "monthly.py").write_text("OWNER = 'user'\n")
    (folder / "small.yaml").write_text(SMALL)
    (folder / "use.py").write_text(USER_CODE)
    (folder / "test_user.py").write_text(USER_TEST)
    (folder / "pytest.ini").write_text("[pytest]\n")
    return folder


@pytest.fixture
def project(tmp_path: Path, installed: Path) -> Project:
    return Project(write_project(tmp_path), installed)


@pytest.fixture
def checkout_project(tmp_path: Path) -> Project:
    return Project(write_project(tmp_path), ROOT)


@pytest.mark.slow
def test_wheel_is_imported_from_where_it_is_installed(project: Project, installed: Path) -> None:
    process = project.python("-c", "import assignor_sim; print(assignor_sim.__file__)")
    assert Path(process.stdout.strip()).is_relative_to(installed), process.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["use.py"], marks=pytest.mark.slow),
        pytest.param(["-c", USER_CODE], marks=pytest.mark.slow),
        pytest.param(["-m", "use"], marks=pytest.mark.slow),
    ],
    ids=["script", "-c", "-m"],
)
def test_both_packages_of_a_name_work_in_one_process(project: Project, arguments: list[str]) -> None:
    process = project.python(*arguments)
    assert process.stdout == "works\n", process.stderr


def test_command_runs_in_the_project(project: Project) -> None:
    script = "import sys; from assignor_sim.cli import main; sys.exit(main())"
    for command, options in ((["-m", "assignor_sim"], ["--out", "out"]), (["-c", script], [])):
        process = project.python(*command, "run", "small.yaml", "--assignor", "sticky", *options)
        assert process.returncode == 0, process.stderr
        assert "sticky" in process.stdout
    assert (project.folder / "out" / "report.html").is_file()


@pytest.mark.slow
@pytest.mark.parametrize(
    "mode", ["importlib", *(pytest.param(mode, marks=pytest.mark.slow) for mode in ("prepend", "append"))]
)
def test_pytest_plugin_runs_in_the_project(project: Project, mode: str) -> None:
    arguments = ["-m", "pytest", "-q", f"--import-mode={mode}", "-p", "assignor_sim.pytest_plugin"]
    process = project.python(*arguments, "-p", "no:cacheprovider")
    assert "1 passed" in process.stdout, process.stdout + process.stderr


def test_worker_function_has_the_nested_module_name(project: Project) -> None:
    process = project.python("-c", "from assignor_sim.pipeline.worker import simulate_chunks as f; print(f.__module__)")
    assert process.stdout == "assignor_sim.pipeline.worker\n", process.stderr


def test_packages_of_the_checkout_take_precedence(checkout_project: Project) -> None:
    code = "import assignor_sim as sim, reports; print(len(sim.load('small.yaml').seeds), hasattr(reports, 'OWNER'))"
    process = checkout_project.python("-c", code)
    assert process.stdout.split()[1:] == ["False"], process.stderr
    process = checkout_project.python("-m", "assignor_sim", "validate", "small.yaml")
    assert process.returncode == 0, process.stderr


def test_user_package_imported_before_the_checkout_is_reported(checkout_project: Project) -> None:
    process = checkout_project.python("-c", "import reports, assignor_sim")
    assert "package 'reports' was imported from" in process.stderr
    assert "install the wheel" in process.stderr
