"""Which subtopologies a classic group has, and whose the changelogs are where no text of `Topology.describe()` tells.

What a group's members tell has the topics that each task reads. It does not have the stores: those follow from what
rules all subtopologies out but one.

Source: `org.apache.kafka.streams.processor.internals.ProcessorStateManager.storeChangelogTopic` and
`RepartitionedInternal` on the names of internal topics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from assignors.model.ids import TaskId
from scenarios.kafka.observation.errors import ObservationError
from scenarios.kafka.observation.observation import ObservedSubtopology

_CHANGELOG: Final = "-changelog"
_REPARTITION: Final = "-repartition"


def subtopologies_of(reads: Mapping[TaskId, Sequence[str]]) -> tuple[ObservedSubtopology, ...]:
    """The subtopologies of these tasks with their sources, by id."""
    sources: dict[int, set[str]] = {}
    for task, topics in reads.items():
        sources.setdefault(task.subtopology, set()).update(topics)
    return tuple(ObservedSubtopology(id, tuple(sorted(sources[id]))) for id in sorted(sources))


def changelogs_of(application_id: str, partitions: Mapping[str, int], groups: Sequence[str]) -> tuple[str, ...]:
    """The changelogs among topics, those of applications left out whose ids begin with this one's."""
    prefix = f"{application_id}-"
    others = tuple(f"{group}-" for group in groups if group.startswith(prefix))
    return tuple(
        topic
        for topic in sorted(partitions)
        if topic.startswith(prefix) and topic.endswith(_CHANGELOG) and not topic.startswith(others)
    )


def store_of(application_id: str, changelog: str) -> str:
    """The store whose changelog that is; a topic that is no `…-changelog` keeps its name."""
    if not changelog.endswith("-changelog"):
        return changelog
    return changelog.removeprefix(f"{application_id}-").removesuffix("-changelog")


def with_likely_stores(
    seen: Sequence[ObservedSubtopology],
    changelogs: Sequence[str],
    application_id: str,
    partitions: Mapping[str, int],
    stateful: frozenset[int],
) -> tuple[tuple[ObservedSubtopology, ...], tuple[str, ...]]:
    """Find whose each changelog is where only one subtopology can have it.

    A changelog has as many partitions as its subtopology has tasks, and that must be one that has state as far as
    members told of any. A repartition topic is read where the store of the same name is.

    Returns:
        The subtopologies, and what was assumed.

    Raises:
        ObservationError: several could have it; it asks for the topology.
    """
    owners, open_ones, assumptions = _owners(seen, changelogs, application_id, partitions, stateful)
    if open_ones:
        listed = "; ".join(
            f"{topic} (subtopology {' or '.join(map(str, candidates))})" for topic, candidates in open_ones.items()
        )
        raise ask_for_topology(f"these changelogs could belong to several subtopologies: {listed}")
    result = []
    for each in seen:
        own = {store_of(application_id, topic): topic for topic in changelogs if owners.get(topic) == each.id}
        if not own and each.id in stateful:
            own = _source_changelog(each, application_id)
            assumptions.append(
                f"Subtopology {each.id} has state but no changelog of its own: its source {next(iter(own))} is taken "
                "for it, as with topology.optimization."
            )
        result.append(replace(each, changelogs=own))
    return tuple(result), tuple(assumptions)


def ask_for_topology(why: str) -> ObservationError:
    """The error where stores cannot be told from what was seen."""
    return ObservationError(
        f"{why}. Save what the application's Topology.describe() prints, and give it with --topology FILE"
    )


def _owners(
    seen: Sequence[ObservedSubtopology],
    changelogs: Sequence[str],
    application_id: str,
    partitions: Mapping[str, int],
    stateful: frozenset[int],
) -> tuple[dict[str, int], dict[str, list[int]], list[str]]:
    owners: dict[str, int] = {}
    open_ones: dict[str, list[int]] = {}
    assumptions: list[str] = []
    unseen: list[str] = []
    deduced: list[str] = []
    tasks = {each.id: max(partitions.get(source, 0) for source in each.sources) for each in seen}
    readers = {source: each.id for each in seen for source in each.sources}
    for topic in changelogs:
        namesake = readers.get(f"{topic.removesuffix(_CHANGELOG)}{_REPARTITION}")
        fitting = [id for id, count in tasks.items() if count == partitions[topic] and (not stateful or id in stateful)]
        if namesake is not None:
            owners[topic] = namesake
        elif len(fitting) == 1:
            owners[topic] = fitting[0]
            deduced.append(f"{store_of(application_id, topic)} to {fitting[0]}")
        elif fitting:
            open_ones[topic] = fitting
        else:
            unseen.append(topic)
    if deduced:
        assumptions.append(
            "Stores were given to the only subtopologies that can have them, by their numbers of partitions: "
            f"{', '.join(deduced)}. A store whose changelog is one of the sources does not show beside others."
        )
    if unseen:
        assumptions.append(f"No running subtopology can have these changelogs, left out: {', '.join(unseen)}.")
    return owners, open_ones, assumptions


def _source_changelog(subtopology: ObservedSubtopology, application_id: str) -> dict[str, str]:
    sources = [source for source in subtopology.sources if not source.startswith(f"{application_id}-")]
    if len(sources) != 1:
        raise ask_for_topology(f"subtopology {subtopology.id} has state, but no changelog fits it")
    return {sources[0]: sources[0]}
