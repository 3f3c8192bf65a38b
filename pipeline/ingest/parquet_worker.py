"""Parquet files with readings, read and validated as columns in Spark workers; does not import Spark.

The same good and bad rows as those of `rows.read_rows`, for wide sources whose columns `is_supported` accepts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.ingest.mapping import SourceMapping
from pipeline.ingest.sample_arrays import Flags, Integers, Numbers
from pipeline.ingest.series_chunks import CHUNK_COLUMNS, UNKNOWN, KeyColumns, make_chunks

YEAR_2000_MS = 946_684_800_000
DAY_MS = 86_400_000
SCALES_TO_MS = ((1e11, 1e3), (1e14, 1.0), (1e17, 1e-3))
NANOSECONDS = 1e-6
"""Seconds, milliseconds, microseconds and nanoseconds since 1970 differ in magnitude from 1973 to 5138."""

LIMIT = 2.0**63
"""Counters and sizes of Kafka are signed 64-bit integers, as are times in Spark, which aborts at a larger number."""

_INTEGERS = (pa.int32(), pa.int64())
_NUMBERS = (*_INTEGERS, pa.float64())
_KEYS = (*_INTEGERS, pa.string())
_TEXT = (*_NUMBERS, pa.string(), pa.bool_())
"""Types that Arrow and Spark read alike, by use; bad rows need all columns for their text."""

_KEY = pa.dictionary(pa.int32(), pa.string())

_READINGS = 1_000_000
"""Readings that a worker divides into chunks at a time."""

_BATCH = 262_144
"""Rows that are decoded at a time."""

BAD = "bad_"
"""Prefix of the columns of bad rows."""


@dataclass(frozen=True, slots=True)
class ReadingsFile:
    """A Parquet file.

    Attributes:
        path: its path on the machine of the worker.
        name: its name in rows.
        number: its number among all files.
        written_ms: when it was last modified, in ms since 1970.
    """

    path: str
    name: str
    number: int
    written_ms: int


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row group of a Parquet file.

    Attributes:
        number: its number in the file.
        position: number of rows in the files and row groups before it.
    """

    file: ReadingsFile
    number: int
    position: int


def is_supported(schema: pa.Schema, mapping: SourceMapping) -> bool:
    """Return whether the columns of a file are read by this module as by Spark."""
    if mapping.is_long or mapping.labels is not None or len({name.lower() for name in schema.names}) < len(schema):
        return False
    if not set(mapping.required) <= set(schema.names):
        return False
    types: dict[str, Sequence[pa.DataType]] = dict.fromkeys(schema.names, _TEXT)
    numbers = [name for name in (mapping.bytes, mapping.messages) if name is not None]
    times = [name for name in (mapping.time, mapping.received) if name is not None]
    uses = [(numbers, _NUMBERS), (times, _INTEGERS), ([mapping.topic], (pa.string(),))]
    uses.append(([name for name in (mapping.partition, mapping.broker) if name is not None], _KEYS))
    for names, allowed in uses:
        types |= {name: [type_ for type_ in allowed if type_ in types[name]] for name in names if name in types}
    partition = mapping.partition
    if partition in types and schema.field(partition or "").type == pa.string():
        return False
    return all(schema.field(name).type in allowed for name, allowed in types.items())


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """Return a schema as Spark reads it: without what only Arrow's libraries write."""
    return pa.schema([(field.name, _plain_type(field.type)) for field in schema])


