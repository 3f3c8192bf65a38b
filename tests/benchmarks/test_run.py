"""Time to load and to run scenarios, of large applications and of their page: `make bench`."""

from __future__ import annotations

import cProfile
import gzip
import json
import pstats
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import simulator.assignment.leader as group_leader
from assignors import registry
from scenarios.load import Scenario, load, loads
from scenarios.problems import parse_problem
from scenarios.run import run
from simulator.assignment import measures
from simulator.assignment.rebalance import ComputedAssignment, compute_assignment
from simulator.assignment.threads import ThreadAssigner
from simulator.flows.execution import Execution
from simulator.processes.simulation import Simulation
from simulator.results.recording import TraceRecorder
from simulator.results.tabulation import tabulate
from tests.benchmarks.conftest import Measure
from tests.benchmarks.memory import ROOT, peak_bytes

pytestmark = pytest.mark.bench

LIBRARY = ROOT / "scenarios" / "library"
ASSIGNOR = "high_availability"
LEADER_SPEED = 1_000
GROUP = """
name: {name}
cluster:
  brokers: {{count: {brokers}, racks: [az1, az2, az3]}}
  topics:
    - {{name: orders, partitions: {half}, bytes_per_s: 50 MB/s, size: 500 GB}}
    - {{name: views, partitions: {half}, bytes_per_s: 25 MB/s, size: 500 GB}}
application:
  id: app
  leader_speed: {speed}        # at its real speed, the leader of the larger applications would never finish
  configs: {{{configs}}}
  subtopologies:
    - {{sources: [orders], stores: [{{name: totals, size: 100 GB, bytes_per_s: 5 MB/s, record_size: 100}}]}}
    - {{sources: [views]}}
clients:
  - {{name: app, count: {clients}, racks: [az1, az2, az3], threads: 4}}
{more_clients}events:
{events}
duration: {duration}
"""


def group(name: str, tasks: int, clients: int, configs: str, events: list[str], duration: str, added: int = 0) -> str:
    """Return a scenario of an application with two subtopologies; `new` are the added clients, which start later."""
    more = f"  - {{name: new, count: {added}, racks: [az1, az2, az3], threads: 4, starts: false}}\n" if added else ""
    return GROUP.format(
        name=name,
        brokers=30 if tasks > 10_000 else 9,
        half=tasks // 2,
        speed=LEADER_SPEED,
        configs=configs,
        clients=clients,
        more_clients=more,
        events="\n".join(f"  - {event}" for event in events),
        duration=duration,
    )


def day(tasks: int, clients: int) -> str:
    """Return a day with a rolling bounce every two hours, and crashes."""
    bounces = [f"{{at: {hour}h, rolling_bounce: {{clients: app, down: 20s, pause: 40s}}}}" for hour in range(2, 24, 2)]
    events = [*bounces, "{at: 5m, churn: {clients: app, crashes: 6/d, down: 10m}}"]
    configs = "rack.aware.assignment.strategy: min_traffic"
    return group("a day of bounces and churn", tasks, clients, configs, events, "24h")


def grown(events: list[str], duration: str) -> str:
    """Return 5,000 tasks on 500 clients, to which 100 are added after an hour."""
    configs = "rack.aware.assignment.strategy: min_traffic, num.standby.replicas: 1"
    return group("grown", 5_000, 500, configs, ["{at: 1h, scale_out: {clients: new}}", *events], duration, added=100)


def simulate(text: str) -> int:
    """Run a scenario, and return the number of its rebalances."""
    return len(run(loads(text), ASSIGNOR).rounds)


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return load(LIBRARY / "order_processing.yaml")


def test_loading(benchmark: BenchmarkFixture) -> None:
    benchmark(load, LIBRARY / "order_processing.yaml")


@pytest.mark.parametrize("label", ["HA", "HA min_traffic", "HA balance_subtopology", "streams sticky"])
def test_a_run(benchmark: BenchmarkFixture, scenario: Scenario, label: str) -> None:
    benchmark.pedantic(run, args=(scenario, label), rounds=3, warmup_rounds=1)


def short_run(scenario: Scenario, label: str) -> int:
    """Run a scenario with its tables, and return the number of its rebalances."""
    trace = run(scenario, label)
    tabulate(trace, label, 1)
    return len(trace.rounds)


def run_cold_start(label: str) -> int:
    return short_run(load(LIBRARY / "cold_start.yaml"), label)


@pytest.mark.parametrize("label", [ASSIGNOR, "legacy_sticky"])
def test_a_short_run(benchmark: BenchmarkFixture, label: str) -> None:
    arguments = (load(LIBRARY / "cold_start.yaml"), label)
    rebalances = benchmark.pedantic(short_run, args=arguments, rounds=20, warmup_rounds=1)
    benchmark.extra_info |= {
        "what": f"`cold_start`, `{label}`, a run of {rebalances} rebalances, with its tables",
        "goal_ms": 40,
        "peak_bytes": peak_bytes(run_cold_start, label, compiled=False),
    }


