"""Parquet files that workers read by themselves give the tables of files that Spark reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.ingest import series_rows, source_series
from pipeline.ingest.chunk_files import hash_of
from pipeline.ingest.mapping import find_mapping
from pipeline.ingest.parquet_files import plan_parquet
from pipeline.ingest.parquet_worker import is_supported
from pipeline.ingest.run import IngestSources, ingest
from pipeline.ingest.sources import find_files, group_files
from tests.pipeline.ingest.test_in_workers import START_MS
from tests.pipeline.sweep.parquet_contents import contents

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

EDGES = [0, -1, 7, 2**31, 2**63 - 1, -(2**63), 946_684_799_999, 946_684_800_000, 99_999_999_999, 100_000_000_000]


def _table(seed: int, rows: int) -> pa.Table:
    """Draw readings of some series in which many values are missing, in other units, or impossible."""
    rng = np.random.default_rng(seed)

    def draw(good: Any, strange: list[Any], type_: pa.DataType, share: float = 0.03) -> pa.Array:
        picks = rng.integers(0, len(strange), rows)
        is_strange = rng.random(rows) < share
        values = good.tolist()
        return pa.array([strange[picks[row]] if is_strange[row] else values[row] for row in range(rows)], type_)

    time = START_MS + np.sort(rng.integers(0, 3_000, rows)) * 60_000 + rng.integers(0, 999, rows)
    late = time - 300_000 * (rng.random(rows) < 0.05)
    received = time + rng.choice([0, 7_000, -90_000], rows)
    text = np.array(["orders", "é-тема", "a topic", "orders-returned"])[rng.integers(0, 4, rows)]
    times = [None, *EDGES, START_MS * 1_000 + 500, START_MS * 1_000 + 1_500, START_MS * 10**6 + 1, START_MS // 1_000]
    numbers = [None, np.nan, np.inf, -np.inf, -1.0, 1e300, 2.0**63, 0.5, 9007199254740993.0]
    return pa.table(
        {
            "timestamp": draw(late, times, pa.int64()),
            "topic": draw(text, [None, "", '"\u2028\\', " "], pa.string()),
            "partition": draw(rng.integers(0, 3, rows), [None, *EDGES], pa.int64()),
            "broker": draw(rng.integers(0, 3, rows), [None, -1], pa.int32()),
            "bytes_in_total": draw(np.cumsum(rng.integers(0, 9, rows)) % 50_000, numbers, pa.float64()),
            "messages_in_total": draw(np.arange(rows) // 7, [None, *EDGES], pa.int64()),
            "received": draw(received, times, pa.int64()),
            "note x.y": draw(rng.random(rows), [None, np.nan, 1e-300], pa.float64()),
            "is checked": draw(rng.random(rows) < 0.5, [None], pa.bool_()),
        }
    )


def _write_files(raw: Path) -> None:
    """Write files that overlap, some with several row groups."""
    raw.mkdir()
    table = _table(5, 6_000)
    for number, start in enumerate((0, 1_500, 1_400, 4_000)):
        rows = table.slice(start, (1_500, 2_500, 200, 2_000)[number])
        pq.write_table(rows, raw / f"{(number * 3) % 4} é.parquet", row_group_size=(700, 5_000)[number % 2])


@pytest.mark.slow
def test_tables_have_the_same_bytes_if_spark_reads_or_shuffles_the_readings(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = find_mapping("plain")
    raw = tmp_path / "raw ü%20"
    _write_files(raw)
    groups = group_files(spark, find_files(spark, [str(raw)]))
    assert plan_parquet(spark, groups, named.mapping) is not None
    # Seven Spark partitions, each with more than the groups that Spark sums apart.
    monkeypatch.setattr(series_rows, "_ROWS_PER_TASK", 5_000)
    folders = ("files", "shuffle", "spark")
    for folder in folders:
        if folder == "shuffle":
            monkeypatch.setattr(source_series, "runs_on_this_machine", lambda _: False)
        if folder == "spark":
            monkeypatch.setattr(source_series, "plan_parquet", lambda *_: None)
        result = ingest(spark, IngestSources(metrics=(str(raw),)), str(tmp_path / folder), named)
        assert result.malformed > 300
    manifests = {(tmp_path / folder / "manifest.json").read_text() for folder in folders}
    assert len(manifests) == 1
    assert contents(tmp_path / "files") == contents(tmp_path / "shuffle") == contents(tmp_path / "spark")
    assert not list(tmp_path.rglob("*.arrow"))


@pytest.mark.parametrize("tasks", [1, 7, 200])
def test_hashes_are_those_of_spark(spark: SparkSession, tasks: int) -> None:
    rng = np.random.default_rng(tasks)
    letters = np.array(list("abcdefgé-т𝄞 \x00."))
    rows = [("".join(rng.choice(letters, size)), int(rng.integers(-1, 2**31))) for size in range(40)]
    table = spark.createDataFrame(rows, "topic string, partition int")
    expected = [
        (row["topic"], row["partition"], row["number"])
        for row in table.selectExpr("*", f"pmod(hash(topic, partition), {tasks}) as number").collect()
    ]
    assert [(topic, partition, hash_of(topic, partition) % tasks) for topic, partition in rows] == expected
    assert all(-(2**31) <= hash_of(*row) < 2**31 for row in rows)


@pytest.mark.parametrize(
    ("changes", "supported"),
    [
        ({}, True),
        ({"timestamp": pa.int32(), "broker": pa.string(), "bytes_in_total": pa.int64()}, True),
        ({"timestamp": pa.timestamp("ms")}, False),
        ({"timestamp": pa.float64()}, False),
        ({"partition": pa.string()}, False),
        ({"bytes_in_total": pa.string()}, False),
        ({"bytes_in_total": pa.uint64()}, False),
        ({"Topic": pa.string()}, False),
        ({"labels": pa.map_(pa.string(), pa.string())}, False),
    ],
)
def test_other_types_are_left_to_spark(changes: dict[str, pa.DataType], supported: bool) -> None:
    types = {field.name: field.type for field in _table(1, 1).schema}
    assert is_supported(pa.schema({**types, **changes}), find_mapping("plain").mapping) is supported
