"""A review on Spark has the same files as one in processes of this machine, also if an assignor ends its process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import assignor_sim as sim
from tests.assignor_sim.conftest import SMALL
from tests.contract import broken_assignors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FILES = ("review.json", "review.md", "review.html", "review.xml", "manifest.json")


@pytest.fixture
def scenarios(tmp_path: Path) -> list[Path]:
    """Return two scenarios, one of them with more than five clients."""
    files = [tmp_path / "small.yaml", tmp_path / "large.yaml"]
    small = SMALL.replace("duration: 6h", "duration: 1h")
    files[0].write_text(small.replace("seeds: [1]", "seeds: [1, 2]"), encoding="utf-8")
    files[1].write_text(small.replace("{name: app, count: 3", "{name: app, count: 6"), encoding="utf-8")
    return files


@pytest.mark.slow
def test_files_are_the_same_and_violations_are_shrunk(
    spark: SparkSession, scenarios: list[Path], tmp_path: Path
) -> None:
    head = f"{broken_assignors.__name__}:DependsOnOrder"
    for name, session in (("pool", None), ("spark", spark)):
        sim.review(head, scenarios=scenarios, workers=1, spark=session).save(tmp_path / name)
    violations = sorted(file.name for file in (tmp_path / "pool" / "violations").iterdir())
    assert "order_independent.yaml" in violations
    for name in (*FILES, *(f"violations/{file}" for file in violations)):
        assert (tmp_path / "pool" / name).read_bytes() == (tmp_path / "spark" / name).read_bytes(), name


@pytest.mark.slow
def test_an_assignor_that_kills_its_process_fails_in_its_case_only(spark: SparkSession, scenarios: list[Path]) -> None:
    head = f"{broken_assignors.__name__}:KillsItsProcess"
    reviewed = sim.review(head, scenarios=scenarios, metrics=["active_moves"], spark=spark)
    failed = {outcome.case for outcome in reviewed.outcomes if outcome.head and outcome.head.failure}
    assert failed == {"large"}
    assert [item.invariant for item in reviewed.report.failed] == ["valid"]
    assert "SIGKILL" in reviewed.report.failed[0].example
