"""Safe output of names from scenarios and logs.

Names may contain markup, control characters, or marks that change the direction of the text that follows. Each output
escapes its own markup; this module escapes what no output may contain.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

_CONTROL = frozenset({"Cc", "Cs", "Zl", "Zp"})
_DIRECTION_MARKS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def printable(text: str) -> str:
    r"""Return text with control characters, line ends and direction marks escaped, for example as `\x1b`."""
    return "".join(_escaped(char) if _is_harmful(char) else char for char in text)


def shortened(text: str, width: int) -> str:
    """Return text without its middle if it is longer than `width`: names often differ in their ends."""
    if len(text) <= width:
        return text
    head = width // 2
    tail = width - 1 - head
    return f"{text[:head].rstrip()}…{text[len(text) - tail :].lstrip()}"


def shortened_list(text: str, width: int) -> str:
    """Return a list without its last parts if it is longer than `width`, as in `a joined, b joined and 7 more`."""
    parts = text.split(", ")
    if len(text) <= width or len(parts) < 3:
        return shortened(text, width)
    shown = len(parts)
    while shown > 1 and len(", ".join(parts[:shown])) > width - len(" and 999 more"):
        shown -= 1
    return f"{shortened(', '.join(parts[:shown]), width)} and {len(parts) - shown} more"


def listed(texts: Iterable[str]) -> str:
    """Return `a, b and c`; nothing without texts."""
    parts = list(texts)
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def name_parts(name: str) -> list[str]:
    """Split a name where a line may break, after the characters that separate words in names."""
    return re.findall(r"[^\s_.,:=/()-]+[\s_.,:=/()-]*|^[\s_.,:=/()-]+", name)


def natural_key(name: str) -> list[tuple[int, int, str]]:
    """Return a sort key that orders numbers in names by value: `0_2` before `0_10`."""
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in re.split(r"(\d+)", name) if part]


def plain_text(value: Any) -> str:
    """Return a value as text: lists separated by semicolons, nothing for None and empty lists."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Sequence):
        return "; ".join(map(str, value))
    return "" if value is None else str(value)


def _is_harmful(char: str) -> bool:
    return unicodedata.category(char) in _CONTROL or char in _DIRECTION_MARKS


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
