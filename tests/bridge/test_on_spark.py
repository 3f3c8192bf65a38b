"""Java assignors run in the workers of Spark, each of which starts a JVM of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import assignor_sim as sim
from pipeline.session import connect
from tests.assignor_sim.conftest import SMALL
from tests.pipeline.sweep.examples import write_sweep

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

PYTHON, JAVA = "legacy_sticky", "java:kafka-streams@4.3.1:legacy_sticky"


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with connect("local[2]", fast_start=True) as session:
        yield session


@pytest.fixture(scope="module")
def runs(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, jar: Path) -> list[dict[str, object]]:
    """Return the runs of a sweep with Kafka's assignor in Python and in Java, and one that exits."""
    folder = tmp_path_factory.mktemp("sweep")
    exiting = f"java:org.example.Misbehaving$Exiting@{jar}"
    sim.sweep(write_sweep(folder), folder / "out", [PYTHON, JAVA, exiting], spark=spark)
    tables = [pq.read_table(file) for file in sorted((folder / "out").rglob("runs/**/*.parquet"))]
    rows: list[dict[str, object]] = pa.concat_tables(tables, promote_options="permissive").to_pylist()
    return rows


def test_runs_in_java_equal_those_in_python(runs: list[dict[str, object]]) -> None:
    by_assignor: dict[object, dict[object, dict[str, object]]] = {}
    for row in runs:
        key = (row["setting"], row["seed"])
        by_assignor.setdefault(row["assignor"], {})[key] = {
            name: value for name, value in row.items() if name not in ("assignor", "run_id", "position")
        }
    assert len(by_assignor[JAVA]) > 1
    assert by_assignor[JAVA] == by_assignor[PYTHON]


def test_assignor_that_exits_fails_its_runs_only(runs: list[dict[str, object]]) -> None:
    failed = [row for row in runs if row["error"] is not None]
    assert len(failed) == len([row for row in runs if "Exiting" in str(row["assignor"])]) > 1
    assert {"Exiting" in str(row["assignor"]) for row in failed} == {True}
    assert all("its process ended with exit code 3" in str(row["error"]) for row in failed)


def test_review_in_java_equals_that_in_python(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(SMALL.replace("seeds: [1]", "seeds: [1, 2]"), encoding="utf-8")
    metrics = ["active_moves", "standby_moves", "restored_bytes", "downtime_ms", "load_skew"]
    reviewed = sim.review(JAVA, PYTHON, [file], metrics=metrics, spark=spark)
    assert len(reviewed.outcomes) == 2
    for outcome in reviewed.outcomes:
        assert outcome.base is not None
        assert outcome.head is not None
        assert set(outcome.head.metrics) == set(metrics)
        assert outcome.head.metrics == outcome.base.metrics
        assert outcome.head.gap == outcome.base.gap
        assert outcome.head.nanos
