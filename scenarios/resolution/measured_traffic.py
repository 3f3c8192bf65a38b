"""Measured traffic: partition rates by hour of day and partition sizes, from a folder written by `assignor-sim ingest`.

The folder contains `manifest.json` (`kind` is `ingested`), `rates/*.parquet` and optionally `sizes/*.parquet`.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from scenarios.kafka.formats.lines import FormatError
from scenarios.language.errors import format_value

if TYPE_CHECKING:
    import pyarrow as pa

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

HOURS = 24
_NUM_KEYS = {"partition": 2**31, "hour": HOURS}
_MAX_VALUE = float(2**63)


def measured_files(folder: Path) -> list[Path]:
    """Return the files of an ingested folder that scenarios read, in a fixed order."""
    return [
        folder / "manifest.json",
        *(path for name in ("rates", "sizes") for path in sorted((folder / name).glob("*.parquet"))),
    ]


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredTopic:
    """Measured traffic of a topic, for the K partitions with measurements.

    Attributes:
        partitions: Shape (K,); partition numbers, ascending.
        bytes_per_s: Shape (24, K); bytes produced per second in each hour of the day, NaN if unknown.
        record_bytes: Mean record size; None if messages were not counted.
    """

    partitions: IntArray
    bytes_per_s: FloatArray
    record_bytes: float | None


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredTraffic:
    """Measured traffic of several topics.

    Attributes:
        topics: Topics with rates.
        sizes: Bytes of each measured partition, by topic; None if unknown.
    """

    topics: Mapping[str, MeasuredTopic]
    sizes: Mapping[str, Mapping[int, int | None]]


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Rows of a table, sorted by topic, partition and, if the table has it, hour.

    Attributes:
        names: Topics, ascending.
        starts: Shape (len(names) + 1,); index of the first row of each topic.
        keys: Columns `partition` and, if present, `hour`.
        values: Other columns; NaN for null.
    """

    names: Sequence[str]
    starts: IntArray
    keys: Mapping[str, IntArray]
    values: Mapping[str, FloatArray]

    def topics(self) -> Iterator[tuple[str, slice]]:
        return ((name, slice(self.starts[i], self.starts[i + 1])) for i, name in enumerate(self.names))

    def describe(self, row: int) -> str:
        """Return a description of a row for errors."""
        topic = self.names[int(np.searchsorted(self.starts, row, side="right")) - 1]
        hour = f" in hour {self.keys['hour'][row]}" if "hour" in self.keys else ""
        return f"{topic}-{self.keys['partition'][row]}{hour}"

    def digest(self) -> bytes:
        digest = hashlib.sha256("\n".join(self.names).encode())
        for numbers in (self.starts, *self.keys.values()):
            digest.update(numbers.astype("<i8").tobytes())
        for amounts in self.values.values():
            digest.update(amounts.astype("<f8").tobytes())
        return digest.digest()


def read_measured_traffic(folder: Path, quantile: str, topics: Collection[str]) -> tuple[MeasuredTraffic, str]:
    """Read the measured traffic of topics.

    Args:
        folder: Folder that `assignor-sim ingest` wrote.
        quantile: Statistic of the rates within an hour: `mean`, `p50`, `p95` or `p99`.
        topics: Topic names; rows of other topics are ignored.

    Returns:
        The measured traffic, and the SHA-256 of all rows and columns that were read, which does not depend on their
        distribution over files.

    Raises:
        FormatError: The folder does not exist or is not an ingested folder.
    """
    _check_manifest(folder)
    rate, mean, messages = f"bytes_per_s_{quantile}", "bytes_per_s_mean", "messages_per_s_mean"
    rates = _read(folder / "rates", ("partition", "hour"), tuple(dict.fromkeys((rate, mean, messages))), topics)
    if rates is None:
        raise FormatError(None, "has no rates (no rates/*.parquet)")
    sizes = _read(folder / "sizes", ("partition",), ("size_bytes",), topics)
    digest = hashlib.sha256(rates.digest() + (b"" if sizes is None else sizes.digest())).hexdigest()
    is_known = np.isfinite(rates.values[rate])
    measured = {name: _topic(rates, rows, rate) for name, rows in rates.topics() if is_known[rows].any()}
    return MeasuredTraffic(measured, {} if sizes is None else dict(_sizes(sizes))), digest


