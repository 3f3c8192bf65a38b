"""A run inside a Spark worker gives the bytes that it gives here, although workers hash differently."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.simulator.results.test_result_directory import digest, run_tables

ROOT = Path(__file__).parents[2]


@pytest.mark.filterwarnings("ignore")
def test_a_run_in_a_spark_worker_gives_the_same_tables(monkeypatch: pytest.MonkeyPatch) -> None:
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

    def simulate_here(_: Iterator[int]) -> Iterator[tuple[str, int]]:
        import tests.simulator.results.test_result_directory as here

        yield here.digest(here.run_tables()), hash("a string")

    try:
        rows = spark.sparkContext.parallelize(range(2), 2).mapPartitions(simulate_here).collect()
    finally:
        spark.stop()
    assert {told for told, _ in rows} == {digest(run_tables())}
    assert hash("a string") not in {hashed for _, hashed in rows}, "the worker hashes as we do: this shows nothing"
