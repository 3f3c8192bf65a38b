"""The contents of every output format: JSON can be parsed, CSV is one table, Markdown has tables."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import pytest

from tests.assignor_sim.conftest import SMALL, InProcessShell, Shell

pytestmark = pytest.mark.answers

RECORDED = Path(__file__).parents[2] / "parity" / "data"


def invocations() -> dict[str, list[str]]:
    """Return a command line of each command that needs neither Spark nor a cluster."""
    return {
        "assign": ["assign", "problems.jsonl", "--check"],
        "compare": ["compare", "small.yaml", "--assignor", "high_availability", "--assignor", "sticky", "--seeds", "2"],
        "diff": ["diff", "out", "--round", "2"],
        "diff of two": ["diff", "out", "--round", "2", "--assignor", "high_availability", "--assignor", "sticky"],
        "doctor": ["doctor"],
        "explain": ["explain", "out"],
        "explain a task": ["explain", "out", "--task", "0_0"],
        "frontier": ["frontier", "small.yaml"],
        "list": ["list", "assignors"],
        "plan": ["plan", "small.yaml"],
        "record": ["record", "small.yaml"],
        "releases": ["releases", "--from", "4.2", "--to", "4.3", "--scenario", "small.yaml"],
        "run": ["run", "small.yaml"],
        "show": ["show", "out"],
        "validate": ["validate", "small.yaml"],
        "verify": ["verify", "small.yaml"],
    }


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """A folder with a scenario, its results and a recorded problem."""
    shell = InProcessShell(tmp_path_factory.mktemp("formats"))
    shell.write("small.yaml", SMALL)
    shell.write("problems.jsonl", _problem())
    assert shell("run", "small.yaml", "--out", "out").code == 0
    assert shell("record", "small.yaml").code == 0
    return shell


def _problem() -> str:
    file = sorted(RECORDED.glob("**/*.jsonl.gz"))[0]
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return "".join(next(lines) for _ in range(3))


@pytest.mark.parametrize("name", invocations())
def test_every_format_holds_the_table(shell: Shell, name: str) -> None:
    """JSON is parsed; every row of CSV has the columns of its header; Markdown has a table; nothing else is printed."""
    command = invocations()[name]
    json.loads(shell(*command, "--format", "json").out)
    header, *rows = csv.reader(io.StringIO(shell(*command, "--format", "csv").out))
    assert len(header) > 1
    assert rows
    assert {len(row) for row in rows} == {len(header)}
    assert all(key == key.lower() and " " not in key for key in header)
    markdown = shell(*command, "--format", "markdown").out
    assert "\n| --- |" in markdown or "\n| ---: |" in markdown


def test_csv_and_json_of_a_diff_have_the_same_tasks(shell: Shell) -> None:
    command = invocations()["diff"]
    (first, second) = json.loads(shell(*command, "--format", "json").out)
    rows = list(csv.DictReader(io.StringIO(shell(*command, "--format", "csv").out)))
    tasks = [(diff["assignors"][0], task["task"]) for diff in (first, second) for task in diff["tasks"]]
    assert [(row["assignor"], row["task"]) for row in rows] == tasks


def test_csv_of_a_comparison_has_every_finding(shell: Shell) -> None:
    command = invocations()["compare"]
    findings = json.loads(shell(*command, "--format", "json").out)["findings"]
    rows = list(csv.DictReader(io.StringIO(shell(*command, "--format", "csv").out)))
    assert [(row["metric"], row["verdict"]) for row in rows] == [(row["metric"], row["verdict"]) for row in findings]


def test_csv_of_a_frontier_has_its_points_and_the_assignor(shell: Shell) -> None:
    command = invocations()["frontier"]
    front = json.loads(shell(*command, "--format", "json").out)
    rows = list(csv.DictReader(io.StringIO(shell(*command, "--format", "csv").out)))
    moves = [point["moves"] for point in front["points"]] + [front["answered"]["moves"]]
    assert [int(row["moves"]) for row in rows] == moves
