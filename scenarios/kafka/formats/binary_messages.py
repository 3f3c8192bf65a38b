"""Kafka's binary messages: a decoder driven by their schemas, and the metadata and assignments of classic members.

A member's metadata is a `ConsumerProtocolSubscription` (versions 0 to 3) that contains the `SubscriptionInfo` of Kafka
Streams, or what the sticky assignors of clients add; its assignment is a `ConsumerProtocolAssignment` that contains an
`AssignmentInfo`. `SubscriptionInfo` and `AssignmentInfo` are supported in versions 1 to 11, all that releases up to 4.3
write. `kafka-dump-log.sh` prints subscriptions and assignments decoded: these are encoded again.

Source: the message generator of Kafka (KIP-482): versions of fields, compact types and tagged fields of flexible
versions; `ConsumerProtocolSubscription.json`, `ConsumerProtocolAssignment.json`, `SubscriptionInfoData.json`;
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
from typing import Any, Final, NoReturn, TypeVar

from assignors.model.ids import TopicId, TopicPartition
from scenarios.kafka.formats.lines import FormatError
from simulator.plurals import counted

_Element = TypeVar("_Element")


class ByteReader:
    """Reads big-endian fields in sequence; every read method takes the field's name for errors.

    Attributes:
        version: Version of the encoding, for errors; None until it has been read.
    """

    def __init__(self, data: bytes, structure: str) -> None:
        """Read from `data`, which encodes the given structure (its name is for errors)."""
        self._data = data
        self._structure = structure
        self._position = 0
        self.size = len(data)
        self.version: int | None = None

    @property
    def left(self) -> int:
        """Return the number of bytes that have not been read."""
        return self.size - self._position

    def fail(self, problem: str) -> NoReturn:
        """Raise FormatError for malformed bytes."""
        version = "" if self.version is None else f" version {self.version}"
        raise FormatError(None, f"{self._structure}{version}: {problem}")

    def take(self, field: str, count: int) -> bytes:
        """Return the next `count` bytes; fail if fewer are left."""
        end = self._position + count
        if count < 0 or end > self.size:
            self.fail(f"{field} at byte {self._position} needs {count} bytes, but {self.left} are left")
        taken, self._position = self._data[self._position : end], end
        return taken

    def int8(self, field: str) -> int:
        """Return a signed integer of 1 byte."""
        return int.from_bytes(self.take(field, 1), signed=True)

    def int16(self, field: str) -> int:
        """Return a signed integer of 2 bytes."""
        return int.from_bytes(self.take(field, 2), signed=True)

    def int32(self, field: str) -> int:
        """Return a signed integer of 4 bytes."""
        return int.from_bytes(self.take(field, 4), signed=True)

    def int64(self, field: str) -> int:
        """Return a signed integer of 8 bytes."""
        return int.from_bytes(self.take(field, 8), signed=True)

    def string(self, field: str) -> str:
        """Return a UTF-8 string with a 2-byte length prefix."""
        return self._decode(field, self.take(field, self.int16(field)))

    def nullable_string(self, field: str) -> str | None:
        """Return a UTF-8 string with a 2-byte length prefix; None for length -1."""
        length = self.int16(field)
        return None if length == -1 else self._decode(field, self.take(field, length))

    def nullable_bytes(self, field: str) -> bytes | None:
        """Return bytes with a 4-byte length prefix; None for length -1."""
        length = self.int32(field)
        return None if length == -1 else self.take(field, length)

    def text(self, field: str) -> str:
        """Return a UTF-8 string with a 4-byte length prefix."""
        return self._decode(field, self.take(field, self.int32(field)))

    def utf16(self, field: str) -> str:
        """Return a string as Java's `writeChars` writes it, with its number of characters as a 4-byte prefix."""
        return self._decode(field, self.take(field, 2 * self.int32(field)), "utf-16-be")

    def array(self, field: str, read_element: Callable[[str], _Element]) -> list[_Element]:
        """Return a list with a 4-byte length prefix; `read_element` reads one element."""
        length = self.int32(field)
        if not 0 <= length <= self.left:
            self.fail(f"{field} before byte {self._position} cannot have {length} elements; {self.left} bytes are left")
        return [read_element(field) for _ in range(length)]

    def expect_end(self) -> None:
        """Fail if bytes follow the last field."""
        if self._position != self.size:
            self.fail(f"{counted(self.size - self._position, 'byte follows', 'bytes follow')} the last field")

    def _decode(self, field: str, data: bytes, encoding: str = "utf-8") -> str:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            self.fail(f"{field} before byte {self._position} is not text")


Message = dict[str, Any]
"""A decoded message or structure: values by the names of the fields."""

