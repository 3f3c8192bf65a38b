"""What `assignor-sim ingest` makes of measurements: a folder with the rates of partitions by hour, and their sizes.

Of the folder, `manifest.json` (its `kind` is `ingested`), `rates/*.parquet` and, if there, `sizes/*.parquet` are read.
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
_MOST = {"partition": 2**31, "hour": HOURS}
_LARGEST = float(2**63)


def measured_files(folder: Path) -> list[Path]:
    """The files of such a folder that are read, in a fixed order."""
    return [
        folder / "manifest.json",
        *(path for name in ("rates", "sizes") for path in sorted((folder / name).glob("*.parquet"))),
    ]


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredTopic:
    """What was measured of a topic, of whose partitions some (K of them) were seen.

    Attributes:
        partitions: shape (K,); which those are, ascending.
        bytes_per_s: shape (24, K); what was produced to each in each hour of the day, NaN where that is not known.
        record_bytes: the mean size of a record; None where messages were not counted.
    """

    partitions: IntArray
    bytes_per_s: FloatArray
    record_bytes: float | None


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredTraffic:
    """What was measured of several topics.

    Attributes:
        topics: those of which there are rates.
        sizes: by topic, the bytes that each partition holds that was seen; None where that is not known.
    """

    topics: Mapping[str, MeasuredTopic]
    sizes: Mapping[str, Mapping[int, int | None]]


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Rows of a table by topic and partition, and hour if it has that, in this order.

    Attributes:
        names: the topics, ascending.
        starts: shape (len(names) + 1,); where the rows of each begin.
        keys: `partition`, and `hour`.
        values: the other columns; NaN for null.
    """

    names: Sequence[str]
    starts: IntArray
    keys: Mapping[str, IntArray]
    values: Mapping[str, FloatArray]

    def topics(self) -> Iterator[tuple[str, slice]]:
        return ((name, slice(self.starts[i], self.starts[i + 1])) for i, name in enumerate(self.names))

    def tell(self, row: int) -> str:
        """Name a row for people."""
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
    """Read what was measured of some topics.

    Args:
        folder: what `assignor-sim ingest` wrote.
        quantile: which rate of an hour: `mean`, `p50`, `p95` or `p99`.
        topics: their names; rows of others are left out.

    Returns:
        What was measured, and the SHA-256 of all rows and columns that were read. That is the same however the rows are
        spread over files.

    Raises:
        FormatError: there is no such folder, or it is something else.
    """
    _check_manifest(folder)
    rate, mean, messages = f"bytes_per_s_{quantile}", "bytes_per_s_mean", "messages_per_s_mean"
    rates = _read(folder / "rates", ("partition", "hour"), tuple(dict.fromkeys((rate, mean, messages))), topics)
    if rates is None:
        raise FormatError(None, "has no rates (no rates/*.parquet)")
    sizes = _read(folder / "sizes", ("partition",), ("size_bytes",), topics)
    digest = hashlib.sha256(rates.digest() + (b"" if sizes is None else sizes.digest())).hexdigest()
    is_known = np.isfinite(rates.values[rate])
    found = {name: _topic(rates, rows, rate) for name, rows in rates.topics() if is_known[rows].any()}
    return MeasuredTraffic(found, {} if sizes is None else dict(_sizes(sizes))), digest


def _check_manifest(folder: Path) -> None:
    if not folder.is_dir():
        raise FormatError(None, "not a folder" if folder.exists() else "no such folder")
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FormatError(None, "not a folder that assignor-sim ingest made: it has no manifest.json") from None
    except (OSError, ValueError, RecursionError) as error:
        raise FormatError(None, f"manifest.json cannot be read: {error}") from None
    kind = manifest.get("kind") if isinstance(manifest, dict) else None
    if kind != "ingested":
        what = "says no kind" if kind is None else f"says that it is {format_value(kind)}"
        raise FormatError(None, f"not a folder that assignor-sim ingest made: its manifest.json {what}")


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
    """The rows of some topics in a table; None if the table is not there."""
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


def _sort(table: pa.Table, keys: Sequence[str], values: Sequence[str], what: str) -> _Rows:
    import pyarrow as pa
    import pyarrow.compute as pc

    names = sorted(table["topic"].unique().to_pylist())
    topic: IntArray = pc.index_in(table["topic"], pa.array(names, pa.string())).to_numpy().astype(np.int64)
    numbers = {key: _numbers(table[key], key, what) for key in keys}
    combined = topic
    for key in keys:
        combined = combined * _MOST[key] + numbers[key]
    order = np.argsort(combined)
    rows = _Rows(
        names=names,
        starts=np.searchsorted(topic[order], np.arange(len(names) + 1)).astype(np.int64),
        keys={key: column[order] for key, column in numbers.items()},
        values={value: table[value].to_numpy()[order] for value in values},
    )
    twice = np.flatnonzero(combined[order[1:]] == combined[order[:-1]])
    if len(twice):
        raise FormatError(None, f"{what}: two rows of {rows.tell(int(twice[0]))}")
    for value, column in rows.values.items():
        wrong = np.flatnonzero(~np.isnan(column) & ~((column >= 0) & (column < _LARGEST)))
        if len(wrong):
            raise FormatError(None, f"{what}: {value} of {rows.tell(int(wrong[0]))} is {column[wrong[0]]:g}")
    return rows


def _numbers(column: pa.ChunkedArray, key: str, what: str) -> IntArray:
    if column.null_count:
        raise FormatError(None, f"{what}: a row has no {key}")
    numbers: IntArray = column.to_numpy()
    strange = numbers[(numbers < 0) | (numbers >= _MOST[key])]
    if len(strange):
        raise FormatError(None, f"{what}: {key} {strange[0]} is not 0 to {_MOST[key] - 1}")
    return numbers