def _plain_type(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(type_):
        return _plain_type(type_.value_type)
    return pa.string() if type_ == pa.large_string() else type_


def describe_file(path: str) -> tuple[bytes, list[int]] | None:
    """Return the schema of a Parquet file and the number of rows of each row group; None if it cannot be read here."""
    try:
        with pq.ParquetFile(path) as file:
            footer = file.metadata
            rows = [footer.row_group(number).num_rows for number in range(footer.num_row_groups)]
            return plain_schema(file.schema_arrow).serialize().to_pybytes(), rows
    except (OSError, pa.ArrowException):
        return None


def read_row_groups(groups: Sequence[RowGroup], mapping: SourceMapping, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Read row groups, validate their rows, and divide the good ones into chunks.

    `groups`: row groups in the order of their positions; `mapping`: the meaning of the columns. Yields batches of
    chunks or of bad rows, with the columns of `output_schema`.
    """
    result = output_schema(schema)
    held: list[_ValidatedRows] = []
    count = 0
    for group in groups:
        # One file is open at a time; footers are small.
        with pq.ParquetFile(group.file.path) as file:
            position = group.position
            for batch in file.iter_batches(_BATCH, [group.number], use_threads=False):
                rows = _validate(batch.cast(schema), mapping, group.file, position)
                if rows.bad is not None:
                    yield _bad_batch(rows.bad, result)
                held.append(rows)
                position += batch.num_rows
                count += batch.num_rows
                if count >= _READINGS:
                    yield _chunk_batch(held, result)
                    held, count = [], 0
    if held:
        yield _chunk_batch(held, result)


def output_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema of chunks and bad rows of files with a schema."""
    bad = [("name", pa.string()), ("reason", pa.string()), ("row", pa.struct(list(schema)))]
    return pa.schema([*CHUNK_COLUMNS, ("malformed", pa.int64()), *((BAD + name, type_) for name, type_ in bad)])


@dataclass(frozen=True, slots=True)
class _ValidatedRows:
    """Good rows of a row group, and the bad ones."""

    keys: KeyColumns
    columns: dict[str, npt.NDArray[Any]]
    position: Integers
    bad: dict[str, pa.Array] | None


def _validate(batch: pa.RecordBatch, mapping: SourceMapping, file: ReadingsFile, start: int) -> _ValidatedRows:
    """Divide rows of a file, of which the first has the position `start`, into good and bad ones."""
    rows = batch.num_rows
    columns = {name: batch[name] for name in batch.schema.names}
    time, time_known = _milliseconds(columns[mapping.time])
    topic, broker = _key(columns.get(mapping.topic), rows), _key(columns.get(mapping.broker or ""), rows)
    partition, partition_known = _partition(columns, mapping, rows)
    measured = {
        measure: _number(columns[name])
        for measure, name in (("bytes", mapping.bytes), ("messages", mapping.messages))
        if name is not None
    }
    faults = [
        (~time_known, f"{mapping.time}: not a time"),
        (time < YEAR_2000_MS, f"{mapping.time}: before the year 2000"),
        (time > file.written_ms + DAY_MS, f"{mapping.time}: after the file was written"),
        (~pc.is_valid(topic).to_numpy(zero_copy_only=False), f"{mapping.topic}: missing"),
        (~partition_known, f"{mapping.partition}: not a partition number"),
    ]
    nothing = np.ones(rows, np.bool_)
    for name, (number, known) in zip((mapping.bytes, mapping.messages), _both(measured), strict=True):
        if name is not None:
            good = (number >= 0) & (number < np.inf)
            faults.append((known & ~good, f"{name}: not a number ≥ 0"))
            faults.append((known & (number >= LIMIT), f"{name}: 2^63 or more"))
            nothing &= ~known
    faults.append((nothing, "no measured value"))
    fault = np.full(rows, len(faults))
    for index in range(len(faults) - 1, -1, -1):
        fault[faults[index][0]] = index
    kept = np.flatnonzero(fault == len(faults))
    position = start + np.arange(rows)
    values: dict[str, npt.NDArray[Any]] = {"file": np.full(len(kept), file.number), "time": time[kept]}
    if mapping.received is not None:
        received, received_known = (
            _milliseconds(columns[mapping.received]) if mapping.received in columns else (time, np.zeros_like(nothing))
        )
        values["ahead"] = np.where(received_known, time - received, UNKNOWN)[kept]
    for measure, (number, known) in measured.items():
        values[measure] = np.where(known, number, np.nan)[kept]
    taken = pa.array(kept)
    all_good = len(kept) == rows
    keys = KeyColumns(*(column if all_good else column.take(taken) for column in (topic, partition, broker)))
    bad = None
    if not all_good:
        indices = np.flatnonzero(fault < len(faults))
        reasons = pa.array([reason for _, reason in faults]).take(pa.array(fault[indices]))
        row = pa.StructArray.from_arrays(
            [column.take(pa.array(indices)) for column in columns.values()], fields=list(batch.schema)
        )
        name = pa.repeat(pa.scalar(file.name), len(indices))
        bad = {"position": pa.array(position[indices]), "name": name, "reason": reasons, "row": row}
    return _ValidatedRows(keys, values, position[kept], bad)


def _both(measured: Mapping[str, tuple[Numbers, Flags]]) -> list[tuple[Numbers, Flags]]:
    empty = (np.zeros(0), np.zeros(0, np.bool_))
    return [measured.get("bytes", empty), measured.get("messages", empty)]


def _number(column: pa.Array) -> tuple[Numbers, Flags]:
    """Return a column as doubles, 0 for null, and whether each value is present."""
    known = pc.is_valid(column).to_numpy(zero_copy_only=False)
    return pc.fill_null(column, 0).to_numpy().astype(np.float64), known


def _milliseconds(column: pa.Array) -> tuple[Integers, Flags]:
    """Return times in ms since 1970, 0 where there is none, and whether each value is one."""
    number, known = _number(column)
    scale = np.full(len(number), NANOSECONDS)
    for bound, factor in reversed(SCALES_TO_MS):
        scale[np.abs(number) < bound] = factor
    scaled = number * scale
    known &= np.abs(scaled) < LIMIT
    scaled[~known] = 0
    size = np.abs(scaled)
    whole = np.floor(size)
    # Spark rounds halves away from zero.
    return np.copysign(whole + (size - whole >= 0.5), scaled).astype(np.int64), known


def _key(column: pa.Array | None, rows: int) -> pa.Array:
    """Return a key as text by number, since few texts occur; null where empty."""
    if column is None:
        return pa.nulls(rows, _KEY)
    encoded = column.dictionary_encode()
    texts = encoded.dictionary.cast(pa.string())
    empty = pc.index(texts, "").as_py()
    numbers = encoded.indices
    if empty >= 0:
        numbers = pc.if_else(pc.equal(numbers, empty), pa.scalar(None, pa.int32()), numbers)
    return pa.DictionaryArray.from_arrays(numbers, texts)


def _partition(columns: Mapping[str, pa.Array], mapping: SourceMapping, rows: int) -> tuple[pa.Array, Flags]:
    """Return the numbers of partitions, and whether each number is valid."""
    if mapping.partition is None:
        return pa.repeat(pa.scalar(-1, pa.int32()), rows), np.ones(rows, np.bool_)
    column = columns[mapping.partition]
    numbers = pc.fill_null(column, -1).to_numpy()
    known = (numbers >= 0) & (numbers < 2**31)
    return pa.array(np.where(known, numbers, 0).astype(np.int32)), known


def _chunk_batch(held: Sequence[_ValidatedRows], schema: pa.Schema) -> pa.RecordBatch:
    keys = KeyColumns(
        *(_concatenate([getattr(rows.keys, name) for rows in held]) for name in ("topic", "partition", "broker"))
    )
    columns = {name: np.concatenate([rows.columns[name] for rows in held]) for name in held[0].columns}
    arrays = make_chunks(keys, columns, np.concatenate([rows.position for rows in held]))
    return _batch(dict(zip((name for name, _ in CHUNK_COLUMNS), arrays, strict=True)), schema)


def _concatenate(arrays: list[pa.Array]) -> pa.Array:
    return pa.chunked_array(arrays).unify_dictionaries().combine_chunks()


def _bad_batch(bad: Mapping[str, pa.Array], schema: pa.Schema) -> pa.RecordBatch:
    columns = {BAD + name: bad[name] for name in ("name", "reason", "row")}
    ones = np.ones(len(bad["row"]), np.int64)
    return _batch({**columns, "position": bad["position"], "malformed": ones}, schema)


def _batch(columns: Mapping[str, Any], schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch with nulls in the columns that are missing."""
    rows = len(next(iter(columns.values())))
    arrays = [
        pa.nulls(rows, field.type) if field.name not in columns else pa.array(columns[field.name], field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
