"""Java properties files, the configuration format of Kafka's tools and applications.

Source: `java.util.Properties.load`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from scenarios.kafka.formats.lines import FormatError

_KEY_VALUE = re.compile(r"(?P<key>(?:\\.|[^\\=:\s])+)[ \t\f]*(?:[=:][ \t\f]*)?(?P<value>.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED_CHARACTERS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}


def parse_properties(text: str) -> Mapping[str, str]:
    """Parse a properties file; the last value of a repeated key wins.

    Returns the values by key. Raises FormatError if a line has no key; the message never contains a value, which may be
    a password.
    """
    properties: dict[str, str] = {}
    for number, line in _logical_lines(text):
        match = _KEY_VALUE.fullmatch(line)
        if match is None:
            raise FormatError(number, "not a property (key=value)")
        properties[_unescape(match["key"])] = _unescape(match["value"])
    return properties


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines joined with their continuation lines, without comments and blank lines."""
    joined, first = "", 0
    for number, line in enumerate(re.split(r"\r\n|\n|\r", text), start=1):
        part = line.lstrip(" \t\f")
        if not joined and (not part or part[0] in "#!"):
            continue
        first = first if joined else number
        continues = (len(part) - len(part.rstrip("\\"))) % 2 == 1
        joined += part[:-1] if continues else part
        if not continues:
            yield first, joined
            joined = ""
    if joined:
        yield first, joined


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_unescape_character, text)


def _unescape_character(match: re.Match[str]) -> str:
    escaped = match[1]
    return chr(int(escaped[1:], 16)) if len(escaped) > 1 else _ESCAPED_CHARACTERS.get(escaped, escaped)
