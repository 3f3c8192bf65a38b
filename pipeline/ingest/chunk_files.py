"""Chunks of readings in files, from which workers select the chunks of a Spark partition; does not import Spark.

The files are in Arrow's file format and are mapped into memory, so a worker reads little more than the chunks that it
selects. The readings of a chunk are one compressed value, so the files are hardly larger than the sources. Which Spark
partition has a topic and partition after `repartition(tasks, "topic", "partition")` is computed with Spark's own hash.

Source:
    Spark's `Murmur3_x86_32` and `HashPartitioning`: MurmurHash3 (Austin Appleby, public domain), but bytes after the
    last whole word are mixed one by one, as signed integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.ingest.sample_arrays import Integers
from pipeline.ingest.series_chunks import PLACE_COLUMNS, UNKNOWN, values_of

_SEED = 42
_WORD = 0xFFFF_FFFF


@lru_cache(maxsize=65_536)
def hash_of(topic: str, partition: int) -> int:
    """Return Spark's hash of a topic and the number of a partition; its Spark partition is the hash modulo `tasks`.

    `partition`: a signed 32-bit integer. Returns a signed 32-bit integer.
    """
    text = topic.encode()
    whole = len(text) - len(text) % 4
    mixed = _SEED
    for start in range(0, whole, 4):
        mixed = _mix(mixed, int.from_bytes(text[start : start + 4], "little"))
    for byte in text[whole:]:
        mixed = _mix(mixed, byte if byte < 128 else byte - 256)
    mixed = _finish(mixed, len(text))
    mixed = _finish(_mix(mixed, partition), 4)
    return mixed - (mixed >> 31 << 32)


def _mix(mixed: int, word: int) -> int:
    word = (word & _WORD) * 0xCC9E_2D51 & _WORD
    mixed ^= _rotate(word, 15) * 0x1B87_3593 & _WORD
    return (_rotate(mixed, 13) * 5 + 0xE654_6B64) & _WORD


def _rotate(word: int, bits: int) -> int:
    return (word << bits | word >> (32 - bits)) & _WORD


def _finish(mixed: int, length: int) -> int:
    mixed ^= length
    mixed = (mixed ^ mixed >> 16) * 0x85EB_CA6B & _WORD
    mixed = (mixed ^ mixed >> 13) * 0xC2B2_AE35 & _WORD
    return mixed ^ mixed >> 16


PACKED_COLUMNS = (
    *PLACE_COLUMNS,
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

    `chunks`: the columns CHUNK_COLUMNS; the readings of a chunk are of one file. Returns the columns PACKED_COLUMNS.
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

    `chunks`: the columns PACKED_COLUMNS, at least one chunk; all have the same columns.
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


_SCHEMA = pa.schema([*PACKED_COLUMNS, ("hash", pa.int32())])
ROWS_SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("broker", pa.string()),
        ("time", pa.int64()),
        ("received", pa.int64()),
        ("bytes", pa.float64()),
        ("messages", pa.float64()),
        ("file", pa.string()),
        ("row", pa.int64()),
    ]
)
"""Columns of readings as rows: those of `rows.read_rows` that differ from row to row."""

_READINGS = 200_000
"""Readings that are returned at a time, unless a chunk alone has more."""

_MAX_ROWS_BITS = 40
"""Positions of readings need fewer bits than this."""


@dataclass(frozen=True, slots=True)
class ChunkFile:
    """A file with chunks.

    Attributes:
        path: its path on the machine of the worker.
        ranks: the rank of each of its source files among all; empty if they are numbered by rank.
    """

    path: str
    ranks: tuple[int, ...] = ()


def write_chunk_file(path: Path, batches: Iterator[pa.RecordBatch]) -> None:
    """Write chunks to a file, whole or not at all.

    `path`: the file; its folder exists. `batches`: batches with the columns CHUNK_COLUMNS, each with readings of one
    file.
    """
    with whole_file(path) as sink, pa.ipc.new_file(sink, _SCHEMA) as writer:
        for batch in batches:
            arrays = [*pack_chunks(batch), _hashes(batch)]
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA))


@contextmanager
def whole_file(path: Path) -> Iterator[pa.OSFile]:
    """Write a file that appears at the end of the block; Spark may run a task twice, also at the same time.

    Yields the file, under a temporary name.
    """
    part = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        with pa.OSFile(str(part), "wb") as sink:
            yield sink
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _hashes(chunks: pa.RecordBatch) -> pa.Array:
    pairs = zip(chunks["topic"].to_pylist(), chunks["partition"].to_pylist(), strict=True)
    return pa.array((hash_of(topic, partition) for topic, partition in pairs), pa.int32())


def read_partition(files: Sequence[ChunkFile], task: int, tasks: int) -> Iterator[pa.RecordBatch]:
    """Read the readings of a Spark partition, in the order in which `hourly_worker.hours_of_readings` reads them.

    Yields batches of readings.
    """
    selected = [chunks for file in files for chunks in _select(file, task, tasks)]
    if not selected:
        return
    chunks = pa.Table.from_batches(selected).combine_chunks().to_batches()[0]
    # Spark sorts nulls first, and no broker is an empty text.
    keys = [chunks["topic"], chunks["partition"], pc.fill_null(chunks["broker"], ""), chunks["position"]]
    names = ["topic", "partition", "broker", "position"]
    table = pa.RecordBatch.from_arrays(keys, names)
    order = pc.sort_indices(table, [(name, "ascending") for name in names]).to_numpy()
    for part in _parts(order, chunks["readings"].to_numpy()):
        yield from unpack_chunks(chunks.take(pa.array(part))).to_batches()


def _select(file: ChunkFile, task: int, tasks: int) -> Iterator[pa.RecordBatch]:
    """Return copies of the chunks of a Spark partition."""
    with pa.memory_map(file.path) as source:
        reader = pa.ipc.open_file(source)
        for number in range(reader.num_record_batches):
            batch = reader.get_batch(number)
            mine = batch["hash"].to_numpy() % tasks == task
            if mine.any():
                yield _with_ranks(batch.filter(pa.array(mine)), file.ranks)


def _with_ranks(chunks: pa.RecordBatch, ranks: Sequence[int]) -> pa.RecordBatch:
    """Replace the numbers of the files in a batch by those among all files, and their positions likewise."""
    if not ranks:
        return chunks
    file = np.array(ranks)[chunks["file"].to_numpy()]
    position = (file << _MAX_ROWS_BITS) + chunks["position"].to_numpy()
    chunks = chunks.set_column(chunks.schema.get_field_index("file"), "file", pa.array(file, pa.int32()))
    return chunks.set_column(chunks.schema.get_field_index("position"), "position", pa.array(position))


def _parts(order: Integers, readings: Integers) -> Iterator[Integers]:
    """Divide chunks into parts of about _READINGS readings."""
    part = np.cumsum(readings[order]) // _READINGS
    yield from np.split(order, np.flatnonzero(np.diff(part)) + 1)


def read_rows(content: pa.Buffer, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Read the readings of a file as rows, in any order.

    Yields batches of ROWS_SCHEMA.
    """
    reader = pa.ipc.open_file(pa.BufferReader(content))
    for number in range(reader.num_record_batches):
        chunks = reader.get_batch(number)
        counts = chunks["readings"].to_numpy()
        for part in _parts(np.arange(len(counts)), counts):
            yield _as_rows(chunks.take(pa.array(part)), names)


def _as_rows(chunks: pa.RecordBatch, names: Sequence[str]) -> pa.RecordBatch:
    counts = chunks["readings"].to_numpy()
    table = unpack_chunks(chunks)
    columns = {name: table[name].combine_chunks() for name in table.column_names}
    # The chunks of a series follow each other in the file, and so do its readings in a chunk.
    ends = np.cumsum(counts)
    within = np.arange(ends[-1]) - np.repeat(ends - counts, counts)
    columns["row"] = pa.array(np.repeat(chunks["position"].to_numpy(), counts) + within)
    columns["file"] = pa.array(names, pa.string()).take(columns["file"])
    if "ahead" in columns:
        columns["received"] = pc.subtract(columns["time"], columns.pop("ahead"))
    for name in ("bytes", "messages"):
        if name in columns:
            columns[name] = pc.if_else(pc.is_nan(columns[name]), pa.scalar(None, pa.float64()), columns[name])
    rows = int(ends[-1])
    arrays = [
        columns[field.name].cast(field.type) if field.name in columns else pa.nulls(rows, field.type)
        for field in ROWS_SCHEMA
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=ROWS_SCHEMA)
