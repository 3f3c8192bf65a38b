"""The tutorial from cluster to decision: its commands exist, and what they print is what it shows."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
import typer

from assignor_sim.cli import app
from tests.assignor_sim.conftest import Ended, Shell

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tutorial" / "from-cluster-to-decision.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```\n(\$ assignor-sim .*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
SHOWN: Mapping[str, str] = dict(re.findall(r"^<!-- shown: (.+?) -->\n```\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
ORDERS, SETTINGS = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def told(block: str) -> tuple[list[str], str]:
    """The arguments of the command at the head of a block, and what stands below it."""
    command, _, output = block.replace("\\\n", "").partition("\n")
    return shlex.split(command.removeprefix("$ assignor-sim ")), output


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """The reader's folder, with the dumps and both files."""
    folder = tmp_path_factory.mktemp("decision")
    for dump in sorted((ROOT / "scenarios" / "library" / "captured").glob("*.txt")):
        shutil.copy(dump, folder)
    reader = Shell(folder)
    reader.write("orders.yaml", ORDERS)
    reader.write("settings.yaml", SETTINGS)
    return reader


@pytest.fixture(scope="module")
def the_run(shell: Shell) -> Ended:
    return ended(shell, "run")


def ended(shell: Shell, name: str) -> Ended:
    return shell(*told(SHOWN[name])[0], COLUMNS="120")


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: " ".join(told(block)[0][:3]))
def test_every_command_has_the_options_that_it_is_given(block: str) -> None:
    verb, *arguments = told(block)[0]
    command = typer.main.get_command(app).commands[verb]  # type: ignore[attr-defined]
    command.make_context(verb, arguments)


def test_all_verbs_on_the_way_to_a_decision_are_shown_in_their_order() -> None:
    verbs = list(dict.fromkeys(told(block)[0][0] for block in BLOCKS))
    assert verbs == ["validate", "run", "explain", "sweep", "report", "recommend", "record", "verify"]


def test_the_mistakes_that_are_shown_are_told(shell: Shell) -> None:
    shell.write("orders.yaml", ORDERS.replace("log_dirs.json.txt", "log_dirs.txt").replace("pick: 1", "count: 1"))
    complaint = ended(shell, "validate wrong")
    shell.write("orders.yaml", ORDERS)
    assert complaint.code == 2
    assert complaint.err == told(SHOWN["validate wrong"])[1]


@pytest.mark.parametrize("name", ["validate", "dry run"])
def test_a_command_prints_what_is_shown(shell: Shell, name: str) -> None:
    assert ended(shell, name).out == told(SHOWN[name])[1]


def test_the_run_comes_to_what_is_shown(the_run: Ended) -> None:
    assert the_run.code == 0, the_run.err
    assert lines(the_run.out) == lines(told(SHOWN["run"])[1])


def test_the_task_moved_for_the_reasons_that_are_shown(shell: Shell, the_run: Ended) -> None:
    assert the_run.code == 0, the_run.err
    assert lines(ended(shell, "explain").out) == lines(told(SHOWN["explain"])[1])
