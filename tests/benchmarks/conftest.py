"""The measurements of every benchmark, from which `python -m tools.performance_page` makes its tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from tests.benchmarks.memory import peak_bytes
from tests.benchmarks.shapes import warm_up
from tools.artifacts import streams_oracle
from tools.java import ClusterError, build_classpath
from tools.kafka_oracle.__main__ import time_problem

Json = dict[str, Any]
Measure = Callable[..., Any]
AskKafka = Callable[[Json], None]

WHY_NO_KAFKA = pytest.StashKey[str]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("benchmarks")
    group.addoption("--kafka", default="", metavar="VERSION", help="time this release as well (needs Maven and a JDK)")
    group.addoption("--limit", default=20.0, type=float, metavar="S", help="time limit of Kafka for a problem")
    group.addoption("--days", default=30, type=int, help="days of readings; a longer history has ten times as many")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if WHY_NO_KAFKA in config.stash:
        terminalreporter.write_line(f"Kafka was not timed: {config.stash[WHY_NO_KAFKA]}")


@pytest.fixture(scope="session")
def kafka_version(request: pytest.FixtureRequest) -> str:
    """Return the release to time as well; empty if none is requested or available."""
    version = str(request.config.getoption("kafka", ""))
    try:
        if version:
            build_classpath(streams_oracle(version))
    except ClusterError as error:
        request.config.stash[WHY_NO_KAFKA] = str(error)
        return ""
    return version


@pytest.fixture
def measure(benchmark: BenchmarkFixture) -> Measure:
    """Return a function that measures a call and returns its result.

    It measures the time after a warm-up, and the peak memory in a new process.
    """

    def measured(
        function: Callable[..., Any],
        *arguments: Any,
        rounds: int = 5,
        warmup: int = 1,
        compiled: bool = True,
        **about: Any,
    ) -> Any:
        warm_up()
        result = benchmark.pedantic(function, args=arguments, rounds=rounds, warmup_rounds=warmup)
        benchmark.extra_info.update(about, peak_bytes=peak_bytes(function, *arguments, compiled=compiled))
        return result

    return measured


@pytest.fixture
def ask_kafka(benchmark: BenchmarkFixture, kafka_version: str, request: pytest.FixtureRequest) -> AskKafka:
    """Return a function that times a warmed-up Kafka on the same problem, if a release is available."""

    def asked(problem: Json) -> None:
        if kafka_version:
            limit_s = request.config.getoption("limit")
            timed = time_problem(kafka_version, problem, budget_s=limit_s, limit_s=limit_s)
            benchmark.extra_info["kafka"] = {"version": kafka_version, **timed.summary()}

    return asked
