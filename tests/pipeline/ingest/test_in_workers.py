"""Aggregation in Python workers: the usual interval as Spark selects it, and whole groups of readings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from pipeline.ingest import hourly_worker
from pipeline.ingest.hourly_worker import hours_of_readings
from pipeline.ingest.sample_arrays import approximate_median

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

START_MS = 1_736_121_600_000
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
