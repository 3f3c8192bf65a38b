"""Read measured traffic: the output folder of `assignor-sim ingest`.

The folder contains:

- `manifest.json`, whose `kind` is `ingested`;
- `rates/*.parquet`, the produce rate of each partition in each hour of the day;
- `sizes/*.parquet`, the size of each partition (optional);
- `bytes_out/*.parquet`, what consumers fetch of each topic in each hour of the day (optional).

A table may consist of several files. Its rows may be in any order, but must be unique by topic, partition and hour.
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
from simulator.results.files import read_document

if TYPE_CHECKING:
    import pyarrow as pa

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

HOURS = 24
_MEAN_BYTES, _MEAN_MESSAGES, _MEAN_OUT = "bytes_per_s_mean", "messages_per_s_mean", "bytes_out_per_s_mean"
_KEY_LIMITS = {"partition": 2**31, "hour": HOURS}
"""Upper bound of each key column, exclusive."""

_VALUE_LIMIT = float(2**63)
"""Upper bound of rates and sizes, exclusive: they are converted to 64-bit integers."""


def measured_files(folder: Path) -> list[Path]:
    """Return the files of an ingested folder that a scenario needs: the manifest, then those of tables by name."""
    return [
        folder / "manifest.json",
        *(path for name in ("rates", "sizes", "bytes_out") for path in sorted((folder / name).glob("*.parquet"))),
    ]


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredTopic:
    """The rates of a topic with K measured partitions.

    Attributes:
        partitions: the numbers of the measured partitions, ascending, shape (K,).
        bytes_per_s: the produce rate by hour of the day and partition, shape (24, K); NaN if unknown.
        record_bytes: the mean record size; None if the measurements do not include message rates.
    """

    partitions: IntArray
    bytes_per_s: FloatArray
    record_bytes: float | None


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredTraffic:
    """The measured rates and sizes of topics.

    `topics`: the rates; topics without a known rate are omitted. `sizes`: bytes by topic and partition; None if
    unknown.
    """

    topics: Mapping[str, MeasuredTopic]
    sizes: Mapping[str, Mapping[int, int | None]]


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredFanOut:
    """What brokers receive from producers and send to consumers, by topic.

    The means are over the hours in which both are measured.
    """

    bytes_in_per_s: Mapping[str, float]
    bytes_out_per_s: Mapping[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """The rows of a table, sorted by topic, partition and hour.

    Attributes:
        names: the topics, ascending.
        starts: the index of the first row of each topic, followed by the number of rows, shape (topics + 1,).
        keys: the key columns besides the topic: `partition`, and `hour` in the table of rates.
        values: the other columns; NaN for null.
    """

    names: Sequence[str]
    starts: IntArray
    keys: Mapping[str, IntArray]
    values: Mapping[str, FloatArray]

    def topics(self) -> Iterator[tuple[str, slice]]:
        """Yield each topic with the slice of its rows."""
        return ((name, slice(self.starts[i], self.starts[i + 1])) for i, name in enumerate(self.names))

    def describe(self, row: int) -> str:
        """Return topic, partition and hour of a row, for error messages."""
        topic = self.names[int(np.searchsorted(self.starts, row, side="right")) - 1]
        partition = f"-{self.keys['partition'][row]}" if "partition" in self.keys else ""
        hour = f" in hour {self.keys['hour'][row]}" if "hour" in self.keys else ""
        return f"{topic}{partition}{hour}"

    def digest(self) -> bytes:
        """Return the SHA-256 of the content; it does not depend on the machine's byte order."""
        digest = hashlib.sha256("\n".join(self.names).encode())
        for numbers in (self.starts, *self.keys.values()):
            digest.update(numbers.astype("<i8").tobytes())
        for amounts in self.values.values():
            digest.update(amounts.astype("<f8").tobytes())
        return digest.digest()


