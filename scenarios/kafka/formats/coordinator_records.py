"""Records of `__consumer_offsets` about groups, as segments have them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from scenarios.kafka.formats.coordinator_schemas import GROUP_METADATA, KEY_SCHEMAS, VALUE_SCHEMAS
from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.message_schemas import Message, decode_message
from scenarios.kafka.formats.record_batches import LogRecord

_VERSION_BYTES: Final = 2


@dataclass(frozen=True, slots=True)
class CoordinatorRecord:
    """A record about a group.

    Attributes:
        type: Type of the record, a constant of `coordinator_schemas`.
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
