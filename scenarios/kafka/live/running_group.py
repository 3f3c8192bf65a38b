"""A Kafka Streams group on a running cluster, of whichever protocol, once it has settled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from scenarios.kafka.live import classic_group, streams_group
from scenarios.kafka.live.admin_api import AdminApi, AdminResponse
from scenarios.kafka.live.inferred_topology import changelogs_of, subtopologies_of, with_likely_stores
from scenarios.kafka.observation.described_subtopologies import with_described_stores
from scenarios.kafka.observation.errors import ObservationError
from scenarios.kafka.observation.observation import ObservedProcess, ObservedSubtopology
from scenarios.language.errors import format_list

PATIENCE_S: Final = 60
"""How long a group may go on rebalancing."""

_PAUSE_S: Final = 2
_TEXT: Final = "the topology"
_BUSY: Final = (14, 15, 16)
"""COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR: ask again."""

_Group = TypeVar("_Group")


@dataclass(frozen=True, slots=True)
class RunningGroup:
    """What was seen of a group.

    Attributes:
        protocol: `classic` or `streams`.
        processes: by process id.
        subtopologies: by id.
        topics: all topics of the cluster as its metadata has them, by name.
        seen_at_ms: when, since 1970.
        configs: the application's, as far as the coordinator has them.
        broker_configs: the brokers' that the group overrides.
        listed_members: of a streams group, as its coordinator lists them.
        next_rebalance_ms: in how long a probing rebalance is due; None if none is.
        kafka_version: the release of the assignor, if it is the coordinator.
        assumptions: what was not seen.
    """

    protocol: str
    processes: tuple[ObservedProcess, ...]
    subtopologies: tuple[ObservedSubtopology, ...]
    topics: Mapping[str, AdminResponse]
    seen_at_ms: int
    configs: Mapping[str, str]
    broker_configs: Mapping[str, str]
    listed_members: tuple[str, ...]
    next_rebalance_ms: int | None
    kafka_version: str | None
    assumptions: tuple[str, ...]


def look_at_group(cluster: AdminApi, group: str, topology: str | None) -> RunningGroup:
    """Wait until a group has settled, and look at it.

    Raises:
        ObservationError: it does not settle, or is none of Kafka Streams, or not there, or its topics are not to be
            seen, or whose the changelogs are takes a topology.
    """
    groups = cluster.groups()
    if _type_of(groups, group) == "streams":
        return _look_at_streams(cluster, group, topology)
    return _look_at_classic(cluster, group, topology, [str(each["group_id"]) for each in groups])


def _type_of(groups: Sequence[AdminResponse], group: str) -> str:
    """`streams` or `classic`; brokers before 3.8 do not tell, and have only classic ones."""
    for each in groups:
        if each["group_id"] == group:
            kind = str(each.get("group_type") or "classic").lower()
            if kind not in ("classic", "streams"):
                raise ObservationError(f"group '{group}' is of type {kind}, not one of Kafka Streams")
            return kind
    ids = sorted(str(each["group_id"]) for each in groups)
    raise ObservationError(
        f"no group '{group}' is to be seen ({format_list('groups', ids)}). The group is the application.id; "
        "to see it takes the operation Describe on it"
    )


def _look_at_classic(cluster: AdminApi, group: str, topology: str | None, groups: Sequence[str]) -> RunningGroup:
    def read(answer: AdminResponse) -> classic_group.ObservedClassicGroup | None:
        if not classic_group.is_stable(answer):
            return None
        found = classic_group.read_classic_group(answer)
        return None if found.next_rebalance_at_ms == 0 else found

    found = _settled(cluster, group, cluster.classic_group, read)
    now_ms = cluster.now_ms()
    seen = subtopologies_of(found.reads)
    topics = _topics(cluster, seen)
    partitions = _partitions(topics)
    if topology is not None:
        seen, assumptions = with_described_stores(seen, topology, group, partitions, _TEXT)
    else:
        changelogs = changelogs_of(group, partitions, groups)
        seen, assumptions = with_likely_stores(seen, changelogs, group, partitions, found.stateful)
    due_ms = found.next_rebalance_at_ms
    return RunningGroup(
        protocol="classic",
        processes=found.processes,
        subtopologies=seen,
        topics=topics,
        seen_at_ms=now_ms,
        configs={},
        broker_configs={},
        listed_members=(),
        next_rebalance_ms=None if due_ms is None else max(0, due_ms - now_ms),
        kafka_version=None,
        assumptions=(*found.assumptions, *assumptions),
    )


def _look_at_streams(cluster: AdminApi, group: str, topology: str | None) -> RunningGroup:
    def read(answer: AdminResponse) -> streams_group.ObservedStreamsGroup | None:
        return streams_group.read_streams_group(answer) if streams_group.is_settled(answer) else None

    found = _settled(cluster, group, cluster.streams_group, read)
    now_ms = cluster.now_ms()
    topics = _topics(cluster, found.subtopologies)
    seen, assumptions = found.subtopologies, tuple[str, ...]()
    if topology is not None:
        seen, assumptions = with_described_stores(seen, topology, group, topics, _TEXT)
    configs, broker_configs = streams_group.configs_of_group(cluster.group_configs(group))
    return RunningGroup(
        protocol="streams",
        processes=found.processes,
        subtopologies=seen,
        topics=topics,
        seen_at_ms=now_ms,
        configs=configs,
        broker_configs=broker_configs,
        listed_members=found.listed_members,
        next_rebalance_ms=None,
        kafka_version=cluster.version(),
        assumptions=(*found.assumptions, *assumptions),
    )


def _settled(
    cluster: AdminApi, group: str, ask: Callable[[str], AdminResponse], read: Callable[[AdminResponse], _Group | None]
) -> _Group:
    """Ask until the group has settled, for a bounded time."""
    state = ""
    for _ in range(PATIENCE_S // _PAUSE_S):
        answer = ask(group)
        code = answer["error_code"]
        if code not in (0, *_BUSY):
            raise ObservationError(f"group '{group}' cannot be described: {answer['error_message'] or f'error {code}'}")
        state = str(answer["group_state"] or "not known yet")
        found = None if code else read(answer)
        if found is not None:
            return found
        cluster.wait(_PAUSE_S)
    raise ObservationError(
        f"group '{group}' has not settled within {PATIENCE_S} s (its state is {state}); look again when it has"
    )


def _topics(cluster: AdminApi, subtopologies: Sequence[ObservedSubtopology]) -> dict[str, AdminResponse]:
    """The topics of the cluster by name, those that are read among them."""
    topics = {str(topic["name"]): topic for topic in cluster.topics() if not topic["error_code"]}
    read = {topic for each in subtopologies for topic in (*each.sources, *each.changelogs.values())}
    if missing := sorted(read - set(topics)):
        raise ObservationError(
            f"{format_list('these topics of the application are not to be seen', missing)}; that takes the operation "
            "Describe on them"
        )
    return topics


def _partitions(topics: Mapping[str, AdminResponse]) -> dict[str, int]:
    return {name: len(topic["partitions"]) for name, topic in topics.items()}
