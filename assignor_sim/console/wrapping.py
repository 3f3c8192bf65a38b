"""Lines of a message that fit a terminal, broken between words; in files and pipes, a message stays one line."""

from __future__ import annotations

import re
import shutil
import sys
from typing import Final, TextIO

_INDENT: Final = "  "
_UNIT: Final = re.compile(r"(?:ms|s|min|h|d|[kMGTPE]?B(?:/s)?|%)[.,:;)]*")


def print_message(message: str, stream: TextIO | None = None) -> None:
    """Print a message of one line to a stream (default: standard error), wrapped if that is a terminal."""
    file = sys.stderr if stream is None else stream
    print(fitted(message, file), file=file)


def fitted(message: str, stream: TextIO) -> str:
    """Return a message of one line as it is printed to a stream: wrapped if that is a terminal."""
    return wrapped(message, shutil.get_terminal_size().columns) if stream.isatty() else message


def wrapped(message: str, width: int) -> str:
    """Return a message in lines of up to `width` characters; further lines are indented, more than the first.

    What is quoted, such as an option to copy, is never broken, and neither are names longer than a line, nor a figure
    and its unit.
    """
    text = message.lstrip(" ")
    indent = " " * (len(message) - len(text))
    lines, line = [], ""
    for word in _words(text):
        if line.strip() and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = indent + _INDENT + word
        else:
            line = f"{line} {word}" if line else indent + word
    return "\n".join([*lines, line])


def _words(message: str) -> list[str]:
    """Split a message at spaces outside quotes; an apostrophe within a word is no quote."""
    words: list[str] = []
    is_open = False
    for part in message.split(" "):
        if is_open or (words and _UNIT.fullmatch(part) and words[-1][-1:].isdigit()):
            words[-1] += f" {part}"
        else:
            words.append(part)
        start = part.lstrip("([")
        is_open = (is_open or start.startswith("'")) and not part.rstrip(".,:;)]").endswith("'", 1 if is_open else 2)
    return words if not is_open else message.split(" ")
