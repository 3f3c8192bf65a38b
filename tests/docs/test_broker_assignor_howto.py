"""The how-to on assignors for brokers: its commands and names exist."""

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
SHOWN = re.findall(r"^<!-- from: (\S+) -->$", PAGE, re.MULTILINE)
COMMANDS = [
    shlex.split(command)
    for block in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    for command in block.replace("\\\n", "").splitlines()
]


def test_python_and_java_versions_are_shown() -> None:
    assert [Path(file).suffix for file in SHOWN] == [".py", ".java"]


def test_every_command_accepts_its_arguments() -> None:
    run, javac, compare = COMMANDS
    assert javac[0] == "javac"
    assert run[:2] == ["PYTHONPATH=.", "assignor-sim"]
    typer.main.get_command(app).commands[run[2]].make_context(run[2], run[3:])  # type: ignore[attr-defined]
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
