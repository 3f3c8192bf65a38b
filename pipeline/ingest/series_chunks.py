"""Readings as chunks: consecutive readings of one series, with one binary value per column; does not import Spark.

Spark moves, shuffles and sorts the chunks of many readings as fast as single ones, and NumPy reads the binary values in
place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.ingest.sample_arrays import Integers

UNKNOWN = np.iinfo(np.int64).min
"""The value of `ahead` where it is unknown."""

_TYPES = {"file": np.int32, "time": np.int64, "ahead": np.int64, "bytes": np.float64, "messages": np.float64}
"""Types of the columns of readings; NaN is a value that was not measured."""

PLACE_COLUMNS = (
    ("topic", pa.string()),
    ("partition", pa.int32()),
    ("broker", pa.string()),
    ("position", pa.int64()),
    ("readings", pa.int64()),
)
"""The series of a chunk, the position of its first reading among all files, and its number of readings."""

CHUNK_COLUMNS = (
    *PLACE_COLUMNS,
    *((name, pa.binary()) for name in _TYPES),
)
"""Columns of chunks: the series, the position of the first reading among all files, the number of readings, and the
readings."""

_MAX_READINGS = 8_192
"""Readings in a chunk, so that batches of many chunks remain small."""


@dataclass(frozen=True, slots=True)
class KeyColumns:
    """The series of readings; of shape (readings,).

    Attributes:
        topic: topics, as a dictionary array.
        broker: brokers, as a dictionary array; null where unknown.
    """

    topic: pa.Array
    partition: pa.Array
    broker: pa.Array


def make_chunks(keys: KeyColumns, columns: dict[str, npt.NDArray[np.generic]], position: Integers) -> list[pa.Array]:
    """Divide readings into chunks.

    `columns`: the other columns by name; those that are missing become null. `position`: their positions among all
    files, ascending. Returns the columns CHUNK_COLUMNS.
    """
    order, starts = _by_series(keys)
    ends = np.append(starts[1:], len(order))
    firsts = order[starts]
    taken = pa.array(firsts)
    arrays = [
        keys.topic.take(taken).cast(pa.string()),
        keys.partition.take(taken),
        keys.broker.take(taken).cast(pa.string()),
        pa.array(position[firsts]),
        pa.array(ends - starts),
    ]
    for name, type_ in _TYPES.items():
        if name not in columns:
            arrays.append(pa.nulls(len(starts), pa.binary()))
            continue
        values = columns[name].astype(type_, copy=False)[order]
        offsets = (np.append(starts, len(order)) * values.itemsize).astype(np.int32)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(values)]
        arrays.append(pa.Array.from_buffers(pa.binary(), len(starts), buffers))
    return arrays


def _by_series(keys: KeyColumns) -> tuple[Integers, Integers]:
    """Return the readings by series, otherwise in their order, and where chunks start in them."""
    code = np.zeros(len(keys.topic), np.int64)
    for column in (keys.topic, keys.partition.dictionary_encode(), keys.broker):
        # The last number is that of null.
        numbers = pc.fill_null(column.indices, len(column.dictionary)).to_numpy()
        code = code * (len(column.dictionary) + 1) + numbers
    numbered = pa.array(code).dictionary_encode()
    code = numbered.indices.to_numpy()
    if len(numbered.dictionary) <= np.iinfo(np.uint16).max:
        # NumPy sorts small numbers by radix.
        code = code.astype(np.uint16)
    order = np.argsort(code, kind="stable")
    ordered = code[order]
    is_start = np.append(True, ordered[1:] != ordered[:-1])
    since = np.arange(len(order))
    since -= np.maximum.accumulate(np.where(is_start, since, 0))
    return order, np.flatnonzero(since % _MAX_READINGS == 0)


def read_chunks(chunks: pa.RecordBatch) -> pa.Table:
    """Return the readings of chunks, as `hourly_worker.hours_of_readings` reads them."""
    counts = chunks["readings"].to_numpy()
    of_chunk = pa.array(np.repeat(np.arange(len(counts)), counts))
    columns: dict[str, pa.Array] = {}
    for name in ("topic", "broker"):
        encoded = chunks[name].dictionary_encode()
        columns[name] = pa.DictionaryArray.from_arrays(encoded.indices.take(of_chunk), encoded.dictionary)
    columns["partition"] = chunks["partition"].take(of_chunk)
    for name in _present_columns(chunks):
        values = values_of(chunks, name)
        columns[name] = pa.array(values, mask=values == UNKNOWN) if name == "ahead" else pa.array(values)
    return pa.table(columns)


def values_of(chunks: pa.RecordBatch, name: str) -> npt.NDArray[Any]:
    """Return a column of the readings of chunks, in place; shape (readings,)."""
    column = chunks[name]
    offsets = np.frombuffer(column.buffers()[1], np.int64 if pa.types.is_large_binary(column.type) else np.int32)
    start, end = offsets[column.offset], offsets[column.offset + len(column)]
    values = np.frombuffer(column.buffers()[2] or b"", np.uint8)
    return values[start:end].view(_TYPES[name])


def _present_columns(chunks: pa.RecordBatch) -> Sequence[str]:
    """Return the names of the columns of readings that chunks have."""
    return [name for name in _TYPES if chunks[name].null_count < chunks.num_rows]
