"""Lines of a message that fit a terminal, broken between words; in files and pipes, a message stays one line."""

from __future__ import annotations

import shutil
import sys
from typing import Final, TextIO

_INDENT: Final = "  "


def print_message(message: str, stream: TextIO | None = None) -> None:
    """Print a message of one line to a stream (default: standard error), wrapped if that is a terminal."""
    file = sys.stderr if stream is None else stream
    print(wrapped(message, shutil.get_terminal_size().columns) if file.isatty() else message, file=file)


def wrapped(message: str, width: int) -> str:
    """Return a message in lines of up to `width` characters; further lines are indented.

    What is quoted, such as an option to copy, is never broken, and neither are names longer than a line.
    """
    lines, line = [], ""
    for word in _words(message):
        if line.strip() and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = _INDENT + word
        else:
            line = f"{line} {word}" if line else word
    return "\n".join([*lines, line])


def _words(message: str) -> list[str]:
    """Split a message at spaces outside quotes; an apostrophe within a word is no quote."""
    words: list[str] = []
    is_open = False
    for part in message.split(" "):
        if is_open:
            words[-1] += f" {part}"
        else:
            words.append(part)
        start = part.lstrip("([")
        is_open = (is_open or start.startswith("'")) and not part.rstrip(".,:;)]").endswith("'", 1 if is_open else 2)
    return words if not is_open else message.split(" ")
