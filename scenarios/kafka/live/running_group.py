"""A running Kafka Streams group of either protocol, once it is stable.

The subtopologies of a classic group, and the owners of its changelogs, are inferred without `Topology.describe()`.

Members report the topics that each task reads, but not its stores. A changelog is assigned to a subtopology if all
others can be excluded.

Source: `org.apache.kafka.streams.processor.internals.ProcessorStateManager.storeChangelogTopic` and
`RepartitionedInternal` (names of internal topics).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from assignors.model.ids import TaskId
from scenarios.kafka.live import classic_group, streams_group
from scenarios.kafka.live.admin_api import AdminApi, AdminResponse
from scenarios.kafka.naming import is_changelog_topic, repartition_of_changelog, store_of_changelog
from scenarios.kafka.observation.described_subtopologies import add_described_stores
from scenarios.kafka.observation.observation import ObservationError, ObservedProcess, ObservedSubtopology
from scenarios.language.errors import format_list

_TOPOLOGY_HINT: Final = "Save the output of Topology.describe() and pass it with --topology FILE"


def subtopologies_of_tasks(source_topics: Mapping[TaskId, Sequence[str]]) -> tuple[ObservedSubtopology, ...]:
    """Return the subtopologies of tasks with their source topics, by id."""
    sources: dict[int, set[str]] = {}
    for task, topics in source_topics.items():
        sources.setdefault(task.subtopology, set()).update(topics)
    return tuple(ObservedSubtopology(id, tuple(sorted(sources[id]))) for id in sorted(sources))


def find_changelogs(application_id: str, partitions: Mapping[str, int], groups: Sequence[str]) -> tuple[str, ...]:
    """Return the changelogs of an application among topics, sorted.

    `groups`: all group ids; changelogs of groups whose ids start with `application_id-` are excluded.
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
    state. The owner also reads the repartition topic with the name of the store, if there is one. `subtopologies`:
    subtopologies with their source topics. Returns the subtopologies with their changelogs, and assumptions. Raises
    ObservationError if a changelog has several possible owners; the message asks for the topology.
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


STABLE_TIMEOUT_S: Final = 60
"""Maximum time to wait for a group to become stable."""

_POLL_INTERVAL_S: Final = 2
_TOPOLOGY_NAME: Final = "the topology"
_RETRIABLE_ERRORS: Final = (14, 15, 16)
_TOPIC_AUTHORIZATION_FAILED: Final = 29
"""COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR."""

_Group = TypeVar("_Group")


@dataclass(frozen=True, slots=True)
class RunningGroup:
    """A stable group.

    Attributes:
        protocol: `classic` or `streams`.
        processes: Processes, by process id.
        subtopologies: Subtopologies, by id.
        topics: Metadata of all topics of the cluster, by name.
        observed_at_ms: Time of the observation, since 1970.
        configs: Configs of the application that the coordinator knows.
        broker_configs: Broker configs that the group overrides.
        listed_members: Member ids of a streams group in the order in which its coordinator lists them.
        next_rebalance_ms: Time until the next probing rebalance; None if none is scheduled.
        broker_release: Release of the coordinator if it assigns; None otherwise, and if it is unknown.
        assumptions: Sentences on what was not observed.
        warnings: Sentences on a state of the group that is not simulated.
    """

    protocol: str
    processes: tuple[ObservedProcess, ...]
    subtopologies: tuple[ObservedSubtopology, ...]
    topics: Mapping[str, AdminResponse]
    observed_at_ms: int
    configs: Mapping[str, str]
    broker_configs: Mapping[str, str]
    listed_members: tuple[str, ...]
    next_rebalance_ms: int | None
    broker_release: str | None
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]


def observe_group(cluster: AdminApi, group: str, topology: str | None) -> RunningGroup:
    """Wait until a group is stable, and read its state.

    `group`: `application.id`; `topology`: output of the application's `Topology.describe()`, if available. Raises
    ObservationError if the group does not exist, is not one of Kafka Streams or does not become stable; its topics are
    not visible; or the owners of its changelogs are ambiguous without a topology.
    """
    groups = cluster.groups()
    group_type = find_group_type(groups, group)
    if group_type == "streams":
        return _observe_streams_group(cluster, group, topology)
    if group_type != "classic":
        raise ObservationError(f"group '{group}' has type {group_type}, not Kafka Streams")
    return _observe_classic_group(cluster, group, topology, [str(entry["group_id"]) for entry in groups])


def find_group_type(groups: Sequence[AdminResponse], group: str) -> str:
    """Return `streams`, `consumer` or `classic`; brokers before 3.8 report no type and have only classic groups.

    Raises ObservationError if the group is not visible or has another type.
    """
    for entry in groups:
        if entry["group_id"] == group:
            group_type = str(entry.get("group_type") or "classic").lower()
            if group_type not in ("classic", "consumer", "streams"):
                raise ObservationError(f"group '{group}' has type {group_type}, not Kafka Streams or consumers")
            return group_type
    ids = sorted(str(entry["group_id"]) for entry in groups)
    raise ObservationError(
        f"group '{group}' does not exist or is not visible ({format_list('groups', ids)}). The group is the "
        "application.id or group.id; this requires the operation Describe on the group"
    )


