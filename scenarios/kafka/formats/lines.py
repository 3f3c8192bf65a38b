"""Lines of tool output: the error of all parsers, and the removal of shell and logger lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_LOG_LINE = r"\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d"
_LAUNCHER = r"(WARN|WARNING|INFO|ERROR|SLF4J|log4j)[: ]|OpenJDK |Java HotSpot|Picked up |[$#>] "
_BROKER_IDS = re.compile(r"\s*\d{1,10}\s*(?:,\s*\d{1,10}\s*)*")
_IGNORED_LINE = re.compile(rf"\s*$|{_LOG_LINE}|{_LAUNCHER}")


class FormatError(ValueError):
    """A text that is not in the expected format.

    `line`: number of the wrong line, from 1; None if no single line is wrong.
    """

    def __init__(self, line: int | None, message: str) -> None:
        super().__init__(message)
        self.line = line


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text with their numbers, from 1; skip blank lines and those of shells and loggers."""
    for number, line in enumerate(text.split("\n"), start=1):
        if not _IGNORED_LINE.match(line):
            yield number, line.rstrip()


def parse_broker_ids(number: int, field: str, text: str) -> tuple[int, ...]:
    """Parse broker ids such as `5,6,7`; a blank text has none.

    `number`: number of the line, for the error; `field`: name of the field, for the error; `text`: value of the field.
    Returns the broker ids, in the order of the text. Raises FormatError if the text is not a list of broker ids.
    """
    if not text.strip():
        return ()
    if not _BROKER_IDS.fullmatch(text):
        raise FormatError(number, f"{field}: '{text.strip()[:60]}' is not a list of broker ids (such as 5,6,7)")
    return tuple(map(int, text.split(",")))


def check_columns(number: int, titles: Sequence[str], required: Sequence[str], command: str) -> None:
    """Check the column titles of a header line.

    `titles`: titles in the order of the line; `required`: titles that must be among them; `command`: command that
    prints such a header, for the error. Raises FormatError if a title is missing or occurs twice.
    """
    for title in required:
        if title not in titles:
            raise FormatError(number, f"no column {title}; expected the output of {command}")
    for title in titles:
        if titles.count(title) > 1:
            raise FormatError(number, f"two columns {title[:60]}; expected the output of {command}")
