"""Member metadata and assignments of a classic group: decoders of what its coordinator stores, and encoders.

A member's metadata is a `ConsumerProtocolSubscription` (versions 0 to 3) that contains the `SubscriptionInfo` of Kafka
Streams, or what the sticky assignors of clients add; its assignment is a `ConsumerProtocolAssignment` that contains an
`AssignmentInfo`. `SubscriptionInfo` and `AssignmentInfo` are supported in versions 1 to 11, all that releases up to 4.3
write. `kafka-dump-log.sh` prints subscriptions and assignments decoded: these are encoded again.

Source: `ConsumerProtocolSubscription.json`, `ConsumerProtocolAssignment.json`, `SubscriptionInfoData.json`;
`org.apache.kafka.streams.processor.internals.assignment.AssignmentInfo` and `ConsumerProtocolUtils` (hand-written
encoders); `StreamsPartitionAssignor.getActiveTasks` and `PARTITION_COMPARATOR` (which task reads which partition);
`org.apache.kafka.clients.consumer.StickyAssignor.deserializeTopicPartitionAssignment` and
`CooperativeStickyAssignor.memberData` (`STICKY_ASSIGNOR_USER_DATA_V1` and `_V0`,
`COOPERATIVE_STICKY_ASSIGNOR_USER_DATA_V0`), kafka-clients 3.8 to 4.3.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from assignors.model.ids import TopicPartition
from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.message_schemas import ByteReader

_VERSION: Final = 3


def encode_subscription(printed: Mapping[str, Any]) -> bytes:
    """Encode a subscription in version 3.

    Returns the bytes, as a member sends them. Raises KeyError, TypeError or ValueError if the subscription is
    incomplete or malformed.
    """
    topics = b"".join(map(_text, printed["topics"]))
    rack = printed.get("rackId")
    return b"".join(
        (
            _int16(_VERSION),
            _int32(len(printed["topics"])) + topics,
            _data(printed.get("userData")),
            _topic_partitions(printed.get("ownedPartitions") or ()),
            _int32(printed.get("generationId", -1)),
            _int16(-1) if rack is None else _text(rack),
        )
    )


def encode_assignment(printed: Mapping[str, Any]) -> bytes:
    """Encode an assignment in version 3.

    Returns the bytes, as the leader sends them. Raises KeyError, TypeError or ValueError if the assignment is
    incomplete or malformed.
    """
    return _int16(_VERSION) + _topic_partitions(printed["assignedPartitions"]) + _data(printed.get("userData"))


def _topic_partitions(printed: Sequence[Mapping[str, Any]]) -> bytes:
    entries = (
        _text(entry["topic"]) + _int32(len(entry["partitions"])) + b"".join(map(_int32, entry["partitions"]))
        for entry in printed
    )
    return _int32(len(printed)) + b"".join(entries)


def _data(printed: str | None) -> bytes:
    if printed is None:
        return _int32(-1)
    content = base64.b64decode(printed, validate=True)
    return _int32(len(content)) + content


def _text(text: str) -> bytes:
    content = text.encode()
    return _int16(len(content)) + content


def _int16(value: int) -> bytes:
    return value.to_bytes(2, signed=True)


def _int32(value: int) -> bytes:
    return value.to_bytes(4, signed=True)


_UNREADABLE: Final = -1
"""Generation of user data that Kafka cannot read, and ignores (`AbstractStickyAssignor.DEFAULT_GENERATION`)."""


@dataclass(frozen=True, slots=True)
class StickyUserData:
    """The previous assignment as a member reports it to the sticky assignor.

    Attributes:
        partitions: Partitions that it had, in the order of the data, which the assignor depends on.
        generation: Generation in which it had them; None if the data has none.
    """

    partitions: tuple[TopicPartition, ...] = ()
    generation: int | None = None


def decode_sticky_user_data(data: bytes) -> StickyUserData:
    """Decode the user data of the eager sticky assignor; as in Kafka, data that cannot be read says nothing."""
    if not data:
        return StickyUserData()
    try:
        return _read(data, has_generation=True)
    except FormatError:
        pass
    try:
        return _read(data, has_generation=False)
    except FormatError:
        return StickyUserData((), _UNREADABLE)


def decode_cooperative_generation(data: bytes) -> int | None:
    """Decode the user data of the cooperative sticky assignor: a generation; None without data."""
    if not data:
        return None
    try:
        return ByteReader(data, "CooperativeStickyAssignorUserData").int32("generation")
    except FormatError:
        return _UNREADABLE


def _read(data: bytes, *, has_generation: bool) -> StickyUserData:
    reader = ByteReader(data, "StickyAssignorUserData")
    listed = reader.array("topics", lambda _: (reader.string("topic"), reader.array("partitions", reader.int32)))
    partitions = tuple(TopicPartition(topic, partition) for topic, numbers in listed for partition in numbers)
    return StickyUserData(partitions, reader.int32("generation") if has_generation else None)


LATEST_OFFSET: Final = -2
"""Offset sum of a task that is active on the thread (`Task.LATEST_OFFSET`)."""

UNKNOWN_OFFSET_SUM: Final = -3
"""Offset sum of a task copy whose offsets the member did not report, as in versions 1 to 6."""

_MAX_CONSUMER_VERSION: Final = 3
_MAX_STREAMS_VERSION: Final = 11
_NEVER: Final = 2**63 - 1
_OFFSET_SUMS_VERSION: Final = 7
_NAMED_TOPOLOGIES_VERSION: Final = 10


@dataclass(frozen=True, slots=True)
class SubscriptionInfo:
    """The subscription of a stream thread.

    Attributes:
        version: Version of the encoding.
        latest_supported_version: Latest version that the member supports; -1 if not reported.
        process_id: UUID of its process.
        user_endpoint: `application.server`; None if not set.
        offset_sums: Offset sum of each task with a local copy that this thread reports: `LATEST_OFFSET` for an active
            task, `UNKNOWN_OFFSET_SUM` if the version has no offsets.
        unique_field: Value that changes with every subscription.
        error_code: Code of `AssignorError`; 0 for none.
    """

    version: int
    latest_supported_version: int
    process_id: str
    user_endpoint: str | None
    offset_sums: Mapping[str, int]
    unique_field: int = 0
    error_code: int = 0
    client_tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ConsumerSubscription:
    """The metadata of a group member with any assignor; `MemberSubscription` documents the other attributes.

    `user_data`: what its assignor adds.
    """

    version: int
    topics: tuple[str, ...]
    owned: tuple[TopicPartition, ...]
    generation: int
    rack: str | None
    user_data: bytes


@dataclass(frozen=True, slots=True)
class MemberSubscription:
    """The metadata of a group member.

    Attributes:
        version: Version of the consumer protocol.
        topics: Subscribed topics.
        owned: Partitions that it owned before the rebalance, sorted; empty in version 0.
        generation: Generation in which it owned them; -1 if not reported.
        rack: `client.rack`; None if not set or the version is below 3.
        streams: Subscription of Kafka Streams.
    """

    version: int
    topics: tuple[str, ...]
    owned: tuple[TopicPartition, ...]
    generation: int
    rack: str | None
    streams: SubscriptionInfo


@dataclass(frozen=True, slots=True)
class AssignmentInfo:
    """The assignment of a stream thread by the group leader.

    Attributes:
        version: Version of the encoding.
        commonly_supported_version: Latest version that all members support; -1 if not reported.
        active_tasks: Active task of each partition, in the order of the sorted partitions.
        standby_tasks: Partitions of each standby task, sorted.
        partitions_by_host: Active partitions of each `application.server`, sorted.
        standby_partitions_by_host: Standby partitions of each `application.server`, sorted.
        error_code: Code of `AssignorError`; 0 for none.
        next_rebalance_at_ms: Time since 1970 at which the member must rejoin; None if it need not.
    """

    version: int
    commonly_supported_version: int
    active_tasks: tuple[str, ...]
    standby_tasks: Mapping[str, tuple[TopicPartition, ...]]
    partitions_by_host: Mapping[str, tuple[TopicPartition, ...]] = field(default_factory=dict)
    standby_partitions_by_host: Mapping[str, tuple[TopicPartition, ...]] = field(default_factory=dict)
    error_code: int = 0
    next_rebalance_at_ms: int | None = None


@dataclass(frozen=True, slots=True)
class ClassicMemberAssignment:
    """The assignment of a group member.

    Attributes:
        version: Version of the consumer protocol.
        partitions: Assigned partitions, sorted.
        active: Partitions of each active task, sorted.
        streams: Assignment of Kafka Streams, including standby tasks.
    """

    version: int
    partitions: tuple[TopicPartition, ...]
    active: Mapping[str, tuple[TopicPartition, ...]]
    streams: AssignmentInfo


def decode_subscription(data: bytes) -> MemberSubscription:
    """Decode a member's metadata, as DescribeGroups returns it.

    Raises FormatError if the bytes are truncated, malformed, not of Kafka Streams, or of an unsupported version.
    """
    own = decode_consumer_subscription(data)
    streams = decode_subscription_info(own.user_data)
    return MemberSubscription(own.version, own.topics, own.owned, own.generation, own.rack, streams)


def decode_consumer_subscription(data: bytes) -> ConsumerSubscription:
    """Decode the metadata of a member with any assignor, as DescribeGroups returns it.

    Raises FormatError if the bytes are truncated or malformed.
    """
    reader = ByteReader(data, "ConsumerProtocolSubscription")
    version = _read_consumer_version(reader)
    topics = tuple(reader.array("topics", reader.string))
    user_data = reader.nullable_bytes("userData")
    owned = _read_topic_partitions(reader) if version >= 1 else ()
    generation = reader.int32("generationId") if version >= 2 else -1
    rack = reader.nullable_string("rackId") if version >= 3 else None
    return ConsumerSubscription(version, topics, owned, generation, rack, user_data or b"")


def decode_consumer_assignment(data: bytes) -> tuple[TopicPartition, ...]:
    """Decode the assignment of a member with any assignor, as DescribeGroups returns it.

    Returns the partitions, sorted. Raises FormatError if the bytes are truncated or malformed.
    """
    reader = ByteReader(data, "ConsumerProtocolAssignment")
    _read_consumer_version(reader)
    return _read_topic_partitions(reader)


def decode_assignment(data: bytes) -> ClassicMemberAssignment:
    """Decode a member's assignment, as DescribeGroups returns it.

    Raises FormatError as in `decode_subscription`, or if the numbers of active tasks and partitions differ.
    """
    reader = ByteReader(data, "ConsumerProtocolAssignment")
    version = _read_consumer_version(reader)
    partitions = _read_topic_partitions(reader)
    info = decode_assignment_info(reader.nullable_bytes("userData") or b"")
    if len(partitions) != len(info.active_tasks):
        reader.fail(f"{len(info.active_tasks)} active tasks, but {len(partitions)} partitions")
    active: dict[str, list[TopicPartition]] = {}
    for task, partition in zip(info.active_tasks, partitions, strict=True):
        active.setdefault(task, []).append(partition)
    return ClassicMemberAssignment(version, partitions, {task: tuple(inputs) for task, inputs in active.items()}, info)


def decode_subscription_info(data: bytes) -> SubscriptionInfo:
    """Decode the subscription of a stream thread."""
    reader = ByteReader(data, "SubscriptionInfo")
    version = _read_streams_version(reader)
    latest = reader.int32("latestSupportedVersion") if version >= 3 else -1
    process_id = str(uuid.UUID(bytes=reader.take("processId", 16)))
    if version < _OFFSET_SUMS_VERSION:
        prev_tasks = reader.array("prevTasks", lambda _: _read_task(reader, version=1))
        standby_tasks = reader.array("standbyTasks", lambda _: _read_task(reader, version=1))
        sums = {**dict.fromkeys(standby_tasks, UNKNOWN_OFFSET_SUM), **dict.fromkeys(prev_tasks, LATEST_OFFSET)}
    endpoint = reader.text("userEndPoint") if version >= 2 else ""
    if version >= _OFFSET_SUMS_VERSION:
        sums = _read_offset_sums(reader, version)
    unique_field = reader.int8("uniqueField") if version >= 8 else 0
    error_code = reader.int32("errorCode") if version >= 9 else 0
    tags = reader.array("clientTags", lambda _: (reader.text("key"), reader.text("value"))) if version >= 11 else []
    reader.expect_end()
    return SubscriptionInfo(version, latest, process_id, endpoint or None, sums, unique_field, error_code, dict(tags))


def decode_assignment_info(data: bytes) -> AssignmentInfo:
    """Decode the assignment of a stream thread."""
    reader = ByteReader(data, "AssignmentInfo")
    version = _read_streams_version(reader)
    common = reader.int32("commonlySupportedVersion") if version >= 3 else -1
    active = reader.array("activeTasks", lambda _: _read_task(reader, version))
    named = _named_partition_reader(reader)
    standby = reader.array("standbyTasks", lambda _: (_read_task(reader, version), _read_partitions(reader, named)))
    hosts, standby_hosts = _read_hosts(reader, version)
    error_code = reader.int32("errCode") if version >= 4 else 0
    at_ms = reader.int64("nextRebalanceMs") if version >= 7 else _NEVER
    reader.expect_end()
    next_at_ms = None if at_ms == _NEVER else at_ms
    return AssignmentInfo(version, common, tuple(active), dict(standby), hosts, standby_hosts, error_code, next_at_ms)


def _read_consumer_version(reader: ByteReader) -> int:
    """Return the version to decode: newer versions of the consumer protocol only append fields."""
    version = reader.int16("version")
    if version < 0:
        reader.fail(f"invalid version {version}")
    reader.version = version
    return min(version, _MAX_CONSUMER_VERSION)


def _read_streams_version(reader: ByteReader) -> int:
    if not reader.size:
        reader.fail("no bytes: the member sent no metadata or does not run Kafka Streams")
    version = reader.int32("version")
    if not 1 <= version <= _MAX_STREAMS_VERSION:
        reader.fail(
            f"unsupported version {version} (supported: 1 to {_MAX_STREAMS_VERSION}); is this a Kafka Streams "
            "application?"
        )
    reader.version = version
    return version


def _read_topic_partitions(reader: ByteReader) -> tuple[TopicPartition, ...]:
    """Return partitions sorted by topic and number, as Kafka Streams sorts them."""
    listed = reader.array("topics", lambda _: (reader.string("topic"), reader.array("partitions", reader.int32)))
    return tuple(sorted(TopicPartition(topic, partition) for topic, partitions in listed for partition in partitions))


def _read_task(reader: ByteReader, version: int) -> str:
    subtopology, partition = reader.int32("subtopology"), reader.int32("partition")
    name = reader.utf16("topologyName") if version >= _NAMED_TOPOLOGIES_VERSION else ""
    return _task_id(subtopology, partition, name)


def _task_id(subtopology: int, partition: int, name: str | None) -> str:
    return f"{name}__{subtopology}_{partition}" if name else f"{subtopology}_{partition}"


def _read_offset_sums(reader: ByteReader, version: int) -> dict[str, int]:
    sums: dict[str, int] = {}

    def read_task(_: str) -> None:
        subtopology = reader.int32("topicGroupId")
        if version >= _NAMED_TOPOLOGIES_VERSION:
            partition, offset_sum = reader.int32("partition"), reader.int64("offsetSum")
            sums[_task_id(subtopology, partition, reader.nullable_string("namedTopology"))] = offset_sum
            return
        for partition, offset_sum in reader.array("partitions", lambda _: (reader.int32("p"), reader.int64("sum"))):
            sums[_task_id(subtopology, partition, None)] = offset_sum

    reader.array("taskOffsetSums", read_task)
    return sums


def _named_partition_reader(reader: ByteReader) -> Callable[[], TopicPartition]:
    return lambda: TopicPartition(reader.string("topic"), reader.int32("partition"))


def _indexed_partition_reader(reader: ByteReader, topics: Mapping[int, str]) -> Callable[[], TopicPartition]:
    def read() -> TopicPartition:
        number, partition = reader.int32("topicIndex"), reader.int32("partition")
        if number not in topics:
            reader.fail(f"topic index {number} is not in the list of topics")
        return TopicPartition(topics[number], partition)

    return read


def _read_partitions(reader: ByteReader, read: Callable[[], TopicPartition]) -> tuple[TopicPartition, ...]:
    return tuple(sorted(reader.array("partitions", lambda _: read())))


_PartitionsByHost = dict[str, tuple[TopicPartition, ...]]


def _read_hosts(reader: ByteReader, version: int) -> tuple[_PartitionsByHost, _PartitionsByHost]:
    """Return the active and standby partitions by host.

    Version 2 introduces active partitions, version 5 topics by index, and version 6 standby partitions.
    """
    if version < 2:
        return {}, {}
    read = _named_partition_reader(reader)
    if version >= 5:
        topics = dict(reader.array("topics", lambda _: (reader.int32("topicIndex"), reader.string("topic"))))
        read = _indexed_partition_reader(reader, topics)

    def read_host(_: str) -> tuple[str, tuple[TopicPartition, ...]]:
        return f"{reader.string('host')}:{reader.int32('port')}", _read_partitions(reader, read)

    hosts = dict(reader.array("partitionsByHost", read_host))
    return hosts, dict(reader.array("standbyPartitionsByHost", read_host)) if version >= 6 else {}
