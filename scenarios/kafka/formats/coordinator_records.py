"""Records of `__consumer_offsets` about groups: in segments, and as Kafka's tools print them in JSON.

`kafka-dump-log.sh --offsets-decoder` prints a line for each record, with `key:` and `payload:`; it decodes the
subscriptions and assignments of classic members, except for their user data. `kafka-console-consumer.sh` with the
formatter `GroupMetadataMessageFormatter` prints objects with `key` and `value` one after another, without offsets and
times, and without groups whose coordinator assigns.

Source: `GroupMetadataValue.json` (versions 0 to 4), `ConsumerGroup*.json` and `StreamsGroup*.json` of the group
coordinator, Kafka 4.4.0; earlier releases lack some of the tagged fields, and otherwise write the same. Only 4.0 writes
`ConsumerGroupPartitionMetadataValue`. `DumpLogSegments.OffsetsMessageParser`, `CoordinatorRecordMessageFormatter`,
Kafka 3.9 to 4.4.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from assignors.java.hash_order import string_hash
from scenarios.kafka.formats.binary_messages import (
    FieldSchema,
    Message,
    MessageSchema,
    decode_message,
    encode_assignment,
    encode_subscription,
)
from scenarios.kafka.formats.binary_messages import FieldSchema as F
from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.record_batches import LogRecord

DEFAULT_PARTITIONS: Final = 50
"""Default of `offsets.topic.num.partitions`."""

_MIN_VALUE: Final = 2**31


def partition_of_group(group: str, partitions: int = DEFAULT_PARTITIONS) -> int:
    """Return the partition that has the records of a group.

    Source: `GroupCoordinatorService.partitionFor` and `Utils.abs`, for which the least integer counts as 0.

    Examples:
        >>> partition_of_group("shop")
        12
    """
    hashed = string_hash(group)
    if hashed == _MIN_VALUE:
        return 0
    return min(hashed, 2**32 - hashed) % partitions


GROUP_METADATA: Final = 2
CONSUMER_GROUP: Final = 3
CONSUMER_PARTITIONS: Final = 4
CONSUMER_MEMBER: Final = 5
CONSUMER_TARGET: Final = 6
CONSUMER_TARGET_MEMBER: Final = 7
CONSUMER_CURRENT: Final = 8
CONSUMER_PATTERN: Final = 16
STREAMS_GROUP: Final = 17
STREAMS_MEMBER: Final = 19
STREAMS_TARGET: Final = 20
STREAMS_TARGET_MEMBER: Final = 21
STREAMS_CURRENT: Final = 22
STREAMS_TOPOLOGY: Final = 23
"""Types of records (`CoordinatorRecordType`): the first two bytes of a key."""

_CLASSIC_MEMBER = (
    F("memberId", "string"),
    F("groupInstanceId", "string", since=3, nullable_since=3),
    F("clientId", "string"),
    F("clientHost", "string"),
    F("rebalanceTimeout", "int32", since=1, default=-1),
    F("sessionTimeout", "int32"),
    F("subscription", "bytes"),
    F("assignment", "bytes"),
)
_KEY_VALUE = (F("key", "string"), F("value", "string"))
_TASKS = (F("subtopologyId", "string"), F("partitions", "int32", is_array=True))
_EPOCHS = F("assignmentEpochs", "int32", is_array=True, nullable_since=0, tag=0)
_TASKS_WITH_EPOCHS = (*_TASKS, _EPOCHS)
_TOPIC = (
    F("name", "string"),
    F("partitions", "int32"),
    F("replicationFactor", "int16"),
    F("topicConfigs", _KEY_VALUE, is_array=True),
)
_COPARTITION_GROUP = (
    F("sourceTopics", "int16", is_array=True),
    F("sourceTopicRegex", "int16", is_array=True),
    F("repartitionSourceTopics", "int16", is_array=True),
)
_SUBTOPOLOGY = (
    F("subtopologyId", "string"),
    F("sourceTopics", "string", is_array=True),
    F("sourceTopicRegex", "string", is_array=True),
    F("stateChangelogTopics", _TOPIC, is_array=True),
    F("repartitionSinkTopics", "string", is_array=True),
    F("repartitionSourceTopics", _TOPIC, is_array=True),
    F("copartitionGroups", _COPARTITION_GROUP, is_array=True),
)
_TOPIC_PARTITIONS = (F("topicId", "uuid"), F("partitions", "int32", is_array=True))
_TOPIC_PARTITIONS_WITH_EPOCHS = (*_TOPIC_PARTITIONS, _EPOCHS)
_TOPIC_METADATA = (
    F("topicId", "uuid"),
    F("topicName", "string"),
    F("numPartitions", "int32"),
    F("partitionMetadata", (F("partition", "int32"), F("racks", "string", is_array=True)), is_array=True),
)
_CLASSIC_MEMBER_METADATA = (
    F("sessionTimeoutMs", "int32"),
    F("supportedProtocols", (F("name", "string"), F("metadata", "bytes")), is_array=True),
)
_TARGET_EPOCH = (F("assignmentEpoch", "int32"), F("assignmentTimestamp", "int64", tag=0, default=0))
_GROUP_KEY = (F("groupId", "string"),)
_MEMBER_KEY = (F("groupId", "string"), F("memberId", "string"))

_SCHEMAS: Final[Mapping[int, tuple[str, tuple[FieldSchema, ...], tuple[FieldSchema, ...]]]] = {
    CONSUMER_GROUP: (
        "ConsumerGroupMetadata",
        _GROUP_KEY,
        (F("epoch", "int32"), F("metadataHash", "int64", tag=0, default=0)),
    ),
    CONSUMER_PARTITIONS: ("ConsumerGroupPartitionMetadata", _GROUP_KEY, (F("topics", _TOPIC_METADATA, is_array=True),)),
    CONSUMER_MEMBER: (
        "ConsumerGroupMemberMetadata",
        _MEMBER_KEY,
        (
            F("instanceId", "string", nullable_since=0),
            F("rackId", "string", nullable_since=0),
            F("clientId", "string"),
            F("clientHost", "string"),
            F("subscribedTopicNames", "string", is_array=True),
            F("subscribedTopicRegex", "string", nullable_since=0),
            F("rebalanceTimeoutMs", "int32", default=-1),
            F("serverAssignor", "string", nullable_since=0),
            F("classicMemberMetadata", _CLASSIC_MEMBER_METADATA, nullable_since=0, tag=0),
        ),
    ),
    CONSUMER_TARGET: ("ConsumerGroupTargetAssignmentMetadata", _GROUP_KEY, _TARGET_EPOCH),
    CONSUMER_TARGET_MEMBER: (
        "ConsumerGroupTargetAssignmentMember",
        _MEMBER_KEY,
        (F("topicPartitions", _TOPIC_PARTITIONS, is_array=True),),
    ),
    CONSUMER_CURRENT: (
        "ConsumerGroupCurrentMemberAssignment",
        _MEMBER_KEY,
        (
            F("memberEpoch", "int32"),
            F("previousMemberEpoch", "int32"),
            F("state", "int8"),
            F("assignedPartitions", _TOPIC_PARTITIONS_WITH_EPOCHS, is_array=True),
            F("partitionsPendingRevocation", _TOPIC_PARTITIONS_WITH_EPOCHS, is_array=True),
        ),
    ),
    CONSUMER_PATTERN: (
        "ConsumerGroupRegularExpression",
        (F("groupId", "string"), F("regularExpression", "string")),
        (F("topics", "string", is_array=True), F("version", "int64"), F("timestamp", "int64")),
    ),
    STREAMS_GROUP: (
        "StreamsGroupMetadata",
        _GROUP_KEY,
        (
            F("epoch", "int32"),
            F("metadataHash", "int64"),
            F("validatedTopologyEpoch", "int32", tag=0, default=-1),
            F("lastAssignmentConfigs", _KEY_VALUE, is_array=True, nullable_since=0, tag=1),
        ),
    ),
    STREAMS_MEMBER: (
        "StreamsGroupMemberMetadata",
        _MEMBER_KEY,
        (
            F("instanceId", "string", nullable_since=0),
            F("rackId", "string", nullable_since=0),
            F("clientId", "string"),
            F("clientHost", "string"),
            F("rebalanceTimeoutMs", "int32"),
            F("topologyEpoch", "int32"),
            F("processId", "string"),
            F("userEndpoint", (F("host", "string"), F("port", "uint16")), nullable_since=0),
            F("clientTags", _KEY_VALUE, is_array=True),
        ),
    ),
    STREAMS_TARGET: ("StreamsGroupTargetAssignmentMetadata", _GROUP_KEY, _TARGET_EPOCH),
    STREAMS_TARGET_MEMBER: (
        "StreamsGroupTargetAssignmentMember",
        _MEMBER_KEY,
        tuple(F(f"{role}Tasks", _TASKS, is_array=True) for role in ("active", "standby", "warmup")),
    ),
    STREAMS_CURRENT: (
        "StreamsGroupCurrentMemberAssignment",
        _MEMBER_KEY,
        (
            F("memberEpoch", "int32"),
            F("previousMemberEpoch", "int32"),
            F("state", "int8"),
            *(F(f"{role}Tasks", _TASKS_WITH_EPOCHS, is_array=True) for role in ("active", "standby", "warmup")),
            *(
                F(f"{role}TasksPendingRevocation", _TASKS_WITH_EPOCHS, is_array=True)
                for role in ("active", "standby", "warmup")
            ),
        ),
    ),
    STREAMS_TOPOLOGY: (
        "StreamsGroupTopology",
        _GROUP_KEY,
        (F("epoch", "int32"), F("subtopologies", _SUBTOPOLOGY, is_array=True)),
    ),
}
"""Name, and fields of key and value, by type of record about a group whose coordinator assigns."""

KEY_SCHEMAS: Final[Mapping[int, MessageSchema]] = {
    GROUP_METADATA: MessageSchema("GroupMetadataKey", (F("group", "string"),)),
    **{type_: MessageSchema(f"{name}Key", key) for type_, (name, key, _) in _SCHEMAS.items()},
}
"""Key by type of record; keys of other types belong to other groups or to offsets."""

VALUE_SCHEMAS: Final[Mapping[int, MessageSchema]] = {
    GROUP_METADATA: MessageSchema(
        "GroupMetadataValue",
        (
            F("protocolType", "string"),
            F("generation", "int32"),
            F("protocol", "string", nullable_since=0),
            F("leader", "string", nullable_since=0),
            F("currentStateTimestamp", "int64", since=2, default=-1),
            F("members", _CLASSIC_MEMBER, is_array=True),
        ),
        versions=5,
        flexible_since=4,
    ),
    **{type_: MessageSchema(f"{name}Value", value, flexible_since=0) for type_, (name, _, value) in _SCHEMAS.items()},
}

CONSUMER_RECORDS: Final = frozenset(type_ for type_, (name, *_) in _SCHEMAS.items() if name.startswith("Consumer"))
"""Types of records about groups of the consumer protocol (KIP-848)."""

_VERSION_BYTES: Final = 2


@dataclass(frozen=True, slots=True)
class CoordinatorRecord:
    """A record about a group.

    Attributes:
        type: Type of the record, such as `GROUP_METADATA`.
        member_id: Member that the record describes; None for a record about the whole group.
        value: Value by field name; None for a tombstone, which ends what earlier records said.
        at_ms: Time of the record since 1970; None if a tool did not print it.
        offset: Offset of the record; -1 if a tool did not print it.
        pattern: Pattern of topics that the record resolves; None for other types.
    """

    type: int
    group: str
    member_id: str | None
    value: Message | None
    at_ms: int | None
    offset: int
    pattern: str | None = None


def is_about_group(key: bytes | None) -> bool:
    """Return whether the key of a record is that of a record about a group, or is no key of `__consumer_offsets`."""
    if key is None or len(key) < _VERSION_BYTES:
        return True
    return int.from_bytes(key[:_VERSION_BYTES], signed=True) in KEY_SCHEMAS


def decode_record(record: LogRecord, only: str | None = None) -> CoordinatorRecord | None:
    """Decode a record.

    `only`: group whose values are decoded; records of others have none. None for all groups. Returns the record; None
    for other types of records, such as committed offsets. Raises FormatError if key or value are malformed, or of a
    version that is not supported.
    """
    if record.key is None or len(record.key) < _VERSION_BYTES:
        raise FormatError(None, f"offset {record.offset}: a record without a key; is this __consumer_offsets?")
    type_ = int.from_bytes(record.key[:_VERSION_BYTES], signed=True)
    if type_ not in KEY_SCHEMAS:
        return None
    try:
        key = decode_message(KEY_SCHEMAS[type_], record.key[_VERSION_BYTES:], 0)
        group = key["group"] if type_ == GROUP_METADATA else key["groupId"]
        is_wanted = record.value is not None and only in (None, group)
        value = _decode_value(type_, record.value or b"") if is_wanted else None
    except FormatError as error:
        raise FormatError(None, f"offset {record.offset}: {error}") from None
    member, pattern = key.get("memberId"), key.get("regularExpression")
    return CoordinatorRecord(type_, group, member, value, record.at_ms, record.offset, pattern)


def _decode_value(type_: int, value: bytes) -> Message:
    schema = VALUE_SCHEMAS[type_]
    if len(value) < _VERSION_BYTES:
        raise FormatError(None, f"{schema.name}: no version")
    return decode_message(schema, value[_VERSION_BYTES:], int.from_bytes(value[:_VERSION_BYTES], signed=True))


_DUMPED: Final = re.compile(r"\boffset: (\d{1,19}) (?:CreateTime|LogAppendTime): (-?\d{1,19}).*? key: (\{.*)")
_PRINTED: Final = re.compile(r'\A\s*\{\s*"key"\s*:\s*\{\s*"(?:type|version)"\s*:')
_DUMP_LINE: Final = re.compile(r'^\| offset: \d+ .*key: \{"type":"\d+"', re.MULTILINE)
_JSON: Final = json.JSONDecoder()


def looks_like_printed_records(text: str) -> bool:
    """Return whether a text is the output of one of the tools."""
    return _PRINTED.match(text) is not None or _DUMP_LINE.search(text) is not None


def parse_printed_records(text: str) -> Iterator[CoordinatorRecord]:
    """Yield the records about groups, in the order of the text.

    Raises FormatError if a record is truncated or malformed; the error has its line.
    """
    if _PRINTED.match(text):
        yield from _parse_consumer_output(text)
    else:
        yield from _parse_dump(text)


def _parse_dump(text: str) -> Iterator[CoordinatorRecord]:
    for number, line in enumerate(text.split("\n"), start=1):
        match = _DUMPED.search(line)
        if match is None:
            continue
        key, end = _parse(number, match[3], 0)
        rest = match[3][end:].lstrip()
        if not rest.startswith("payload:"):
            raise FormatError(number, "a key without a payload: the line is truncated")
        payload = rest.removeprefix("payload:").strip()
        value = _parse(number, payload, 0)[0] if payload.startswith("{") else None
        yield from _record(number, key, value, int(match[2]), int(match[1]))


def _parse_consumer_output(text: str) -> Iterator[CoordinatorRecord]:
    position, length = 0, len(text)
    while True:
        while position < length and text[position].isspace():
            position += 1
        if position == length:
            return
        number = text.count("\n", 0, position) + 1
        entry, position = _parse(number, text, position)
        value = entry.get("value")
        if not isinstance(entry.get("key"), Mapping):
            raise FormatError(number, "a record without a key")
        yield from _record(number, entry["key"], value, None, -1)


def _parse(number: int, text: str, position: int) -> tuple[dict[str, Any], int]:
    try:
        value, end = _JSON.raw_decode(text, position)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else "truncated or not JSON"
        raise FormatError(number, f"a record is {reason}") from None
    if not isinstance(value, dict):
        raise FormatError(number, "a record that is not an object")
    return value, end


def _record(
    number: int, key: Mapping[str, Any], value: Any, at_ms: int | None, offset: int
) -> Iterator[CoordinatorRecord]:
    """Yield a record about a group; nothing for other types."""
    type_, data = _number(key.get("type", key.get("version"))), key.get("data")
    if type_ not in KEY_SCHEMAS or not isinstance(data, Mapping):
        return
    group = data.get("group" if type_ == GROUP_METADATA else "groupId")
    member, pattern = data.get("memberId"), data.get("regularExpression")
    if not isinstance(group, str) or not isinstance(member, str | None) or not isinstance(pattern, str | None):
        raise FormatError(number, "a key without a group")
    message = None
    if value is not None:
        body = value.get("data") if isinstance(value, Mapping) else None
        if not isinstance(body, Mapping):
            raise FormatError(number, f"{VALUE_SCHEMAS[type_].name}: no data")
        message = _Checker(number, VALUE_SCHEMAS[type_].name).structure(VALUE_SCHEMAS[type_].fields, body)
    yield CoordinatorRecord(type_, group, member, message, at_ms, offset, pattern)


def _number(value: Any) -> int:
    return int(value) if isinstance(value, int) or (isinstance(value, str) and value.isdecimal()) else -1


class _Checker:
    """Checks JSON against a schema; fields that are missing have their defaults."""

    def __init__(self, number: int, name: str) -> None:
        self._number = number
        self._name = name

    def structure(self, fields: tuple[FieldSchema, ...], data: Mapping[str, Any]) -> Message:
        """Return the values of a structure."""
        return {field.name: self._value(field, data.get(field.name, field.default)) for field in fields}

    def _value(self, field: FieldSchema, value: Any) -> Any:
        if value is None:
            if not field.can_be_null and not field.is_array:
                self._fail(field)
            # Tools omit tagged fields with their defaults; an array without entries is the same as none.
            return [] if field.is_array and field.tag is None else None
        if field.is_array:
            if not isinstance(value, list):
                self._fail(field)
            return [self._single(field, element) for element in value]
        return self._single(field, value)

    def _single(self, field: FieldSchema, value: Any) -> Any:
        if isinstance(field.type, tuple):
            if not isinstance(value, Mapping):
                self._fail(field)
            return self.structure(field.type, value)
        if field.type == "bytes":
            return self._bytes(field, value)
        expected = str if field.type in ("string", "uuid") else int
        if not isinstance(value, expected) or isinstance(value, bool):
            self._fail(field)
        return value

    def _bytes(self, field: FieldSchema, value: Any) -> bytes:
        """Return bytes from base64, or encode the subscription or assignment that `kafka-dump-log.sh` decodes."""
        try:
            if isinstance(value, str):
                return base64.b64decode(value, validate=True)
            if isinstance(value, Mapping):
                return (encode_subscription if field.name == "subscription" else encode_assignment)(value)
        except (binascii.Error, AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
            raise FormatError(self._number, f"{self._name}: {field.name} is malformed ({error})") from None
        self._fail(field)

    def _fail(self, field: FieldSchema) -> NoReturn:
        raise FormatError(self._number, f"{self._name}: {field.name} is missing or has another type")
