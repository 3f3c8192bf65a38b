"""Paths of values in a scenario, such as `clients[2].rack`: keys and list positions from the root down."""

from __future__ import annotations

from collections.abc import Iterable

ScenarioPath = tuple[str | int, ...]


def format_path(path: Iterable[str | int]) -> str:
    """Format a path as in messages and in `--set path=value`."""
    text = ""
    for part in path:
        shown = "''" if part == "" else part
        text += f"[{part}]" if isinstance(part, int) else f".{shown}" if text else str(shown)
    return text
