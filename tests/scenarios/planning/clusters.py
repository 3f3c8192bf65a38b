"""A cluster and its plan input, for tests of planning."""

from __future__ import annotations

from assignors.replicas.state import BrokerState, ClusterState
from scenarios.planning.plan_input import PlanInput, PlanOptions, build_plan_input

GB = 10**9
REPLICAS = {
    ("orders", 0): [1, 2],
    ("orders", 1): [1, 2],
    ("orders", 2): [1, 2],
    ("payments", 0): [2, 1],
    ("payments", 1): [2, 3],
}


def build_cluster(*, racks: bool = True, sizes: bool = True) -> ClusterState:
    """Return three brokers in three racks with two topics; most replicas are on brokers 1 and 2."""
    brokers = [BrokerState(id, f"az{id}" if racks else None) for id in (1, 2, 3)]
    return ClusterState.of(brokers, REPLICAS, size_bytes=dict.fromkeys(REPLICAS, GB) if sizes else None)


def build_input(options: PlanOptions | None = None, state: ClusterState | None = None) -> PlanInput:
    """Return the plan input of the cluster; all options are optional."""
    return build_plan_input(build_cluster() if state is None else state, options or PlanOptions())