_NO_VERSION: Final = 10_000
_MAX_VARINT_BYTES: Final = 5
_INTEGER_BYTES: Final = {"int8": 1, "int16": 2, "uint16": 2, "int32": 4, "int64": 8}
_UUID_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class FieldSchema:
    """A field of a message.

    Attributes:
        type: `int8`, `int16`, `uint16`, `int32`, `int64`, `string`, `bytes`, or `uuid`, whose value is the text that
            Kafka prints; a structure as a tuple of its fields.
        since: First version that has the field.
        nullable_since: First version in which it may be null.
        tag: Number of a tagged field; None for a regular one.
        default: Value in versions without the field.
    """

    name: str
    type: str | tuple[FieldSchema, ...]
    is_array: bool = False
    since: int = 0
    nullable_since: int = _NO_VERSION
    tag: int | None = None
    default: Any = None

    @property
    def can_be_null(self) -> bool:
        """Whether it may be null in any version."""
        return self.nullable_since < _NO_VERSION


@dataclass(frozen=True, slots=True)
class MessageSchema:
    """A message. `flexible_since`: first version with compact types and tagged fields."""

    name: str
    fields: tuple[FieldSchema, ...]
    versions: int = 1
    flexible_since: int = _NO_VERSION


def decode_message(schema: MessageSchema, data: bytes, version: int) -> Message:
    """Decode a message without its version.

    Returns the values by field name; fields that the version lacks have their defaults. Raises FormatError if the
    version is not supported, or the bytes are truncated or malformed.
    """
    reader = ByteReader(data, schema.name)
    reader.version = version
    if not 0 <= version < schema.versions:
        reader.fail(f"unsupported version (supported: 0 to {schema.versions - 1})")
    decoded = _Decoder(reader, version, version >= schema.flexible_since).structure(schema.fields)
    reader.expect_end()
    return decoded


