"""Resolve subtopologies from the output of `Topology.describe()`, the scenario and the topics of the cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.topic_patterns import match_topics
from scenarios.kafka.formats.topology import DescribedSource, DescribedStore, DescribedSubtopology
from scenarios.kafka.naming import changelog_topic, full_topic_name, is_internal_topic, is_repartition_topic
from scenarios.language.application_entries import ApplicationSection, StoreEntry
from scenarios.language.errors import Mistake, Mistakes, did_you_mean, format_value
from scenarios.language.fields import valid_entries
from scenarios.language.validation import SourceMap
from scenarios.resolution.cluster import ResolvedCluster
from scenarios.resolution.imported_files import ImportedContent
from scenarios.resolution.listed_topology import check_unlogged
from scenarios.resolution.partition_traffic import StatedTraffic
from scenarios.resolution.subtopology_drafts import (
    APPLICATION,
    RepartitionDraft,
    ReportMistake,
    ResultDraft,
    SourceDraft,
    StoreDraft,
    SubtopologyDraft,
)
from simulator.world.world import WRITE_BUFFER_BYTES


class DescribedTopologyResolver:
    """Creates drafts of described subtopologies.

    Attributes:
        notes: what was inferred.
    """

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
                draft.sources.append(SourceDraft(topic, report_mistake))
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
            draft.results.append(ResultDraft(topic, draft.report_mistake))
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
        path = (*APPLICATION, "stores", i)
        logged, changelog = entry.logged is not False, entry.changelog
        if entry.logged is False:
            check_unlogged(entry, path, self._source_map)
            changelog = None
        elif entry.logged is None and entry.changelog is None and entry.size is None and entry.bytes_per_s is None:
            logged, changelog = self._infer(store)
        return StoreDraft(
            store.name,
            logged,
            entry.persistent,
            entry.write_buffer,
            changelog,
            StatedTraffic.of(entry, path),
            report_mistake,
        )

    def _infer(self, store: DescribedStore) -> tuple[bool, str | None]:
        """Infer whether a store is logged, and the source topic that serves as its changelog, if any.

        If the application has run, the cluster has all its changelogs. A table without a changelog uses its source
        topic (`topology.optimization`); any other store without a changelog is not logged.

        Args:
            store: the described store.

        Returns:
            Whether the store is logged, and its changelog if that is a source topic.
        """
        known = self._cluster.all_names
        if known is None or changelog_topic(self._application_id, store.name) in known or not self._has_run():
            return True, None
        statement = f"{self._described.source}:{store.line}: store '{store.name}' has no changelog topic in the cluster"
        topic = None if store.table_of is None else self._name_in_cluster(store.table_of)
        if topic is not None:
            self.notes.append(f"{statement}; assumed to be restored from its source '{topic}'")
            return True, topic
        self.notes.append(f"{statement}; assumed not logged")
        return False, None

    def _has_run(self) -> bool:
        return any(is_internal_topic(self._application_id, name) for name in self._cluster.imported)
