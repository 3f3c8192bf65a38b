"""make sets up .venv when one of its inputs has changed, and only then.

The interpreter is a fake: its environments log the commands that they are to run, and nothing is installed.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Called with -c by tools/check_machine.sh, and with -m venv by make.
INTERPRETER = """#!/bin/sh
case "$1" in
-c) echo 3.11; echo "$0" ;;
-m) rm -rf .venv; mkdir -p .venv/bin; cp environment_python .venv/bin/python; echo "$*" >>calls ;;
esac
"""
JAVA = """#!/bin/sh
echo 'openjdk version "17.0.15"'
echo jdk.compiler@17
"""
LOGGING = """#!/bin/sh
echo "$*" >>calls
"""
WITHOUT_NETWORK = """#!/bin/sh
echo "$*" >>calls
case "$*" in *" pip "*) exit 1 ;; esac
"""
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
TESTS = "-m pytest --numprocesses=auto --dist=loadfile"


@dataclass(frozen=True, slots=True)
class Checkout:
    """A folder, with a space in its path, with the files that the set-up reads."""

    path: Path

    def write_program(self, name: str, text: str) -> None:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        file.chmod(0o755)

    def edit(self, name: str, old: str, new: str) -> None:
        text = (self.path / name).read_text(encoding="utf-8")
        assert old in text
        (self.path / name).write_text(text.replace(old, new), encoding="utf-8")

    def make(self, *arguments: str, java_home: str = "jdk") -> subprocess.CompletedProcess[str]:
        """Run make without the flags of a make that runs these tests."""
        outer = {"MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "ARGS"}
        environment = {name: value for name, value in os.environ.items() if name not in outer}
        command = ["make", *arguments, "PYTHON=./interpreter", f"JAVA_HOME={java_home}"]
        return subprocess.run(command, cwd=self.path, env=environment, capture_output=True, text=True)

    def calls(self, *arguments: str) -> list[str]:
        """Run make and return the logged commands."""
        log = self.path / "calls"
        log.unlink(missing_ok=True)
        self.make(*arguments)
        return log.read_text(encoding="utf-8").splitlines()

    def stamps(self) -> list[Path]:
        return list((self.path / ".venv").glob(".installed-*"))


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    checkout = Checkout(tmp_path / "a checkout")
    checkout.write_program("interpreter", INTERPRETER)
    checkout.write_program("environment_python", LOGGING)
    checkout.write_program("jdk/bin/java", JAVA)
    (checkout.path / "tools").mkdir()
    for name in ["Makefile", "pyproject.toml", "requirements.lock", "tools/check_machine.sh"]:
        shutil.copy(ROOT / name, checkout.path / name)
    return checkout


def test_first_make_installs_lock_and_project_then_runs_tests(checkout: Checkout) -> None:
    venv, pip, lock, project, first_run, tests = checkout.calls("test")
    assert venv == "-m venv --clear .venv"
    assert pip.endswith("--require-hashes --requirement build/pip.txt")
    assert (checkout.path / "build" / "pip.txt").read_text(encoding="utf-8") in LOCK
    assert "--require-hashes" in lock
    assert lock.endswith("--requirement requirements.lock")
    assert project.endswith("--no-deps --no-build-isolation --editable .")
    assert first_run == "-m assignor_sim run order_processing"
    assert tests == TESTS
    assert len(checkout.stamps()) == 1


def test_second_make_installs_nothing(checkout: Checkout) -> None:
    checkout.make("test")
    assert checkout.calls("test") == [TESTS]


def test_arguments_reach_pytest(checkout: Checkout) -> None:
    checkout.make("test")
    assert checkout.calls("test", "ARGS=-k rack") == [f"{TESTS} -k rack"]


def test_failed_set_up_is_repeated(checkout: Checkout) -> None:
    checkout.write_program("environment_python", WITHOUT_NETWORK)
    assert checkout.make("test").returncode == 2
    assert checkout.stamps() == []
    checkout.write_program("environment_python", LOGGING)
    assert len(checkout.calls("test")) == 6


def test_failed_renewal_leaves_no_stamp(checkout: Checkout) -> None:
    checkout.make("test")
    checkout.edit("requirements.lock", "numpy==", "numpy==1!")
    checkout.write_program("environment_python", WITHOUT_NETWORK)
    checkout.make("test")
    assert checkout.stamps() == []


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        pytest.param("requirements.lock", "numpy==", "numpy==1!", id="lock"),
        pytest.param("pyproject.toml", "simpy>=4.1", "simpy>=4.1.1", id="dependency"),
        pytest.param("pyproject.toml", "assignor_sim.cli:main", "assignor_sim.cli:run", id="console script"),
    ],
)
def test_changed_input_renews_the_environment(checkout: Checkout, name: str, old: str, new: str) -> None:
    checkout.make("test")
    checkout.edit(name, old, new)
    assert len(checkout.calls("test")) == 6


def test_changed_tool_setting_keeps_the_environment(checkout: Checkout) -> None:
    checkout.make("test")
    checkout.edit("pyproject.toml", "line-length = 120", "line-length = 100")
    assert checkout.calls("test") == [TESTS]


def test_moved_checkout_renews_the_environment(checkout: Checkout) -> None:
    checkout.make("test")
    moved = Checkout(checkout.path.rename(checkout.path.with_name("elsewhere")))
    assert len(moved.calls("test")) == 6


def test_missing_interpreter_renews_the_environment(checkout: Checkout) -> None:
    checkout.make("test")
    (checkout.path / ".venv/bin/python").unlink()
    (checkout.path / ".venv/bin/python").symlink_to("/nowhere/python3.11")
    assert len(checkout.calls("test")) == 6


@pytest.mark.parametrize("target", ["demo", "test"])
def test_missing_java_gives_one_line_and_no_environment(checkout: Checkout, target: str) -> None:
    result = checkout.make(target, java_home="/nowhere")
    assert (result.returncode, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert "Java 17 or newer is needed, but /nowhere/bin/java is missing" in line
    assert not (checkout.path / ".venv").exists()


def test_make_without_target_lists_the_targets(checkout: Checkout) -> None:
    result = checkout.make(java_home="/nowhere")
    assert (result.returncode, result.stderr) == (0, "")
    targets = [line.split()[1] for line in result.stdout.splitlines()]
    assert targets[:3] == ["help", "demo", "test"]
