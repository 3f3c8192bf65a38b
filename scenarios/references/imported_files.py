"""Read the files that a scenario imports."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from scenarios.kafka.formats.lines import FormatError
from scenarios.language import paths
from scenarios.language.errors import Mistake, Mistakes
from scenarios.language.text_files import MAX_IMPORT_BYTES, UnreadableError, read_text
from scenarios.language.validation import SourceMap

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ImportedContent(Generic[T]):
    """The parsed content of a file.

    Attributes:
        source: the file name for messages.
        content: the parsed content.
    """

    source: str
    content: T


class ImportedFiles:
    """Reads the files and folders that a scenario names, relative to its folder.

    `digests`: SHA-256 of each file or folder that was read, by name in the scenario.
    """

    def __init__(self, folder: Path, source_map: SourceMap, mistakes: Mistakes) -> None:
        self._folder = folder
        self._source_map = source_map
        self._mistakes = mistakes
        self.digests: dict[str, str] = {}

    def read(
        self,
        path: paths.ScenarioPath,
        name: str | None,
        parse: Callable[[str], T],
        max_bytes: int = MAX_IMPORT_BYTES,
    ) -> ImportedContent[T] | None:
        """Read and parse a file, and report mistakes.

        `path`: the path of the file name in the scenario. `name`: the file name; None if not set. `max_bytes`: the
        maximum size of the file. The result is None if the name is not set or the file is invalid.
        """
        if name is None:
            return None
        source = str(self._folder / name)
        try:
            text = read_text(Path(source), max_bytes, f"longer than {max_bytes:,} bytes")
            self.digests[name] = hashlib.sha256(text.encode()).hexdigest()
            return ImportedContent(source, parse(text))
        except UnreadableError as error:
            self._source_map.add_mistake(path, f"'{error.place(source)}': {error}")
        except FormatError as error:
            self._mistakes.add(Mistake(source, error.line, "", str(error)))
        self._source_map.mark_invalid(path)
        return None

    def read_folder(
        self, path: paths.ScenarioPath, name: str, read: Callable[[Path], tuple[T, str]]
    ) -> ImportedContent[T] | None:
        """Read a folder, and report mistakes.

        `path`: the path of the folder name in the scenario. `read`: the reader; returns the content and its SHA-256.
        The result is None if the folder is invalid.
        """
        source = str(self._folder / name)
        try:
            content, digest = read(Path(source))
            earlier = self.digests.get(name)  # of other tables of the folder
            self.digests[name] = digest if earlier is None else hashlib.sha256((earlier + digest).encode()).hexdigest()
            return ImportedContent(source, content)
        except FormatError as error:
            self._source_map.add_mistake(path, f"'{source}': {error}")
        self._source_map.mark_invalid(path)
        return None
