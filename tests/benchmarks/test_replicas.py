"""Time of exact plans for large clusters: `make bench`."""

from __future__ import annotations

import pytest

from assignors.replicas.exact_flow import ExactFlow
from assignors.replicas.plan import Plan, PlanRequest
from assignors.replicas.replica_flow import min_replica_moves
from assignors.replicas.state import ClusterState
from tests.assignors.replicas.movement_bounds import min_leader_changes
from tests.benchmarks.clusters import even_cluster
from tests.benchmarks.conftest import Measure

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
