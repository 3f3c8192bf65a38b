"""How long a scenario takes to load and to run: `make bench`."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from assignor_sim.comparison import run
from scenarios.load import Scenario, load

LIBRARY = Path(__file__).parents[2] / "scenarios" / "library"


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return load(LIBRARY / "order_processing.yaml")


def test_loading(benchmark: BenchmarkFixture) -> None:
    benchmark(load, LIBRARY / "order_processing.yaml")


@pytest.mark.parametrize("label", ["HA", "HA min_traffic", "HA balance_subtopology", "sticky"])
def test_a_run(benchmark: BenchmarkFixture, scenario: Scenario, label: str) -> None:
    benchmark.pedantic(run, args=(scenario, label), rounds=3, warmup_rounds=1)
