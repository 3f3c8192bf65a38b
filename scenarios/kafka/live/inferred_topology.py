"""Subtopologies of a classic group, and the owners of its changelogs inferred without `Topology.describe()`.

Members report the topics that each task reads, but not its stores. A changelog is assigned to a subtopology if all
others can be excluded.

Source: `org.apache.kafka.streams.processor.internals.ProcessorStateManager.storeChangelogTopic` and
`RepartitionedInternal` (names of internal topics).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from assignors.model.ids import TaskId
from scenarios.kafka.naming import is_changelog_topic, repartition_of_changelog, store_of_changelog
from scenarios.kafka.observation.errors import ObservationError
from scenarios.kafka.observation.observation import ObservedSubtopology

_TOPOLOGY_HINT: Final = "Save the output of Topology.describe() and pass it with --topology FILE"


def subtopologies_of_tasks(source_topics: Mapping[TaskId, Sequence[str]]) -> tuple[ObservedSubtopology, ...]:
    """Return the subtopologies of tasks with their source topics, by id."""
    sources: dict[int, set[str]] = {}
    for task, topics in source_topics.items():
        sources.setdefault(task.subtopology, set()).update(topics)
    return tuple(ObservedSubtopology(id, tuple(sorted(sources[id]))) for id in sorted(sources))


def find_changelogs(application_id: str, partitions: Mapping[str, int], groups: Sequence[str]) -> tuple[str, ...]:
    """Return the changelogs of an application among topics, sorted.

    Args:
        application_id: `application.id`.
        partitions: Number of partitions of each topic.
        groups: All group ids; changelogs of groups whose ids start with `application_id-` are excluded.
    """
    other_prefixes = tuple(f"{group}-" for group in groups if group.startswith(f"{application_id}-"))
    return tuple(
        topic
        for topic in sorted(partitions)
        if is_changelog_topic(application_id, topic) and not topic.startswith(other_prefixes)
    )


def infer_stores(
    subtopologies: Sequence[ObservedSubtopology],
    changelogs: Sequence[str],
    application_id: str,
    partitions: Mapping[str, int],
    stateful: frozenset[int],
) -> tuple[tuple[ObservedSubtopology, ...], tuple[str, ...]]:
    """Assign each changelog to the only subtopology that can own it.

    A changelog has as many partitions as its subtopology has tasks, and its owner is stateful if members reported any
    state. The owner also reads the repartition topic with the name of the store, if there is one.

    Args:
        subtopologies: Subtopologies with their source topics.
        changelogs: Changelogs of the application.
        application_id: `application.id`.
        partitions: Number of partitions of each topic.
        stateful: Subtopologies known to be stateful.

    Returns:
        The subtopologies with their changelogs, and assumptions.

    Raises:
        ObservationError: A changelog has several possible owners; the message asks for the topology.
    """
    owners = _find_owners(subtopologies, changelogs, application_id, partitions, stateful)
    if owners.ambiguous:
        candidates = "; ".join(
            f"{topic} (subtopology {' or '.join(map(str, ids))})" for topic, ids in owners.ambiguous.items()
        )
        raise ObservationError(f"changelogs with several possible subtopologies: {candidates}. {_TOPOLOGY_HINT}")
    assumptions = list(owners.assumptions)
    completed = []
    for subtopology in subtopologies:
        own = {
            store_of_changelog(application_id, topic): topic
            for topic in changelogs
            if owners.by_changelog.get(topic) == subtopology.id
        }
        if not own and subtopology.id in stateful:
            own = _source_as_changelog(subtopology, application_id)
            assumptions.append(
                f"Subtopology {subtopology.id} has state but no changelog topic: its source topic {next(iter(own))} is "
                "assumed to be its changelog, as with topology.optimization."
            )
        completed.append(replace(subtopology, changelogs=own))
    return tuple(completed), tuple(assumptions)


@dataclass(slots=True)
class _Owners:
    """Subtopologies that own changelogs.

    Attributes:
        by_changelog: Owner of each changelog.
        ambiguous: Possible owners of each changelog that has several.
        assumptions: Sentences on what was assumed.
    """

    by_changelog: dict[str, int] = field(default_factory=dict)
    ambiguous: dict[str, list[int]] = field(default_factory=dict)
    assumptions: list[str] = field(default_factory=list)


def _find_owners(
    subtopologies: Sequence[ObservedSubtopology],
    changelogs: Sequence[str],
    application_id: str,
    partitions: Mapping[str, int],
    stateful: frozenset[int],
) -> _Owners:
    owners = _Owners()
    without_owner: list[str] = []
    inferred: list[str] = []
    num_tasks = {
        subtopology.id: max(partitions.get(source, 0) for source in subtopology.sources)
        for subtopology in subtopologies
    }
    readers = {source: subtopology.id for subtopology in subtopologies for source in subtopology.sources}
    for topic in changelogs:
        reader = readers.get(repartition_of_changelog(topic))
        candidates = [
            id for id, count in num_tasks.items() if count == partitions[topic] and (not stateful or id in stateful)
        ]
        if reader is not None:
            owners.by_changelog[topic] = reader
        elif len(candidates) == 1:
            owners.by_changelog[topic] = candidates[0]
            inferred.append(f"{store_of_changelog(application_id, topic)} to {candidates[0]}")
        elif candidates:
            owners.ambiguous[topic] = candidates
        else:
            without_owner.append(topic)
    if inferred:
        owners.assumptions.append(
            "Stores were assigned to the only subtopologies with a matching number of partitions: "
            f"{', '.join(inferred)}. A store whose changelog is a source topic cannot be detected if its subtopology "
            "has other stores."
        )
    if without_owner:
        owners.assumptions.append(
            f"Changelogs that match no running subtopology are omitted: {', '.join(without_owner)}."
        )
    return owners


def _source_as_changelog(subtopology: ObservedSubtopology, application_id: str) -> dict[str, str]:
    sources = [source for source in subtopology.sources if not source.startswith(f"{application_id}-")]
    if len(sources) != 1:
        raise ObservationError(f"subtopology {subtopology.id} has state, but no changelog matches it. {_TOPOLOGY_HINT}")
    return {sources[0]: sources[0]}
