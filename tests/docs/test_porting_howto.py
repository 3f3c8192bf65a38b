"""The how-to on porting an assignor: its commands and names exist."""

from __future__ import annotations

import re
import shlex
from dataclasses import fields
from pathlib import Path

import typer

import assignor_sim as sim
from assignor_sim.cli import app
from assignors.model.configs import AssignmentConfigs
from assignors.model.state import TaskTopicPartition
from tools.kafka_oracle import __main__ as oracle

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "port-an-assignor.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^<!-- from: (\S+) -->$", PAGE, re.MULTILINE)
COMMANDS = [
    shlex.split(command.replace("\\\n", ""))
    for command in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
]


def test_java_and_python_versions_are_shown() -> None:
    assert [Path(file).suffix for file in SHOWN] == [".java", ".py"]


def test_every_command_accepts_its_arguments() -> None:
    oracle_commands = [words[3:] for words in COMMANDS if words[:3] == ["python", "-m", "tools.kafka_oracle"]]
    own_commands = [words[words.index("assignor-sim") + 1 :] for words in COMMANDS if "assignor-sim" in words]
    assert len(oracle_commands) + len(own_commands) == len(COMMANDS) == 4
    for words in oracle_commands:
        oracle.argument_parser().parse_args(words[: words.index(">")])
    for verb, *arguments in own_commands:
        typer.main.get_command(app).commands[verb].make_context(verb, arguments)  # type: ignore[attr-defined]


def test_every_python_name_exists() -> None:
    cells = [row.split("|")[2] for row in PAGE.splitlines() if row.startswith("| `")]
    named = {
        name for cell in cells for code in re.findall(r"`(.*?)`", cell) for name in re.findall(r"[a-z_]+_[a-z]+", code)
    }
    documented = (sim.ApplicationState, sim.KafkaStreamsState, sim.TaskInfo, TaskTopicPartition, AssignmentConfigs)
    known = {name for item in documented for name in dir(item)}
    known |= {field.name for item in (*documented, sim.KafkaStreamsAssignment) for field in fields(item)}
    assert len(named) > 12
    assert named <= known
