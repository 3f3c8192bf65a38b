"""Text for terminals by rich: reproducible on every machine, and names are never interpreted as markup."""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
from collections.abc import Iterable

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len, chop_cells
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from reports.analysis.text import name_parts, printable

_JOINT = "\ue000"
"""Takes the place of a space at which a line must not break; rich breaks lines at non-breaking spaces, too."""

_BREAK = "\x1f"
"""Takes no place; rich breaks lines there, as at other white space."""

_FIGURE = re.compile(r"(?<=\d) (?=(?:ms|s|min|h|d|[kMGTPE]?B(?:/s)?|%)(?![\w-]))")

HEADER, QUIET, GOOD, BAD = "bold", "dim", "bold green", "bold red"
"""Styles."""


def lines(parts: Iterable[RenderableType], width: int | None = None, *, color: bool | None = None) -> str:
    """Render parts one below the other as text that ends with a newline."""
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
    rendered = []
    for part in parts:
        if not colored and isinstance(part, Text) and _fits(part, console.width):
            rendered.append(f"{part.plain}\n")
            continue
        with console.capture() as captured:
            # soft_wrap: text that must not be broken, so that it can be copied, is neither wrapped nor cropped.
            console.print(part, soft_wrap=isinstance(part, Text) and bool(part.no_wrap))
        rendered.append(captured.get())
    shown = "".join(rendered).replace(_JOINT, " ").replace(_BREAK, "")
    return "".join(f"{line.rstrip()}\n" for line in shown.splitlines())


def _fits(text: Text, width: int) -> bool:
    """Return whether rich would print a text as it is; its layout takes most of the time of long lists."""
    is_plain = text.justify in (None, "default", "left") and "\t" not in text.plain
    return is_plain and all(cell_len(line) <= width for line in text.plain.split("\n"))


def keep_figures(text: str) -> str:
    """Return a text whose figures `lines` leaves on the line of their units, as in `48.2 s`."""
    return _FIGURE.sub(_JOINT, text)


def breakable(name: str) -> str:
    """Return a name that `lines` breaks after word separators if it is longer than a line; other text is unchanged."""
    return name if " " in name else _BREAK.join(name_parts(name))


def grid() -> Table:
    """Return a table with a line below its header and no frame."""
    return Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=0, header_style=HEADER)


def wrapped_name(name: str, width: int) -> str:
    """Return a name in lines of at most `width` characters, broken after word separators where possible."""
    parts = [""]
    for part in name_parts(printable(name)):
        if parts[-1] and cell_len(parts[-1] + part.rstrip()) > width:
            parts.append("")
        parts[-1] += part
    return "\n".join(piece for part in parts for piece in chop_cells(part.rstrip(), max(width, 2)) or [""])


def terminal_width(width: int | None) -> int:
    """Return the width of the terminal in characters, at least 20; detected by default."""
    return max(shutil.get_terminal_size((100, 24)).columns if width is None else width, 20)


def wants_color() -> bool:
    """Return whether to use colors: NO_COLOR and FORCE_COLOR decide, or else whether standard output is a terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
