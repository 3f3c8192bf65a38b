"""Every command that prints a table prints it in every format, from one list of formats."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from assignor_sim.cli import app
from assignor_sim.console.help_page import _value
from assignor_sim.console.options import OutputFormat

WITHOUT_TABLE = {
    "help": "prints the help of a command",
    "init": "prints one line and the next command",
    "schema": "prints a JSON document",
    "report": "prints the paths of the files that it wrote",
    "watch": "prints events as they happen; --format is text or jsonl",
    "generate metrics": "prints one line; --format is that of the files",
    "generate cluster": "prints one line and the next command",
}
"""Commands that print no table, with what they print instead."""

_TABLE_MODULES = ("rich", "reports.render.terminal")


def commands() -> Iterator[tuple[str, Any]]:
    """Yield the name of every command of the program, subcommands included, with the command."""
    for name, command in sorted(typer.main.get_command(app).commands.items()):  # type: ignore[attr-defined]
        for subcommand, part in sorted(getattr(command, "commands", {"": command}).items()):
            yield f"{name} {subcommand}".strip(), part


@pytest.mark.parametrize(
    ("name", "command"),
    [pair for pair in commands() if pair[0] not in WITHOUT_TABLE],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_command_prints_its_tables_in_every_format(name: str, command: Any) -> None:
    options = {option: parameter for parameter in command.params for option in parameter.opts}
    assert "--format" in options, f"{name}: no --format; or add it to WITHOUT_TABLE with what it prints"
    choices = _value(options["--format"], typer.Context(command)).split("|")
    assert {"table" if choice == "text" else choice for choice in choices} >= {*OutputFormat}


@pytest.mark.parametrize("name", WITHOUT_TABLE)
def test_an_exempt_command_draws_no_table(name: str) -> None:
    """A command without `--format` uses nothing that draws tables."""
    command = dict(commands())[name]
    module = ast.parse(inspect.getsource(inspect.unwrap(command.callback)))
    imported = {
        target
        for node in ast.walk(module)
        for target in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else []
        )
    }
    drawing = {target for target in imported if target.split(".")[0] == "rich" or target.startswith(_TABLE_MODULES[1])}
    assert not drawing, f"{name} draws with {drawing}: it needs --format"