def _check_manifest(folder: Path) -> None:
    if not folder.is_dir():
        raise FormatError(None, "not a folder" if folder.exists() else "no such folder")
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FormatError(None, "not a folder of assignor-sim ingest: no manifest.json") from None
    except (OSError, ValueError, RecursionError) as error:
        raise FormatError(None, f"manifest.json cannot be read: {error}") from None
    kind = manifest.get("kind") if isinstance(manifest, dict) else None
    if kind != "ingested":
        problem = "has no kind" if kind is None else f"has kind {format_value(kind)}"
        raise FormatError(None, f"not a folder of assignor-sim ingest: manifest.json {problem}")


def _topic(rates: _Rows, rows: slice, rate: str) -> MeasuredTopic:
    partitions, column = np.unique(rates.keys["partition"][rows], return_inverse=True)
    by_hour = np.full((HOURS, len(partitions)), np.nan)
    by_hour[rates.keys["hour"][rows], column] = rates.values[rate][rows]
    data, messages = rates.values["bytes_per_s_mean"][rows], rates.values["messages_per_s_mean"][rows]
    both = np.isfinite(data) & np.isfinite(messages)
    records = float(messages[both].sum())
    return MeasuredTopic(partitions, by_hour, float(data[both].sum()) / records if records > 0 else None)


def _sizes(sizes: _Rows) -> Iterator[tuple[str, Mapping[int, int | None]]]:
    for name, rows in sizes.topics():
        known = zip(sizes.keys["partition"][rows].tolist(), sizes.values["size_bytes"][rows].tolist(), strict=True)
        yield name, {partition: None if math.isnan(size) else int(size) for partition, size in known}


def _read(folder: Path, keys: Sequence[str], values: Sequence[str], topics: Collection[str]) -> _Rows | None:
    """Return the rows of topics in a table; None if the table does not exist.

    Raises:
        FormatError: A file cannot be read or lacks a column.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    columns = ("topic", *keys, *values)
    parts = []
    for file in sorted(folder.glob("*.parquet")):
        try:
            part = pq.ParquetFile(file).read(columns=list(columns))
            missing = [column for column in columns if column not in part.column_names]
            if missing:
                raise FormatError(None, f"{folder.name}/{file.name} has no column {', '.join(missing)}")
            kinds = [pa.string(), *(pa.int64() for _ in keys), *(pa.float64() for _ in values)]
            part = part.select(columns).cast(pa.schema(list(zip(columns, kinds, strict=True))))
        except (pa.ArrowException, OSError) as error:
            raise FormatError(None, f"{folder.name}/{file.name} cannot be read: {error}") from None
        parts.append(part.filter(pc.is_in(part["topic"], pa.array(sorted(topics), pa.string()))))
    return _sort(pa.concat_tables(parts), keys, values, folder.name) if parts else None


def _sort(table: pa.Table, keys: Sequence[str], values: Sequence[str], table_name: str) -> _Rows:
    import pyarrow as pa
    import pyarrow.compute as pc

    names = sorted(table["topic"].unique().to_pylist())
    topic: IntArray = pc.index_in(table["topic"], pa.array(names, pa.string())).to_numpy().astype(np.int64)
    numbers = {key: _numbers(table[key], key, table_name) for key in keys}
    combined = topic
    for key in keys:
        combined = combined * _NUM_KEYS[key] + numbers[key]
    order = np.argsort(combined)
    rows = _Rows(
        names=names,
        starts=np.searchsorted(topic[order], np.arange(len(names) + 1)).astype(np.int64),
        keys={key: column[order] for key, column in numbers.items()},
        values={value: table[value].to_numpy()[order] for value in values},
    )
    duplicates = np.flatnonzero(combined[order[1:]] == combined[order[:-1]])
    if len(duplicates):
        raise FormatError(None, f"{table_name}: duplicate rows of {rows.describe(int(duplicates[0]))}")
    for value, column in rows.values.items():
        invalid = np.flatnonzero(~np.isnan(column) & ~((column >= 0) & (column < _MAX_VALUE)))
        if len(invalid):
            row = int(invalid[0])
            raise FormatError(None, f"{table_name}: {value} of {rows.describe(row)} has invalid value {column[row]:g}")
    return rows


def _numbers(column: pa.ChunkedArray, key: str, table_name: str) -> IntArray:
    if column.null_count:
        raise FormatError(None, f"{table_name}: a row has no {key}")
    numbers: IntArray = column.to_numpy()
    out_of_range = numbers[(numbers < 0) | (numbers >= _NUM_KEYS[key])]
    if len(out_of_range):
        raise FormatError(None, f"{table_name}: {key} {out_of_range[0]} is not between 0 and {_NUM_KEYS[key] - 1}")
    return numbers
