"""Segment files of a Kafka topic: record batches of magic 2, and their decompression with a limit on its result.

Source: `org.apache.kafka.common.record.DefaultRecordBatch`, `DefaultRecord`, `ByteUtils.readVarint`;
`org.apache.kafka.common.compress`; the framing of `snappy-java` (`SnappyOutputStream`).

The checksum of a batch is CRC-32C (Castagnoli).
"""

from __future__ import annotations

import struct
import sys
import zlib
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from scenarios.kafka.formats.lines import FormatError

MAX_BATCH_BYTES: Final = 64 * 1024 * 1024
"""Maximum size of a decompressed batch."""

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
"""Codecs in the attributes of a batch."""

_STREAMS: Final = {LZ4: "lz4", ZSTD: "zstd"}
_NAMES: Final = {GZIP: "gzip", SNAPPY: "snappy", **_STREAMS}
_CHUNK_BYTES: Final = 1024 * 1024
_SNAPPY_HEADER: Final = b"\x82SNAPPY\x00"
_SNAPPY_HEADER_BYTES: Final = 16


def decompress(codec: int, data: bytes) -> bytes:
    """Return the content of a batch.

    `data`: compressed records. Raises FormatError if the codec is unknown, the data is damaged, or the result is larger
    than `MAX_BATCH_BYTES`.
    """
    if codec == NONE:
        return data
    if codec not in _NAMES:
        raise FormatError(None, f"unknown compression codec {codec} (known: 0 to 4)")
    try:
        return _unpack(codec, data)
    except FormatError:
        raise
    except (zlib.error, OSError, ValueError, EOFError) as error:
        raise FormatError(None, f"damaged {_NAMES[codec]} data: {error}") from None


def _unpack(codec: int, data: bytes) -> bytes:
    if codec == GZIP:
        return _gunzip(data)
    return _unsnap(data) if codec == SNAPPY else _read_stream(_STREAMS[codec], data)


def _gunzip(data: bytes) -> bytes:
    stream = zlib.decompressobj(wbits=31)
    content = stream.decompress(data, MAX_BATCH_BYTES + 1)
    _check_size(len(content))
    if not stream.eof:
        raise EOFError("truncated")
    return content


def _read_stream(codec: str, data: bytes) -> bytes:
    import pyarrow as pa

    parts, size = [], 0
    with pa.CompressedInputStream(pa.BufferReader(data), codec) as stream:
        while part := stream.read(_CHUNK_BYTES):
            parts.append(part)
            size += len(part)
            _check_size(size)
    return b"".join(parts)


def _unsnap(data: bytes) -> bytes:
    """Return the content of the blocks that `snappy-java` writes, or of one block without its header."""
    import pyarrow as pa

    codec = pa.Codec("snappy")
    if not data.startswith(_SNAPPY_HEADER):
        return _unsnap_block(codec, data)
    parts, position, size = [], _SNAPPY_HEADER_BYTES, 0
    while position < len(data):
        length = int.from_bytes(data[position : position + 4])
        position += 4
        if not length or position + length > len(data):
            raise EOFError("truncated")
        part = _unsnap_block(codec, data[position : position + length])
        position += length
        size += len(part)
        _check_size(size)
        parts.append(part)
    return b"".join(parts)


def _unsnap_block(codec: object, block: bytes) -> bytes:
    size = shift = 0
    for byte in block[:5]:
        size |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            break
    else:
        raise EOFError("no length")
    _check_size(size)
    content: bytes = codec.decompress(block, decompressed_size=size, asbytes=True)  # type: ignore[attr-defined]
    return content


def _check_size(size: int) -> None:
    if size > MAX_BATCH_BYTES:
        raise FormatError(None, f"a batch of more than {MAX_BATCH_BYTES:,} bytes")


_POLYNOMIAL: Final = 0x82F63B78
_MASK: Final = 0xFFFFFFFF


@cache
def _tables() -> tuple[array[int], array[int]]:
    """Return the table for one byte, and the table for two bytes."""
    of_byte = array("L")
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)
        of_byte.append(value)
    of_pair = array("L")
    for pair in range(65_536):
        one = of_byte[pair & 0xFF]
        of_pair.append(of_byte[(one ^ pair >> 8) & 0xFF] ^ one >> 8)
    return of_byte, of_pair


def crc32c(data: bytes | memoryview) -> int:
    """Return the checksum of bytes.

    Complexity: linear, two bytes for each step.

    Examples:
        >>> hex(crc32c(b"123456789"))
        '0xe3069283'
    """
    of_byte, of_pair = _tables()
    crc = _MASK
    pairs = array("H", bytes(data[: len(data) & ~1]))
    if sys.byteorder == "big":
        pairs.byteswap()
    for pair in pairs:
        crc = of_pair[(crc ^ pair) & 0xFFFF] ^ crc >> 16
    if len(data) & 1:
        crc = of_byte[(crc ^ data[-1]) & 0xFF] ^ crc >> 8
    return crc ^ _MASK


_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
"""baseOffset, batchLength, partitionLeaderEpoch, magic, crc, attributes, lastOffsetDelta, baseTimestamp, maxTimestamp,
producerId, producerEpoch, baseSequence, number of records."""

