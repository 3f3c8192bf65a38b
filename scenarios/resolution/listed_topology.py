"""Resolve subtopologies that the scenario lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scenarios.kafka.naming import repartition_topic
from scenarios.language.application_entries import StoreEntry, SubtopologyEntry
from scenarios.language.errors import did_you_mean, format_list, format_value
from scenarios.language.fields import invalid_entries, valid_entries
from scenarios.language.paths import ScenarioPath
from scenarios.language.validation import SourceMap
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

SUBTOPOLOGIES: ScenarioPath = (*APPLICATION, "subtopologies")


def draft_listed_subtopologies(
    entries: Sequence[SubtopologyEntry], application_id: str, topics: frozenset[str] | None, source_map: SourceMap
) -> Iterator[SubtopologyDraft]:
    """Yield drafts of the listed subtopologies.

    `topics`: the names of all topics of the cluster; None if unknown. Yields a draft per valid entry.
    """
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

    Attributes:
        topics: all topics of the cluster; None if unknown.
        repartition: full names of repartition topics by short name; None if not all are known.
        source_map: collects the mistakes.
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
            draft.sources.append(SourceDraft(topic, _reporter(at, names.source_map)))


def _add_joins(draft: SubtopologyDraft, entry: SubtopologyEntry, path: ScenarioPath, names: _TopicNames) -> None:
    topics = [source.topic for source in draft.sources]
    for j, group in enumerate(entry.copartitioned):
        members = []
        for k, name in enumerate(group):
            at = (*path, "copartitioned", j, k)
            topic = name if name in topics else (names.repartition or {}).get(name, name)
            if topic in topics:
                members.append(SourceDraft(topic, _reporter(at, names.source_map)))
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
            draft.results.append(ResultDraft(name, _reporter(at, names.source_map)))


def _draft_store(store: StoreEntry, path: ScenarioPath, source_map: SourceMap) -> StoreDraft:
    logged = store.logged is not False
    if not logged:
        check_unlogged(store, path, source_map)
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


def check_unlogged(store: StoreEntry, path: ScenarioPath, source_map: SourceMap) -> None:
    """Report settings of the changelog of a store that has none."""
    for key in ("changelog", "size", "bytes_per_s", "record_size"):
        if getattr(store, key) is not None:
            source_map.add_mistake((*path, key), "a store with logged: false has no changelog; remove this")
