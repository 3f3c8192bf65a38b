"""What the members of a classic group tell each other in bytes, as the group's coordinator keeps it.

A member's metadata is a `ConsumerProtocolSubscription` (versions 0 to 3), around what Kafka Streams tells of a thread
in `SubscriptionInfo`; its assignment is a `ConsumerProtocolAssignment` around `AssignmentInfo`. Both of Kafka Streams'
are read in versions 1 to 11, which are all that the releases up to 4.3 write.

Source: `ConsumerProtocolSubscription.json`, `ConsumerProtocolAssignment.json`, `SubscriptionInfoData.json`;
`org.apache.kafka.streams.processor.internals.assignment.AssignmentInfo` and `ConsumerProtocolUtils`, which write by
hand; `StreamsPartitionAssignor.getActiveTasks` and `PARTITION_COMPARATOR` on which task reads which partition.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from assignors.model.ids import TopicPartition
from scenarios.kafka.formats.byte_reader import ByteReader

LATEST_OFFSET: Final = -2
"""The offset sum of a task that runs on the thread as an active one (`Task.LATEST_OFFSET`)."""

UNKNOWN_OFFSET_SUM: Final = -3
"""The offset sum of a copy of which the member did not tell more, as in versions 1 to 6."""

_NEWEST_CONSUMER: Final = 3
_NEWEST_STREAMS: Final = 11
_NEVER: Final = 2**63 - 1
_OFFSET_SUMS, _NAMED_TOPOLOGIES = 7, 10


@dataclass(frozen=True, slots=True)
class SubscriptionInfo:
    """What a thread of Kafka Streams tells when it joins.

    Attributes:
        version: of the encoding.
        latest_supported_version: the newest that the member knows; -1 where it does not tell.
        process_id: the UUID of its process.
        user_endpoint: `application.server`; None if there is none.
        offset_sums: of each task of which there is a copy and that no other thread told of: `LATEST_OFFSET` of an
            active task, `UNKNOWN_OFFSET_SUM` where only the copy was told of.
        unique_field: differs from that of the time before.
        error_code: of `AssignorError`; 0 is none.
        client_tags: `client.tag.*`.
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
class MemberSubscription:
    """A member's metadata.

    Attributes:
        version: of the consumers' protocol.
        topics: what it subscribes to.
        owned: the partitions that it had, sorted; none in version 0.
        generation: the generation in which it had them; -1 where it does not tell.
        rack: `client.rack`; None if there is none or the version is below 3.
        streams: what Kafka Streams tells.
    """

    version: int
    topics: tuple[str, ...]
    owned: tuple[TopicPartition, ...]
    generation: int
    rack: str | None
    streams: SubscriptionInfo


@dataclass(frozen=True, slots=True)
class AssignmentInfo:
    """What the leader tells a thread.

    Attributes:
        version: of the encoding.
        commonly_supported_version: the newest that all members know; -1 where it is not told.
        active_tasks: one entry for every partition, in the order of the sorted partitions.
        standby_tasks: the partitions of each standby, sorted.
        partitions_by_host: the active partitions of each `application.server`, sorted.
        standby_partitions_by_host: the same of standbys.
        error_code: of `AssignorError`; 0 is none.
        next_rebalance_at_ms: when (since 1970) the member is to join again; None if it is not.
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
class MemberAssignment:
    """A member's assignment.

    Attributes:
        version: of the consumers' protocol.
        partitions: what it consumes, sorted.
        active: the partitions of each of its active tasks, sorted.
        streams: what Kafka Streams tells, standbys among it.
    """

    version: int
    partitions: tuple[TopicPartition, ...]
    active: Mapping[str, tuple[TopicPartition, ...]]
    streams: AssignmentInfo


def decode_subscription(data: bytes) -> MemberSubscription:
    """Read a member's metadata, as DescribeGroups gives it.

    Raises:
        FormatError: it is cut off, or garbled, or not of Kafka Streams, or of a newer version.
    """
    reader = ByteReader(data, "ConsumerProtocolSubscription")
    version = _consumer_version(reader)
    topics = tuple(reader.array("topics", reader.string))
    user_data = reader.nullable_bytes("userData")
    owned = _topic_partitions(reader) if version >= 1 else ()
    generation = reader.int32("generationId") if version >= 2 else -1
    rack = reader.nullable_string("rackId") if version >= 3 else None
    return MemberSubscription(version, topics, owned, generation, rack, decode_subscription_info(user_data or b""))


def decode_assignment(data: bytes) -> MemberAssignment:
    """Read a member's assignment, as DescribeGroups gives it.

    Raises:
        FormatError: as in `decode_subscription`; or active tasks and partitions are not equally many.
    """
    reader = ByteReader(data, "ConsumerProtocolAssignment")
    version = _consumer_version(reader)
    partitions = _topic_partitions(reader)
    info = decode_assignment_info(reader.nullable_bytes("userData") or b"")
    if len(partitions) != len(info.active_tasks):
        reader.fail(f"{len(info.active_tasks)} active tasks for {len(partitions)} partitions; they go together")
    active: dict[str, list[TopicPartition]] = {}
    for task, partition in zip(info.active_tasks, partitions, strict=True):
        active.setdefault(task, []).append(partition)
    return MemberAssignment(version, partitions, {task: tuple(read) for task, read in active.items()}, info)


def decode_subscription_info(data: bytes) -> SubscriptionInfo:
    """Read what a thread of Kafka Streams tells.

    Raises:
        FormatError: as in `decode_subscription`.
    """
    reader = ByteReader(data, "SubscriptionInfo")
    version = _streams_version(reader)
    latest = reader.int32("latestSupportedVersion") if version >= 3 else -1
    process_id = str(uuid.UUID(bytes=reader.take("processId", 16)))
    if version < _OFFSET_SUMS:
        prev_tasks = reader.array("prevTasks", lambda _: _task(reader, version=1))
        standby_tasks = reader.array("standbyTasks", lambda _: _task(reader, version=1))
        sums = {**dict.fromkeys(standby_tasks, UNKNOWN_OFFSET_SUM), **dict.fromkeys(prev_tasks, LATEST_OFFSET)}
    endpoint = reader.text("userEndPoint") if version >= 2 else ""
    if version >= _OFFSET_SUMS:
        sums = _offset_sums(reader, version)
    unique_field = reader.int8("uniqueField") if version >= 8 else 0
    error_code = reader.int32("errorCode") if version >= 9 else 0
    tags = reader.array("clientTags", lambda _: (reader.text("key"), reader.text("value"))) if version >= 11 else []
    reader.expect_end()
    return SubscriptionInfo(version, latest, process_id, endpoint or None, sums, unique_field, error_code, dict(tags))


def decode_assignment_info(data: bytes) -> AssignmentInfo:
    """Read what the leader tells a thread of Kafka Streams.

    Raises:
        FormatError: as in `decode_subscription`.
    """
    reader = ByteReader(data, "AssignmentInfo")
    version = _streams_version(reader)
    common = reader.int32("commonlySupportedVersion") if version >= 3 else -1
    active = reader.array("activeTasks", lambda _: _task(reader, version))
    named = _named_partition(reader)
    standby = reader.array("standbyTasks", lambda _: (_task(reader, version), _partitions(reader, named)))
    hosts, standby_hosts = _hosts(reader, version)
    error_code = reader.int32("errCode") if version >= 4 else 0
    at_ms = reader.int64("nextRebalanceMs") if version >= 7 else _NEVER
    reader.expect_end()
    next_at_ms = None if at_ms == _NEVER else at_ms
    return AssignmentInfo(version, common, tuple(active), dict(standby), hosts, standby_hosts, error_code, next_at_ms)


def _consumer_version(reader: ByteReader) -> int:
    """Newer versions of the consumers' protocol only add fields behind those that are known."""
    version = reader.int16("version")
    if version < 0:
        reader.fail(f"version {version} is none")
    reader.version = version
    return min(version, _NEWEST_CONSUMER)


