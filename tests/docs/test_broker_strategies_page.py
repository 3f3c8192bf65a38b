"""The page that compares strategies for brokers: a part of its large tables, and its small one, are current."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.assignor_sim.conftest import InProcessShell
from tools.broker_strategies import BLOCK, PAGE

pytestmark = pytest.mark.answers

TEXT = PAGE.read_text(encoding="utf-8")
CHEAP = ("today", "topicmappr_count", "goal_chain", "exact_flow")
LEADER_ROWS = re.compile(r"^\| (?P<stage>[^|]+) \| (?P<range>\d+) \| (?P<changed>\d*) ?\|$", re.MULTILINE)
NUMBER_OF_STRATEGIES = 7


def rows(table: str, strategy: str) -> list[str]:
    """Return both lines of a strategy in a table, with single spaces."""
    lines = table.splitlines()
    [first] = [number for number, line in enumerate(lines) if line.startswith(f"{strategy} ")]
    return [" ".join(line.split()) for line in lines[first : first + 2]]


def test_cheap_strategies_of_two_comparisons_are_current(tmp_path: Path) -> None:
    shell = InProcessShell(tmp_path)
    for block in list(BLOCK.finditer(TEXT))[:2]:
        command = block["command"].replace("--all ", "".join(f"--strategy {name} " for name in CHEAP[1:]))
        assert command != block["command"]
        printed = shell(*shlex.split(command), COLUMNS="120").out
        for strategy in CHEAP:
            assert rows(printed, strategy) == rows(block["output"], strategy)


def test_stages_of_the_leader_flow_are_current(tmp_path: Path) -> None:
    shell = InProcessShell(tmp_path)
    [block] = [part for part in re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL) if "--out topic" in part]
    generate, plan = block.replace("\\\n", " ").strip().splitlines()
    for command in (generate, plan):
        printed = shell(*shlex.split(command)[1:], COLUMNS="200").out
    lines = [line.split() for line in printed.partition("─\n")[2].splitlines()]
    today, *strategies = lines[: 2 * (NUMBER_OF_STRATEGIES + 1) : 2]  # The second lines have ranges within a topic.
    shown = [(match["range"], match["changed"]) for match in LEADER_ROWS.finditer(TEXT)]
    assert shown == [(today[4], ""), *((cells[6], cells[7]) for cells in strategies)]
