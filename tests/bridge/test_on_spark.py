"""Java assignors run in the workers of Spark, each of which starts a JVM of its own."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import assignor_sim as sim
from pipeline.session import connect
from tests.pipeline.sweep.examples import write_sweep

PYTHON, JAVA = "legacy_sticky", "java:kafka-streams@4.3.1:legacy_sticky"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, jar: Path) -> list[dict[str, object]]:
    """Return the runs of a sweep with Kafka's assignor in Python and in Java, and one that exits."""
    folder = tmp_path_factory.mktemp("sweep")
    exiting = f"java:org.example.Misbehaving$Exiting@{jar}"
    with connect("local[2]", fast_start=True) as spark:
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