def read_measured_traffic(folder: Path, quantile: str, topics: Collection[str]) -> tuple[MeasuredTraffic, str]:
    """Read the measured traffic of topics, and a SHA-256 of the rows and columns that were read.

    `folder`: the output folder of `assignor-sim ingest`. `quantile`: the statistic of the rates within an hour: `mean`,
    `p50`, `p95` or `p99`. `topics`: rows of other topics are ignored, and not validated. The digest does not depend on
    the order of rows or their distribution over files. Raises FormatError if the folder does not exist, is not the
    output of `assignor-sim ingest`, or contains invalid rows.
    """
    _check_manifest(folder)
    rate_column = f"bytes_per_s_{quantile}"
    columns = tuple(dict.fromkeys((rate_column, _MEAN_BYTES, _MEAN_MESSAGES)))
    rates = _read_table(folder / "rates", ("partition", "hour"), columns, topics)
    if rates is None:
        raise FormatError(None, "has no rates (no rates/*.parquet)")
    sizes = _read_table(folder / "sizes", ("partition",), ("size_bytes",), topics)
    digest = hashlib.sha256(rates.digest() + (b"" if sizes is None else sizes.digest())).hexdigest()
    is_known = np.isfinite(rates.values[rate_column])
    measured = {
        name: _measured_topic(rates, rows, rate_column) for name, rows in rates.topics() if is_known[rows].any()
    }
    return MeasuredTraffic(measured, {} if sizes is None else dict(_sizes_by_topic(sizes))), digest


def read_fan_out(folder: Path) -> tuple[MeasuredFanOut, str]:
    """Read the bytes in and out of all topics that have both, and a SHA-256 as `read_measured_traffic`.

    Raises FormatError as `read_measured_traffic`, or if no bytes out are measured.
    """
    _check_manifest(folder)
    rates = _read_table(folder / "rates", ("partition", "hour"), (_MEAN_BYTES,), None)
    out = _read_table(folder / "bytes_out", ("hour",), (_MEAN_OUT,), None)
    if rates is None or out is None:
        missing = "rates" if rates is None else "bytes_out"
        needed = "" if rates is None else "; ingest a metric of bytes out, such as BytesOutPerSec, too"
        raise FormatError(None, f"has no {missing} (no {missing}/*.parquet){needed}")
    digest = hashlib.sha256(rates.digest() + out.digest()).hexdigest()
    received, sent = (dict(_by_hour(rows, name)) for rows, name in ((rates, _MEAN_BYTES), (out, _MEAN_OUT)))
    means = {}
    for topic in received.keys() & sent.keys():
        both = np.isfinite(received[topic]) & np.isfinite(sent[topic])
        if both.any():
            means[topic] = float(received[topic][both].mean()), float(sent[topic][both].mean())
    ordered = sorted(means)
    return MeasuredFanOut({topic: means[topic][0] for topic in ordered}, {t: means[t][1] for t in ordered}), digest


def _by_hour(rows: _Rows, column: str) -> Iterator[tuple[str, FloatArray]]:
    """Yield the sum over the partitions of each topic by hour of the day, shape (24,); NaN where unknown."""
    for topic, part in rows.topics():
        values, hours = rows.values[column][part], rows.keys["hour"][part]
        known = np.isfinite(values)
        sums = np.bincount(hours[known], weights=values[known], minlength=HOURS)
        yield topic, np.where(np.bincount(hours[known], minlength=HOURS) > 0, sums, np.nan)


