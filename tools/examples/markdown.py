"""Texts of scenarios in Markdown: what would be markup is shown as it is, other punctuation is left readable."""

from __future__ import annotations

import re

from reports.analysis.text import printable

_MARKUP = re.compile(r"[\\`*{}\[\]]|(?<!\w)_|_(?!\w)")
_BLOCK = re.compile(r"^(?:[#+-]|\d+(?=[.)])|[!?]{3}(?= )|:(?= )|=+$)")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;", "~": "&#126;", "://": "&#58;//"}
_ENTITY = re.compile("|".join(map(re.escape, _ENTITIES)))


def prose(text: str, is_first: bool = True) -> str:
    """Return a text on one line with the characters escaped that are markup.

    `is_first` says whether a line may begin with it, where more characters are markup.
    """
    escaped = _MARKUP.sub(lambda found: f"\\{found[0]}", printable(text))
    if is_first:
        escaped = _BLOCK.sub(_escaped_block, escaped)
    return _ENTITY.sub(lambda found: _ENTITIES[found[0]], escaped)


def code(text: str) -> str:
    """Return a text in code style, whatever backticks it contains."""
    text = printable(text)
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{space}{text}{space}{fence}"


def _escaped_block(found: re.Match[str]) -> str:
    return f"{found[0]}\\" if found[0].isdigit() else f"\\{found[0]}"
