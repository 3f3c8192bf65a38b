"""A running Kafka Streams group of either protocol, once it is stable.

Members of a classic group report the topics that each task reads, but not its stores. Without `Topology.describe()`, a
changelog is assigned to a subtopology if all others can be excluded.

Source: `StreamsGroupDescribeResponse.json`; `org.apache.kafka.coordinator.group.streams.StreamsGroup`;
`StreamsPartitionAssignor`, `TaskManager.getTaskOffsetSums` (tasks with a changelog have offset sums),
`ProcessorStateManager.storeChangelogTopic` and `RepartitionedInternal` (names of internal topics) of
`org.apache.kafka.streams.processor.internals`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from assignors.model.ids import TaskId
from scenarios.kafka.formats.binary_messages import (
    LATEST_OFFSET,
    ClassicMemberAssignment,
    MemberSubscription,
    decode_assignment,
    decode_subscription,
)
from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.live.admin_api import AdminApi, AdminResponse
from scenarios.kafka.naming import is_changelog_topic, process_client_id, repartition_of_changelog, store_of_changelog
from scenarios.kafka.observation.described_subtopologies import add_described_stores
from scenarios.kafka.observation.observation import (
    ObservationError,
    ObservedProcess,
    ObservedSubtopology,
    ObservedThread,
    parse_task_id,
    sort_tasks,
)
from scenarios.language.errors import format_list

_STREAMS_PROTOCOL: Final = "stream"
_STABLE: Final = "Stable"
_OFFSET_SUMS_VERSION: Final = 7
"""First version of the Kafka Streams subscription with offset sums."""
_RACK_VERSION: Final = 3
"""First version of the consumer protocol with racks."""


@dataclass(frozen=True, slots=True)
class ObservedClassicGroup:
    """A stable group.

    Attributes:
        source_topics: Topics that each task reads, sorted.
        stateful: Subtopologies with state, according to a subscription or assignment.
        next_rebalance_at_ms: Time at which a member must rejoin, since 1970; None if no member must, 0 if one is
            already rejoining.
    """

    processes: tuple[ObservedProcess, ...]
    source_topics: Mapping[TaskId, tuple[str, ...]]
    stateful: frozenset[int]
    next_rebalance_at_ms: int | None
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Member:
    id: str
    client_id: str
    is_static: bool
    subscription: MemberSubscription
    assignment: ClassicMemberAssignment


def _is_stable_classic(response: AdminResponse) -> bool:
    """Return whether the group has an assignment.

    Raises ObservationError if the group is not one of Kafka Streams, or has no members.
    """
    group, state = response["group_id"], response["group_state"]
    if response["protocol_type"] not in ("consumer", ""):
        raise ObservationError(f"group '{group}' has type {response['protocol_type']}, not Kafka Streams")
    if state in ("Empty", "Dead"):
        raise ObservationError(_empty_group_message(group))
    if state == _STABLE and response["protocol_data"] != _STREAMS_PROTOCOL:
        raise ObservationError(
            f"group '{group}' does not belong to Kafka Streams: its partition assignor is "
            f"'{response['protocol_data']}'. Use the application.id as the group"
        )
    return bool(state == _STABLE)


def _empty_group_message(group: str) -> str:
    """Return the error message for a group without members."""
    return (
        f"group '{group}' has no members: the application is not running. Start it and try again, or import tool "
        "output that was saved while it was running"
    )


def read_classic_group(response: AdminResponse) -> ObservedClassicGroup:
    """Read a group for which `_is_stable_classic` holds.

    Raises ObservationError if a member's metadata or assignment is not of Kafka Streams, or has an error code.
    """
    members = [_read_member(entry) for entry in sorted(response["members"], key=lambda entry: str(entry["member_id"]))]
    source_topics: dict[TaskId, set[str]] = {}
    stateful: set[int] = set()
    for member in members:
        standby = member.assignment.streams.standby_tasks
        for task, partitions in [*member.assignment.active.items(), *standby.items()]:
            source_topics.setdefault(parse_task_id(task), set()).update(partition.topic for partition in partitions)
        stateful.update(parse_task_id(task).subtopology for task in [*standby, *_offset_sums([member])])
    rejoin_times_ms = [
        member.assignment.streams.next_rebalance_at_ms
        for member in members
        if member.assignment.streams.next_rebalance_at_ms is not None
    ]
    by_process: dict[str, list[_Member]] = {}
    for member in members:
        by_process.setdefault(member.subscription.streams.process_id, []).append(member)
    return ObservedClassicGroup(
        tuple(_classic_process(process_id, by_process[process_id]) for process_id in sorted(by_process)),
        {task: tuple(sorted(source_topics[task])) for task in sorted(source_topics)},
        frozenset(stateful),
        min(rejoin_times_ms, default=None),
        tuple(_classic_assumptions(members)),
        tuple(_upgrade_warnings(members)),
    )


def _read_member(entry: AdminResponse) -> _Member:
    try:
        subscription = decode_subscription(bytes(entry["member_metadata"]))
        assignment = decode_assignment(bytes(entry["member_assignment"]))
    except FormatError as error:
        raise ObservationError(f"member {entry['member_id']}: {error}") from None
    if assignment.streams.error_code:
        raise ObservationError(
            f"member {entry['member_id']} has error {assignment.streams.error_code} instead of an assignment "
            "(1: source topics are missing, 4: shutdown); resolve it and try again"
        )
    is_static = entry.get("group_instance_id") is not None
    return _Member(str(entry["member_id"]), str(entry["client_id"]), is_static, subscription, assignment)


def _classic_process(process_id: str, members: Sequence[_Member]) -> ObservedProcess:
    first = members[0].subscription
    threads = tuple(
        ObservedThread(
            member.id, sort_tasks(member.assignment.active), sort_tasks(member.assignment.streams.standby_tasks)
        )
        for member in members
    )
    has_offset_sums = all(member.subscription.streams.version >= _OFFSET_SUMS_VERSION for member in members)
    return ObservedProcess(
        process_id,
        process_client_id(min(member.client_id for member in members)),
        first.rack or None,
        dict(first.streams.client_tags),
        threads,
        _offset_sums(members) if has_offset_sums else None,
        any(member.is_static for member in members),
    )


def _offset_sums(members: Sequence[_Member]) -> dict[str, int]:
    """Return the reported offset sums by task; if several threads report a task, the active one's report wins."""
    offset_sums: dict[str, int] = {}
    for member in members:
        if member.subscription.streams.version < _OFFSET_SUMS_VERSION:
            continue
        for task, offset_sum in member.subscription.streams.offset_sums.items():
            if offset_sum == LATEST_OFFSET:
                offset_sums[task] = LATEST_OFFSET
            elif offset_sum >= 0 and offset_sums.get(task, 0) != LATEST_OFFSET:
                offset_sums[task] = max(offset_sum, offset_sums.get(task, 0))
    return {task: offset_sums[task] for task in sort_tasks(offset_sums)}


