"""A run in a Spark worker has the same tables as in this process, although workers use another hash seed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.simulator.results.test_result_directory import digest, run_tables

ROOT = Path(__file__).parents[2]


@pytest.mark.filterwarnings("ignore")
def test_run_in_spark_worker_has_same_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[2]")
        .appName("same bytes")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .getOrCreate()
    )

    def simulate(_: Iterator[int]) -> Iterator[tuple[str, int]]:
        import tests.simulator.results.test_result_directory as in_worker

        yield in_worker.digest(in_worker.run_tables()), hash("a string")

    try:
        rows = spark.sparkContext.parallelize(range(2), 2).mapPartitions(simulate).collect()
    finally:
        spark.stop()
    assert {table_digest for table_digest, _ in rows} == {digest(run_tables())}
    assert hash("a string") not in {hashed for _, hashed in rows}, (
        "the worker has the same hash seed, so that the test proves nothing"
    )
