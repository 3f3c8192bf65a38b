"""A machine that lacks something is told so in one line, with what to install and how."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tools" / "check_machine.sh"

JRE_17 = "echo 'openjdk version \"17.0.15\" 2025-04-15' >&2"
JAVA_17 = f"{JRE_17}; echo jdk.compiler@17"
JAVA_8 = "echo 'java version \"1.8.0_392\"' >&2"
JAVA_25_WITH_OPTIONS = """
echo "Picked up JAVA_TOOL_OPTIONS: -Xmx1g" >&2
echo 'openjdk version "25-ea" 2025-09-16' >&2
echo jdk.compiler@25
"""
APPLE_STUB = 'echo "The operation could not be completed. Unable to locate a Java Runtime." >&2; exit 1'


def python_that_is(version: str) -> str:
    """The text of a fake interpreter that answers as a complete Python of this version does."""
    return f'echo {version}; echo "$0"'


def python_without_venv(version: str) -> str:
    return f"echo {version}; echo \"ModuleNotFoundError: No module named 'ensurepip'\" >&2; exit 1"


@dataclass(frozen=True, slots=True)
class Machine:
    """A folder that is the whole PATH of a pretended machine."""

    path: Path

    def install(self, program: str, body: str) -> Path:
        file = self.path / program
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        file.chmod(0o755)
        return file

    def check(self, **environment: str) -> subprocess.CompletedProcess[str]:
        command = ["/bin/sh", str(SCRIPT)]
        return subprocess.run(command, env={"PATH": str(self.path), **environment}, capture_output=True, text=True)

    def complaint(self, **environment: str) -> str:
        """Check the machine, insist on failure in one line, and return that line."""
        result = self.check(**environment)
        assert (result.returncode, result.stdout) == (1, "")
        (line,) = result.stderr.splitlines()
        return line


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_good_machine_names_its_interpreter(machine: Machine) -> None:
    python = machine.install("python3", python_that_is("3.11"))
    machine.install("java", JAVA_17)
    result = machine.check()
    assert (result.returncode, result.stdout, result.stderr) == (0, f"{python}\n", "")


def test_an_empty_machine_is_told_how_to_get_python(machine: Machine) -> None:
    line = machine.complaint()
    assert "python3 is missing" in line
    assert "sudo apt install python3 python3-venv" in line
    assert "brew install python@" in line


@pytest.mark.parametrize("version", ["3.9", "3.10", "2.7", "3.15", "4.0"])
def test_an_unfit_python_is_named_with_its_version(machine: Machine, version: str) -> None:
    machine.install("python3", python_that_is(version))
    line = machine.complaint()
    assert f"Python 3.11 to 3.14 is needed, but python3 is {version}" in line


def test_a_fit_python_is_found_behind_an_old_one(machine: Machine) -> None:
    machine.install("python3", python_that_is("3.9"))
    fit = machine.install("python3.12", python_that_is("3.12"))
    machine.install("java", JAVA_17)
    assert machine.check().stdout == f"{fit}\n"


def test_a_stub_that_does_not_run_is_passed_over(machine: Machine) -> None:
    machine.install("python3", 'echo "xcode-select: no developer tools were found" >&2; exit 1')
    fit = machine.install("python3.13", python_that_is("3.13"))
    machine.install("java", JAVA_17)
    assert machine.check().stdout == f"{fit}\n"


def test_a_python_without_venv_names_the_package_that_has_it(machine: Machine) -> None:
    machine.install("python3", python_without_venv("3.11"))
    machine.install("java", JAVA_17)
    line = machine.complaint()
    assert "sudo apt install python3.11-venv" in line


def test_the_interpreter_that_is_asked_for_is_the_only_one_tried(machine: Machine) -> None:
    machine.install("python3", python_that_is("3.11"))
    machine.install("java", JAVA_17)
    old = machine.install("elsewhere/python", python_that_is("3.8"))
    assert f"but {old} is 3.8" in machine.complaint(PYTHON=str(old))


def test_the_interpreter_behind_an_activated_environment_is_taken(machine: Machine) -> None:
    machine.install("java", JAVA_17)
    interpreter = machine.check(PYTHON=sys.executable).stdout.strip()
    prefix = [interpreter, "-c", "import sys; print(sys.prefix)"]
    assert Path(subprocess.check_output(prefix, text=True).strip()) == Path(sys.base_prefix)


@pytest.mark.parametrize("stub", [None, APPLE_STUB, "exit 127", "echo nonsense"])
def test_a_missing_java_is_told_how_to_get_one(machine: Machine, stub: str | None) -> None:
    machine.install("python3", python_that_is("3.11"))
    if stub is not None:
        machine.install("java", stub)
    line = machine.complaint()
    assert "Java 17 or newer is needed, but java is missing or does not run" in line
    assert "sudo apt install default-jdk-headless" in line
    assert "brew install --cask temurin@" in line


@pytest.mark.parametrize(("java", "version"), [(JAVA_8, "8"), (JAVA_17.replace("17.0.15", "16.0.2"), "16")])
def test_an_old_java_is_named_with_its_version(machine: Machine, java: str, version: str) -> None:
    machine.install("python3", python_that_is("3.11"))
    machine.install("java", java)
    assert f"Java 17 or newer is needed, but java is Java {version}: install" in machine.complaint()


def test_a_runtime_without_a_compiler_is_no_jdk(machine: Machine) -> None:
    machine.install("python3", python_that_is("3.11"))
    machine.install("java", JRE_17)
    assert "java is a runtime without the compiler: install a JDK" in machine.complaint()


@pytest.mark.parametrize("java", [JAVA_17, JAVA_25_WITH_OPTIONS, JAVA_17.replace("17.0.15", "21")])
def test_a_new_java_will_do_however_it_states_its_version(machine: Machine, java: str) -> None:
    machine.install("python3", python_that_is("3.11"))
    machine.install("java", java)
    assert machine.check().returncode == 0


def test_java_home_decides_over_the_path(machine: Machine) -> None:
    machine.install("python3", python_that_is("3.11"))
    machine.install("java", JAVA_8)
    machine.install("a jdk/bin/java", JAVA_17)
    assert machine.check(JAVA_HOME=str(machine.path / "a jdk")).returncode == 0


def test_a_java_home_that_holds_no_java_is_named(machine: Machine) -> None:
    machine.install("python3", python_that_is("3.11"))
    machine.install("java", JAVA_17)
    line = machine.complaint(JAVA_HOME="/nowhere")
    assert "/nowhere/bin/java is missing" in line
    assert line.endswith("correct or unset JAVA_HOME")