def _classic_assumptions(members: Sequence[_Member]) -> list[str]:
    sentences = []
    if any(member.subscription.version < _RACK_VERSION for member in members):
        sentences.append("Members of releases before 3.5 do not report their rack: assumed to have no client.rack.")
    if any(member.subscription.streams.version < _OFFSET_SUMS_VERSION for member in members):
        sentences.append("Members of releases before 2.6 do not report the offsets of their tasks.")
    return sentences


def _upgrade_warnings(members: Sequence[_Member]) -> Iterator[str]:
    """Yield a warning if members use an older version of Kafka Streams' protocol than some of them support.

    Source: `StreamsPartitionAssignor`, Kafka 4.3.1: members use the latest version that all support, and with
    `upgrade.from` an older one.
    """
    infos = [member.subscription.streams for member in members]
    used, latest = min(info.version for info in infos), max(info.latest_supported_version for info in infos)
    if used < latest:
        yield (
            f"The group is being upgraded: members use version {used} of the Kafka Streams protocol, but support up to "
            f"{latest} (upgrade.from, or several releases). Simulated members have the same release."
        )


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
    """Subtopologies that own changelogs. `ambiguous`: possible owners of each changelog that has several."""

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
        topics: Metadata of all topics of the cluster, by name.
        observed_at_ms: Time of the observation, since 1970.
        configs: Configs of the application that the coordinator knows.
        broker_configs: Broker configs that the group overrides.
        listed_members: Member ids of a streams group in the order in which its coordinator lists them.
        next_rebalance_ms: Time until the next probing rebalance; None if none is scheduled.
        broker_release: Release of the coordinator if it assigns; None otherwise, and if it is unknown.
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
    def read(response: AdminResponse) -> ObservedClassicGroup | None:
        if not _is_stable_classic(response):
            return None
        observed = read_classic_group(response)
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
    response = poll_until_stable(cluster, group, cluster.streams_group, if_stable)
    members, subtopologies = response["members"], _streams_subtopologies(response)
    processes = _streams_processes(members)
    now_ms = cluster.now_ms()
    topics = _topics(cluster, subtopologies)
    assumptions = tuple(_streams_assumptions(members))
    if topology is not None:
        subtopologies, described = add_described_stores(subtopologies, topology, group, topics, _TOPOLOGY_NAME)
        assumptions += described
    group_configs = cluster.group_configs(group)
    return RunningGroup(
        protocol="streams",
        processes=processes,
        subtopologies=subtopologies,
        topics=topics,
        observed_at_ms=now_ms,
        configs=renamed_configs(group_configs, _APPLICATION_KEYS),
        broker_configs=renamed_configs(group_configs, _BROKER_KEYS),
        listed_members=tuple(str(member["member_id"]) for member in members),
        next_rebalance_ms=None,
        broker_release=cluster.coordinator_release(group),
        assumptions=assumptions,
        warnings=tuple(_streams_warnings(members)),
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


_BROKER_KEYS: Final = {
    "streams.heartbeat.interval.ms": "group.streams.heartbeat.interval.ms",
    "streams.assignment.interval.ms": "group.streams.assignment.interval.ms",
    "streams.session.timeout.ms": "group.streams.session.timeout.ms",
    "streams.initial.rebalance.delay.ms": "group.streams.initial.rebalance.delay.ms",
}
"""Broker config that each group config overrides."""
_APPLICATION_KEYS: Final = {"streams.num.standby.replicas": "num.standby.replicas"}
"""Application config that each group config replaces."""


def if_stable(response: AdminResponse) -> AdminResponse | None:
    """Return the response if all members have their assignment; None otherwise.

    Raises ObservationError if the group has no members.
    """
    if response["group_state"] in ("Empty", "Dead"):
        raise ObservationError(_empty_group_message(response["group_id"]))
    return response if response["group_state"] == _STABLE else None


def renamed_configs(group_configs: Mapping[str, str | None], keys: Mapping[str, str]) -> dict[str, str]:
    """Return a group's configs under the keys to which they correspond."""
    return {key: value for group_key, key in keys.items() if (value := group_configs.get(group_key)) is not None}


def _streams_subtopologies(response: AdminResponse) -> tuple[ObservedSubtopology, ...]:
    group = response["group_id"]
    entries = (response["topology"] or {}).get("subtopologies")
    if not entries:
        raise ObservationError(f"group '{group}' has no topology yet: source topics are missing or inconsistent")
    return tuple(sorted((_subtopology(group, entry) for entry in entries), key=lambda subtopology: subtopology.id))


def _streams_processes(members: Sequence[AdminResponse]) -> tuple[ObservedProcess, ...]:
    by_process: dict[str, list[AdminResponse]] = {}
    for member in sorted(members, key=lambda member: str(member["member_id"])):
        by_process.setdefault(member["process_id"], []).append(member)
    return tuple(_streams_process(process_id, by_process[process_id]) for process_id in sorted(by_process))


def _subtopology(group: str, entry: AdminResponse) -> ObservedSubtopology:
    name = str(entry["subtopology_id"])
    if not name.isdecimal():
        raise ObservationError(f"subtopology id '{name}' is not a number; named topologies cannot be simulated")
    repartition = [topic["name"] for topic in entry["repartition_source_topics"]]
    changelogs = {store_of_changelog(group, topic["name"]): topic["name"] for topic in entry["state_changelog_topics"]}
    return ObservedSubtopology(
        int(name),
        tuple(sorted({*entry["source_topics"], *repartition})),
        {store: changelogs[store] for store in sorted(changelogs)},
        writes=tuple(sorted(entry["repartition_sink_topics"])),
    )


def _streams_process(process_id: str, members: Sequence[AdminResponse]) -> ObservedProcess:
    first = members[0]
    offset_sums = {
        f"{task['subtopology_id']}_{task['partition']}": task["offset"]
        for member in members
        for task in member["task_offsets"]
    }
    return ObservedProcess(
        process_id,
        process_client_id(min(member["client_id"] for member in members)),
        first["rack_id"] or None,
        {tag["key"]: tag["value"] for tag in first["client_tags"]},
        tuple(_observed_thread(member) for member in members),
        {task: offset_sums[task] for task in sort_tasks(offset_sums)} or None,
        any(member["instance_id"] is not None for member in members),
    )


def _observed_thread(member: AdminResponse) -> ObservedThread:
    """Return a thread; warm-up tasks count as standbys, since Kafka's own assignor creates none."""
    assignment = member["assignment"]
    standby = listed_tasks([*assignment["standby_tasks"], *assignment["warmup_tasks"]])
    return ObservedThread(
        member["member_id"], sort_tasks(listed_tasks(assignment["active_tasks"])), sort_tasks(standby)
    )


def listed_tasks(entries: Sequence[AdminResponse]) -> Iterator[str]:
    """Yield the ids of tasks that a response lists by subtopology."""
    for entry in entries:
        for partition in entry["partitions"]:
            yield f"{entry['subtopology_id']}_{partition}"


def _streams_assumptions(members: Sequence[AdminResponse]) -> Iterator[str]:
    if not any(member["task_offsets"] for member in members):
        yield "The coordinator does not report task offsets: all task copies are assumed to be caught up."
    else:
        yield (
            "Copies on disk are those that members reported last, by default once a minute: a copy that a recent move "
            "left behind may be missing."
        )
    if any(member["assignment"]["warmup_tasks"] for member in members):
        yield "Warm-up tasks are treated as standbys."


def _streams_warnings(members: Sequence[AdminResponse]) -> Iterator[str]:
    classic = sorted(str(member["member_id"]) for member in members if member["is_classic"])
    if classic:
        yield (
            f"The group is being migrated: {len(classic)} of {len(members)} members still use the classic protocol, "
            "but are simulated with the streams protocol."
        )