def _check_manifest(folder: Path) -> None:
    """Raise FormatError if a folder is not the output of `assignor-sim ingest`."""
    if not folder.is_dir():
        raise FormatError(None, "not a folder" if folder.exists() else "no such folder")
    try:
        manifest = json.loads(read_document(folder / "manifest.json"))
    except FileNotFoundError:
        raise FormatError(None, "not a folder of assignor-sim ingest: no manifest.json") from None
    except OSError as error:
        raise FormatError(None, f"manifest.json cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise FormatError(None, f"manifest.json cannot be read: {error}") from None
    kind = manifest.get("kind") if isinstance(manifest, dict) else None
    if kind != "ingested":
        problem = "has no kind" if kind is None else f"has kind {format_value(kind)}"
        raise FormatError(None, f"not a folder of assignor-sim ingest: manifest.json {problem}")


def _measured_topic(rates: _Rows, rows: slice, rate_column: str) -> MeasuredTopic:
    partitions, column_of_row = np.unique(rates.keys["partition"][rows], return_inverse=True)
    by_hour = np.full((HOURS, len(partitions)), np.nan)
    by_hour[rates.keys["hour"][rows], column_of_row] = rates.values[rate_column][rows]
    # The mean record size is a ratio of means, whatever quantile of the rates is requested.
    mean_bytes, mean_messages = rates.values[_MEAN_BYTES][rows], rates.values[_MEAN_MESSAGES][rows]
    are_known = np.isfinite(mean_bytes) & np.isfinite(mean_messages)
    messages = float(mean_messages[are_known].sum())
    record_bytes = float(mean_bytes[are_known].sum()) / messages if messages > 0 else None
    return MeasuredTopic(partitions, by_hour, record_bytes)


def _sizes_by_topic(sizes: _Rows) -> Iterator[tuple[str, Mapping[int, int | None]]]:
    for name, rows in sizes.topics():
        pairs = zip(sizes.keys["partition"][rows].tolist(), sizes.values["size_bytes"][rows].tolist(), strict=True)
        yield name, {partition: None if math.isnan(size) else int(size) for partition, size in pairs}


def _read_table(
    folder: Path, keys: Sequence[str], values: Sequence[str], topics: Collection[str] | None
) -> _Rows | None:
    """Read the rows of topics from the files of a table.

    `keys`: the key columns besides `topic`. `topics`: the topics to read; None for all. The result is None if the
    folder has no files. Raises FormatError if a file cannot be read or lacks a column, or a row is invalid.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    from simulator.results.schema_checks import read_parquet

    columns = ("topic", *keys, *values)
    parts = []
    for file in sorted(folder.glob("*.parquet")):
        try:
            part = read_parquet(file, columns)
            missing = [column for column in columns if column not in part.column_names]
            if missing:
                raise FormatError(None, f"{folder.name}/{file.name} has no column {', '.join(missing)}")
            types = [pa.string(), *(pa.int64() for _ in keys), *(pa.float64() for _ in values)]
            part = part.select(columns).cast(pa.schema(list(zip(columns, types, strict=True))))
        except FormatError:
            raise
        except (pa.ArrowException, OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise FormatError(None, f"{folder.name}/{file.name} cannot be read: {reason}") from None
        parts.append(
            part if topics is None else part.filter(pc.is_in(part["topic"], pa.array(sorted(topics), pa.string())))
        )
    return _sort_rows(pa.concat_tables(parts), keys, values, folder.name) if parts else None


def _sort_rows(table: pa.Table, keys: Sequence[str], values: Sequence[str], table_name: str) -> _Rows:
    """Return the rows of a table, sorted; check that they are unique and valid.

    Raises FormatError if two rows have the same keys, or a key or value is out of range.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    names = sorted(table["topic"].unique().to_pylist())
    topic: IntArray = pc.index_in(table["topic"], pa.array(names, pa.string())).to_numpy().astype(np.int64)
    numbers = {key: _key_numbers(table[key], key, table_name) for key in keys}
    # One sortable number per row: the keys are its digits in a mixed radix.
    sort_keys = topic
    for key in keys:
        sort_keys = sort_keys * _KEY_LIMITS[key] + numbers[key]
    order = np.argsort(sort_keys)
    rows = _Rows(
        names=names,
        starts=np.searchsorted(topic[order], np.arange(len(names) + 1)).astype(np.int64),
        keys={key: column[order] for key, column in numbers.items()},
        values={value: table[value].to_numpy()[order] for value in values},
    )
    duplicates = np.flatnonzero(sort_keys[order[1:]] == sort_keys[order[:-1]])
    if len(duplicates):
        raise FormatError(None, f"{table_name}: duplicate rows of {rows.describe(int(duplicates[0]))}")
    for value, column in rows.values.items():
        invalid = np.flatnonzero(~np.isnan(column) & ~((column >= 0) & (column < _VALUE_LIMIT)))
        if len(invalid):
            row = int(invalid[0])
            raise FormatError(None, f"{table_name}: {value} of {rows.describe(row)} has invalid value {column[row]:g}")
    return rows


def _key_numbers(column: pa.ChunkedArray, key: str, table_name: str) -> IntArray:
    """Return the numbers of a key column; raise FormatError if a number is missing or out of range."""
    if column.null_count:
        raise FormatError(None, f"{table_name}: a row has no {key}")
    numbers: IntArray = column.to_numpy()
    out_of_range = numbers[(numbers < 0) | (numbers >= _KEY_LIMITS[key])]
    if len(out_of_range):
        raise FormatError(None, f"{table_name}: {key} {out_of_range[0]} is not between 0 and {_KEY_LIMITS[key] - 1}")
    return numbers
