"""The option `--set PATH=VALUE` of commands that load a scenario."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from assignor_sim.console.exits import BAD_INPUT, print_error


def parse_overrides(texts: Sequence[str] | None) -> list[tuple[str, str]]:
    """Return pairs of path and value; exit with code 2 if a text has another form."""
    return [_override(text) for text in texts or ()]


def _override(text: str) -> tuple[str, str]:
    path, equals, value = text.partition("=")
    if not equals or not path:
        print_error(f"--set {text}: expected PATH=VALUE, as in clients[0].count=6")
        raise typer.Exit(BAD_INPUT)
    return path, value
