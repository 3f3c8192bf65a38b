"""Snapshots of a running group: a few read-only requests each, without waiting for the group to become stable.

A poll sends DescribeGroups, StreamsGroupDescribe or ConsumerGroupDescribe to the coordinator, OffsetFetch to the
coordinator, and ListOffsets to each broker that leads a partition of the group.

Members keep the order in which the coordinator lists them, and partitions that of the coordinator or of the member:
assignors break ties by these orders.

Source: `ClassicGroup.describe`, `ConsumerGroup.asDescribedGroup` and
`ConsumerGroupMember.asConsumerGroupDescribeMember` of `org.apache.kafka.coordinator.group`, Kafka 4.0 to 4.3.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, TypeVar, cast

from assignors.model.ids import TaskId, TopicPartition
from scenarios.kafka.formats.binary_messages import (
    AssignmentInfo,
    MemberSubscription,
    decode_assignment,
    decode_consumer_assignment,
    decode_consumer_subscription,
    decode_cooperative_generation,
    decode_sticky_user_data,
    decode_subscription,
)
from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.live.admin_api import AdminApi, AdminResponse
from scenarios.kafka.live.observe import listed_partitions, observe, observe_consumers
from scenarios.kafka.live.running_group import listed_tasks
from scenarios.kafka.naming import process_client_id, trailing_uuid
from scenarios.kafka.observation.observation import (
    GroupKind,
    GroupPhase,
    GroupSnapshot,
    Observation,
    ObservationError,
    SnapshotMember,
    StatedRacks,
    TaskProgress,
    sort_tasks,
)

_PHASES: Final = {"Stable": GroupPhase.STABLE, "Empty": GroupPhase.EMPTY, "Dead": GroupPhase.GONE}
_STICKY: Final = "sticky"
_ID_DIGITS: Final = 8


def _phase(state: str) -> GroupPhase:
    """Return the phase; in other states, members join again or have not reached their target."""
    return _PHASES.get(state, GroupPhase.REBALANCING)


def _classic_consumers(response: AdminResponse, at_ms: int) -> GroupSnapshot:
    """Return a stable consumer group of the classic protocol.

    Raises ObservationError if the metadata or the assignment of a member is malformed.
    """
    members = tuple(_classic_snapshot_member(entry, str(response["protocol_data"])) for entry in response["members"])
    generation = max((member.generation for member in members), default=-1)
    return GroupSnapshot(
        at_ms,
        str(response["group_id"]),
        "classic",
        str(response["group_state"]),
        GroupPhase.STABLE,
        epoch=generation + 1 if generation >= 0 else None,
        members=members,
        member_ids=tuple(sorted(member.id for member in members)),
        kind=GroupKind.CONSUMERS,
    )


def _coordinated_snapshot(response: AdminResponse, at_ms: int, kind: GroupKind) -> GroupSnapshot:
    """Return a group of the consumer protocol (KIP-848) or the streams protocol (KIP-1071), in any state."""
    is_streams = kind is GroupKind.APPLICATION
    members = tuple(map(_streams_member if is_streams else _coordinated_member, response["members"]))
    return GroupSnapshot(
        at_ms,
        str(response["group_id"]),
        "streams" if is_streams else "consumer",
        str(response["group_state"]),
        _phase(str(response["group_state"])),
        epoch=int(response["assignment_epoch"]),
        members=members,
        member_ids=tuple(sorted(member.id for member in members)),
        kind=kind,
    )


def _classic_snapshot_member(entry: AdminResponse, assignor: str) -> SnapshotMember:
    """Decode a member; it reports the generation in which it owned its partitions, the one before the current."""
    member_id, instance_id = str(entry["member_id"]), entry.get("group_instance_id")
    metadata, assignment = bytes(entry["member_metadata"]), bytes(entry["member_assignment"])
    try:
        subscription, partitions = decode_consumer_subscription(metadata), decode_consumer_assignment(assignment)
    except FormatError as error:
        raise ObservationError(f"member {member_id}: {error}") from None
    owned, user_data_generation = subscription.owned, decode_cooperative_generation(subscription.user_data)
    if assignor == _STICKY:  # It is eager, and reads from its own data what members have revoked by then.
        reported = decode_sticky_user_data(subscription.user_data)
        owned, user_data_generation = reported.partitions, reported.generation
    active = _names(partitions)
    return SnapshotMember(
        id=member_id,
        client_id=_distinct_name(member_id, instance_id, str(entry["client_id"])),
        process_id=instance_id or member_id,
        rack=subscription.rack or None,
        tags={},
        instance_id=instance_id,
        active=active,
        standby=(),
        target_active=active,
        target_standby=(),
        owned=owned,
        joined=hashlib.sha256(metadata + assignment).hexdigest()[:16],
        topics=subscription.topics,
        generation=subscription.generation,
        user_data_generation=user_data_generation,
    )


def _coordinated_member(entry: AdminResponse) -> SnapshotMember:
    member_id, instance_id = str(entry["member_id"]), entry["instance_id"]
    target = tuple(listed_partitions(entry["target_assignment"]))
    return SnapshotMember(
        id=member_id,
        client_id=_distinct_name(member_id, instance_id, str(entry["client_id"])),
        process_id=instance_id or member_id,
        rack=entry["rack_id"] or None,
        tags={},
        instance_id=instance_id,
        active=_names(listed_partitions(entry["assignment"])),
        standby=(),
        target_active=_names(target),
        target_standby=(),
        owned=target,
        topics=tuple(map(str, entry["subscribed_topic_names"])),
        pattern=entry["subscribed_topic_regex"] or None,
    )


def _names(partitions: Iterable[TopicPartition]) -> tuple[str, ...]:
    return tuple(map(str, sorted(partitions)))


def _distinct_name(member_id: str, instance_id: str | None, client_id: str) -> str:
    """Return the instance id, or the client id with the first digits of the random part of the member id."""
    own = trailing_uuid(member_id) or member_id
    return instance_id or f"{client_id.strip()}-{own[:_ID_DIGITS]}"


_RETRIABLE: Final = {
    14: "COORDINATOR_LOAD_IN_PROGRESS",
    15: "COORDINATOR_NOT_AVAILABLE",
    16: "NOT_COORDINATOR",
}
_GROUP_ID_NOT_FOUND: Final = 69
_STREAMS: Final = "stream"


class TransientError(ObservationError):
    """The group cannot be described at the moment, for example because its coordinator moves."""


@dataclass(frozen=True, slots=True)
class TaskPartitions:
    """The partitions of each task.

    Attributes:
        sources: Source partitions by task.
        changelogs: Changelog partitions by task; none of stateless tasks.
    """

    sources: Mapping[str, tuple[TopicPartition, ...]] = field(default_factory=dict)
    changelogs: Mapping[str, tuple[TopicPartition, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, observation: Observation) -> TaskPartitions:
        """Return the partitions of the tasks of an observed application, or of an observed consumer group."""
        sizes = {topic.name: len(topic.replicas) for topic in observation.topics}
        if observation.consumers is not None:
            names = [TopicPartition(topic, number) for topic, size in sizes.items() for number in range(size)]
            return cls({str(name): (name,) for name in names})
        sources: dict[str, tuple[TopicPartition, ...]] = {}
        changelogs: dict[str, tuple[TopicPartition, ...]] = {}
        for subtopology in observation.subtopologies:
            for number in range(max((sizes.get(topic, 0) for topic in subtopology.sources), default=0)):
                task = str(TaskId(subtopology.id, number))
                sources[task] = _partitions(subtopology.sources, number, sizes)
                if logged := _partitions(sorted(subtopology.changelogs.values()), number, sizes):
                    changelogs[task] = logged
        return cls(sources, changelogs)


def _partitions(topics: Iterable[str], number: int, sizes: Mapping[str, int]) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(topic, number) for topic in topics if number < sizes.get(topic, 0))


@dataclass(frozen=True, slots=True)
class PolledGroup:
    """A snapshot with the response that it was read from, from which a stable group can be observed completely."""

    snapshot: GroupSnapshot
    response: AdminResponse


def find_protocol(groups: Sequence[AdminResponse], group: str) -> str | None:
    """Return `classic`, `streams` or `consumer` for a group in a response of ListGroups; None if it does not exist.

    Raises ObservationError if the group has another type.
    """
    for entry in groups:
        if entry["group_id"] != group:
            continue
        group_type = str(entry.get("group_type") or "classic").lower()
        if group_type not in ("classic", "streams", "consumer"):
            raise ObservationError(_not_supported(group, f"its type is {group_type}"))
        return group_type
    return None


def poll_group(cluster: AdminApi, group: str, protocol: str, partitions: TaskPartitions) -> PolledGroup:
    """Describe a group and the offsets of its tasks.

    `group`: `application.id` or `group.id`. `protocol`: `classic`, `streams` or `consumer`. `partitions`: the
    partitions whose offsets are read; none to skip them. Raises TransientError if the coordinator is not available at
    the moment; and ObservationError if the cluster does not respond or denies a request, or the group has members of
    another kind.
    """
    readers: Mapping[str, tuple[Callable[[str], AdminResponse], Callable[[AdminResponse, int], GroupSnapshot]]] = {
        "classic": (cluster.classic_group, _classic_snapshot),
        "streams": (cluster.streams_group, partial(_coordinated_snapshot, kind=GroupKind.APPLICATION)),
        "consumer": (cluster.consumer_group, partial(_coordinated_snapshot, kind=GroupKind.CONSUMERS)),
    }
    describe, read = readers[protocol]
    response = describe(group)
    at_ms = cluster.now_ms()
    code = int(response["error_code"])
    if code in _RETRIABLE:
        raise TransientError(f"group '{group}' cannot be described at the moment: {_RETRIABLE[code]}")
    if code == _GROUP_ID_NOT_FOUND:
        return PolledGroup(GroupSnapshot(at_ms, group, protocol, "Dead", GroupPhase.GONE), response)
    if code:
        raise ObservationError(f"group '{group}' cannot be described: {response['error_message'] or f'error {code}'}")
    snapshot = read(response, at_ms)
    if partitions.sources and snapshot.phase in (GroupPhase.STABLE, GroupPhase.REBALANCING):
        snapshot = with_offsets(snapshot, cluster, partitions)
    return PolledGroup(snapshot, response)


def with_offsets(snapshot: GroupSnapshot, cluster: AdminApi, partitions: TaskPartitions) -> GroupSnapshot:
    """Return the snapshot with the offsets of its tasks; without any if a partition has no leader at the moment."""
    by_task = [*partitions.sources.values(), *partitions.changelogs.values()]
    try:
        ends = cluster.end_offsets(sorted({partition for of_task in by_task for partition in of_task}))
        committed = cluster.committed_offsets(snapshot.group)
    except ObservationError as error:
        return replace(snapshot, offsets_error=str(error))
    progress = {}
    for task, sources in partitions.sources.items():
        known = [partition for partition in sources if partition in committed and partition in ends]
        if known:
            progress[task] = TaskProgress(sum(committed[name] for name in known), sum(ends[name] for name in known))
    changelog_ends = {
        task: sum(ends[partition] for partition in changelogs)
        for task, changelogs in partitions.changelogs.items()
        if all(partition in ends for partition in changelogs)
    }
    return replace(snapshot, changelog_ends=changelog_ends, progress=progress)


def _classic_snapshot(response: AdminResponse, at_ms: int) -> GroupSnapshot:
    group, state = str(response["group_id"]), str(response["group_state"])
    if response["protocol_type"] not in ("consumer", ""):
        raise ObservationError(_not_supported(group, f"its protocol type is {response['protocol_type']}"))
    phase = _phase(state)
    ids = tuple(sorted(str(entry["member_id"]) for entry in response["members"]))
    if phase is not GroupPhase.STABLE:
        return GroupSnapshot(at_ms, group, "classic", state, phase, member_ids=ids)
    if response["protocol_data"] != _STREAMS:
        return _classic_consumers(response, at_ms)
    members = [_classic_member(entry) for entry in response["members"]]
    generations = [subscription.generation for _, subscription, _ in members]
    assigned = [assignment for _, _, assignment in members]
    rejoin_at_ms = [info.next_rebalance_at_ms for info in assigned if info.next_rebalance_at_ms is not None]
    return GroupSnapshot(
        at_ms,
        group,
        "classic",
        state,
        phase,
        epoch=max(generations) + 1 if max(generations, default=-1) >= 0 else None,
        members=tuple(member for member, _, _ in members),
        member_ids=ids,
        next_rebalance_at_ms=min(rejoin_at_ms, default=None),
        error_code=max((info.error_code for info in assigned), default=0),
        kind=GroupKind.APPLICATION,
    )


def _classic_member(entry: AdminResponse) -> tuple[SnapshotMember, MemberSubscription, AssignmentInfo]:
    """Return a member, with its subscription and assignment; it reports the generation before the current one."""
    metadata = bytes(entry["member_metadata"])
    try:
        subscription, assignment = decode_subscription(metadata), decode_assignment(bytes(entry["member_assignment"]))
    except FormatError as error:
        raise ObservationError(f"member {entry['member_id']}: {error}") from None
    active, standby = sort_tasks(assignment.active), sort_tasks(assignment.streams.standby_tasks)
    member = SnapshotMember(
        id=str(entry["member_id"]),
        client_id=process_client_id(str(entry["client_id"])),
        process_id=subscription.streams.process_id,
        rack=subscription.rack or None,
        tags=dict(subscription.streams.client_tags),
        instance_id=entry.get("group_instance_id"),
        active=active,
        standby=standby,
        target_active=active,
        target_standby=standby,
        owned=subscription.owned,
        offset_sums=dict(subscription.streams.offset_sums),
        joined=hashlib.sha256(metadata).hexdigest()[:16],
    )
    return member, subscription, assignment.streams


def _streams_member(entry: AdminResponse) -> SnapshotMember:
    current, target = entry["assignment"], entry["target_assignment"]
    offsets = {f"{task['subtopology_id']}_{task['partition']}": task["offset"] for task in entry["task_offsets"] or ()}
    return SnapshotMember(
        id=str(entry["member_id"]),
        client_id=process_client_id(str(entry["client_id"])),
        process_id=str(entry["process_id"]),
        rack=entry["rack_id"] or None,
        tags={tag["key"]: tag["value"] for tag in entry["client_tags"]},
        instance_id=entry["instance_id"],
        active=sort_tasks(listed_tasks(current["active_tasks"])),
        standby=sort_tasks(listed_tasks([*current["standby_tasks"], *current["warmup_tasks"]])),
        target_active=sort_tasks(listed_tasks(target["active_tasks"])),
        target_standby=sort_tasks(listed_tasks([*target["standby_tasks"], *target["warmup_tasks"]])),
        offset_sums={task: offsets[task] for task in sort_tasks(offsets)},
        joined="",
    )


def _not_supported(group: str, reason: str) -> str:
    return (
        f"group '{group}' cannot be watched: {reason}. watch supports Kafka Streams applications and consumer groups; "
        "pass the application.id or the group.id"
    )


_Response = TypeVar("_Response")


class PolledObserver:
    """Observes a group that was just polled; responses that seldom change are requested once.

    An observation requests the metadata of topics and brokers. The first one also requests the groups, the configs of
    brokers and topics, the sizes of partitions and the first offsets.
    """

    def __init__(
        self, cluster: AdminApi, *, topology: str | None, configs: Mapping[str, str], racks: StatedRacks
    ) -> None:
        """Create an observer.

        `topology`: output of the application's `Topology.describe()`, if available; `configs`: known configs of the
        application or the consumers; `racks`: racks of clients that do not report `client.rack`.
        """
        self._cluster = cluster
        self._topology = topology
        self._configs = configs
        self._racks = racks
        self._kept: dict[str, Any] = {}

    def observe(self, polled: PolledGroup) -> Observation:
        """Return the state of the application, or of the consumer group.

        Raises TransientError if the polled group is not stable, or a member must rejoin at once; and ObservationError
        if the cluster denies a request, a changelog has several possible owners, or a topology is given for a consumer
        group.
        """
        once = cast("AdminApi", _PolledCluster(self._cluster, polled, self._kept))
        group = polled.snapshot.group
        if polled.snapshot.kind is GroupKind.CONSUMERS:
            if self._topology is not None:
                raise ObservationError(f"group '{group}' is a consumer group, and has no topology")
            return observe_consumers(once, group, seconds=0, configs=self._configs, racks=self._racks)
        return observe(
            once,
            group,
            seconds=0,
            topology=self._topology,
            configs=self._configs,
            all_topics=False,
            racks=self._racks,
        )


class _PolledCluster:
    """An `AdminApi` that repeats the polled description of the group, and keeps the responses that seldom change."""

    def __init__(self, cluster: AdminApi, polled: PolledGroup, kept: dict[str, Any]) -> None:
        self._cluster = cluster
        self._polled = polled
        self._kept = kept

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cluster, name)

    def classic_group(self, _: str) -> AdminResponse:
        return self._polled.response

    streams_group = consumer_group = classic_group

    def groups(self) -> Sequence[AdminResponse]:
        return self._keep("groups", self._cluster.groups)

    def log_dirs(self, partitions: Mapping[str, Sequence[int]]) -> Sequence[AdminResponse]:
        return self._keep(f"log_dirs {sorted(partitions)}", lambda: self._cluster.log_dirs(partitions))

    def start_offsets(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        return self._keep(f"start_offsets {sorted(partitions)}", lambda: self._cluster.start_offsets(partitions))

    def broker_configs(self, broker: int, keys: Sequence[str]) -> Mapping[str, str | None]:
        return self._keep(f"broker_configs {broker}", lambda: self._cluster.broker_configs(broker, keys))

    def topic_configs(self, topics: Sequence[str], keys: Sequence[str]) -> Mapping[str, Mapping[str, str | None]]:
        return self._keep(f"topic_configs {sorted(topics)}", lambda: self._cluster.topic_configs(topics, keys))

    def coordinator_release(self, group: str) -> str | None:
        return self._keep("coordinator_release", lambda: self._cluster.coordinator_release(group))

    def wait(self, _: float) -> None:
        raise TransientError("the group is not stable")

    def _keep(self, key: str, request: Callable[[], _Response]) -> _Response:
        if key not in self._kept:
            self._kept[key] = request()
        return cast("_Response", self._kept[key])
