"""Time to load and to run a scenario: `make bench`."""

from __future__ import annotations

import cProfile
import pstats
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from scenarios.load import Scenario, load, loads
from scenarios.run import run
from simulator.results.tabulation import tabulate

pytestmark = pytest.mark.bench

LIBRARY = Path(__file__).parents[2] / "scenarios" / "library"


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return load(LIBRARY / "order_processing.yaml")


def test_loading(benchmark: BenchmarkFixture) -> None:
    benchmark(load, LIBRARY / "order_processing.yaml")


@pytest.mark.parametrize("label", ["HA", "HA min_traffic", "HA balance_subtopology", "streams sticky"])
def test_a_run(benchmark: BenchmarkFixture, scenario: Scenario, label: str) -> None:
    benchmark.pedantic(run, args=(scenario, label), rounds=3, warmup_rounds=1)


@pytest.mark.parametrize("label", ["high_availability", "legacy_sticky"])
def test_a_short_run_with_its_tables(benchmark: BenchmarkFixture, label: str) -> None:
    cold_start = load(LIBRARY / "cold_start.yaml")
    benchmark.pedantic(lambda: tabulate(run(cold_start, label), label, 1), rounds=10, warmup_rounds=1)


DAY = """
name: a day of bounces and churn
cluster:
  brokers: {{count: 9, racks: [az1, az2, az3]}}
  topics:
    - {{name: orders, partitions: {half}, bytes_per_s: 50 MB/s, size: 500 GB}}
    - {{name: views, partitions: {half}, bytes_per_s: 25 MB/s, size: 500 GB}}
application:
  id: app
  leader_speed: 1000        # at its real speed the leader of the larger application would never finish
  configs: {{rack.aware.assignment.strategy: min_traffic}}
  subtopologies:
    - {{sources: [orders], stores: [{{name: totals, size: 100 GB, bytes_per_s: 5 MB/s, record_size: 100}}]}}
    - {{sources: [views]}}
clients:
  - {{name: app, count: {clients}, racks: [az1, az2, az3], threads: 4}}
events:
{bounces}
  - {{at: 5m, churn: {{clients: app, crashes: 6/d, down: 10m}}}}
duration: 24h
"""


PARTS = {
    "the assignor": ("rebalance.py", "compute_assignment"),
    "the leader's view": ("leader.py", "_build_state"),
    "tasks of threads": ("leader.py", "_to_group_assignment"),
    "measures and costs": ("measures.py", "measure"),
    "applying assignments": ("execution.py", "assign"),
    "recording rebalances": ("recording.py", "open_round"),
    "crashes and starts": ("simulation.py", "_apply"),
}
"""The functions whose share of a run's time is reported; none of them calls another."""


def shares(profile: cProfile.Profile) -> dict[str, float]:
    """Return the fraction of the time in each of `PARTS`, including the functions that they call.

    Raises:
        KeyError: a run never calls one of the functions, for example because it was renamed.
    """
    stats = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    total = sum(own for _, _, own, _, _ in stats.values())
    spent = {(Path(file).name, function): through for (file, _, function), (_, _, _, through, _) in stats.items()}
    return {part: spent[where] / total for part, where in PARTS.items()}


@pytest.mark.parametrize(("tasks", "clients", "goal_s"), [(100, 10, 0.5), (1_000, 100, 20)])
def test_a_day_of_bounces_and_churn(benchmark: BenchmarkFixture, tasks: int, clients: int, goal_s: float) -> None:
    bounces = "\n".join(
        f"  - {{at: {hour}h, rolling_bounce: {{clients: app, down: 20s, pause: 40s}}}}" for hour in range(2, 24, 2)
    )
    scenario = loads(DAY.format(half=tasks // 2, clients=clients, bounces=bounces))
    trace = benchmark.pedantic(run, args=(scenario, "high_availability"), rounds=3, warmup_rounds=1)
    assert len(trace.rounds) > 11 * clients
    with cProfile.Profile() as profile:
        run(scenario, "high_availability")
    benchmark.extra_info |= {
        "what": f"{tasks:,} tasks on {clients} clients, a day",
        "rebalances": len(trace.rounds),
        "day_goal_s": goal_s,
        "shares": shares(profile),
    }
