"""Resolve the application: its subtopologies, and the internal topics that Kafka Streams creates.

Subtopologies are those that the scenario lists, or of the output of `Topology.describe()` and the cluster's topics.

Source: `org.apache.kafka.streams.processor.internals`: `RepartitionTopics`, `CopartitionedTopicsEnforcer`,
`ChangelogTopics`, `InternalTopicManager` (which internal topics exist and how many partitions they have).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.topology import (
    DescribedSource,
    DescribedStore,
    DescribedSubtopology,
    match_topics,
    parse_topology,
)
from scenarios.kafka.naming import (
    changelog_topic,
    full_topic_name,
    is_internal_topic,
    is_repartition_topic,
    repartition_topic,
)
from scenarios.language.application_entries import ApplicationSection, StoreEntry, SubtopologyEntry
from scenarios.language.errors import Mistake, Mistakes, did_you_mean, format_list, format_value
from scenarios.language.fields import invalid_entries, valid_entries
from scenarios.language.paths import ScenarioPath
from scenarios.language.validation import SourceMap
from scenarios.references import ImportedContent, ImportedFiles
from scenarios.resolution.cluster import (
    ResolvedCluster,
    StatedTraffic,
    make_topic,
    with_stated_traffic,
)
from scenarios.sampling.blueprint import TopicBlueprint
from simulator.plurals import counted
from simulator.world.world import WRITE_BUFFER_BYTES, Store, Subtopology

APPLICATION: Final[ScenarioPath] = ("application",)

ReportMistake = Callable[[str], None]
"""Reports a mistake at a fixed location."""


@dataclass(frozen=True, slots=True)
class TopicDraft:
    """A source topic, or a result topic that a subtopology writes, by its name in the cluster."""

    topic: str
    report_mistake: ReportMistake


@dataclass(frozen=True, slots=True)
class StoreDraft:
    """A state store.

    `changelog`: the source topic that serves as the changelog; None if the changelog is a topic of its own.
    """

    name: str
    logged: bool
    persistent: bool
    write_buffer_bytes: int
    changelog: str | None
    traffic: StatedTraffic | None
    report_mistake: ReportMistake


@dataclass(frozen=True, slots=True)
class RepartitionDraft:
    """A repartition topic that a subtopology writes, by its full name.

    `partitions`: the requested number of partitions; None if not set.
    """

    topic: str
    partitions: int | None
    traffic: StatedTraffic | None
    report_mistake: ReportMistake


@dataclass(slots=True)
class SubtopologyDraft:
    """A subtopology.

    `writes`: repartition topics, which may not exist yet. `results`: the other topics that it writes, which exist.
    `copartitioned`: groups of sources that must have the same number of partitions.
    """

    id: int
    report_mistake: ReportMistake
    sources: list[TopicDraft] = field(default_factory=list)
    stores: list[StoreDraft] = field(default_factory=list)
    writes: list[RepartitionDraft] = field(default_factory=list)
    results: list[TopicDraft] = field(default_factory=list)
    copartitioned: list[list[TopicDraft]] = field(default_factory=list)
    is_valid: bool = True


SUBTOPOLOGIES: ScenarioPath = (*APPLICATION, "subtopologies")


def draft_listed_subtopologies(
    entries: Sequence[SubtopologyEntry], application_id: str, topics: frozenset[str] | None, source_map: SourceMap
) -> Iterator[SubtopologyDraft]:
    """Yield a draft of each valid entry. `topics`: all topics of the cluster; None if unknown."""
    names = _TopicNames(topics, _repartition(entries, application_id, source_map), source_map)
    numbers: dict[int, int] = {}
    for i, entry in valid_entries(entries):
        path = (*SUBTOPOLOGIES, i)
        number = i if entry.id is None else entry.id
        if number in numbers:
            source_map.add_mistake((*path, "id"), f"{number} is also the id of subtopologies[{numbers[number]}]")
        numbers.setdefault(number, i)
        draft = SubtopologyDraft(number, _reporter(path, source_map), is_valid=source_map.is_valid(*path))
        _add_sources(draft, entry, path, names)
        _add_joins(draft, entry, path, names)
        _add_results(draft, entry, path, names)
        for j, store in valid_entries(entry.stores):
            draft.stores.append(_draft_store(store, (*path, "stores", j), source_map))
        for j, written in valid_entries(entry.repartition):
            at = (*path, "repartition", j)
            topic = repartition_topic(application_id, written.name)
            draft.writes.append(
                RepartitionDraft(topic, written.partitions, StatedTraffic.of(written, at), _reporter(at, source_map))
            )
        yield draft


@dataclass(frozen=True, slots=True)
class _TopicNames:
    """The topics that names in subtopologies refer to.

    `topics`: those of the cluster; None if unknown. `repartition`: full names by short name; None if not all are known.
    """

    topics: frozenset[str] | None
    repartition: dict[str, str] | None
    source_map: SourceMap

    def find(self, name: str, path: ScenarioPath) -> str | None:
        """Return the topic that a name refers to; report an unknown or ambiguous name and return None."""
        short = self.repartition or {}
        in_cluster = self.topics is not None and name in self.topics
        if name in short and in_cluster:
            meanings = f"a topic of the cluster or {format_value(short[name])}"
            self.source_map.add_mistake(path, f"{format_value(name)} is ambiguous: {meanings}; use the full name")
            return None
        if name in short:
            return short[name]
        if in_cluster or name in short.values():
            return name
        if self.topics is not None and self.repartition is not None:
            candidates = sorted({*self.topics, *short})
            self.source_map.add_mistake(
                path, f"unknown topic {format_value(name)} ({did_you_mean(name, candidates, 'topics')})"
            )
        return None


def _reporter(path: ScenarioPath, source_map: SourceMap) -> ReportMistake:
    return lambda message: source_map.add_mistake(path, message)


def _repartition(
    entries: Sequence[SubtopologyEntry], application_id: str, source_map: SourceMap
) -> dict[str, str] | None:
    unknown_names = [
        entry for entry in invalid_entries(entries) if not isinstance(entry.value, dict) or "repartition" in entry.value
    ]
    if unknown_names or not all(
        source_map.is_valid(*SUBTOPOLOGIES, i, "repartition") for i, _ in valid_entries(entries)
    ):
        return None
    names = [written.name for _, entry in valid_entries(entries) for _, written in valid_entries(entry.repartition)]
    return {name: repartition_topic(application_id, name) for name in names}


def _add_sources(draft: SubtopologyDraft, entry: SubtopologyEntry, path: ScenarioPath, names: _TopicNames) -> None:
    for j, name in enumerate(entry.sources):
        at = (*path, "sources", j)
        topic = names.find(name, at)
        if topic is None:
            draft.is_valid = False
        elif topic in [source.topic for source in draft.sources]:
            names.source_map.add_mistake(at, f"duplicate topic {format_value(name)}")
        else:
            draft.sources.append(TopicDraft(topic, _reporter(at, names.source_map)))


def _add_joins(draft: SubtopologyDraft, entry: SubtopologyEntry, path: ScenarioPath, names: _TopicNames) -> None:
    topics = [source.topic for source in draft.sources]
    for j, group in enumerate(entry.copartitioned):
        members = []
        for k, name in enumerate(group):
            at = (*path, "copartitioned", j, k)
            topic = name if name in topics else (names.repartition or {}).get(name, name)
            if topic in topics:
                members.append(TopicDraft(topic, _reporter(at, names.source_map)))
            elif draft.is_valid:
                sources = format_list("sources", entry.sources)
                names.source_map.add_mistake(
                    at, f"{format_value(name)} is not a source of this subtopology ({sources})"
                )
        draft.copartitioned.append(members)


def _add_results(draft: SubtopologyDraft, entry: SubtopologyEntry, path: ScenarioPath, names: _TopicNames) -> None:
    for j, name in enumerate(entry.writes):
        at = (*path, "writes", j)
        repartition = names.repartition or {}
        if name in repartition or name in repartition.values():
            names.source_map.add_mistake(
                at, f"{format_value(name)} is a repartition topic; list it under repartition only"
            )
        elif name in entry.writes[:j]:
            names.source_map.add_mistake(at, f"duplicate topic {format_value(name)}")
        elif names.find(name, at) is not None:
            draft.results.append(TopicDraft(name, _reporter(at, names.source_map)))


def _draft_store(store: StoreEntry, path: ScenarioPath, source_map: SourceMap) -> StoreDraft:
    """Return a draft of a store; report settings of the changelog of a store that has none."""
    logged = store.logged is not False
    for key in () if logged else ("changelog", "size", "bytes_per_s", "record_size"):
        if getattr(store, key) is not None:
            source_map.add_mistake((*path, key), "a store with logged: false has no changelog; remove this")
    changelog = store.changelog if logged else None
    return StoreDraft(
        store.name,
        logged,
        store.persistent,
        store.write_buffer,
        changelog,
        StatedTraffic.of(store, path),
        _reporter(path, source_map),
    )


class DescribedTopologyResolver:
    """Creates drafts of described subtopologies. `notes`: what was inferred."""

    def __init__(
        self,
        described: ImportedContent[tuple[DescribedSubtopology, ...]],
        section: ApplicationSection,
        cluster: ResolvedCluster,
        source_map: SourceMap,
        mistakes: Mistakes,
    ) -> None:
        self._described = described
        self._application_id = section.id
        self._cluster = cluster
        self._source_map = source_map
        self._mistakes = mistakes
        self._entries = self._store_entries(section.stores)
        self._sinks = {sink for subtopology in described.content for sink in subtopology.sinks}
        self._writers: dict[str, int] = {}
        self.notes: list[str] = []

    def draft(self) -> Iterator[SubtopologyDraft]:
        """Yield a draft of each subtopology."""
        for subtopology in self._described.content:
            report_mistake = self._reporter(subtopology.line)
            draft = SubtopologyDraft(subtopology.id, report_mistake, is_valid=self._cluster.all_names is not None)
            if draft.is_valid:
                for source in subtopology.sources:
                    self._add_source(draft, source)
                for sink in subtopology.sinks:
                    self._add_sink(draft, sink, subtopology.line)
            if not subtopology.sources:
                report_mistake(f"sub-topology {subtopology.id} has no source")
                draft.is_valid = False
            draft.stores.extend(self._draft_store(store) for store in subtopology.stores)
            yield draft

    def _reporter(self, line: int) -> ReportMistake:
        return lambda message: self._mistakes.add(Mistake(self._described.source, line, "", message))

    def _name_in_cluster(self, topic: str) -> str | None:
        """Return the full name of a topic in the cluster, where internal topics have the application id as prefix."""
        known = self._cluster.all_names or frozenset()
        name = full_topic_name(topic, self._application_id, known)
        if name in known:
            return name
        return f"{self._application_id}-{topic}" if is_repartition_topic(topic) and topic in self._sinks else None

    def _add_source(self, draft: SubtopologyDraft, source: DescribedSource) -> None:
        report_mistake = self._reporter(source.line)
        topics = source.topics if source.pattern is None else self._match(source.pattern, report_mistake)
        for name in topics:
            topic = self._name_in_cluster(name)
            if topic is None:
                known = sorted(self._cluster.all_names or ())
                report_mistake(
                    f"{format_value(name)} is not a topic of the cluster ({did_you_mean(name, known, 'topics')})"
                )
                draft.is_valid = False
            elif topic not in [known_source.topic for known_source in draft.sources]:
                draft.sources.append(TopicDraft(topic, report_mistake))
        draft.is_valid = draft.is_valid and bool(topics)

    def _add_sink(self, draft: SubtopologyDraft, sink: str, line: int) -> None:
        """Add a topic that the subtopology writes, unless an earlier subtopology writes it."""
        topic = self._name_in_cluster(sink)
        statement = f"{self._described.source}:{line}: sub-topology {draft.id} writes '{sink}'"
        if topic is None:
            self.notes.append(f"{statement}, which is not a topic of the cluster; assumed to write nothing to it")
        elif self._writers.setdefault(topic, draft.id) != draft.id:
            writer = f"sub-topology {self._writers[topic]}"
            self.notes.append(f"{statement}, as does {writer}; assumed that {writer} writes all of it")
        elif topic in (self._cluster.all_names or ()):
            draft.results.append(TopicDraft(topic, draft.report_mistake))
        else:
            draft.writes.append(RepartitionDraft(topic, None, None, draft.report_mistake))

    def _match(self, pattern: str, report_mistake: ReportMistake) -> Sequence[str]:
        """Return the topics that match a subscription pattern; reject patterns that may be slow to match."""
        try:
            return match_topics(pattern, self._cluster.all_names or ())
        except FormatError as error:
            report_mistake(str(error))
            return ()

    def _store_entries(self, stores: Sequence[StoreEntry]) -> Mapping[str, tuple[int, StoreEntry]]:
        known = [store.name for subtopology in self._described.content for store in subtopology.stores]
        entries: dict[str, tuple[int, StoreEntry]] = {}
        for i, entry in valid_entries(stores):
            path = (*APPLICATION, "stores", i, "name")
            if entry.name in entries:
                self._source_map.add_mistake(
                    path, f"{format_value(entry.name)} is also the name of stores[{entries[entry.name][0]}]"
                )
            elif entry.name not in known:
                hint = did_you_mean(entry.name, sorted(known), "stores")
                self._source_map.add_mistake(
                    path, f"{format_value(entry.name)} is not a store of the topology ({hint})"
                )
            else:
                entries[entry.name] = i, entry
        return entries

    def _draft_store(self, store: DescribedStore) -> StoreDraft:
        """Return a draft of a store from the scenario, or else inferred from the topics of the cluster."""
        report_mistake = self._reporter(store.line)
        if store.name not in self._entries:
            logged, changelog = self._infer(store)
            return StoreDraft(store.name, logged, True, WRITE_BUFFER_BYTES, changelog, None, report_mistake)
        i, entry = self._entries[store.name]
        draft = _draft_store(entry, (*APPLICATION, "stores", i), self._source_map)
        if entry.logged is None and entry.changelog is None and entry.size is None and entry.bytes_per_s is None:
            logged, changelog = self._infer(store)
            draft = replace(draft, logged=logged, changelog=changelog)
        return replace(draft, report_mistake=report_mistake)

    def _infer(self, store: DescribedStore) -> tuple[bool, str | None]:
        """Infer whether a store is logged, and the source topic that serves as its changelog, if any.

        If the application has run, the cluster has all its changelogs. A table without a changelog uses its source
        topic (`topology.optimization`); any other store without a changelog is not logged.
        """
        known = self._cluster.all_names
        if known is None or changelog_topic(self._application_id, store.name) in known:
            return True, None
        if not any(is_internal_topic(self._application_id, name) for name in self._cluster.imported):
            return True, None
        statement = f"{self._described.source}:{store.line}: store '{store.name}' has no changelog topic in the cluster"
        topic = None if store.table_of is None else self._name_in_cluster(store.table_of)
        if topic is not None:
            self.notes.append(f"{statement}; assumed to be restored from its source '{topic}'")
            return True, topic
        self.notes.append(f"{statement}; assumed not logged")
        return False, None


@dataclass(frozen=True, slots=True)
class ResolvedApplication:
    """The resolved application.

    `topics`: all topics of the cluster, with internal topics of the application. `notes`: what was inferred.
    """

    subtopologies: tuple[Subtopology, ...]
    topics: dict[str, TopicBlueprint]
    num_tasks: int
    notes: tuple[str, ...]


def resolve_application(
    section: ApplicationSection,
    cluster: ResolvedCluster,
    files: ImportedFiles,
    source_map: SourceMap,
    mistakes: Mistakes,
) -> ResolvedApplication:
    """Resolve the application, and report mistakes to `source_map` and `mistakes`."""
    drafts, notes = _draft(section, cluster, files, source_map, mistakes)
    drafts.sort(key=lambda draft: draft.id)
    topics = _InternalTopics(section, cluster, source_map)
    _check_unique_owners(drafts)
    topics.add_repartition(drafts)
    subtopologies = tuple(topics.build(draft) for draft in drafts)
    num_tasks = sum(topics.num_tasks(draft) or 0 for draft in drafts)
    return ResolvedApplication(subtopologies, topics.plans, num_tasks, tuple(notes))


def _draft(
    section: ApplicationSection,
    cluster: ResolvedCluster,
    files: ImportedFiles,
    source_map: SourceMap,
    mistakes: Mistakes,
) -> tuple[list[SubtopologyDraft], list[str]]:
    """Return drafts of the subtopologies, and notes on what was inferred."""
    path = (*APPLICATION, "from", "topology")
    described = None if section.files is None else files.read(path, section.files.topology, parse_topology)
    if section.subtopologies is None:
        if described is not None:
            topology = DescribedTopologyResolver(described, section, cluster, source_map, mistakes)
            return list(topology.draft()), topology.notes
        if section.files is None and source_map.is_valid(*SUBTOPOLOGIES) and source_map.is_valid(*APPLICATION, "from"):
            source_map.add_mistake(APPLICATION, "no subtopologies; set subtopologies, or from: {topology: FILE}")
        return [], []
    if section.files is not None:
        source_map.add_mistake(SUBTOPOLOGIES, "conflicts with application.from.topology; remove one of the two")
    if section.stores:
        source_map.add_mistake((*APPLICATION, "stores"), "set stores in the subtopologies, unless those are imported")
    return list(draft_listed_subtopologies(section.subtopologies, section.id, cluster.all_names, source_map)), []


def _check_unique_owners(drafts: Sequence[SubtopologyDraft]) -> None:
    """Report topics that two subtopologies read or write, and stores that two subtopologies use.

    Kafka Streams rejects a topic with two sources, and merges subtopologies that share a store. Kafka allows several
    writers of a result topic; the simulator supports one.
    """
    readers: dict[str, SubtopologyDraft] = {}
    writers: dict[str, int] = {}
    holders: dict[str, int] = {}
    for draft in drafts:
        for source in draft.sources:
            if readers.setdefault(source.topic, draft) is not draft:
                source.report_mistake(f"'{source.topic}' is already read by subtopology {readers[source.topic].id}")
        results: list[RepartitionDraft | TopicDraft] = [*draft.writes, *draft.results]
        for written in results:
            if written.topic in writers:
                rule = "; only one subtopology can write a topic" if isinstance(written, TopicDraft) else ""
                writer = f"already written by subtopology {writers[written.topic]}"
                written.report_mistake(f"'{written.topic}' is {writer}{rule}")
            writers.setdefault(written.topic, draft.id)
        for store in draft.stores:
            if store.name in holders:
                store.report_mistake(f"store '{store.name}' already belongs to subtopology {holders[store.name]}")
            holders.setdefault(store.name, draft.id)


_REPARTITION: Final = {"cleanup.policy": "delete", "retention.ms": "-1"}
_CHANGELOG: Final = {"cleanup.policy": "compact"}
"""Topic configs of Kafka Streams (`RepartitionTopicConfig`, `UnwindowedUnversionedChangelogTopicConfig`); Kafka also
deletes from changelogs of windowed stores, whose retention is not part of a scenario."""


class _InternalTopics:
    """Adds the internal topics of Kafka Streams to the topics of the cluster. `plans`: all valid topics, by name."""

    def __init__(self, section: ApplicationSection, cluster: ResolvedCluster, source_map: SourceMap) -> None:
        self._section = section
        self._cluster = cluster
        self._source_map = source_map
        self._is_factor_valid: bool | None = None
        self._counts = {name: plan.num_partitions for name, plan in cluster.topics.items()}
        self.plans = dict(cluster.topics)

    def num_tasks(self, draft: SubtopologyDraft) -> int | None:
        """Return the number of tasks of a subtopology: the partitions of its largest source; None if unknown."""
        counts = [self._counts.get(source.topic) for source in draft.sources]
        known = [count for count in counts if count is not None]
        return max(known) if known and len(known) == len(counts) and draft.is_valid else None

    def add_repartition(self, drafts: Sequence[SubtopologyDraft]) -> None:
        """Determine the number of partitions of each repartition topic, and add the topic."""
        written = {repartition.topic: repartition for draft in drafts for repartition in draft.writes}
        read = {source.topic for draft in drafts for source in draft.sources}
        for topic, repartition in written.items():
            if topic not in read and all(draft.is_valid for draft in drafts):
                repartition.report_mistake(f"no subtopology reads '{topic}'")
            self._set_requested_count(repartition)
        self._derive_counts(drafts, written)
        for draft in drafts:
            for group in draft.copartitioned:
                self._copartition(group, written)
        for topic, repartition in written.items():
            if topic in self._counts:
                self._add(topic, self._counts[topic], repartition.traffic, _REPARTITION)

    def _set_requested_count(self, repartition: RepartitionDraft) -> None:
        """Use the partition count of the existing topic, or else the requested one."""
        existing = self._counts.get(repartition.topic)
        if repartition.partitions is None:
            return
        if existing is not None and existing != repartition.partitions:
            repartition.report_mistake(_mismatch(repartition.topic, existing, repartition.partitions))
        self._counts.setdefault(repartition.topic, repartition.partitions)

    def _derive_counts(self, drafts: Sequence[SubtopologyDraft], written: dict[str, RepartitionDraft]) -> None:
        """Give each repartition topic as many partitions as the largest source of its writer has."""
        if any(source.topic not in self._counts.keys() | written for draft in drafts for source in draft.sources):
            return
        pending = {topic: draft for draft in drafts for topic in (repartition.topic for repartition in draft.writes)}
        pending = {topic: draft for topic, draft in pending.items() if topic not in self._counts}
        while pending:
            known = {
                topic: [self._counts[source.topic] for source in draft.sources if source.topic in self._counts]
                for topic, draft in pending.items()
            }
            derived = {topic: max(counts) for topic, counts in known.items() if counts}
            if not derived:
                break
            self._counts.update(derived)
            pending = {topic: draft for topic, draft in pending.items() if topic not in derived}
        for topic, draft in pending.items():
            if draft.is_valid:
                written[topic].report_mistake(
                    f"the number of partitions of '{topic}' depends on itself; set partitions"
                )

    def _copartition(self, group: Sequence[TopicDraft], written: dict[str, RepartitionDraft]) -> None:
        """Give co-partitioned topics the same number of partitions, or report where Kafka would throw an exception."""
        if any(source.topic not in self._counts for source in group) or not group:
            return
        free = [source for source in group if self._is_free(source.topic, written)]
        fixed = [source for source in group if source not in free]
        counts = {source.topic: self._counts[source.topic] for source in fixed or free}
        if fixed and len(set(counts.values())) > 1:
            sizes = ", ".join(f"{topic} has {count}" for topic, count in counts.items())
            fixed[-1].report_mistake(f"topics not co-partitioned: {sizes} partitions")
            return
        for source in free:
            self._counts[source.topic] = max(counts.values())

    def _is_free(self, topic: str, written: dict[str, RepartitionDraft]) -> bool:
        """Return whether Kafka Streams may choose the number of partitions of a topic."""
        return topic in written and written[topic].partitions is None and topic not in self.plans

    def build(self, draft: SubtopologyDraft) -> Subtopology:
        """Build the subtopology, and add the changelogs of its stores."""
        num_tasks = self.num_tasks(draft)
        stores = tuple(self._build_store(store, draft, num_tasks) for store in draft.stores)
        sources = tuple(source.topic for source in draft.sources)
        written = (*(written.topic for written in draft.writes), *(result.topic for result in draft.results))
        return Subtopology(draft.id, sources, stores, written)

    def _build_store(self, store: StoreDraft, draft: SubtopologyDraft, num_tasks: int | None) -> Store:
        if not store.logged:
            return Store(store.name, None, store.persistent, store.write_buffer_bytes)
        changelog = store.changelog or changelog_topic(self._section.id, store.name)
        if num_tasks is not None:
            existing = self._counts.get(changelog)
            if store.changelog is not None and changelog not in [source.topic for source in draft.sources]:
                store.report_mistake(
                    f"'{changelog}' cannot be the changelog of '{store.name}': it is not a source of this subtopology"
                )
            elif existing is not None and existing != num_tasks:
                store.report_mistake(_mismatch(changelog, existing, num_tasks))
            else:
                self._add(changelog, num_tasks, store.traffic, _CHANGELOG)
        return Store(store.name, changelog, store.persistent, store.write_buffer_bytes)

    def _add(self, topic: str, count: int, stated: StatedTraffic | None, configs: dict[str, str]) -> None:
        plan = self.plans.get(topic)
        if plan is None:
            if not self._has_factor() or not self._cluster.budget.reserve(count, self._factor):
                return
            plan = make_topic(topic, count, self._factor, self._cluster.section.partition_defaults)
            is_stated = self._section.configs.replication_factor != -1 or self._cluster.states_default_factor
            configs = configs | self._section.configs.internal_topic_configs()
            plan = replace(plan, configs=configs, has_default_factor=not is_stated)
        self.plans[topic] = plan if stated is None else with_stated_traffic(plan, stated, self._source_map)

    @property
    def _factor(self) -> int:
        factor = self._section.configs.replication_factor
        return self._cluster.section.configs.default_replication_factor if factor == -1 else factor

    def _has_factor(self) -> bool:
        """Return whether the brokers can hold internal topics; report a mistake once if not."""
        if self._is_factor_valid is None:
            path = (*APPLICATION, "configs", "replication.factor")
            self._is_factor_valid = self._cluster.brokers.check_placement(self._factor, path)
        return self._is_factor_valid


def _mismatch(topic: str, existing: int, required: int) -> str:
    partitions = counted(existing, "partition")
    return f"'{topic}' exists with {partitions}, but Kafka Streams needs {required}"
