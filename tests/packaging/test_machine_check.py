"""tools/check_machine.sh: a missing tool gives one line, with what to install and how."""

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


def fake_python(version: str) -> str:
    """Return the script of a fake interpreter that behaves like a complete Python of this version."""
    return f'echo {version}; echo "$0"'


def fake_python_without_venv(version: str) -> str:
    return f"echo {version}; echo \"ModuleNotFoundError: No module named 'ensurepip'\" >&2; exit 1"


@dataclass(frozen=True, slots=True)
class Machine:
    """A folder that is the whole PATH of a simulated machine."""

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

    def error_line(self, **environment: str) -> str:
        """Check the machine, assert that it fails with one line, and return that line."""
        result = self.check(**environment)
        assert (result.returncode, result.stdout) == (1, "")
        (line,) = result.stderr.splitlines()
        return line


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_complete_machine_prints_its_interpreter(machine: Machine) -> None:
    python = machine.install("python3", fake_python("3.11"))
    machine.install("java", JAVA_17)
    result = machine.check()
    assert (result.returncode, result.stdout, result.stderr) == (0, f"{python}\n", "")


def test_missing_python_is_reported_with_install_commands(machine: Machine) -> None:
    line = machine.error_line()
    assert "python3 is missing" in line
    assert "sudo apt install python3 python3-venv" in line
    assert "brew install python@" in line


@pytest.mark.parametrize("version", ["3.9", "3.10", "2.7", "3.15", "4.0"])
def test_unsupported_python_is_reported_with_its_version(machine: Machine, version: str) -> None:
    machine.install("python3", fake_python(version))
    line = machine.error_line()
    assert f"Python 3.11 to 3.14 is needed, but python3 is {version}" in line


def test_supported_python_is_found_after_an_old_one(machine: Machine) -> None:
    machine.install("python3", fake_python("3.9"))
    supported = machine.install("python3.12", fake_python("3.12"))
    machine.install("java", JAVA_17)
    assert machine.check().stdout == f"{supported}\n"


def test_stub_that_does_not_run_is_skipped(machine: Machine) -> None:
    machine.install("python3", 'echo "xcode-select: no developer tools were found" >&2; exit 1')
    supported = machine.install("python3.13", fake_python("3.13"))
    machine.install("java", JAVA_17)
    assert machine.check().stdout == f"{supported}\n"


def test_python_without_venv_is_reported_with_its_package(machine: Machine) -> None:
    machine.install("python3", fake_python_without_venv("3.11"))
    machine.install("java", JAVA_17)
    line = machine.error_line()
    assert "sudo apt install python3.11-venv" in line


def test_requested_interpreter_is_the_only_one_tried(machine: Machine) -> None:
    machine.install("python3", fake_python("3.11"))
    machine.install("java", JAVA_17)
    old = machine.install("elsewhere/python", fake_python("3.8"))
    assert f"but {old} is 3.8" in machine.error_line(PYTHON=str(old))


def test_base_interpreter_of_an_active_environment_is_used(machine: Machine) -> None:
    machine.install("java", JAVA_17)
    interpreter = machine.check(PYTHON=sys.executable).stdout.strip()
    prefix = [interpreter, "-c", "import sys; print(sys.prefix)"]
    assert Path(subprocess.check_output(prefix, text=True).strip()) == Path(sys.base_prefix)


@pytest.mark.parametrize("stub", [None, APPLE_STUB, "exit 127", "echo nonsense"])
def test_missing_java_is_reported_with_install_commands(machine: Machine, stub: str | None) -> None:
    machine.install("python3", fake_python("3.11"))
    if stub is not None:
        machine.install("java", stub)
    line = machine.error_line()
    assert "Java 17 or newer is needed, but java is missing or does not run" in line
    assert "sudo apt install default-jdk-headless" in line
    assert "brew install --cask temurin@" in line


@pytest.mark.parametrize(("java", "version"), [(JAVA_8, "8"), (JAVA_17.replace("17.0.15", "16.0.2"), "16")])
def test_old_java_is_reported_with_its_version(machine: Machine, java: str, version: str) -> None:
    machine.install("python3", fake_python("3.11"))
    machine.install("java", java)
    assert f"Java 17 or newer is needed, but java is Java {version}: install" in machine.error_line()


def test_runtime_without_compiler_is_rejected(machine: Machine) -> None:
    machine.install("python3", fake_python("3.11"))
    machine.install("java", JRE_17)
    assert "java is a runtime without the compiler: install a JDK" in machine.error_line()


@pytest.mark.parametrize("java", [JAVA_17, JAVA_25_WITH_OPTIONS, JAVA_17.replace("17.0.15", "21")])
def test_supported_java_is_accepted_in_every_version_format(machine: Machine, java: str) -> None:
    machine.install("python3", fake_python("3.11"))
    machine.install("java", java)
    assert machine.check().returncode == 0


def test_java_home_takes_precedence_over_path(machine: Machine) -> None:
    machine.install("python3", fake_python("3.11"))
    machine.install("java", JAVA_8)
    machine.install("a jdk/bin/java", JAVA_17)
    assert machine.check(JAVA_HOME=str(machine.path / "a jdk")).returncode == 0


def test_java_home_without_java_is_reported(machine: Machine) -> None:
    machine.install("python3", fake_python("3.11"))
    machine.install("java", JAVA_17)
    line = machine.error_line(JAVA_HOME="/nowhere")
    assert "/nowhere/bin/java is missing" in line
    assert line.endswith("correct or unset JAVA_HOME")
