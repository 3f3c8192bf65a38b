"""Generated measurements: clean, and with every kind of fault in each format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.generate import FORMATS, Faults, Population, Schedule, generate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITIONS = 50
SCHEDULE = Schedule(days=3, interval_s=300)
FAULTS = Faults(gaps=0.01, duplicates=0.01, late=0.01, malformed=0.005, resets=0.005, skew=0.5)


@pytest.fixture(scope="session")
def clean(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clean") / "raw"
    generate(spark, str(folder), Population(PARTITIONS, seed=7), SCHEDULE, Faults())
    return folder


@pytest.fixture(
    scope="session", params=[pytest.param(name, marks=pytest.mark.slow if name == "jsonl" else ()) for name in FORMATS]
)
def faulty(request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param) / "raw"
    population = Population(PARTITIONS, seed=7, skewed=FAULTS.skew)
    generate(spark, str(folder), population, SCHEDULE, FAULTS, request.param)
    return folder
