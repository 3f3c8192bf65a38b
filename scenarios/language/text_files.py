"""Reading of text files, limited in size."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from simulator.results.files import NotRegularError, open_regular

MAX_IMPORT_BYTES: Final = 50_000_000
"""Maximum size of an imported file: about 400,000 partitions in the output of kafka-topics.sh."""


class UnreadableError(ValueError):
    """A file that cannot be read as text; the message gives the reason.

    `line`: the first line that cannot be read, from 1; None if the file cannot be read at all.
    """

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line

    def place(self, file: object) -> str:
        """Return a file with the line, if there is one, for messages."""
        return str(file) if self.line is None else f"{file}:{self.line}"


def read_text(path: Path, max_bytes: int, too_long: str) -> str:
    """Return the content of a text file in UTF-8.

    `max_bytes`: maximum size; `too_long`: error message for a larger file. Raises UnreadableError if the file is
    missing, not a regular file, not UTF-8 or too large.
    """
    try:
        with open_regular(path) as file:
            content = file.read(max_bytes + 1)
    except (FileNotFoundError, NotADirectoryError):
        raise UnreadableError("no such file") from None
    except NotRegularError:
        raise UnreadableError("not a file") from None
    except (OSError, ValueError) as error:
        raise UnreadableError(f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(content) > max_bytes:
        raise UnreadableError(too_long, content.count(b"\n", 0, max_bytes) + 1)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UnreadableError("not UTF-8 text; save it as UTF-8", line) from None
