"""Assignors that state Kafka releases: the scenario again with each pair of releases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from scenarios.language.errors import Mistakes
from scenarios.language.fields import valid_entries
from scenarios.language.paths import ScenarioPath, format_path
from scenarios.language.releases import KafkaReleases
from scenarios.language.validation import OtherPaths, SourceMap
from scenarios.schema import AssignorSettings, ScenarioDocument, ScenarioFileDocument

Document = TypeVar("Document", ScenarioDocument, ScenarioFileDocument)

_OF_SCENARIO: Final[Mapping[str, ScenarioPath]] = {
    "kafka.brokers": ("cluster", "kafka"),
    "kafka.clients": ("application", "kafka"),
}
"""Where the scenario states the releases that an entry of `assignors` may state."""


class EntrySourceMap(OtherPaths):
    """The source map of a scenario in which an entry of `assignors` states the releases.

    `paths`: where the entry states what the scenario states at these paths.
    """

    def __init__(self, file: SourceMap, paths: Mapping[ScenarioPath, ScenarioPath], mistakes: Mistakes) -> None:
        super().__init__(file, mistakes)
        self._paths = paths

    def in_file(self, path: ScenarioPath) -> ScenarioPath:
        """Return the path in the file."""
        return self._paths.get(path, path)

    def add_mistake(self, path: ScenarioPath, message: str) -> None:
        """Report a mistake at a path."""
        super().add_mistake(path, self._with_keys_of_entry(message))

    def add_warning(self, path: ScenarioPath, message: str) -> None:
        """Report a valid but probably unintended value at a path."""
        super().add_warning(path, self._with_keys_of_entry(message))

    def _with_keys_of_entry(self, message: str) -> str:
        """Return a message in which the keys that state the releases are those of the entry."""
        for path, own in self._paths.items():
            message = message.replace(format_path(path), format_path(own))
        return message


@dataclass(frozen=True, slots=True)
class FileOfReleases:
    """A file in which an entry of `assignors` replaces the releases of the scenario.

    Attributes:
        file: the parsed file.
        source_map: its source map, in which the entry states the releases.
    """

    releases: KafkaReleases
    file: ScenarioFileDocument
    source_map: SourceMap


def files_of_releases(
    file: ScenarioFileDocument, source_map: SourceMap, mistakes: Mistakes
) -> Iterator[FileOfReleases]:
    """Yield the file with the releases of each entry of `assignors` that differ from the scenario's.

    Yields the file, once for each pair of releases.
    """
    if file.application is None:
        return
    of_scenario = KafkaReleases(file.cluster.kafka, file.application.kafka)
    seen = {of_scenario}
    for i, entry in valid_entries(file.assignors or []):
        releases = releases_of(entry, of_scenario)
        if releases in seen or entry.kafka is None:
            continue
        seen.add(releases)
        keys = entry.kafka.keys()
        paths: dict[ScenarioPath, ScenarioPath] = {
            path: ("assignors", i, *(key if key in keys else "kafka").split("."))
            for key, path in _OF_SCENARIO.items()
            if key in keys or "kafka" in keys
        }
        yield FileOfReleases(releases, with_releases(file, releases), EntrySourceMap(source_map, paths, mistakes))


def releases_of(entry: AssignorSettings, of_scenario: KafkaReleases) -> KafkaReleases:
    """Return the releases of the runs with an assignor, in a scenario with some releases."""
    return of_scenario if entry.kafka is None else entry.kafka.over(of_scenario)


def with_releases(document: Document, releases: KafkaReleases) -> Document:
    """Return a document with other releases of its brokers and of the clients of its application."""
    application = document.application
    assert application is not None
    update = {
        "cluster": document.cluster.model_copy(update={"kafka": releases.brokers}),
        "application": application.model_copy(update={"kafka": releases.clients}),
    }
    return document.model_copy(update=update)
