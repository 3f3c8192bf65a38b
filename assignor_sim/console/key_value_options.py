"""Options of the form KEY=VALUE: `--set` of commands that load a scenario, and Streams configs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer

from assignor_sim.console.exits import BAD_INPUT, exit_with_error, print_error


def parse_configs(option: str, texts: Sequence[str]) -> dict[str, Any]:
    """Return configs as YAML values, by key; exit with code 2 if a text is not KEY=VALUE."""
    from ruamel.yaml import YAML

    configs = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not (key and equals):
            exit_with_error(f"{option}: expected KEY=VALUE, found {text!r}")
        configs[key] = YAML(typ="safe").load(value)
    return configs


def parse_overrides(texts: Sequence[str] | None) -> list[tuple[str, str]]:
    """Return pairs of path and value; exit with code 2 if a text has another form."""
    return [_override(text) for text in texts or ()]


def _override(text: str) -> tuple[str, str]:
    path, equals, value = text.partition("=")
    if not equals or not path:
        print_error(f"--set {text}: expected PATH=VALUE, as in clients[0].count=6")
        raise typer.Exit(BAD_INPUT)
    return path, value
