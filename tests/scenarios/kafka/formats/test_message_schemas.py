"""Messages that are decoded by their schemas."""

from __future__ import annotations

import gzip
import random
from contextlib import suppress

import pytest

from scenarios.kafka.formats.binary_messages import FieldSchema, MessageSchema, decode_message
from scenarios.kafka.formats.coordinator_records import (
    CONSUMER_PARTITIONS,
    CONSUMER_PATTERN,
    GROUP_METADATA,
    STREAMS_CURRENT,
    STREAMS_GROUP,
    STREAMS_MEMBER,
    STREAMS_TARGET,
    VALUE_SCHEMAS,
)
from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.record_batches import read_segment
from tests.scenarios.kafka.incident.recorded_segments import CONSUMER_FOLDER, PARTITIONS, segment

POINT = (FieldSchema("x", "int8"), FieldSchema("y", "uint16", since=1, default=7))
SCHEMA = MessageSchema(
    "Example",
    (
        FieldSchema("name", "string", nullable_since=1),
        FieldSchema("points", POINT, is_array=True),
        FieldSchema("origin", POINT, nullable_since=0),
        FieldSchema("data", "bytes"),
        FieldSchema("extra", "int64", tag=3, default=-1),
    ),
    versions=3,
    flexible_since=2,
)


def test_plain_version_has_long_lengths_and_defaults() -> None:
    data = b"\x00\x02ab" + b"\x00\x00\x00\x02\x01\xff" + b"\x01\x05" + b"\x00\x00\x00\x01z"
    assert decode_message(SCHEMA, data, 0) == {
        "name": "ab",
        "points": [{"x": 1, "y": 7}, {"x": -1, "y": 7}],
        "origin": {"x": 5, "y": 7},
        "data": b"z",
        "extra": -1,
    }


def test_flexible_version_has_compact_lengths_and_tagged_fields() -> None:
    unknown, known = b"\x09\x02??", b"\x03\x08" + (2**40).to_bytes(8)
    data = b"\x00" + b"\x02\x01\xff\xff\x00" + b"\xff" + b"\x01" + b"\x02" + unknown + known
    assert decode_message(SCHEMA, data, 2) == {
        "name": None,
        "points": [{"x": 1, "y": 65_535}],
        "origin": None,
        "data": b"",
        "extra": 2**40,
    }


@pytest.mark.parametrize(
    ("data", "version", "message"),
    [
        (b"\xff\xff", 0, "name is null, which this version does not allow"),
        (b"\x00\x05ab", 0, "name at byte 2 needs 5 bytes, but 2 are left"),
        (b"\x00\x00\x7f\xff\xff\xff", 0, "points cannot have 2147483647 elements; 0 bytes are left"),
        (b"\x00\x01\xff\x00", 0, "name is not text"),
        (b"\x00\xff\xff\xff\xff\xff\x01", 2, "a number has more than 5 bytes"),
        (b"\x00\x01\xff\x01\x01\x03\xff\xff\xff\xff\x0f", 2, "tagged field 3 at byte 11 needs 4294967295 bytes"),
        (b"", 3, "unsupported version (supported: 0 to 2)"),
        (b"", -1, "unsupported version"),
        (b"\x00\x00\x00\x00\x00\x00\xff\x00\x00\x00\x00!", 0, "1 byte follows the last field"),
    ],
)
def test_malformed_message_is_rejected(data: bytes, version: int, message: str) -> None:
    with pytest.raises(FormatError) as error:
        decode_message(SCHEMA, data, version)
    assert message in str(error.value)


def _values() -> list[tuple[int, bytes]]:
    values = []
    segments = [segment("4.3.1", group) for group in PARTITIONS]
    segments += [gzip.decompress(path.read_bytes()) for path in sorted(CONSUMER_FOLDER.glob("*.log.gz"))]
    for content in segments:
        for record in read_segment(content).records:
            type_ = int.from_bytes((record.key or b"")[:2])
            if record.value and type_ in VALUE_SCHEMAS:
                values.append((type_, record.value))
    return values


def test_every_value_of_brokers_is_decoded_to_its_end() -> None:
    values = _values()
    # Only Kafka 4.0 records numbers of partitions, and no consumer of the recording subscribes by pattern.
    assert {type_ for type_, _ in values} == set(VALUE_SCHEMAS) - {CONSUMER_PARTITIONS, CONSUMER_PATTERN}
    for type_, value in values:
        decode_message(VALUE_SCHEMAS[type_], value[2:], int.from_bytes(value[:2]))


def test_damaged_values_are_decoded_or_rejected() -> None:
    rng = random.Random(1)
    values = _values()
    for _ in range(3_000):
        type_, value = rng.choice(values)
        damaged = bytearray(value[: rng.randrange(2, len(value) + 1)])
        for _ in range(rng.randrange(3)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        schema = VALUE_SCHEMAS[rng.choice((type_, GROUP_METADATA, STREAMS_MEMBER, STREAMS_CURRENT, STREAMS_TARGET))]
        with suppress(FormatError):
            decode_message(schema, bytes(damaged[2:]), rng.randrange(-1, 6))


def test_configs_of_an_assignment_are_a_tagged_field() -> None:
    decoded = [
        decode_message(VALUE_SCHEMAS[type_], value[2:], 0) for type_, value in _values() if type_ == STREAMS_GROUP
    ]
    assert decoded[-1]["lastAssignmentConfigs"] == [{"key": "num.standby.replicas", "value": "1"}]
