"""The help of every command is complete in a terminal of 80 columns, and in a narrow one."""

from __future__ import annotations

import re
from typing import Any

import pytest
import typer

from assignor_sim.cli import app
from tests.assignor_sim.conftest import Shell


def commands() -> list[tuple[str, Any]]:
    group: Any = typer.main.get_command(app)
    return [
        (f"{name} {subcommand}".strip(), part)
        for name, command in sorted(group.commands.items())
        for subcommand, part in sorted(getattr(command, "commands", {"": command}).items())
    ]


@pytest.mark.parametrize("width", [80, 50])
@pytest.mark.parametrize(("name", "command"), commands(), ids=lambda value: value if isinstance(value, str) else "")
def test_no_name_value_or_word_is_cut(shell: Shell, name: str, command: Any, width: int) -> None:
    result = shell(*name.split(), "--help", COLUMNS=str(width))
    assert result.code == 0
    assert max(map(len, result.out.splitlines())) <= width
    assert "<bool>" not in result.out
    assert result.out.count("[") == result.out.count("]")
    if width == 80:
        words = set(re.findall(r"\S+", result.out))
        for parameter in command.params:
            assert all(f"{option}," in words or option in words for option in parameter.opts if option.startswith("-"))
            assert not parameter.metavar or any(parameter.metavar in word for word in words), parameter.metavar
            text = re.sub(r"\\(\[)", r"\1", parameter.help or "")
            assert set(text.split()) <= words, set(text.split()) - words


def test_choices_defaults_and_required_options_are_shown(shell: Shell) -> None:
    run = shell("run", "--help", COLUMNS="80").out
    assert "table|json|csv|markdown" in run
    assert "Output format. [default: table]" in run
    assert run.startswith("Usage: assignor-sim run SCENARIO [options]\n") or "run SCENARIO [options]" in run
    assert "[required]" in shell("generate", "cluster", "--help", COLUMNS="80").out
    assert "[CLUSTER] [options]" in shell("plan", "--help", COLUMNS="80").out


def test_help_command_and_option_print_the_same(shell: Shell) -> None:
    assert shell("help", "plan").out.split() == shell("plan", "-h").out.split()


@pytest.mark.parametrize("width", [80, 50])
@pytest.mark.parametrize("group", [(), ("generate",)], ids=["program", "generate"])
def test_groups_have_two_columns_as_commands_do(shell: Shell, group: tuple[str, ...], width: int) -> None:
    result = shell(*group, "--help", COLUMNS=str(width))
    assert result.code == 0
    assert max(map(len, result.out.splitlines())) <= width
    assert "<bool>" not in result.out
    assert not set("╭╮╰╯│") & set(result.out)
    listed = [name for name, _ in commands() if name.startswith(" ".join(group))]
    rows = re.findall(r"^  (\S+)  +\S", result.out, re.MULTILINE)
    assert {name.removeprefix("generate ") if group else name.split()[0] for name in listed} <= set(rows)
    assert {"-h,"} <= set(result.out.split())


def test_starter_scenario_names_no_file_of_the_checkout(shell: Shell) -> None:
    assert "docs/" not in shell("init", "-").out