def test_a_rebalance(benchmark: BenchmarkFixture) -> None:
    text, calls = grown([], "3h"), list[tuple[Any, ...]]()

    def recorded(*arguments: Any) -> ComputedAssignment:
        calls.append(arguments)
        return compute_assignment(*arguments)

    with patch.object(group_leader, "compute_assignment", recorded):
        simulate(text)
    computed = benchmark.pedantic(compute_assignment, args=calls[-1], rounds=5, warmup_rounds=1)
    benchmark.extra_info |= {
        "what": "rebalance of 5,000 tasks on 600 clients, 1 standby, `min_traffic`",
        "goal_ms": 150,
        "peak_bytes": peak_bytes(simulate, text),
        "peer": f"Kafka {computed.leader_compute_ms * LEADER_SPEED / 3_600_000:.0f} h (predicted)",
    }


def test_a_rolling_restart(benchmark: BenchmarkFixture, measure: Measure) -> None:
    text = grown(["{at: 3h, rolling_bounce: {clients: app, down: 20s, pause: 40s}}"], "24h")
    what = "a day with a scale-out from 500 to 600 clients and a rolling restart of 500, 5,000 tasks"
    rebalances = measure(simulate, text, rounds=1, warmup=0, goal_ms=180_000, goal_bytes=2 * 10**9)
    benchmark.extra_info["what"] = f"{what}, {rebalances} rebalances"


def test_the_largest_group(benchmark: BenchmarkFixture, measure: Measure) -> None:
    events = ["{at: 30m, scale_out: {clients: new}}"]
    text = group("largest", 20_000, 1_800, "num.standby.replicas: 1", events, "40m", added=200)
    what = "20,000 tasks on 2,000 clients, 1 standby: loading, first assignment, a scale-out of 200 clients"
    rebalances = measure(simulate, text, rounds=1, warmup=0, goal_ms=60_000, goal_bytes=4 * 10**9)
    benchmark.extra_info["what"] = f"{what}, {rebalances} rebalances"


def test_one_assignment(measure: Measure) -> None:
    problem = Path(__file__).with_name("problems") / "rack-balance_subtopology-3000x300-r3x1-fresh.json.gz"
    state = parse_problem(json.loads(gzip.decompress(problem.read_bytes())))
    what = "`balance_subtopology`, 3,000 tasks on 300 clients, fresh: one assignment"
    measure(registry.make(registry.find("ha"), {}).assign, state, rounds=3, what=what, goal_ms=1_000)


def test_a_page(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    scenario, results, html = tmp_path / "day.yaml", tmp_path / "results", tmp_path / "page.html"
    scenario.write_text(day(1_000, 100))

    def command(*arguments: object) -> None:
        words = [sys.executable, "-m", "assignor_sim", *map(str, arguments)]
        subprocess.run(words, check=True, capture_output=True, cwd=ROOT)

    command("run", scenario, "--out", results)
    benchmark.pedantic(command, args=("report", results, "-o", html), rounds=1)
    benchmark.extra_info |= {
        "what": f"the page of a day of 1,000 tasks, from stored results, {html.stat().st_size / 1e6:.1f} MB of HTML",
        "goal_ms": 10_000,
        "peak_bytes": None,
    }


PARTS: Mapping[str, Callable[..., Any]] = {
    "the assignor": compute_assignment,
    "the leader's view": group_leader.Leader._build_state,
    "tasks of threads": ThreadAssigner.assign,
    "measures and costs": measures.measure,
    "applying assignments": Execution.assign,
    "recording rebalances": TraceRecorder.open_round,
    "crashes and starts": Simulation._apply,
}
"""The functions whose share of a run's time is reported; none of them calls another."""


def shares(profile: cProfile.Profile) -> dict[str, float]:
    """Return the fraction of the time in each of `PARTS`, including the functions that they call.

    Raises:
        KeyError: a run never calls one of the functions.
    """
    stats = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    total = sum(own for _, _, own, _, _ in stats.values())
    codes = {part: function.__code__ for part, function in PARTS.items()}
    return {part: stats[code.co_filename, code.co_firstlineno, code.co_name][3] / total for part, code in codes.items()}


@pytest.mark.parametrize(("tasks", "clients", "goal_s"), [(100, 10, 0.5), (1_000, 100, 5)])
def test_a_day_of_bounces_and_churn(benchmark: BenchmarkFixture, tasks: int, clients: int, goal_s: float) -> None:
    scenario = loads(day(tasks, clients))
    trace = benchmark.pedantic(run, args=(scenario, ASSIGNOR), rounds=3, warmup_rounds=1)
    assert len(trace.rounds) > 11 * clients
    with cProfile.Profile() as profile:
        run(scenario, ASSIGNOR)
    benchmark.extra_info |= {
        "what": f"{tasks:,} tasks on {clients} clients, a day",
        "rebalances": len(trace.rounds),
        "day_goal_s": goal_s,
        "shares": shares(profile),
    }
