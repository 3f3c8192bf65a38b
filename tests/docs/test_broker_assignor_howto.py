"""The how-to on assignors for brokers: its code equals the Java and Python files, and its commands and names exist."""

from __future__ import annotations

import re
import shlex
from dataclasses import fields
from pathlib import Path

import typer

import assignor_sim as sim
from assignor_sim.cli import app
from tools.kafka_group_oracle.__main__ import argument_parser

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "write-a-broker-assignor.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^<!-- from: (\S+) -->\n```\w+\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = [
    shlex.split(command.replace("\\\n", ""))
    for command in re.findall(r"^\$ (.*?[^\\])$", PAGE, re.MULTILINE | re.DOTALL)
]


def test_shown_code_equals_the_files() -> None:
    assert [Path(file).suffix for file, _ in SHOWN] == [".py", ".java"]
    for file, code in SHOWN:
        assert code in (ROOT / file).read_text(encoding="utf-8"), file


def test_every_command_accepts_its_arguments() -> None:
    run, javac, compare = COMMANDS
    assert javac[0] == "javac"
    typer.main.get_command(app).commands[run[1]].make_context(run[1], run[2:])  # type: ignore[attr-defined]
    assert compare[:3] == ["python", "-m", "tools.kafka_group_oracle"]
    assert argument_parser().parse_args(compare[3:]).port == "tests.real_kafka.rack_spread:RackSpread"


def test_every_python_name_exists() -> None:
    rows = [row.split("|")[2] for row in PAGE.splitlines() if row.startswith("| `")]
    named = {name for cell in rows for code in re.findall(r"`(.*?)`", cell) for name in re.findall(r"[A-Za-z_]+", code)}
    classes = (
        sim.GroupSpec,
        sim.MemberAssignmentMetadata,
        sim.MemberAssignmentState,
        sim.TopologyDescriber,
        sim.MemberAssignment,
        sim.AssignmentConfigs,
    )
    known = {name for item in classes for name in dir(item)} | {
        field.name for item in classes for field in fields(item)
    }
    known |= {"StreamsGroupAssignor", "TaskAssignorError", "MemberAssignment", "id", "active", "standby"}
    assert {"StreamsGroupAssignor", "TaskAssignorError"} <= set(dir(sim))
    assert len(named) > 20
    assert named <= known
