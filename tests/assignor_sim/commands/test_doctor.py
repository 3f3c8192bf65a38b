"""`assignor-sim doctor`: what is missing on this machine, and for which command."""

from __future__ import annotations

import json
import re
import stat
import sys
import tempfile
import unicodedata
from pathlib import Path
from typing import Any

import pytest

import assignor_sim.commands
from assignor_sim.cli import COMMANDS
from assignor_sim.commands.doctor import (
    JAVA_COMMANDS,
    KAFKA_COMMANDS,
    SPARK_COMMANDS,
    check_java,
    check_package,
    check_python,
    check_temporary_folder,
)
from tests.assignor_sim.conftest import CommandResult, Shell
from tests.assignor_sim.missing_software import NO_JAVA, without


def doctor(shell: Shell, **environment: str) -> tuple[CommandResult, dict[str, dict[str, Any]]]:
    result = shell("doctor", "--format", "json", **environment)
    assert "Traceback" not in result.err
    return result, {check["name"]: check for check in json.loads(result.out)}


def fake_java(folder: Path, script: str) -> Path:
    (folder / "bin").mkdir(parents=True)
    java = folder / "bin" / "java"
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(java.stat().st_mode | stat.S_IXUSR)
    return folder


def test_missing_jdk_names_the_commands_that_need_it(process_shell: Shell) -> None:
    result, checks = doctor(process_shell, **NO_JAVA)
    assert result.code == 1
    assert checks["Java"]["status"] == "missing"
    assert checks["Java"]["commands"] == [*SPARK_COMMANDS, "run --assignor java:…"]
    assert "a JRE suffices for java: assignors" in checks["Java"]["problem"]
    assert "install a JDK 17" in checks["Java"]["problem"]
    text = process_shell("doctor", **NO_JAVA, COLUMNS="80")
    assert text.code == 1
    assert f"All commands work except {', '.join(sorted(JAVA_COMMANDS))}." in " ".join(text.out.split())
    assert all(len(line) <= 80 for line in text.out.splitlines())


def test_missing_packages_are_named(process_shell: Shell) -> None:
    result, checks = doctor(process_shell, **without(process_shell, "kafka", "pyspark"))
    assert result.code == 1
    assert checks["kafka-python"]["status"] == checks["Spark"]["status"] == "missing"
    assert "pip install 'assignor-sim[kafka]'" in checks["kafka-python"]["problem"]
    assert checks["kafka-python"]["commands"] == list(KAFKA_COMMANDS)


def test_complete_machine_exits_with_0(process_shell: Shell, tmp_path: Path) -> None:
    home = fake_java(tmp_path / "jdk", "echo 'openjdk version \"21.0.2\" 2024-01-16' >&2")
    result, checks = doctor(process_shell, PATH="", JAVA_HOME=str(home))
    assert (result.code, {check["status"] for check in checks.values()} - {"note"}) == (0, {"OK"})
    assert checks["Java"]["found"] == f"21.0.2 ({home / 'bin' / 'java'})"
    assert "All commands work." in process_shell("doctor", PATH="", JAVA_HOME=str(home)).out


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("echo 'java version \"1.8.0_392\"' >&2", "older than 17"),
        ("echo 'openjdk version \"16\"' >&2", "older than 17"),
        ("echo 'No Java runtime present' >&2; exit 1", "does not print its version"),
        ("echo 'openjdk version \"17\" 2021-09-14' >&2", ""),
        ("echo 'Picked up JAVA_TOOL_OPTIONS: -Dx' >&2; echo 'openjdk version \"25-ea\" 2025' >&2", ""),
    ],
)
def test_version_of_java_is_checked(tmp_path: Path, script: str, problem: str) -> None:
    check = check_java({"PATH": str(fake_java(tmp_path, script) / "bin")})
    assert check.problem.startswith(problem)
    assert bool(check.problem) == bool(problem)


def test_java_home_takes_precedence_as_in_spark(tmp_path: Path) -> None:
    good = fake_java(tmp_path / "good", "echo 'openjdk version \"21\"' >&2")
    path = {"PATH": str(good / "bin")}
    assert not check_java(path).problem
    assert check_java({**path, "JAVA_HOME": str(tmp_path)}).problem.startswith(f"JAVA_HOME={tmp_path} has no bin/java")
    assert not check_java({"PATH": "", "JAVA_HOME": str(good)}).problem


@pytest.mark.parametrize(("release", "is_supported"), [((3, 10, 9), False), ((3, 11, 0), True), ((3, 15, 0), False)])
def test_release_of_python_is_checked(release: tuple[int, ...], is_supported: bool) -> None:
    assert bool(check_python(release).problem) != is_supported


def test_blocked_package_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)  # type: ignore[arg-type]
    assert check_package("Spark", "pyspark", "pyspark", SPARK_COMMANDS, "install it").problem == "install it"


def test_narrow_terminal_and_its_encoding_are_notes(process_shell: Shell) -> None:
    _, checks = doctor(process_shell, COLUMNS="60", PYTHONIOENCODING="cp1252")
    assert checks["Terminal"]["status"] == "note"
    assert "60 columns, cp1252, no colors" in checks["Terminal"]["found"]
    _, checks = doctor(process_shell, COLUMNS="80", PYTHONIOENCODING="utf-8", FORCE_COLOR="1")
    assert checks["Terminal"]["status"] == "OK"
    assert checks["Terminal"]["found"].endswith(", colors")


def test_temporary_folder_that_cannot_be_written_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "removed"))
    check = check_temporary_folder()
    assert check.status == "missing"
    assert "TMPDIR" in check.problem


def test_temporary_folder_keeps_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert check_temporary_folder().status == "OK"
    assert list(tmp_path.iterdir()) == []


def test_listed_commands_are_those_that_use_spark_and_connections() -> None:
    sources = {path.stem: path.read_text() for path in Path(assignor_sim.commands.__file__).parent.glob("*.py")}
    uses_spark = {
        name for name, text in sources.items() if re.search(r"requested_session|pipeline\.session|spark_conf", text)
    }
    module_of = {name: command.__module__.rpartition(".")[2] for name, command, _ in COMMANDS} | {"generate": "ingest"}
    commands = {command.split()[0] for command in SPARK_COMMANDS}
    assert uses_spark == {module_of[command] for command in commands}
    uses_clusters = {name.rstrip("_") for name, text in sources.items() if "Bootstrap" in text}
    assert uses_clusters == {command.split()[0] for command in KAFKA_COMMANDS}


@pytest.mark.parametrize("release", ["9" * 5_000, "17.\x1b[2J", "17.\u202e", "17.\x07"])
def test_strange_java_and_environment_are_shown_without_obeying_them(shell: Shell, release: str) -> None:
    java = shell.folder / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\ncat >&2 <<'END'\nopenjdk version \"{release}\"\nEND\n", encoding="utf-8")
    java.chmod(0o755)
    for home in (str(shell.folder), "/x\x1b[31m\u202e"):
        result = shell("doctor", JAVA_HOME=home)
        assert result.code in (0, 1)
        assert [char for char in result.out if char != "\n" and unicodedata.category(char) in ("Cc", "Cf")] == []
