"""The how-to on porting: the code that it shows is that of the twins, and its commands exist."""

from __future__ import annotations

import re
import shlex
from dataclasses import fields
from pathlib import Path

import pytest
import typer

import assignor_sim as sim
from assignor_sim.cli import app
from assignors.model.configs import AssignmentConfigs
from assignors.model.state import TaskTopicPartition
from tools.kafka_oracle import __main__ as oracle

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "port-an-assignor.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^<!-- from: (\S+) -->\n```\w+\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = [
    shlex.split(found.replace("\\\n", "")) for found in re.findall(r"^\$ (.*?[^\\])$", PAGE, re.MULTILINE | re.DOTALL)
]


@pytest.mark.parametrize(("file", "code"), SHOWN, ids=[file for file, _ in SHOWN])
def test_the_code_that_is_shown_is_that_of_the_file(file: str, code: str) -> None:
    assert code in (ROOT / file).read_text(encoding="utf-8")


def test_both_twins_are_shown() -> None:
    assert [Path(file).suffix for file, _ in SHOWN] == [".java", ".py"]


def test_every_command_takes_what_it_is_given() -> None:
    asked = [words[3:] for words in COMMANDS if words[:3] == ["python", "-m", "tools.kafka_oracle"]]
    ours = [words[words.index("assignor-sim") + 1 :] for words in COMMANDS if "assignor-sim" in words]
    assert len(asked) + len(ours) == len(COMMANDS) == 4
    for words in asked:
        oracle._parser().parse_args(words[: words.index(">")])
    for verb, *arguments in ours:
        typer.main.get_command(app).commands[verb].make_context(verb, arguments)  # type: ignore[attr-defined]


def test_every_name_of_ours_exists() -> None:
    cells = [row.split("|")[2] for row in PAGE.splitlines() if row.startswith("| `")]
    named = {
        name for cell in cells for code in re.findall(r"`(.*?)`", cell) for name in re.findall(r"[a-z_]+_[a-z]+", code)
    }
    shown = (sim.ApplicationState, sim.KafkaStreamsState, sim.TaskInfo, TaskTopicPartition, AssignmentConfigs)
    known = {name for each in shown for name in dir(each)}
    known |= {field.name for each in (*shown, sim.KafkaStreamsAssignment) for field in fields(each)}
    assert len(named) > 12
    assert named <= known