class _Decoder:
    """Reads the fields of one message."""

    def __init__(self, reader: ByteReader, version: int, is_flexible: bool) -> None:
        self._reader = reader
        self._version = version
        self._is_flexible = is_flexible

    def structure(self, fields: Sequence[FieldSchema]) -> Message:
        """Return the values of the fields of a structure."""
        present = [field for field in fields if field.since <= self._version]
        values: Message = {field.name: field.default for field in fields}
        values |= {field.name: self._value(field) for field in present if field.tag is None}
        if self._is_flexible:
            self._tagged(values, {field.tag: field for field in present if field.tag is not None})
        return values

    def _tagged(self, values: Message, fields: Mapping[int | None, FieldSchema]) -> None:
        """Read the tagged fields; skip unknown ones, which a later release may add."""
        for _ in range(self._count("tagged fields", self._varint("tagged fields"))):
            tag, size = self._varint("tag"), self._varint("size")
            data = self._reader.take(f"tagged field {tag}", size)
            field = fields.get(tag)
            if field is not None:
                reader = ByteReader(data, f"tagged field {field.name}")
                values[field.name] = _Decoder(reader, self._version, is_flexible=True)._tagged_value(field)

    def _tagged_value(self, field: FieldSchema) -> Any:
        if isinstance(field.type, tuple) and not field.is_array and field.nullable_since <= self._version:
            # Unlike a regular one, a tagged structure that may be null begins with a varint.
            return self.structure(field.type) if self._varint(field.name) > 0 else None
        return self._value(field)

    def _value(self, field: FieldSchema) -> Any:
        is_nullable = field.nullable_since <= self._version
        if field.is_array:
            return self._array(field, is_nullable=is_nullable)
        if isinstance(field.type, tuple):
            # A structure that may be null begins with a byte that says whether it is.
            if is_nullable and self._reader.int8(field.name) < 0:
                return None
            return self.structure(field.type)
        if field.type in ("string", "bytes"):
            return self._text_or_bytes(field, is_nullable=is_nullable)
        if field.type == "uuid":
            return str(TopicId.of(uuid.UUID(bytes=self._reader.take(field.name, _UUID_BYTES))))
        return self._integer(field.name, field.type)

    def _integer(self, name: str, type_: str) -> int:
        return int.from_bytes(self._reader.take(name, _INTEGER_BYTES[type_]), signed=not type_.startswith("u"))

    def _array(self, field: FieldSchema, *, is_nullable: bool) -> list[Any] | None:
        length = self._varint(field.name) - 1 if self._is_flexible else self._reader.int32(field.name)
        if length < 0:
            self._check_null(field.name, is_nullable=is_nullable)
            return None
        element = FieldSchema(field.name, field.type)
        return [self._value(element) for _ in range(self._count(field.name, length))]

    def _text_or_bytes(self, field: FieldSchema, *, is_nullable: bool) -> str | bytes | None:
        is_text = field.type == "string"
        if self._is_flexible:
            length = self._varint(field.name) - 1
        else:
            length = self._reader.int16(field.name) if is_text else self._reader.int32(field.name)
        if length < 0:
            self._check_null(field.name, is_nullable=is_nullable)
            return None
        data = self._reader.take(field.name, length)
        if not is_text:
            return data
        try:
            return data.decode()
        except UnicodeDecodeError:
            self._reader.fail(f"{field.name} is not text")

    def _check_null(self, name: str, *, is_nullable: bool) -> None:
        if not is_nullable:
            self._reader.fail(f"{name} is null, which this version does not allow")

    def _count(self, name: str, length: int) -> int:
        """Return a number of elements, each of which needs at least one byte; fail if the bytes cannot hold them."""
        if length > self._reader.left:
            self._reader.fail(f"{name} cannot have {length} elements; {self._reader.left} bytes are left")
        return length

    def _varint(self, name: str) -> int:
        value = 0
        for position in range(_MAX_VARINT_BYTES):
            byte = self._reader.take(name, 1)[0]
            value |= (byte & 0x7F) << (7 * position)
            if not byte & 0x80:
                return value
        self._reader.fail(f"{name}: a number has more than {_MAX_VARINT_BYTES} bytes")


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
        latest_supported_version: Latest version that the member supports; -1 if not reported.
        offset_sums: Offset sum of each task with a local copy that this thread reports: `LATEST_OFFSET` for an active
            task, `UNKNOWN_OFFSET_SUM` if the version has no offsets.
    """

    version: int
    latest_supported_version: int
    process_id: str
    offset_sums: Mapping[str, int]
    client_tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ConsumerSubscription:
    """The metadata of a group member with any assignor.

    Attributes:
        owned: Partitions that it owned before the rebalance, sorted; empty in version 0.
        generation: Generation in which it owned them; -1 if not reported.
        rack: `client.rack`; None if not set or the version is below 3.
    """

    version: int
    topics: tuple[str, ...]
    owned: tuple[TopicPartition, ...]
    generation: int
    rack: str | None
    user_data: bytes


@dataclass(frozen=True, slots=True)
class MemberSubscription(ConsumerSubscription):
    """The metadata of a stream thread, with its subscription."""

    streams: SubscriptionInfo


@dataclass(frozen=True, slots=True)
class AssignmentInfo:
    """The assignment of a stream thread by the group leader.

    Attributes:
        active_tasks: Active task of each partition, in the order of the sorted partitions.
        standby_tasks: Partitions of each standby task, sorted.
        error_code: Code of `AssignorError`; 0 for none.
        next_rebalance_at_ms: Time since 1970 at which the member must rejoin; None if it need not.
    """

    version: int
    active_tasks: tuple[str, ...]
    standby_tasks: Mapping[str, tuple[TopicPartition, ...]]
    error_code: int = 0
    next_rebalance_at_ms: int | None = None


@dataclass(frozen=True, slots=True)
class ClassicMemberAssignment:
    """The assignment of a group member.

    Attributes:
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
    return MemberSubscription(own.version, own.topics, own.owned, own.generation, own.rack, own.user_data, streams)


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
    if version >= 2:
        reader.text("userEndPoint")
    if version >= _OFFSET_SUMS_VERSION:
        sums = _read_offset_sums(reader, version)
    if version >= 8:
        reader.int8("uniqueField")
    if version >= 9:
        reader.int32("errorCode")
    tags = reader.array("clientTags", lambda _: (reader.text("key"), reader.text("value"))) if version >= 11 else []
    reader.expect_end()
    return SubscriptionInfo(version, latest, process_id, sums, dict(tags))


def decode_assignment_info(data: bytes) -> AssignmentInfo:
    """Decode the assignment of a stream thread."""
    reader = ByteReader(data, "AssignmentInfo")
    version = _read_streams_version(reader)
    if version >= 3:
        reader.int32("commonlySupportedVersion")
    active = reader.array("activeTasks", lambda _: _read_task(reader, version))
    named = _named_partition_reader(reader)
    standby = reader.array("standbyTasks", lambda _: (_read_task(reader, version), _read_partitions(reader, named)))
    _skip_hosts(reader, version)
    error_code = reader.int32("errCode") if version >= 4 else 0
    at_ms = reader.int64("nextRebalanceMs") if version >= 7 else _NEVER
    reader.expect_end()
    next_at_ms = None if at_ms == _NEVER else at_ms
    return AssignmentInfo(version, tuple(active), dict(standby), error_code, next_at_ms)


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


def _skip_hosts(reader: ByteReader, version: int) -> None:
    """Read the partitions by host: active ones since version 2, topics by index since 5, and standby ones since 6."""
    if version < 2:
        return
    read = _named_partition_reader(reader)
    if version >= 5:
        topics = dict(reader.array("topics", lambda _: (reader.int32("topicIndex"), reader.string("topic"))))
        read = _indexed_partition_reader(reader, topics)

    def skip_host(_: str) -> None:
        reader.string("host")
        reader.int32("port")
        _read_partitions(reader, read)

    reader.array("partitionsByHost", skip_host)
    if version >= 6:
        reader.array("standbyPartitionsByHost", skip_host)
