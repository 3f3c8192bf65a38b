"""Folders of measurements in the format of `assignor-sim ingest`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Row = dict[str, Any]

_RATES = [
    f"{quantity}_per_s_{quantile}" for quantity in ("bytes", "messages") for quantile in ("mean", "p50", "p95", "p99")
]
_SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("hour", pa.int32()),
        ("samples", pa.int64()),
        *((rate_row, pa.float64()) for rate_row in _RATES),
    ]
)


def rate_row(topic: str, partition: int, hour: int, mean: float | None, records: float | None = None) -> Row:
    """Return a row of rates: p50 is half the mean, p95 twice the mean, p99 three times the mean."""
    factors = {"mean": 1.0, "p50": 0.5, "p95": 2.0, "p99": 3.0}
    data = {f"bytes_per_s_{name}": None if mean is None else mean * by for name, by in factors.items()}
    messages = {f"messages_per_s_{name}": None if records is None else records * by for name, by in factors.items()}
    return {"topic": topic, "partition": partition, "hour": hour, "samples": 12, **data, **messages}


def rows_of_day(topic: str, partitions: int, records: float | None = None) -> list[Row]:
    """Return the rows of a day: in hour h, 1000·(partition + 1) + h bytes per second."""
    return [rate_row(topic, p, h, 1_000 * (p + 1) + h, records) for p in range(partitions) for h in range(24)]


def write_ingested_folder(
    folder: Path,
    *files: Sequence[Row],
    sizes: Mapping[str, Iterable[int | None]] | None = None,
    bytes_out: Mapping[str, Iterable[float | None]] | None = None,
    manifest: object = None,
    without: Iterable[str] = (),
) -> Path:
    """Write a folder with the rates in one or more files, optionally without some columns.

    `bytes_out` are the bytes per second that consumers fetch of each topic, by hour.
    """
    (folder / "rates").mkdir(parents=True)
    content = {"kind": "ingested"} if manifest is None else manifest
    (folder / "manifest.json").write_text(json.dumps(content), encoding="utf-8")
    for i, rows in enumerate(files):
        table = pa.Table.from_pylist(list(rows), _SCHEMA).drop_columns(list(without))
        pq.write_table(table, folder / "rates" / f"part-{i}.parquet")
    if sizes is not None:
        (folder / "sizes").mkdir()
        rows = [
            {"topic": t, "partition": p, "size_bytes": size} for t, all_ in sizes.items() for p, size in enumerate(all_)
        ]
        schema = pa.schema([("topic", pa.string()), ("partition", pa.int32()), ("size_bytes", pa.int64())])
        pq.write_table(pa.Table.from_pylist(rows, schema), folder / "sizes" / "part-0.parquet")
    if bytes_out is not None:
        (folder / "bytes_out").mkdir()
        rows = [
            {"topic": topic, "hour": hour, "bytes_out_per_s_mean": rate}
            for topic, rates in bytes_out.items()
            for hour, rate in enumerate(rates)
        ]
        schema = pa.schema([("topic", pa.string()), ("hour", pa.int8()), ("bytes_out_per_s_mean", pa.float64())])
        pq.write_table(pa.Table.from_pylist(rows, schema), folder / "bytes_out" / "part-0.parquet")
    return folder
