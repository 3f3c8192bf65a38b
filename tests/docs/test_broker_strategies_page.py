"""The page that compares strategies for brokers: a part of its large tables, and its small one, are current."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.assignor_sim.commands.plan_commands import plan_columns
from tests.assignor_sim.conftest import InProcessShell
from tools.broker_strategies import BLOCK, PAGE

pytestmark = pytest.mark.answers

TEXT = PAGE.read_text(encoding="utf-8")
CHEAP = ("today", "topicmappr_count", "goal_chain", "exact_flow")
LEADER_ROWS = re.compile(r"^\| (?P<stage>[^|]+) \| (?P<range>\d+) \| (?P<changed>\d*) ?\|$", re.MULTILINE)
NUMBER_OF_STRATEGIES = 7


def test_cheap_strategies_of_two_comparisons_are_current(tmp_path: Path) -> None:
    shell = InProcessShell(tmp_path)
    for block in list(BLOCK.finditer(TEXT))[:2]:
        command = block["command"].replace("--all ", "".join(f"--strategy {name} " for name in CHEAP[1:]))
        assert command != block["command"]
        printed, shown = (
            plan_columns(text) for text in (shell(*shlex.split(command), COLUMNS="120").out, block["output"])
        )
        for strategy in CHEAP:
            assert printed[strategy] == shown[strategy]


def test_stages_of_the_leader_flow_are_current(tmp_path: Path) -> None:
    shell = InProcessShell(tmp_path)
    [block] = [part for part in re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL) if "--out topic" in part]
    generate, plan = block.replace("\\\n", " ").strip().splitlines()
    for command in (generate, plan):
        printed = shell(*shlex.split(command)[1:], COLUMNS="200").out
    plans = plan_columns(printed).values()
    shown = [(match["range"], match["changed"]) for match in LEADER_ROWS.finditer(TEXT)]
    assert shown == [(cells["leaders max−min"], cells.get("leaders changed", "")) for cells in plans]
    assert len(shown) == 1 + NUMBER_OF_STRATEGIES
