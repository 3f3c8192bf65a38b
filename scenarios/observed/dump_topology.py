"""The subtopologies that `Topology.describe()` printed, with the topics of the cluster they were printed with."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from scenarios.errors import did_you_mean
from scenarios.importers.topology import DescribedSource, DescribedStore, DescribedSubtopology
from scenarios.observed.errors import ObservationError
from scenarios.observed.observation import SeenSubtopology


def described_subtopologies(
    described: Sequence[DescribedSubtopology], application_id: str, topics: Collection[str], file: str
) -> tuple[tuple[SeenSubtopology, ...], tuple[str, ...]]:
    """Find the topics of the cluster that a text means.

    Args:
        application_id: which internal topics have in front, and the text leaves out.
        topics: all that the cluster has.
        file: what messages call the text.

    Returns:
        The subtopologies by id, and what was assumed.

    Raises:
        ObservationError: a source is no topic of the cluster.
    """
    reading = _Reading(application_id, frozenset(topics), file)
    seen = [reading.read(each) for each in sorted(described, key=lambda part: part.id)]
    return tuple(seen), tuple(reading.assumptions)


@dataclass(slots=True)
class _Reading:
    application_id: str
    topics: frozenset[str]
    file: str
    assumptions: list[str] = field(default_factory=list)

    def read(self, part: DescribedSubtopology) -> SeenSubtopology:
        changelogs: dict[str, str] = {}
        unlogged: list[str] = []
        for store in part.stores:
            changelog = self._changelog(store)
            if changelog is None:
                unlogged.append(store.name)
            else:
                changelogs[store.name] = changelog
        sources = [topic for source in part.sources for topic in self._read_by(source)]
        written = [self._full_name(sink) for sink in part.sinks]
        return SeenSubtopology(
            part.id,
            tuple(dict.fromkeys(sources)),
            dict(sorted(changelogs.items())),
            tuple(unlogged),
            tuple(dict.fromkeys(name for name in written if name in self.topics)),
        )

    def _read_by(self, source: DescribedSource) -> list[str]:
        if source.pattern is not None:
            raise ObservationError(
                f"{self.file}:{source.line}: the pattern '{source.pattern}' stands for topics that the text does not "
                "name; write them in its place, as [a, b]"
            )
        names = [self._full_name(topic) for topic in source.topics]
        for name, topic in zip(names, source.topics, strict=True):
            if name not in self.topics:
                hint = did_you_mean(topic, sorted(self.topics), "topics")
                raise ObservationError(f"{self.file}:{source.line}: '{topic}' is not a topic of the cluster ({hint})")
        return names

    def _changelog(self, store: DescribedStore) -> str | None:
        """The changelog of a store: its own, or else the topic of a table, as with `topology.optimization`."""
        own = f"{self.application_id}-{store.name}-changelog"
        if own in self.topics:
            return own
        topic = None if store.table_of is None else self._full_name(store.table_of)
        what = "is taken not to be logged" if topic is None else f"is taken to be restored from its source {topic}"
        self.assumptions.append(f"Store {store.name} has no changelog topic in the cluster; it {what}.")
        return topic

    def _full_name(self, topic: str) -> str:
        """The name that a topic has in the cluster: internal ones have the application id in front."""
        internal = f"{self.application_id}-{topic}"
        looks_internal = re.search(r"-repartition$|-topic$", topic) is not None
        return internal if internal in self.topics and (looks_internal or topic not in self.topics) else topic
