"""Record batches of segment files."""

from __future__ import annotations

import gzip
import random
import struct
from contextlib import suppress

import pyarrow as pa
import pytest

from scenarios.kafka.formats import record_batches
from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.record_batches import (
    GZIP,
    LZ4,
    NONE,
    SNAPPY,
    ZSTD,
    LogRecord,
    crc32c,
    decompress,
    looks_like_segment,
    read_segment,
)
from tests.scenarios.kafka.incident.recorded_segments import segment

CONTROL = 0x20
LOG_APPEND_TIME = 0x08


def varint(value: int) -> bytes:
    """Encode a number as Kafka does: zigzag, seven bits a byte."""
    rest, out = (value << 1) ^ (value >> 63), bytearray()
    while rest & ~0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*out, rest])


def record(delta: int, key: bytes | None, value: bytes | None, delta_ms: int = 0) -> bytes:
    """Encode a record without headers."""
    parts = [b"\x00", varint(delta_ms), varint(delta)]
    for part in (key, value):
        parts += [varint(-1)] if part is None else [varint(len(part)), part]
    body = b"".join([*parts, varint(0)])
    return varint(len(body)) + body


def snappy_java(content: bytes) -> bytes:
    """Compress as `SnappyOutputStream` does, in two blocks."""
    half, framed = len(content) // 2, b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    for part in (content[:half], content[half:]):
        block = pa.Codec("snappy").compress(part, asbytes=True)
        framed += struct.pack(">i", len(block)) + block
    return framed


COMPRESSORS = {
    NONE: lambda content: content,
    GZIP: gzip.compress,
    SNAPPY: snappy_java,
    LZ4: lambda content: pa.Codec("lz4").compress(content, asbytes=True),
    ZSTD: lambda content: pa.Codec("zstd").compress(content, asbytes=True),
}


def batch(offset: int, content: bytes, count: int, attributes: int = NONE) -> bytes:
    """Encode a batch with a correct checksum; the content is compressed as the attributes say."""
    packed = COMPRESSORS[attributes & 7](content)
    covered = struct.pack(">hiqqqhii", attributes, count - 1, 1_000, 5_000, -1, -1, -1, count) + packed
    body = struct.pack(">ibI", 0, 2, crc32c(covered)) + covered
    return struct.pack(">qi", offset, len(body)) + body


TWO = record(0, b"k", b"v") + record(1, b"", None, delta_ms=7)
EXPECTED = [LogRecord(40, 1_000, b"k", b"v", 40), LogRecord(41, 1_007, b"", None, 40)]


@pytest.mark.parametrize("codec", COMPRESSORS)
def test_records_are_read_with_every_codec(codec: int) -> None:
    read = read_segment(batch(40, TWO, 2, codec))
    assert list(read.records) == EXPECTED
    assert (read.truncated_at, read.first_offset) == (None, 40)


def test_snappy_block_without_header_is_read() -> None:
    packed = pa.Codec("snappy").compress(TWO, asbytes=True)
    assert decompress(SNAPPY, packed) == TWO


def test_time_of_a_topic_with_append_time_is_that_of_the_broker() -> None:
    assert [record.at_ms for record in read_segment(batch(40, TWO, 2, LOG_APPEND_TIME)).records] == [5_000, 5_000]


def test_unwanted_records_are_dropped() -> None:
    assert read_segment(batch(40, TWO, 2), lambda key: key == b"k").records == (EXPECTED[0],)


def test_control_batches_are_skipped() -> None:
    data = batch(0, TWO, 2, CONTROL) + batch(40, TWO, 2)
    assert list(read_segment(data).records) == EXPECTED


def test_empty_batch_and_preallocated_end_are_accepted() -> None:
    assert read_segment(batch(7, b"", 0) + bytes(500)).records == ()
    assert read_segment(b"").records == ()


@pytest.mark.parametrize("left", [9, 12, 61, 70])
def test_incomplete_last_batch_is_reported_and_left_out(left: int) -> None:
    data = batch(40, TWO, 2)
    read = read_segment(data + batch(42, TWO, 2)[:left])
    assert list(read.records) == EXPECTED
    assert read.truncated_at == len(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (batch(40, TWO, 3), "batch at byte 0 (offset 40): the last record is truncated"),
        (batch(40, TWO, 10**6), "1000000 records do not fit in 16 bytes"),
        (batch(40, varint(10**9) + TWO, 1), "a record of 1000000000 bytes does not fit in its batch"),
        (batch(40, b"\xff" * 11, 1), "a number has more than 10 bytes"),
        (batch(40, varint(5) + b"\x00\x00\x00" + varint(99) + TWO, 1), "99 bytes of a key or value do not fit"),
        (batch(40, TWO, 2)[:16] + b"\x01" + batch(40, TWO, 2)[17:], "magic 1 is not supported"),
        (struct.pack(">qi", -1, 100) + bytes(100), "offset -1 and length 100 are impossible"),
        (struct.pack(">qi", 1, 3) + bytes(100), "offset 1 and length 3 are impossible"),
    ],
)
def test_damaged_batch_is_located(data: bytes, message: str) -> None:
    with pytest.raises(FormatError) as error:
        read_segment(data)
    assert message in str(error.value)


def test_every_flipped_bit_behind_the_checksum_is_detected() -> None:
    data = bytearray(batch(40, TWO, 2))
    for bit in range(8 * 21, 8 * len(data)):
        data[bit // 8] ^= 1 << bit % 8
        with pytest.raises(FormatError, match="checksum is wrong"):
            read_segment(bytes(data))
        data[bit // 8] ^= 1 << bit % 8


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
def test_damaged_compressed_content_is_rejected(codec: int) -> None:
    rng = random.Random(codec)
    packed = COMPRESSORS[codec](TWO * 50)
    for _ in range(200):
        damaged = bytearray(packed[: rng.randrange(len(packed))])
        if damaged:
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        with suppress(FormatError):
            decompress(codec, bytes(damaged))


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
def test_content_that_would_not_fit_in_memory_is_rejected(codec: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_batches, "MAX_BATCH_BYTES", 100_000)
    with pytest.raises(FormatError, match=r"a batch of more than 100,000 bytes"):
        decompress(codec, COMPRESSORS[codec](bytes(200_001)))


def test_unknown_codec_is_rejected() -> None:
    with pytest.raises(FormatError, match="unknown compression codec 5"):
        decompress(5, b"")


def test_segments_of_brokers_are_recognized() -> None:
    assert looks_like_segment(segment("3.9.2", "shop"))
    assert not looks_like_segment(b"Dumping /var/kafka/00000000000000000000.log" * 3)
    assert not looks_like_segment(b"")
