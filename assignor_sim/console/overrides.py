"""The option `--set PATH=VALUE` of commands that read a scenario."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from assignor_sim.console.exits import BAD_INPUT


def parse_overrides(texts: Sequence[str] | None) -> list[tuple[str, str]]:
    """Paths and values from `--set path=value`; ends with exit code 2 if one is no such thing."""
    return [_override(text) for text in texts or ()]


def _override(text: str) -> tuple[str, str]:
    path, equals, value = text.partition("=")
    if not equals or not path:
        print(f"--set {text}: expected PATH=VALUE, as in clients[0].count=6", file=sys.stderr)
        raise typer.Exit(BAD_INPUT)
    return path, value
