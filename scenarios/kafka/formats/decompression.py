"""Decompression of record batches, with a limit on the size of the result.

Source: `org.apache.kafka.common.compress`; the framing of `snappy-java` (`SnappyOutputStream`).
"""

from __future__ import annotations

import zlib
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
