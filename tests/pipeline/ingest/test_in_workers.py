"""Aggregation in Python workers equals Spark's window functions to the last bit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.ingest import hourly_worker
from pipeline.ingest.approximate_median import approximate_median
from pipeline.ingest.hourly_distribution import aggregate_by_hour
from pipeline.ingest.hourly_worker import hours_of_readings
from pipeline.ingest.in_workers import aggregate_in_workers
from pipeline.ingest.mapping import BUILT_IN
from pipeline.ingest.rows import read_rows
from pipeline.ingest.series import samples
from pipeline.ingest.source_series import measure
from pipeline.ingest.sources import find_files, group_files, names_in_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PLAIN = BUILT_IN["plain"]
START_MS = 1_736_121_600_000
TASKS = 2
TOPICS = ("orders", "é-тема", "orders-returned", "a topic")


def _readings(seed: int, series: int, count: int) -> pd.DataFrame:
    """Draw readings with gaps, resets, duplicates, conflicts, nulls, late rows, and clocks that are wrong both ways."""
    rng = np.random.default_rng(seed)
    rows = series * count
    number = np.repeat(np.arange(series), count)
    steps = np.where(rng.random(rows) < 0.2, rng.integers(0, 6, rows) * 300_000, 600_000)
    time = START_MS + pd.Series(steps).groupby(number).cumsum().to_numpy()
    skew = rng.choice([0, 6_000, -6_000, 90_000], series)[number]
    grown = pd.Series(rng.integers(0, 5, rows) * 100.0)
    era = pd.Series(rng.random(rows) < 0.05).groupby(number).cumsum()
    readings = pd.DataFrame(
        {
            "timestamp": time + skew,
            "topic": np.array(TOPICS)[number % len(TOPICS)],
            "partition": number % 7,
            "broker": np.array(["b1", "b2", "b10", None], dtype=object)[number % 3 + rng.integers(0, 2)],
            "bytes_in_total": grown.groupby([number, era]).cumsum().mask(rng.random(rows) < 0.05),
            "messages_in_total": grown.groupby([number, era]).cumsum().mask(rng.random(rows) < 0.05) / 300,
            "received": pd.Series(time + rng.integers(0, 2_000, rows)).astype("Int64").mask(rng.random(rows) < 0.05),
        }
    )
    readings = pd.concat([readings, readings.sample(frac=0.1, random_state=seed)])
    written = readings["timestamp"] + rng.integers(0, 6_000_000, len(readings)) * (rng.random(len(readings)) < 0.1)
    return readings.iloc[np.argsort(written.to_numpy(), kind="stable")]


def _write(readings: pd.DataFrame, folder: Path) -> str:
    """Write each third of the readings twice, into files whose names Spark encodes."""
    folder.mkdir()
    for index, rows in enumerate(np.array_split(np.arange(len(readings)), 3)):
        for name in (f"{index} ü%20.parquet", f"again {index}.parquet"):
            readings.iloc[rows].to_parquet(folder / name, index=False)
    return str(folder)


@pytest.mark.parametrize(
    ("seed", "series", "count", "interval_ms"), [(1, 3, 400, None), (2, 30, 120, None), (3, 30, 120, 600_000)]
)
def test_workers_give_the_same_bits_in_the_same_order_as_window_functions(
    spark: SparkSession, tmp_path: Path, seed: int, series: int, count: int, interval_ms: int | None
) -> None:
    groups = group_files(spark, find_files(spark, [_write(_readings(seed, series, count), tmp_path / "raw")]))
    good = read_rows(spark, groups[0], PLAIN).where("reason is null")
    windows = aggregate_by_hour(samples(good.repartition(TASKS, "topic", "partition"), interval_ms, True), False)
    names = list(names_in_rows(spark, groups[0].uris).values())
    workers = aggregate_in_workers(good, names, TASKS, interval_ms, PLAIN)
    tables = []
    for name, hours in (("windows", windows), ("workers", workers)):
        hours.write.parquet(str(tmp_path / name))
        files = sorted((tmp_path / name).glob("*.parquet"))
        tables.append([repr(pq.read_table(file).to_pylist()) for file in files])
        assert workers.columns == windows.columns
    assert tables[0] == tables[1]
    assert sum(len(text) for text in tables[0]) > 10_000


@pytest.mark.parametrize("count", [1, 2, 49, 50, 51, 100, 2_017, 50_000, 50_001, 120_003])
def test_median_is_the_element_that_spark_selects(spark: SparkSession, count: int) -> None:
    from pyspark.sql import functions as fn

    generator = np.random.default_rng(count)
    for values in (generator.integers(-9_000, 9_000, count), generator.integers(0, 3, count) * 60_000):
        table = spark.createDataFrame(pd.DataFrame({"value": values})).coalesce(1)
        (row,) = table.agg(fn.percentile_approx("value", 0.5, 100)).collect()
        assert approximate_median(values) == row[0]


@pytest.mark.parametrize("limit", [1, 7, 100])
def test_rows_do_not_depend_on_how_readings_are_divided(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    drawn = (
        _readings(5, 12, 60).dropna(subset=["received"]).sort_values(["topic", "partition", "broker"], kind="stable")
    )
    table = pa.table(
        {
            "topic": pa.array(drawn["topic"], pa.string()),
            "partition": pa.array(drawn["partition"], pa.int32()),
            "broker": pa.array(drawn["broker"], pa.string()),
            "file": pa.repeat(0, len(drawn)),
            "time": pa.array(drawn["timestamp"], pa.int64()),
            "bytes": pa.array(drawn["bytes_in_total"], pa.float64(), from_pandas=True),
        }
    )
    whole = pa.Table.from_batches(hours_of_readings(iter(table.to_batches()), None, True))
    monkeypatch.setattr(hourly_worker, "_READINGS", limit)
    divided = pa.Table.from_batches(hours_of_readings(iter(table.to_batches(max_chunksize=limit)), None, True))
    assert repr(divided.to_pylist()) == repr(whole.to_pylist())
    assert whole.num_rows > 12


@pytest.mark.slow
def test_negative_zeros_are_left_to_spark(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["timestamp,topic,partition,bytes_in_total,messages_in_total"]
    lines += [f"{START_MS + 60_000 * minute},t,0,{minute},{('0', '-0')[minute % 2]}" for minute in range(40)]
    (tmp_path / "m.csv").write_text("\n".join(lines))
    groups = group_files(spark, find_files(spark, [str(tmp_path / "m.csv")]))
    result = measure(spark, groups, PLAIN, None, str(tmp_path / "scratch"))
    good = read_rows(spark, groups[0], PLAIN).where("reason is null")
    expected = aggregate_by_hour(samples(good.repartition(TASKS, "topic", "partition"), None, True), False)
    percentiles = [row["messages_per_s_percentiles"] or [None] * 3 for row in expected.collect()]
    assert "-0.0" in repr(percentiles)
    names = [f"messages_per_s_{name}" for name in ("p50", "p95", "p99")]
    assert repr([[row[name] for name in names] for row in result.hours.collect()]) == repr(percentiles)
