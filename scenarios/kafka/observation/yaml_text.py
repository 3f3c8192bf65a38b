"""Small YAML: values in flow style on one line, or over several where one would be too long."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

Value = str | int | float | bool | Sequence["Value"] | Mapping[str, "Value"]

WIDTH: Final = 118
_PLAIN = re.compile(
    r"[A-Za-z_][\w./-]*|\d{1,9}_\d{1,9}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d+[smhd](\d+[smhd])*", re.ASCII
)
_MEANS_MORE = re.compile(r"null|true|false|yes|no|on|off|y|n", re.IGNORECASE)


def flow(value: Value) -> str:
    """A value on one line."""
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return repr(value)
        case str():
            is_plain = _PLAIN.fullmatch(value) and not _MEANS_MORE.fullmatch(value)
            return value if is_plain else json.dumps(value, ensure_ascii=not value.isprintable())
        case Mapping():
            return "{" + ", ".join(f"{flow(key)}: {flow(each)}" for key, each in value.items()) + "}"
        case _:
            return "[" + ", ".join(map(flow, value)) + "]"


def entry(key: str, value: Value, indent: int) -> Iterator[str]:
    """The lines of `key: value`; a list or mapping that is too long for one line is broken between its elements."""
    margin = " " * indent
    line = f"{margin}{flow(key)}: {flow(value)}"
    if len(line) <= WIDTH or isinstance(value, str | int | float):
        yield line
        return
    if isinstance(value, Mapping):
        elements, opening, closing = [f"{flow(name)}: {flow(each)}" for name, each in value.items()], "{", "}"
    else:
        elements, opening, closing = list(map(flow, value)), "[", "]"
    yield f"{margin}{flow(key)}: {opening}"
    row = f"{margin} "
    for element in elements:
        if len(row) + len(element) + 2 > WIDTH and row.strip():
            yield row
            row = f"{margin} "
        row += f" {element},"
    yield row
    yield f"{margin}{closing}"


def comment(text: str, bullet: str = "") -> Iterator[str]:
    """A sentence as lines of a comment; nothing in it can end the comment."""
    row = f"# {bullet}"
    for word in text.split():
        shown = word if word.isprintable() else repr(word)[1:-1]
        if len(row) + len(shown) >= WIDTH and row.strip("# -"):
            yield row.rstrip()
            row = "#" + " " * (1 + len(bullet))
        row += f"{shown} "
    yield row.rstrip()
