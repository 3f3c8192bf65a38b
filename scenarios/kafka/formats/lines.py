"""What the importers share: the error, and telling the noise of a terminal from what a tool printed."""

from __future__ import annotations

import re
from collections.abc import Iterator

_LOG_LINE = r"\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d"
_LAUNCHER = r"(WARN|WARNING|INFO|ERROR|SLF4J|log4j)[: ]|OpenJDK |Java HotSpot|Picked up |[$#>] "
_NOISE = re.compile(rf"\s*$|{_LOG_LINE}|{_LAUNCHER}")


class FormatError(ValueError):
    """A text that is not what the tool prints; `line` counts from 1, None if no line is to blame."""

    def __init__(self, line: int | None, message: str) -> None:
        super().__init__(message)
        self.line = line


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a text with their numbers, without those that shells and loggers put in between."""
    for number, line in enumerate(text.split("\n"), start=1):
        if not _NOISE.match(line):
            yield number, line.rstrip()


def parse_broker_ids(number: int, what: str, text: str) -> tuple[int, ...]:
    """Read broker ids such as `5,6,7`; nothing at all is no ids.

    Raises:
        FormatError: something else.
    """
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    for part in parts:
        if not re.fullmatch(r"\d{1,10}", part):
            raise FormatError(number, f"{what}: '{text.strip()[:60]}' is not a list of broker ids (such as 5,6,7)")
    return tuple(map(int, parts))
