"""Text for a terminal by rich: the same lines whatever machine writes them, and no name taken for markup."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Iterable

from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.table import Table

HEADER, QUIET, GOOD, BAD = "bold", "dim", "bold green", "bold red"
"""Styles."""


def lines(parts: Iterable[RenderableType], width: int | None = None, *, color: bool | None = None) -> str:
    """Draw parts one below the other, as text that ends in a line end.

    Args:
        parts: drawn in turn.
        width: columns of the terminal, 20 at least; found out if None.
        color: whether to write the codes for colours; found out if None.
    """
    colored = wants_color() if color is None else color
    console = Console(
        file=io.StringIO(),
        width=terminal_width(width),
        force_terminal=colored,
        color_system="standard" if colored else None,
        legacy_windows=False,
        emoji=False,
        markup=False,
        highlight=False,
        _environ={},
    )
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def grid() -> Table:
    """A table with a line below its head and nothing around it."""
    return Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=0, header_style=HEADER)


def terminal_width(width: int | None) -> int:
    """How many characters a line may have: as told, else as the terminal is wide; 20 at least."""
    return max(shutil.get_terminal_size((100, 24)).columns if width is None else width, 20)


def wants_color() -> bool:
    """Whether somebody looks at standard output and has nothing against colours."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
