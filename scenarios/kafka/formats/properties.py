"""Properties files of Java: keys and values, as Kafka's tools and applications take them.

Source: `java.util.Properties.load`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from scenarios.kafka.formats.lines import FormatError

_KEY = re.compile(r"(?P<key>(?:\\.|[^\\=:\s])+)[ \t\f]*(?:[=:][ \t\f]*)?(?P<value>.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_MEANS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}


def parse_properties(text: str) -> Mapping[str, str]:
    """Read keys and values; of a key that stands twice the last value counts.

    Raises:
        FormatError: a line has no key; its value is never shown.
    """
    properties: dict[str, str] = {}
    for number, line in _logical_lines(text):
        match = _KEY.fullmatch(line)
        if match is None:
            raise FormatError(number, "not a property (key=value)")
        properties[_plain(match["key"])] = _plain(match["value"])
    return properties


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with what continues them, without comments and blank ones."""
    whole, first = "", 0
    for number, line in enumerate(re.split(r"\r\n|\n|\r", text), start=1):
        part = line.lstrip(" \t\f")
        if not whole and (not part or part[0] in "#!"):
            continue
        first = first if whole else number
        continues = (len(part) - len(part.rstrip("\\"))) % 2 == 1
        whole += part[:-1] if continues else part
        if not continues:
            yield first, whole
            whole = ""
    if whole:
        yield first, whole


def _plain(text: str) -> str:
    return _ESCAPE.sub(_unescape, text)


def _unescape(match: re.Match[str]) -> str:
    escaped = match[1]
    return chr(int(escaped[1:], 16)) if len(escaped) > 1 else _MEANS.get(escaped, escaped)
