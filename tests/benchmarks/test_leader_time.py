"""Predicted and measured compute time of a group leader, for problems that Kafka solves in time: `make bench`."""

from __future__ import annotations

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from assignors.tasks.high_availability import HighAvailability
from scenarios.problems import parse_problem
from tests.benchmarks.conftest import AskKafka, Json
from tests.benchmarks.efforts import efforts_of, prediction
from tests.benchmarks.shapes import rack_problem

pytestmark = pytest.mark.bench

FRESH = [(60, 6), (150, 15), (200, 40), (400, 20)]
LARGE = [(1_000, 20, 0.05), (500, 50, 0.02), (1_000, 50, 0.02), (1_000, 100, 0.005)]


@pytest.mark.parametrize("strategy", ["min_traffic", "balance_subtopology"])
@pytest.mark.parametrize(("tasks", "clients"), FRESH)
def test_a_fresh_application(
    benchmark: BenchmarkFixture, ask_kafka: AskKafka, strategy: str, tasks: int, clients: int
) -> None:
    check(benchmark, ask_kafka, rack_problem(strategy, tasks, clients), "fresh")


@pytest.mark.parametrize(("tasks", "clients", "moving"), LARGE)
def test_a_large_application(
    benchmark: BenchmarkFixture, ask_kafka: AskKafka, tasks: int, clients: int, moving: float
) -> None:
    problem = rack_problem("min_traffic", tasks, clients, moving=moving, standbys=0)
    check(benchmark, ask_kafka, problem, f"{moving:.1%} moving")


def check(benchmark: BenchmarkFixture, ask_kafka: AskKafka, problem: Json, case: str) -> None:
    """Predict the time and measure Kafka's."""
    tasks, clients = len(problem["tasks"]), len(problem["clients"])
    strategy = problem["configs"]["rack_aware_assignment_strategy"]
    benchmark.extra_info["what"] = f"`{strategy}` {tasks:,} × {clients:,}, {case}"
    efforts = benchmark.pedantic(efforts_of, args=(HighAvailability(), parse_problem(problem)), rounds=1)
    benchmark.extra_info.update(prediction(efforts))
    ask_kafka(problem)
