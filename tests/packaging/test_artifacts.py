"""Versions of released artifacts are in one list, and nothing else names one."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pyspark

from assignors.kafka_releases import PATCHES
from tools import artifacts

ROOT = Path(__file__).parents[2]
FOLDERS = (
    "tools",
    *(f"tests/{name}" for name in ("real_kafka", "kafka_cluster", "fidelity", "bridge", "object_store", "yarn")),
    "tests/benchmarks",
)
"""Whatever fetches an artifact, or starts a program that does."""

LIST = ROOT / "tools" / "artifacts.py"
UNCHECKED = {LIST, *(ROOT / "tests" / "fidelity").glob("test_*.py")}
"""The list itself, and tests of texts that a release wrote."""

VERSION = re.compile(r"\d+\.\d+\.\d+")
REFERENCE = re.compile(r"java:(?:kafka-streams|(?:kafka-)?group-coordinator)@(\d+\.\d+\.\d+)")
TOO_OLD = "3.7.2"
"""A release that a message refuses."""


def tracked(*patterns: str) -> list[Path]:
    command = ["git", "ls-files", *patterns]
    return [ROOT / name for name in subprocess.check_output(command, cwd=ROOT, text=True).splitlines()]


def strings_of(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_code_that_fetches_names_no_version() -> None:
    files = [file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py") if file not in UNCHECKED]
    assert len(files) > 100
    versions = {(file, text) for file in files for text in strings_of(file) if VERSION.fullmatch(text)}
    assert not versions, "name a release by assignors/kafka_releases.py, another artifact by tools/artifacts.py"


def test_commands_name_no_version() -> None:
    named = re.compile("|".join(map(re.escape, PATCHES)))
    files = tracked("Makefile", ".ci", "*.sh")
    assert len(files) > 3
    assert not {(file, version) for file in files for version in named.findall(file.read_text(encoding="utf-8"))}


def test_maven_has_no_separate_list() -> None:
    assert not tracked("pom.xml", "*/pom.xml")


def test_references_name_pinned_releases() -> None:
    files = [*tracked("docs"), *(file for file in tracked("tests") if file.suffix == ".py")]
    texts = (file.read_text(encoding="utf-8") for file in files if file.suffix in (".md", ".py"))
    named = {release for text in texts for release in REFERENCE.findall(text)}
    assert "4.3.1" in named
    assert named - {*PATCHES} == {TOO_OLD}


def test_hadoop_is_that_of_pyspark() -> None:
    [jar] = (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar")
    assert jar.stem == f"hadoop-client-api-{artifacts.HADOOP}"
