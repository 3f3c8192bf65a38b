"""Every test file belongs to one target of the Makefile, and .ci/run or `make certify` calls every such target."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from tools.certify import STEPS

ROOT = Path(__file__).parents[2]
TESTS = sorted(str(file.relative_to(ROOT)) for file in (ROOT / "tests").rglob("test_*.py"))
MARKERS = {
    marker.partition(":")[0]
    for marker in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["markers"]
}
SUITES = MARKERS - {"slow"}
TARGETS = ("test", "test-answers", "test-spark", "test-kafka", "test-browser")
"""Targets that run test files; the third one calls those of Spark sessions of other kinds."""
FOLDERS = {
    "tests/pipeline": "spark",
    "tests/object_store": "object_store",
    "tests/yarn": "yarn",
    "tests/connect": "connect",
    "tests/browser": "browser",
    "tests/real_kafka": "kafka",
    "tests/bridge": "kafka",
    "tests/benchmarks": "bench",
}
"""The suite of all files of a folder, whose conftest starts what its tests need."""


def marks_of(file: str) -> set[str]:
    """Return the registered marks of a whole file."""
    match = re.search(r"^pytestmark = (.*)$", (ROOT / file).read_text(), re.MULTILINE)
    return set(re.findall(r"pytest\.mark\.(\w+)", match[1])) & MARKERS if match else set()


def recipe(target: str) -> str:
    """Return what a target would run."""
    command = ["make", "--dry-run", "SLOW=1", target]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("file", TESTS)
def test_file_has_one_suite(file: str) -> None:
    suites = marks_of(file) & SUITES
    assert len(suites) <= 1
    for folder, suite in FOLDERS.items():
        if file.startswith(f"{folder}/"):
            assert suites == {suite}
    if re.search(r"^ *(@|pytestmark.*)pytest\.mark\.slow\b", (ROOT / file).read_text(), re.MULTILINE):
        assert suites, "`make test` has no slow tests"


def test_each_file_is_run_by_one_target() -> None:
    files = Counter(re.findall(r"tests/\S+\.py", "".join(recipe(target) for target in TARGETS)))
    files.update(file for file in TESTS if "bench" in marks_of(file))  # `make bench`
    assert {file: files[file] for file in TESTS if files[file] != 1} == {}


def test_every_target_of_tests_is_called() -> None:
    targets = set(
        re.findall(
            r"^((?:test|parity)[a-z-]*|kafka-tests|lint|types|layers|docs-build|javascript|wheel-test): ",
            MAKEFILE,
            re.M,
        )
    )
    assert {"test", "test-answers", "parity", "parity-brokers"} < targets
    assert targets == {target for target, *_ in STEPS.values()}
    called = set(re.findall(r"make ([a-z-]+)", (ROOT / ".ci" / "run").read_text()))
    assert targets - called == {"kafka-tests"}, "test-kafka runs a part of them, in tests/kafka_tests"


MAKEFILE = (ROOT / "Makefile").read_text()


DRAWS = """
import sys
import tests.conftest
from importlib import import_module
for name in sys.argv[1:]:
    import_module(name)
from hypothesis import given, strategies as st
@given(st.lists(st.integers()), st.text(), st.floats())
def draw(numbers, text, number):
    print(numbers, text, number)
draw()
"""


def test_cases_do_not_depend_on_other_tests() -> None:
    first, second = (
        subprocess.run(
            [sys.executable, "-c", DRAWS, *modules],
            cwd=ROOT,
            env={**os.environ, "HYPOTHESIS_PROFILE": "ci", "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for modules in ([], ["simulator.world.world", "simulator.group.fleet"])
    )
    assert first.count("\n") >= 30
    assert first == second
