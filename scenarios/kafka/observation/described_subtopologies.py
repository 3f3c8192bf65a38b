"""Subtopologies from the output of `Topology.describe()` and the topics of the cluster.

Source: `org.apache.kafka.streams.processor.internals.InternalTopologyBuilder.topologyDescription`,
`ProcessorStateManager.storeChangelogTopic`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.topology import (
    DescribedSource,
    DescribedStore,
    DescribedSubtopology,
    match_topics,
    parse_topology,
)
from scenarios.kafka.naming import changelog_topic, full_topic_name, is_repartition_topic
from scenarios.kafka.observation.observation import ObservationError, ObservedSubtopology
from scenarios.language.errors import did_you_mean

SubtopologiesAndAssumptions = tuple[tuple[ObservedSubtopology, ...], tuple[str, ...]]
"""Subtopologies by id, and sentences on what was assumed."""


def describe_subtopologies(
    text: str, application_id: str, topics: Collection[str], file: str
) -> SubtopologiesAndAssumptions:
    """Derive the subtopologies from the output of `Topology.describe()` alone.

    `application_id`: prefix of internal topics, which the output omits; `file`: name of the text in messages. Returns
    subtopologies with full topic names, and assumptions. Raises ObservationError if the text is not such output, or a
    source topic does not exist in the cluster.
    """
    resolver = _TopicResolver(application_id, frozenset(topics), file)
    subtopologies = [
        resolver.to_subtopology(description, resolver.source_topics(description)) for description in _parse(text, file)
    ]
    return tuple(subtopologies), tuple(resolver.assumptions)


def applications_of_topology(text: str, application_id: str, topics: Collection[str], file: str) -> tuple[str, ...]:
    """Return the other applications whose internal topics are those of a topology, if this application has none.

    `text`: output of `Topology.describe()`; `application_id`: the application to which the topology should belong;
    `file`: name of the text in messages. Returns the application ids with the most changelogs and repartition topics of
    the topology, sorted; none if `application_id` has any. Raises ObservationError if the text is not such output.
    """
    descriptions = _parse(text, file)
    changelogs = {changelog_topic("", store.name) for description in descriptions for store in description.stores}
    sources = {topic for description in descriptions for source in description.sources for topic in source.topics}
    suffixes = changelogs | {f"-{topic}" for topic in sources if is_repartition_topic(topic)}
    if any(f"{application_id}{suffix}" in topics for suffix in suffixes):
        return ()
    counts = Counter(topic[: -len(end)] for topic in topics for end in suffixes if topic.endswith(end) and topic != end)
    most = max(counts.values(), default=0)
    return tuple(sorted(name for name, count in counts.items() if count == most))


def add_described_stores(
    observed: Sequence[ObservedSubtopology], text: str, application_id: str, topics: Collection[str], file: str
) -> SubtopologiesAndAssumptions:
    """Add stores and written topics from the output of `Topology.describe()` to subtopologies observed in a group.

    `observed`: subtopologies by id, with their sources; with changelogs if the group reports them, as streams groups
    do. `file`: name of the text in messages. Returns the completed subtopologies, and assumptions. Raises
    ObservationError if the text is not such output, or belongs to another application.
    """
    described = {description.id: description for description in _parse(text, file)}
    observed_ids = [subtopology.id for subtopology in observed]
    if sorted(described) != observed_ids:
        raise ObservationError(
            f"{file} has subtopologies {', '.join(map(str, sorted(described)))}, but the group's tasks belong to "
            f"{', '.join(map(str, observed_ids))}"
        )
    reported_changelogs = frozenset(topic for subtopology in observed for topic in subtopology.changelogs.values())
    resolver = _TopicResolver(application_id, frozenset(topics), file, reported_changelogs or None)
    completed = tuple(resolver.complete(subtopology, described[subtopology.id]) for subtopology in observed)
    return completed, tuple(resolver.assumptions)


def _parse(text: str, file: str) -> list[DescribedSubtopology]:
    try:
        return sorted(parse_topology(text), key=lambda description: description.id)
    except FormatError as error:
        place = "" if error.line is None else f":{error.line}"
        raise ObservationError(f"{file}{place}: {error}") from None


@dataclass(slots=True)
class _TopicResolver:
    """Maps described topics to topics of the cluster and collects assumptions.

    Attributes:
        application_id: Prefix of internal topics.
        file: Name of the description in messages.
        reported_changelogs: Changelogs that the group reports; None if it reports none.
    """

    application_id: str
    topics: frozenset[str]
    file: str
    reported_changelogs: frozenset[str] | None = None
    assumptions: list[str] = field(default_factory=list)

    def to_subtopology(self, description: DescribedSubtopology, sources: Sequence[str]) -> ObservedSubtopology:
        """Return a described subtopology with these sources, and the changelogs and written topics of the cluster."""
        changelogs: dict[str, str] = {}
        unlogged: list[str] = []
        for store in description.stores:
            changelog = self._changelog(store)
            if changelog is None:
                unlogged.append(store.name)
            else:
                changelogs[store.name] = changelog
        writes = {self._full_name(sink) for sink in description.sinks} & self.topics
        return ObservedSubtopology(
            description.id,
            tuple(sources),
            dict(sorted(changelogs.items())),
            tuple(sorted(unlogged)),
            tuple(sorted(writes)),
        )

    def complete(self, observed: ObservedSubtopology, description: DescribedSubtopology) -> ObservedSubtopology:
        """Return an observed subtopology with the stores and sinks of its description.

        The description has the names of all stores; the group reports changelogs at most. Raises ObservationError if
        the description reads other topics.
        """
        topics = {self._full_name(topic) for source in description.sources for topic in source.topics}
        has_pattern = any(source.pattern is not None for source in description.sources)
        if not has_pattern and topics != set(observed.sources):
            raise ObservationError(
                f"subtopology {observed.id} reads {', '.join(sorted(topics))} according to {self.file}, but "
                f"{', '.join(observed.sources)} in the group; is this the topology of this application, with its "
                "configs?"
            )
        completed = self.to_subtopology(description, observed.sources)
        undescribed = {
            store: topic for store, topic in observed.changelogs.items() if topic not in completed.changelogs.values()
        }
        return ObservedSubtopology(
            observed.id,
            observed.sources,
            dict(sorted({**completed.changelogs, **undescribed}.items())),
            completed.unlogged_stores,
            tuple(sorted({*observed.writes, *completed.writes})),
        )

    def source_topics(self, description: DescribedSubtopology) -> list[str]:
        """Return the topics of the cluster that a subtopology reads."""
        return sorted({topic for source in description.sources for topic in self._topics_of_source(source)})

    def _topics_of_source(self, source: DescribedSource) -> list[str]:
        if source.pattern is not None:
            return self._matching_topics(source.pattern, source.line)
        names = [self._full_name(topic) for topic in source.topics]
        for name, topic in zip(names, source.topics, strict=True):
            if name not in self.topics:
                hint = did_you_mean(topic, sorted(self.topics), "topics")
                raise ObservationError(f"{self.file}:{source.line}: '{topic}' is not a topic of the cluster ({hint})")
        return names

    def _matching_topics(self, pattern: str, line: int) -> list[str]:
        try:
            topics = match_topics(pattern, self.topics)
        except FormatError as error:
            raise ObservationError(f"{self.file}:{line}: {error}") from None
        self.assumptions.append(f"The pattern '{pattern}' is assumed to subscribe to {', '.join(topics)}.")
        return topics

    def _changelog(self, store: DescribedStore) -> str | None:
        """Return a store's changelog topic, or its table's source topic (`topology.optimization`); None if unlogged."""
        changelog = changelog_topic(self.application_id, store.name)
        if changelog in self.topics:
            return changelog
        source = None if store.table_of is None else self._full_name(store.table_of)
        if self.reported_changelogs is not None:
            return source if source in self.reported_changelogs else None
        assumed = "not logged" if source is None else f"restored from its source topic {source}"
        self.assumptions.append(f"Store {store.name} has no changelog topic in the cluster; assumed {assumed}.")
        return source

    def _full_name(self, topic: str) -> str:
        return full_topic_name(topic, self.application_id, self.topics)
