"""Read the files that a scenario imports."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Generic, TypeVar

from scenarios.kafka.formats.lines import FormatError
from scenarios.language import paths
from scenarios.language.errors import Mistake, Mistakes
from scenarios.language.validation import SourceMap

T = TypeVar("T")

MAX_IMPORT_BYTES: Final = 50_000_000
"""The maximum size of an imported file: about 400,000 partitions in the format of `kafka-topics.sh --describe`."""


class UnreadableError(ValueError):
    """A file that cannot be read as text."""


@dataclass(frozen=True, slots=True)
class ImportedContent(Generic[T]):
    """The parsed content of a file.

    Attributes:
        source: the file name for messages.
        content: the parsed content.
    """

    source: str
    content: T


def read_text(path: Path, max_bytes: int, too_long: str) -> str:
    """Read a text file up to a maximum size.

    Args:
        path: the file.
        max_bytes: the maximum size.
        too_long: the error message for larger files.

    Returns:
        The text.

    Raises:
        UnreadableError: the file is missing, not a regular file, not UTF-8 or too large.
    """
    try:
        if not path.is_file():
            raise UnreadableError("no such file" if not path.exists() else "not a file")
        with path.open("rb") as file:
            content = file.read(max_bytes + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, UnreadableError):
            raise
        raise UnreadableError(f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(content) > max_bytes:
        raise UnreadableError(too_long)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UnreadableError(f"not UTF-8 text (line {line}); save it as UTF-8") from None


class ImportedFiles:
    """Reads the files and folders that a scenario names, relative to its folder.

    Attributes:
        digests: SHA-256 of each file or folder that was read, by name in the scenario.
    """

    def __init__(self, folder: Path, source_map: SourceMap, mistakes: Mistakes) -> None:
        self._folder = folder
        self._source_map = source_map
        self._mistakes = mistakes
        self.digests: dict[str, str] = {}

    def read(self, path: paths.ScenarioPath, name: str | None, parse: Callable[[str], T]) -> ImportedContent[T] | None:
        """Read and parse a file, and report mistakes.

        Args:
            path: the path of the file name in the scenario.
            name: the file name; None if not set.
            parse: the parser.

        Returns:
            The content; None if the name is not set or the file is invalid.
        """
        if name is None:
            return None
        source = str(self._folder / name)
        try:
            text = read_text(Path(source), MAX_IMPORT_BYTES, f"longer than {MAX_IMPORT_BYTES:,} bytes")
            self.digests[name] = hashlib.sha256(text.encode()).hexdigest()
            return ImportedContent(source, parse(text))
        except UnreadableError as error:
            self._source_map.add_mistake(path, f"'{source}': {error}")
        except FormatError as error:
            self._mistakes.add(Mistake(source, error.line, "", str(error)))
        self._source_map.mark_invalid(path)
        return None

    def read_folder(
        self, path: paths.ScenarioPath, name: str, read: Callable[[Path], tuple[T, str]]
    ) -> ImportedContent[T] | None:
        """Read a folder, and report mistakes.

        Args:
            path: the path of the folder name in the scenario.
            name: the folder name.
            read: the reader; returns the content and its SHA-256.

        Returns:
            The content; None if the folder is invalid.
        """
        source = str(self._folder / name)
        try:
            content, self.digests[name] = read(Path(source))
            return ImportedContent(source, content)
        except FormatError as error:
            self._source_map.add_mistake(path, f"'{source}': {error}")
        self._source_map.mark_invalid(path)
        return None
