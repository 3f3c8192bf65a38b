"""The reference of commands documents every command and option."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from assignor_sim.cli import app
from assignor_sim.console.help_page import _value
from tests.docs.plugin_options import plugin_options

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "reference" / "commands.md").read_text(encoding="utf-8")
VERBS, *SECTIONS = PAGE.split("\n## ")
SPARK = {"--master", "--conf", "--py-files"}


def commands() -> Iterator[tuple[str, Any]]:
    for name, command in sorted(typer.main.get_command(app).commands.items()):  # type: ignore[attr-defined]
        for subcommand, part in sorted(getattr(command, "commands", {"": command}).items()):
            yield f"{name} {subcommand}".strip(), part


def section_of(verb: str) -> str:
    """Return the section with the options of a command, or its row in the first table if it has no section."""
    sections = [section for section in SECTIONS if verb in section.partition("\n")[0].split(", ")]
    return sections[0] if sections else next(line for line in VERBS.splitlines() if line.startswith(f"| `{verb} "))


def option_names(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", text))


@pytest.mark.parametrize(
    ("verb", "command"), list(commands()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_command_is_documented_with_all_options(verb: str, command: Any) -> None:
    assert re.search(rf"^\| `{verb}[ `]", VERBS, re.MULTILINE)
    options = {name for parameter in command.params for name in parameter.opts if name.startswith("-")}
    assert options - {"--help", "-h"} - SPARK <= option_names(section_of(verb))
    assert not options & SPARK or "options of Spark" in section_of(verb)


def test_formats_are_documented_completely() -> None:
    section = next(section for section in SECTIONS if section.startswith("Output formats\n"))
    rows = re.findall(r"^\| (`[^|]+) \| ([a-z, ]+) \|", section, re.MULTILINE)
    documented = {name: formats.split(", ") for names, formats in rows for name in re.findall(r"`(\w+)`", names)}
    offered = {
        name: _value(parameter, typer.Context(command)).split("|")
        for name, command in commands()
        for parameter in command.params
        if "--format" in parameter.opts and name != "generate metrics"
    }
    assert documented == offered


def test_every_documented_option_exists() -> None:
    known = {name for _, command in commands() for parameter in command.params for name in parameter.opts}
    root = {name for parameter in typer.main.get_command(app).params for name in parameter.opts}
    assert option_names("\n".join(SECTIONS)) <= known | root | plugin_options() | {"-h", "--help"}


def test_spark_and_plugin_options_are_documented() -> None:
    assert option_names(section_of("Spark")) == SPARK
    assert plugin_options() == option_names(section_of("pytest")) - {"--tolerance", "--metrics-only", "--assignor"}