_LENGTH_END: Final = 12
"""First byte that `batchLength` counts."""
_CRC_START: Final = 21
"""First byte that the checksum covers: `attributes`."""
_MAGIC_POSITION: Final = 16
_MAGIC: Final = 2
_CODEC_MASK, _LOG_APPEND_TIME, _CONTROL = 0x07, 0x08, 0x20
_MAX_VARINT_BYTES: Final = 10


@dataclass(frozen=True, slots=True)
class LogRecord:
    """A record.

    Attributes:
        at_ms: Timestamp since 1970.
        value: Value; None for a tombstone.
        batch: Offset of the first record of its batch, which was written at once.
    """

    offset: int
    at_ms: int
    key: bytes | None
    value: bytes | None
    batch: int


@dataclass(frozen=True, slots=True)
class Segment:
    """The records of a segment file.

    Attributes:
        truncated_at: Position of the first byte of an incomplete last batch; None if the file ends with a batch. A copy
            of a segment that a broker writes to ends this way.
        first_offset: Offset of the first batch; None without batches.
    """

    records: tuple[LogRecord, ...]
    truncated_at: int | None
    first_offset: int | None


def looks_like_segment(data: bytes) -> bool:
    """Return whether bytes begin as a segment file does."""
    if len(data) < _HEADER.size:
        return False
    offset, length, _, magic, *_ = _HEADER.unpack_from(data)
    return bool(offset >= 0 and length >= _HEADER.size - _LENGTH_END and magic == _MAGIC)


def _any_key(key: bytes | None) -> bool:
    return True


def read_segment(data: bytes, is_wanted: Callable[[bytes | None], bool] = _any_key) -> Segment:
    """Read a segment file.

    `is_wanted`: selects records by their keys; the others are dropped at once, but their batches are checked. Returns
    the records. Bytes of 0 at the end are ignored: brokers may allocate files in advance. Raises FormatError if a batch
    is damaged, has another magic, or cannot be decompressed; the message has its position.
    """
    records: list[LogRecord] = []
    position, first_offset = 0, None
    while position < len(data):
        if len(data) - position < _HEADER.size or not any(data[position : position + _LENGTH_END]):
            break
        offset, length = struct.unpack_from(">qi", data, position)
        end = position + _LENGTH_END + length
        _check_header(data, position, offset, length)
        if end > len(data):
            break
        first_offset = offset if first_offset is None else first_offset
        try:
            records.extend(record for record in _read_batch(data[position:end]) if is_wanted(record.key))
        except FormatError as error:
            raise FormatError(None, f"batch at byte {position} (offset {offset}): {error}") from None
        position = end
    is_truncated = any(data[position:])
    return Segment(tuple(records), position if is_truncated else None, first_offset)


def _check_header(data: bytes, position: int, offset: int, length: int) -> None:
    place = f"batch at byte {position}"
    if offset < 0 or length < _HEADER.size - _LENGTH_END:
        raise FormatError(None, f"{place}: offset {offset} and length {length} are impossible; the file is damaged")
    magic = struct.unpack_from(">b", data, position + _MAGIC_POSITION)[0]
    if magic != _MAGIC:
        raise FormatError(None, f"{place}: magic {magic} is not supported (supported: {_MAGIC}, since Kafka 0.11)")


def _read_batch(batch: bytes) -> Iterator[LogRecord]:
    """Yield the data records of a batch; none of a control batch."""
    base_offset, _, _, _, crc, attributes, _, base_ms, max_ms, *_, count = _HEADER.unpack_from(batch)
    if crc32c(memoryview(batch)[_CRC_START:]) != crc:
        raise FormatError(None, "the checksum is wrong: the file is damaged")
    if attributes & _CONTROL:
        return
    content = decompress(attributes & _CODEC_MASK, batch[_HEADER.size :])
    if not 0 <= count <= len(content):
        raise FormatError(None, f"{count} records do not fit in {len(content)} bytes")
    reader = _RecordReader(content)
    for _ in range(count):
        delta_ms, delta, key, value = reader.record()
        at_ms = max_ms if attributes & _LOG_APPEND_TIME else base_ms + delta_ms
        yield LogRecord(base_offset + delta, at_ms, key, value, base_offset)


class _RecordReader:
    """Reads the records of a batch one after another."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def record(self) -> tuple[int, int, bytes | None, bytes | None]:
        """Return timestamp delta, offset delta, key and value; headers are skipped."""
        length = self._varint()
        end = self._position + length
        if length < 1 or end > len(self._data):
            raise FormatError(None, f"a record of {length} bytes does not fit in its batch")
        self._position += 1  # Attributes, unused.
        delta_ms, delta, key, value = self._varint(), self._varint(), self._bytes(), self._bytes()
        if self._position > end:
            raise FormatError(None, "a record is longer than its length")
        self._position = end
        return delta_ms, delta, key, value

    def _bytes(self) -> bytes | None:
        length = self._varint()
        if length < 0:
            return None
        end = self._position + length
        if end > len(self._data):
            raise FormatError(None, f"{length} bytes of a key or value do not fit in the batch")
        taken, self._position = self._data[self._position : end], end
        return taken

    def _varint(self) -> int:
        value = shift = 0
        for _ in range(_MAX_VARINT_BYTES):
            if self._position >= len(self._data):
                raise FormatError(None, "the last record is truncated")
            byte = self._data[self._position]
            self._position += 1
            value |= (byte & 0x7F) << shift
            if not byte & 0x80:
                return value >> 1 ^ -(value & 1)
            shift += 7
        raise FormatError(None, "a number has more than 10 bytes")