def _streams_version(reader: ByteReader) -> int:
    if not reader.size:
        reader.fail("no bytes: the member has told nothing, or is not of Kafka Streams")
    version = reader.int32("version")
    if not 1 <= version <= _NEWEST_STREAMS:
        reader.fail(f"version {version} is not known (1 to {_NEWEST_STREAMS}); is this a Kafka Streams application?")
    reader.version = version
    return version


def _topic_partitions(reader: ByteReader) -> tuple[TopicPartition, ...]:
    """Partitions by topic, sorted as Kafka Streams sorts them: by topic, then by number."""
    listed = reader.array("topics", lambda _: (reader.string("topic"), reader.array("partitions", reader.int32)))
    return tuple(sorted(TopicPartition(topic, partition) for topic, partitions in listed for partition in partitions))


def _task(reader: ByteReader, version: int) -> str:
    subtopology, partition = reader.int32("subtopology"), reader.int32("partition")
    name = reader.utf16("topologyName") if version >= _NAMED_TOPOLOGIES else ""
    return _task_id(subtopology, partition, name)


def _task_id(subtopology: int, partition: int, name: str | None) -> str:
    return f"{name}__{subtopology}_{partition}" if name else f"{subtopology}_{partition}"


def _offset_sums(reader: ByteReader, version: int) -> dict[str, int]:
    sums: dict[str, int] = {}

    def read_task(_: str) -> None:
        subtopology = reader.int32("topicGroupId")
        if version >= _NAMED_TOPOLOGIES:
            partition, offset_sum = reader.int32("partition"), reader.int64("offsetSum")
            sums[_task_id(subtopology, partition, reader.nullable_string("namedTopology"))] = offset_sum
            return
        for partition, offset_sum in reader.array("partitions", lambda _: (reader.int32("p"), reader.int64("sum"))):
            sums[_task_id(subtopology, partition, None)] = offset_sum

    reader.array("taskOffsetSums", read_task)
    return sums


def _named_partition(reader: ByteReader) -> Callable[[], TopicPartition]:
    return lambda: TopicPartition(reader.string("topic"), reader.int32("partition"))


def _numbered_partition(reader: ByteReader, topics: Mapping[int, str]) -> Callable[[], TopicPartition]:
    def read() -> TopicPartition:
        number, partition = reader.int32("topicIndex"), reader.int32("partition")
        if number not in topics:
            reader.fail(f"topic {number} is not in its own list of topics")
        return TopicPartition(topics[number], partition)

    return read


def _partitions(reader: ByteReader, read: Callable[[], TopicPartition]) -> tuple[TopicPartition, ...]:
    return tuple(sorted(reader.array("partitions", lambda _: read())))


_Hosts = dict[str, tuple[TopicPartition, ...]]


def _hosts(reader: ByteReader, version: int) -> tuple[_Hosts, _Hosts]:
    """Partitions by host: from version 2 on, with topics by number from 5 on, and of standbys from 6 on."""
    if version < 2:
        return {}, {}
    read = _named_partition(reader)
    if version >= 5:
        topics = dict(reader.array("topics", lambda _: (reader.int32("topicIndex"), reader.string("topic"))))
        read = _numbered_partition(reader, topics)

    def read_host(_: str) -> tuple[str, tuple[TopicPartition, ...]]:
        return f"{reader.string('host')}:{reader.int32('port')}", _partitions(reader, read)

    hosts = dict(reader.array("partitionsByHost", read_host))
    return hosts, dict(reader.array("standbyPartitionsByHost", read_host)) if version >= 6 else {}
