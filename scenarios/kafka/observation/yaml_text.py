"""A minimal YAML writer: values in flow style, on one line or wrapped over several."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

YamlValue = str | int | float | bool | Sequence["YamlValue"] | Mapping[str, "YamlValue"]

WIDTH: Final = 118
"""Maximum line length."""

_PLAIN = re.compile(
    r"[A-Za-z_][\w./-]*|\d{1,9}_\d{1,9}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d+[smhd](\d+[smhd])*", re.ASCII
)
_RESERVED = re.compile(r"null|true|false|yes|no|on|off|y|n", re.IGNORECASE)


def flow_text(value: YamlValue) -> str:
    """Return a value in flow style on one line."""
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return repr(value)
        case str():
            is_plain = _PLAIN.fullmatch(value) and not _RESERVED.fullmatch(value)
            return value if is_plain else json.dumps(value, ensure_ascii=not value.isprintable())
        case Mapping():
            return "{" + ", ".join(f"{flow_text(key)}: {flow_text(item)}" for key, item in value.items()) + "}"
        case _:
            return "[" + ", ".join(map(flow_text, value)) + "]"


def entry_lines(key: str, value: YamlValue, indent: int) -> Iterator[str]:
    """Yield the lines of `key: value`; a list or mapping that exceeds one line is wrapped between its elements."""
    margin = " " * indent
    line = f"{margin}{flow_text(key)}: {flow_text(value)}"
    if len(line) <= WIDTH or isinstance(value, str | int | float):
        yield line
        return
    if isinstance(value, Mapping):
        elements, opening, closing = [f"{flow_text(name)}: {flow_text(item)}" for name, item in value.items()], "{", "}"
    else:
        elements, opening, closing = list(map(flow_text, value)), "[", "]"
    yield f"{margin}{flow_text(key)}: {opening}"
    row = f"{margin} "
    for element in elements:
        if len(row) + len(element) + 2 > WIDTH and row.strip():
            yield row
            row = f"{margin} "
        row += f" {element},"
    yield row
    yield f"{margin}{closing}"


def comment_lines(text: str, bullet: str = "") -> Iterator[str]:
    """Yield a sentence as comment lines; characters that could end the comment are escaped."""
    row = f"# {bullet}"
    for word in text.split():
        printable = word if word.isprintable() else repr(word)[1:-1]
        if len(row) + len(printable) >= WIDTH and row.strip("# -"):
            yield row.rstrip()
            row = "#" + " " * (1 + len(bullet))
        row += f"{printable} "
    yield row.rstrip()
