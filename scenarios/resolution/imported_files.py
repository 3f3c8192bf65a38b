"""Files that a scenario names, with what Kafka's tools printed."""

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
    """What a file says, and the name it has in messages."""

    source: str
    content: T


class ImportedFiles:
    """Reads the files and folders that a scenario names, relative to its folder, and remembers which they were."""

    def __init__(self, folder: Path, places: SourceMap, mistakes: Mistakes) -> None:
        self._folder = folder
        self._places = places
        self._mistakes = mistakes
        self.digests: dict[str, str] = {}

    def read(self, path: paths.ScenarioPath, name: str | None, parse: Callable[[str], T]) -> ImportedContent[T] | None:
        """Read the file that stands at a place of the scenario; None if none does, or none that can be read."""
        if name is None:
            return None
        source = str(self._folder / name)
        try:
            text = read_text(Path(source), MAX_IMPORT_BYTES, f"longer than {MAX_IMPORT_BYTES:,} bytes")
            self.digests[name] = hashlib.sha256(text.encode()).hexdigest()
            return ImportedContent(source, parse(text))
        except UnreadableError as error:
            self._places.wrong(path, f"'{source}': {error}")
        except FormatError as error:
            self._mistakes.add(Mistake(source, error.line, "", str(error)))
        self._places.cut(path)
        return None

    def read_folder(
        self, path: paths.ScenarioPath, name: str, read: Callable[[Path], tuple[T, str]]
    ) -> ImportedContent[T] | None:
        """Read the folder that is named at a place of the scenario; None if it cannot be read.

        Args:
            path: the place.
            name: the folder.
            read: what reads it, and says the SHA-256 of what it has read.
        """
        source = str(self._folder / name)
        try:
            content, self.digests[name] = read(Path(source))
            return ImportedContent(source, content)
        except FormatError as error:
            self._places.wrong(path, f"'{source}': {error}")
        self._places.cut(path)
        return None
