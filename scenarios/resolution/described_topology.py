"""Subtopologies that `Topology.describe()` printed, joined with what the scenario and the cluster tell about them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

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

_SIMPLE_PATTERN = re.compile(r"(?:[A-Za-z0-9_-]|\\\.|\.[*+]?|\||\((?:\?:)?|\)(?![*+?{]))+")
_MAX_WILDCARDS = 2


class DescribedTopologyResolver:
    """Brings described subtopologies into the common form.

    Attributes:
        notes: what had to be inferred.
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
        """The subtopologies in the common form."""
        for subtopology in self._described.content:
            report_mistake = self._at(subtopology.line)
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

    def _at(self, line: int) -> ReportMistake:
        return lambda message: self._mistakes.add(Mistake(self._described.source, line, "", message))

    def _name_in_cluster(self, topic: str) -> str | None:
        """The name that a topic of the text has in the cluster: internal ones have the application id in front."""
        known = self._cluster.all_names or frozenset()
        name = full_topic_name(topic, self._application_id, known)
        if name in known:
            return name
        return f"{self._application_id}-{topic}" if is_repartition_topic(topic) and topic in self._sinks else None

    def _add_source(self, draft: SubtopologyDraft, source: DescribedSource) -> None:
        report_mistake = self._at(source.line)
        topics = source.topics if source.pattern is None else self._match(source.pattern, report_mistake)
        for name in topics:
            topic = self._name_in_cluster(name)
            if topic is None:
                known = sorted(self._cluster.all_names or ())
                report_mistake(
                    f"{format_value(name)} is not a topic of the cluster ({did_you_mean(name, known, 'topics')})"
                )
                draft.is_valid = False
            elif topic not in [other.topic for other in draft.sources]:
                draft.sources.append(SourceDraft(topic, report_mistake))
        draft.is_valid = draft.is_valid and bool(topics)

    def _add_sink(self, draft: SubtopologyDraft, sink: str, line: int) -> None:
        """Let a subtopology write a topic; all that is produced to a topic comes from the first that writes it."""
        topic = self._name_in_cluster(sink)
        told = f"{self._described.source}:{line}: sub-topology {draft.id} writes '{sink}'"
        if topic is None:
            self.notes.append(f"{told}, which is no topic of the cluster; taken to write nothing to it")
        elif self._writers.setdefault(topic, draft.id) != draft.id:
            first = f"sub-topology {self._writers[topic]}"
            self.notes.append(f"{told}, as {first} does; all of it is taken to come from {first}")
        elif topic in (self._cluster.all_names or ()):
            draft.results.append(ResultDraft(topic, draft.report_mistake))
        else:
            draft.writes.append(RepartitionDraft(topic, None, None, draft.report_mistake))

    def _match(self, pattern: str, report_mistake: ReportMistake) -> Sequence[str]:
        """The cluster's topics that a pattern subscribes to; only patterns that are quick to match are tried."""
        wildcards = len(re.findall(r"(?<!\\)\.[*+]", pattern))
        try:
            if not _SIMPLE_PATTERN.fullmatch(pattern) or wildcards > _MAX_WILDCARDS:
                raise re.error("too complex")
            compiled = re.compile(pattern)
        except re.error:
            report_mistake(
                f"the pattern {format_value(pattern)} is too complex to match; write the topics in its place, as [a, b]"
            )
            return ()
        topics = [topic for topic in sorted(self._cluster.all_names or ()) if compiled.fullmatch(topic)]
        if not topics:
            report_mistake(f"the pattern {format_value(pattern)} matches no topic of the cluster")
        return topics

    def _store_entries(self, stores: Sequence[StoreEntry]) -> Mapping[str, tuple[int, StoreEntry]]:
        known = [store.name for subtopology in self._described.content for store in subtopology.stores]
        entries: dict[str, tuple[int, StoreEntry]] = {}
        for i, entry in valid_entries(stores):
            path = (*APPLICATION, "stores", i, "name")
            if entry.name in entries:
                self._source_map.add_mistake(
                    path, f"{format_value(entry.name)} is the name of stores[{entries[entry.name][0]}] too"
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
        """A store as the scenario says, or else as the cluster's topics suggest."""
        report_mistake = self._at(store.line)
        if store.name not in self._entries:
            logged, changelog = self._infer(store)
            return StoreDraft(store.name, logged, True, changelog, None, report_mistake)
        i, entry = self._entries[store.name]
        path = (*APPLICATION, "stores", i)
        logged, changelog = entry.logged is not False, entry.changelog
        if entry.logged is False:
            check_unlogged(entry, path, self._source_map)
            changelog = None
        elif entry.logged is None and entry.changelog is None and entry.size is None and entry.bytes_per_s is None:
            logged, changelog = self._infer(store)
        return StoreDraft(
            store.name, logged, entry.persistent, changelog, StatedTraffic.of(entry, path), report_mistake
        )

    def _infer(self, store: DescribedStore) -> tuple[bool, str | None]:
        """Whether a store is logged, and its changelog if that is a source topic.

        Where the application has run, the cluster has all its changelogs. A table without one has its source topic
        instead (`topology.optimization`); any other store without one is not logged.
        """
        known = self._cluster.all_names
        if known is None or changelog_topic(self._application_id, store.name) in known or not self._has_run():
            return True, None
        told = f"{self._described.source}:{store.line}: store '{store.name}' has no changelog topic in the cluster"
        topic = None if store.table_of is None else self._name_in_cluster(store.table_of)
        if topic is not None:
            self.notes.append(f"{told}; taken to be restored from its source '{topic}'")
            return True, topic
        self.notes.append(f"{told}; taken as not logged")
        return False, None

    def _has_run(self) -> bool:
        return any(is_internal_topic(self._application_id, name) for name in self._cluster.imported)
