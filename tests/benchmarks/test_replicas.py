"""Time of exact plans for large clusters: `make bench`."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from assignor_sim import plan
from assignors.replicas.exact_flow import ExactFlow
from assignors.replicas.plan import Plan, PlanRequest
from assignors.replicas.replica_flow import min_replica_moves
from assignors.replicas.state import ClusterState
from tests.assignors.replicas.movement_bounds import min_leader_changes
from tests.benchmarks.clusters import even_cluster, write_cluster
from tests.benchmarks.conftest import Measure
from tests.benchmarks.memory import ROOT, peak_bytes

pytestmark = pytest.mark.bench

PLAIN = PlanRequest()


def changes(state: ClusterState) -> int:
    return min_leader_changes(state, PLAIN, state.replicas)


def moves(state: ClusterState) -> int:
    return min_replica_moves(state, PLAIN)


def planned(state: ClusterState) -> Plan:
    return ExactFlow().plan(state, PLAIN)


@pytest.mark.parametrize(("brokers", "partitions", "goal_ms"), [(1_000, 50_000, 1_000), (3_000, 100_000, 3_000)])
def test_exact_leaders(measure: Measure, brokers: int, partitions: int, goal_ms: int) -> None:
    state = even_cluster(brokers, partitions)
    about = {"what": f"exact leaders, {partitions:,} × {brokers:,}", "goal_ms": goal_ms, "goal_bytes": 2 * 10**8}
    measure(changes, state, rounds=3, compiled=False, **about)


@pytest.mark.parametrize(("brokers", "partitions", "new", "racks"), [(1_000, 50_000, 10, 0), (1_002, 50_000, 12, 3)])
def test_exact_replicas(measure: Measure, brokers: int, partitions: int, new: int, racks: int) -> None:
    state = even_cluster(brokers, partitions, new=new, racks=racks)
    where = f" in {racks} racks" if racks else ""
    about = {"what": f"exact replicas, {partitions:,} × {brokers:,}{where}, {new} of them new", "goal_ms": 6_000}
    measure(moves, state, rounds=3, compiled=False, **about)


def test_an_exact_plan(measure: Measure) -> None:
    state = even_cluster(1_002, 50_000, new=12, racks=3)
    measure(
        planned,
        state,
        rounds=3,
        compiled=False,
        what="`exact_flow`, 50,000 × 1,002 in 3 racks, 12 of them new",
        goal_ms=10_000,
    )


def planned_without(assignment: Path, brokers: Path, removed: int, strategy: str) -> str:
    """Plan the removal of a broker from files, and return the status of the plan."""
    comparison = plan(assignment, strategy, brokers=brokers, remove_brokers=[removed], num_orders=0)
    return comparison.results[0].status


@pytest.mark.parametrize(
    ("strategy", "partitions", "goal_s", "goal_bytes"),
    [
        ("exact_flow", 100_000, 15, 10**9),
        ("exact_flow", 350_000, 60, 3 * 10**9),
        ("three_phase_flow", 350_000, 30, 3 * 10**9),
    ],
)
def test_plan_that_removes_a_broker(
    benchmark: BenchmarkFixture, tmp_path: Path, strategy: str, partitions: int, goal_s: int, goal_bytes: int
) -> None:
    assignment, brokers = write_cluster(even_cluster(201, partitions, racks=3), tmp_path)

    def command(name: str) -> None:
        options = ["--brokers", brokers, "--remove-broker", "200", "--shuffles", "0", "--out", tmp_path / name]
        words = [sys.executable, "-m", "assignor_sim", "plan", assignment, "--strategy", name, *options]
        subprocess.run(list(map(str, words)), check=True, capture_output=True, cwd=ROOT)

    benchmark.pedantic(command, args=(strategy,), rounds=1)
    started = time.perf_counter()
    command("kafka_assigner")
    greedy_s = time.perf_counter() - started
    status = planned_without(assignment, brokers, 200, strategy)
    benchmark.extra_info |= {
        "what": f"`plan` with `{strategy}`: remove one of 201 brokers, {3 * partitions:,} replicas ({status})",
        "goal_ms": 1_000 * goal_s,
        "goal_bytes": goal_bytes,
        "peak_bytes": peak_bytes(planned_without, assignment, brokers, 200, strategy, compiled=False),
        "peer": f"`kafka_assigner` {greedy_s:.1f} s, ratio {benchmark.stats['median'] / greedy_s:.2f}",
    }
