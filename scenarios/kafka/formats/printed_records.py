"""Records of `__consumer_offsets` as Kafka's tools print them, in JSON.

`kafka-dump-log.sh --offsets-decoder` prints a line for each record, with `key:` and `payload:`; it decodes the
subscriptions and assignments of classic members, except for their user data. `kafka-console-consumer.sh` with the
formatter `GroupMetadataMessageFormatter` prints objects with `key` and `value` one after another, without offsets and
times, and without groups whose coordinator assigns.

Source: `DumpLogSegments.OffsetsMessageParser`, `CoordinatorRecordMessageFormatter`, Kafka 3.9 to 4.4.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NoReturn

from scenarios.kafka.formats.coordinator_records import CoordinatorRecord
from scenarios.kafka.formats.coordinator_schemas import GROUP_METADATA, KEY_SCHEMAS, VALUE_SCHEMAS
from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.message_schemas import FieldSchema, Message

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
        from scenarios.kafka.formats.consumer_protocol_encoding import encode_assignment, encode_subscription

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
