"""Chunks whose readings are one compressed value; does not import Spark."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pipeline.ingest.sample_arrays import Integers
from pipeline.ingest.series_chunks import UNKNOWN, values_of

PACKED_COLUMNS = (
    ("topic", pa.string()),
    ("partition", pa.int32()),
    ("broker", pa.string()),
    ("position", pa.int64()),
    ("readings", pa.int64()),
    ("file", pa.int32()),
    ("columns", pa.int8()),
    ("packed", pa.binary()),
)
"""Columns of packed chunks: the series, the position of the first reading among all files, the number of readings, the
number of their file, a bit for each measured column, and the values of the measured columns, compressed."""

_VALUES = ("time", "ahead", "bytes", "messages")
_BYTES = 8
_CODEC = pa.Codec("zstd", 1)


def pack_chunks(chunks: pa.RecordBatch) -> list[pa.Array]:
    """Compress chunks.

    Args:
        chunks: the columns CHUNK_COLUMNS; the readings of a chunk are of one file.

    Returns:
        The columns PACKED_COLUMNS.
    """
    ends = np.cumsum(chunks["readings"].to_numpy())
    starts = ends - chunks["readings"].to_numpy()
    present = [name for name in _VALUES if chunks[name].null_count == 0]
    values = np.stack([values_of(chunks, name).view(np.int64) for name in present])
    # Times grow evenly, so their differences need less space.
    values[0] = _differences(values[0], starts)
    packed = []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        # Bytes of equal weight are alike.
        by_weight = values[:, start:end].view(np.uint8).reshape(len(present), -1, _BYTES).transpose(0, 2, 1)
        packed.append(_CODEC.compress(np.ascontiguousarray(by_weight), asbytes=True))
    columns = sum(1 << _VALUES.index(name) for name in present)
    return [
        *(chunks[name] for name in ("topic", "partition", "broker", "position", "readings")),
        pa.array(values_of(chunks, "file")[starts]),
        pa.repeat(pa.scalar(columns, pa.int8()), len(starts)),
        pa.array(packed, pa.binary()),
    ]


def _differences(time: Integers, starts: Integers) -> Integers:
    differences = np.diff(time, prepend=0)
    differences[starts] = time[starts]
    return differences


def unpack_chunks(chunks: pa.RecordBatch) -> pa.Table:
    """Return the readings of packed chunks, as `series_chunks.read_chunks` does.

    Args:
        chunks: the columns PACKED_COLUMNS, at least one chunk; all have the same columns.
    """
    counts = chunks["readings"].to_numpy()
    of_chunk = pa.array(np.repeat(np.arange(len(counts)), counts))
    columns: dict[str, pa.Array] = {}
    for name in ("topic", "broker"):
        encoded = chunks[name].dictionary_encode()
        columns[name] = pa.DictionaryArray.from_arrays(encoded.indices.take(of_chunk), encoded.dictionary)
    for name in ("partition", "file"):
        columns[name] = chunks[name].take(of_chunk)
    present = [name for number, name in enumerate(_VALUES) if chunks["columns"][0].as_py() >> number & 1]
    for name, values in zip(present, _unpack(chunks["packed"], counts, len(present)), strict=True):
        if name == "time":
            columns[name] = pa.array(_sums(values, counts))
        elif name == "ahead":
            columns[name] = pa.array(values, mask=values == UNKNOWN)
        else:
            columns[name] = pa.array(values.view(np.float64))
    return pa.table(columns)


def _unpack(packed: pa.BinaryArray, counts: Integers, columns: int) -> npt.NDArray[np.int64]:
    """Decompress the columns of all readings; shape (columns, readings)."""
    values = np.empty((columns, int(counts.sum())), np.int64)
    start = 0
    for value, count in zip(packed, counts.tolist(), strict=True):
        content = _CODEC.decompress(value.as_buffer(), columns * _BYTES * count)
        by_weight = np.frombuffer(content, np.uint8).reshape(columns, _BYTES, count)
        part = values[:, start : start + count].view(np.uint8).reshape(columns, count, _BYTES)
        part[:] = by_weight.transpose(0, 2, 1)
        start += count
    return values


def _sums(differences: Integers, counts: Integers) -> Integers:
    """Return the times from their differences within chunks, of which the first is a time."""
    sums = np.cumsum(differences)
    before = np.append(0, sums[np.cumsum(counts)[:-1] - 1])
    times: Integers = sums - np.repeat(before, counts)
    return times