def _observe_classic_group(cluster: AdminApi, group: str, topology: str | None, groups: Sequence[str]) -> RunningGroup:
    def read(response: AdminResponse) -> classic_group.ObservedClassicGroup | None:
        if not classic_group.is_stable(response):
            return None
        observed = classic_group.read_classic_group(response)
        return None if observed.next_rebalance_at_ms == 0 else observed

    observed = poll_until_stable(cluster, group, cluster.classic_group, read)
    now_ms = cluster.now_ms()
    subtopologies = subtopologies_of_tasks(observed.source_topics)
    topics = _topics(cluster, subtopologies)
    partitions = {name: len(topic["partitions"]) for name, topic in topics.items()}
    if topology is not None:
        subtopologies, assumptions = add_described_stores(subtopologies, topology, group, partitions, _TOPOLOGY_NAME)
    else:
        changelogs = find_changelogs(group, partitions, groups)
        subtopologies, assumptions = infer_stores(subtopologies, changelogs, group, partitions, observed.stateful)
    next_at_ms = observed.next_rebalance_at_ms
    return RunningGroup(
        protocol="classic",
        processes=observed.processes,
        subtopologies=subtopologies,
        topics=topics,
        observed_at_ms=now_ms,
        configs={},
        broker_configs={},
        listed_members=(),
        next_rebalance_ms=None if next_at_ms is None else max(0, next_at_ms - now_ms),
        broker_release=None,
        assumptions=(*observed.assumptions, *assumptions),
        warnings=observed.warnings,
    )


def _observe_streams_group(cluster: AdminApi, group: str, topology: str | None) -> RunningGroup:
    def read(response: AdminResponse) -> streams_group.ObservedStreamsGroup | None:
        return streams_group.read_streams_group(response) if streams_group.is_stable(response) else None

    observed = poll_until_stable(cluster, group, cluster.streams_group, read)
    now_ms = cluster.now_ms()
    topics = _topics(cluster, observed.subtopologies)
    subtopologies, assumptions = observed.subtopologies, tuple[str, ...]()
    if topology is not None:
        subtopologies, assumptions = add_described_stores(subtopologies, topology, group, topics, _TOPOLOGY_NAME)
    configs, broker_configs = streams_group.split_group_configs(cluster.group_configs(group))
    return RunningGroup(
        protocol="streams",
        processes=observed.processes,
        subtopologies=subtopologies,
        topics=topics,
        observed_at_ms=now_ms,
        configs=configs,
        broker_configs=broker_configs,
        listed_members=observed.listed_members,
        next_rebalance_ms=None,
        broker_release=cluster.coordinator_release(group),
        assumptions=(*observed.assumptions, *assumptions),
        warnings=observed.warnings,
    )


def poll_until_stable(
    cluster: AdminApi,
    group: str,
    describe: Callable[[str], AdminResponse],
    read: Callable[[AdminResponse], _Group | None],
) -> _Group:
    """Describe the group until `read` returns a result, up to a time limit.

    Raises ObservationError if the group cannot be described, or does not become stable in time.
    """
    state = ""
    for _ in range(STABLE_TIMEOUT_S // _POLL_INTERVAL_S):
        response = describe(group)
        code = response["error_code"]
        if code not in (0, *_RETRIABLE_ERRORS):
            problem = response["error_message"] or f"error {code}"
            required = " (required: the operation Describe on them)" if code == _TOPIC_AUTHORIZATION_FAILED else ""
            raise ObservationError(f"group '{group}' cannot be described: {problem}{required}")
        state = str(response["group_state"] or "unknown")
        observed = None if code else read(response)
        if observed is not None:
            return observed
        cluster.wait(_POLL_INTERVAL_S)
    raise ObservationError(
        f"group '{group}' did not become stable within {STABLE_TIMEOUT_S} s (state: {state}); try again later"
    )


def _topics(cluster: AdminApi, subtopologies: Sequence[ObservedSubtopology]) -> dict[str, AdminResponse]:
    """Return the metadata of all topics by name.

    Raises ObservationError if topics of the subtopologies are not visible.
    """
    topics = {str(topic["name"]): topic for topic in cluster.topics() if not topic["error_code"]}
    required = {
        topic for subtopology in subtopologies for topic in (*subtopology.sources, *subtopology.changelogs.values())
    }
    if missing := sorted(required - set(topics)):
        raise ObservationError(
            f"{format_list('topics of the application that are not visible', missing)}; they require the operation "
            "Describe"
        )
    return topics
