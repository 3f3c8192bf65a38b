"""The tutorial from cluster to decision: its commands are valid, and their output is as shown."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
import typer

from assignor_sim.cli import app
from tests.assignor_sim.conftest import Ended, InProcessShell, Shell

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tutorial" / "from-cluster-to-decision.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```\n(\$ assignor-sim .*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
SHOWN: Mapping[str, str] = dict(re.findall(r"^<!-- shown: (.+?) -->\n```\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
ORDERS, SETTINGS = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def parse_block(block: str) -> tuple[list[str], str]:
    """Return the arguments of the command in a block, and the output below it."""
    command, _, output = block.replace("\\\n", "").partition("\n")
    return shlex.split(command.removeprefix("$ assignor-sim ")), output


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """Return a shell in a folder with the dumps and both files of the tutorial."""
    folder = tmp_path_factory.mktemp("decision")
    for dump in sorted((ROOT / "scenarios" / "library" / "captured").glob("*.txt")):
        shutil.copy(dump, folder)
    shell = InProcessShell(folder)
    shell.write("orders.yaml", ORDERS)
    shell.write("settings.yaml", SETTINGS)
    return shell


@pytest.fixture(scope="module")
def run(shell: Shell) -> Ended:
    return run_shown(shell, "run")


def run_shown(shell: Shell, name: str) -> Ended:
    return shell(*parse_block(SHOWN[name])[0], COLUMNS="120")


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: " ".join(parse_block(block)[0][:3]))
def test_every_command_accepts_its_options(block: str) -> None:
    verb, *arguments = parse_block(block)[0]
    command = typer.main.get_command(app).commands[verb]  # type: ignore[attr-defined]
    command.make_context(verb, arguments)


def test_commands_are_shown_in_order() -> None:
    verbs = list(dict.fromkeys(parse_block(block)[0][0] for block in BLOCKS))
    assert verbs == ["validate", "run", "explain", "sweep", "report", "recommend", "record", "verify"]


def test_shown_errors_are_printed(shell: Shell) -> None:
    shell.write("orders.yaml", ORDERS.replace("log_dirs.json.txt", "log_dirs.txt").replace("pick: 1", "count: 1"))
    result = run_shown(shell, "validate wrong")
    shell.write("orders.yaml", ORDERS)
    assert result.code == 2
    assert result.err == parse_block(SHOWN["validate wrong"])[1]


@pytest.mark.parametrize("name", ["validate", "dry run"])
def test_command_prints_shown_output(shell: Shell, name: str) -> None:
    assert run_shown(shell, name).out == parse_block(SHOWN[name])[1]


def test_run_prints_shown_output(run: Ended) -> None:
    assert run.code == 0, run.err
    assert lines(run.out) == lines(parse_block(SHOWN["run"])[1])


def test_explanation_equals_shown_output(shell: Shell, run: Ended) -> None:
    assert run.code == 0, run.err
    assert lines(run_shown(shell, "explain").out) == lines(parse_block(SHOWN["explain"])[1])
