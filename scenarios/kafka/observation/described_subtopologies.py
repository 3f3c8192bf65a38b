"""The subtopologies that `Topology.describe()` printed, with the topics of the cluster that the application runs on.

Source: `org.apache.kafka.streams.processor.internals.InternalTopologyBuilder.topologyDescription`,
`ProcessorStateManager.storeChangelogTopic`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.topology import DescribedSource, DescribedStore, DescribedSubtopology, parse_topology
from scenarios.kafka.naming import full_topic_name
from scenarios.kafka.observation.errors import ObservationError
from scenarios.kafka.observation.observation import ObservedSubtopology
from scenarios.language.errors import did_you_mean

Described = tuple[tuple[ObservedSubtopology, ...], tuple[str, ...]]
"""Subtopologies by id, and what was assumed."""


def described_subtopologies(text: str, application_id: str, topics: Collection[str], file: str) -> Described:
    """Find the subtopologies of a text, and the topics of the cluster that it means.

    Args:
        text: what `Topology.describe()` prints.
        application_id: which internal topics have in front, and the text leaves out.
        topics: all that the cluster has.
        file: what messages call the text.

    Raises:
        ObservationError: it is something else, or a source is no topic of the cluster.
    """
    reading = _Reading(application_id, frozenset(topics), file)
    seen = [reading.read(part, reading.sources(part)) for part in _described(text, file)]
    return tuple(seen), tuple(reading.assumptions)


def with_described_stores(
    seen: Sequence[ObservedSubtopology], text: str, application_id: str, topics: Collection[str], file: str
) -> Described:
    """Add to subtopologies of which a group told the sources what a text says of their stores and of what they write.

    Args:
        seen: subtopologies by id; with changelogs if the group told those too, as streams groups do.
        text: what `Topology.describe()` prints.
        application_id: of the application.
        topics: all that the cluster has.
        file: what messages call the text.

    Raises:
        ObservationError: it is something else, or of another application.
    """
    described = {part.id: part for part in _described(text, file)}
    if sorted(described) != [each.id for each in seen]:
        theirs, ours = ", ".join(map(str, sorted(described))), ", ".join(str(each.id) for each in seen)
        raise ObservationError(f"{file} has subtopologies {theirs}, but the group's tasks are of {ours}")
    told = frozenset(topic for each in seen for topic in each.changelogs.values())
    reading = _Reading(application_id, frozenset(topics), file, told or None)
    return tuple(reading.add(each, described[each.id]) for each in seen), tuple(reading.assumptions)


def _described(text: str, file: str) -> list[DescribedSubtopology]:
    """The subtopologies of a text, by id."""
    try:
        return sorted(parse_topology(text), key=lambda part: part.id)
    except FormatError as error:
        place = "" if error.line is None else f":{error.line}"
        raise ObservationError(f"{file}{place}: {error}") from None


@dataclass(slots=True)
class _Reading:
    """Reads what was described of one cluster; `told` are the changelogs, where the group told them."""

    application_id: str
    topics: frozenset[str]
    file: str
    told: frozenset[str] | None = None
    assumptions: list[str] = field(default_factory=list)

    def read(self, part: DescribedSubtopology, sources: Sequence[str]) -> ObservedSubtopology:
        changelogs: dict[str, str] = {}
        unlogged: list[str] = []
        for store in part.stores:
            changelog = self._changelog(store)
            if changelog is None:
                unlogged.append(store.name)
            else:
                changelogs[store.name] = changelog
        written = {self._full_name(sink) for sink in part.sinks} & self.topics
        return ObservedSubtopology(
            part.id, tuple(sources), dict(sorted(changelogs.items())), tuple(sorted(unlogged)), tuple(sorted(written))
        )

    def add(self, seen: ObservedSubtopology, part: DescribedSubtopology) -> ObservedSubtopology:
        """What the text says, and what the group told beside it; the text has better names for stores."""
        topics = {self._full_name(topic) for source in part.sources for topic in source.topics}
        has_pattern = any(source.pattern is not None for source in part.sources)
        if not has_pattern and topics != set(seen.sources):
            raise ObservationError(
                f"subtopology {seen.id} reads {', '.join(sorted(topics))} by {self.file}, but "
                f"{', '.join(seen.sources)} in the group; is it the text of this application, with its configs?"
            )
        read = self.read(part, seen.sources)
        beside = {name: topic for name, topic in seen.changelogs.items() if topic not in read.changelogs.values()}
        return ObservedSubtopology(
            seen.id,
            seen.sources,
            dict(sorted({**read.changelogs, **beside}.items())),
            read.unlogged_stores,
            tuple(sorted({*seen.writes, *read.writes})),
        )

    def sources(self, part: DescribedSubtopology) -> list[str]:
        """The topics that a subtopology reads, where only the text tells."""
        return sorted({topic for source in part.sources for topic in self._read_by(source)})

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
        if self.told is not None:
            return topic if topic in self.told else None
        what = "is taken not to be logged" if topic is None else f"is taken to be restored from its source {topic}"
        self.assumptions.append(f"Store {store.name} has no changelog topic in the cluster; it {what}.")
        return topic

    def _full_name(self, topic: str) -> str:
        return full_topic_name(topic, self.application_id, self.topics)
