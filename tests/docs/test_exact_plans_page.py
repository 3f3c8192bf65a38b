"""The figures of docs/explanation/exact-plans.md are current."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assignors.model.columns import IntArray
from assignors.replicas.exact_flow import ExactFlow
from assignors.replicas.plan import PlanRequest
from assignors.replicas.plan_evaluation import measure_placement
from assignors.replicas.planning import plan
from assignors.replicas.state import ClusterState
from tests.assignors.replicas.clusters import random_cluster

pytestmark = pytest.mark.answers

PAGE = (Path(__file__).parents[2] / "docs" / "explanation" / "exact-plans.md").read_text(encoding="utf-8")
TEXT = " ".join(PAGE.split())
PLAIN = PlanRequest()


def planned(state: ClusterState, assignor: ExactFlow) -> IntArray:
    proposal = plan(assignor, state, PLAIN)
    assert proposal.replicas is not None, proposal.reason
    return proposal.replicas


def worst_range(state: ClusterState, replicas: IntArray) -> int:
    """Return the range of leaders after the failure of the worst broker."""
    failed = measure_placement(state, PLAIN, replicas).broker_down
    assert failed is not None
    return failed.worst_range


def test_leaders_after_a_broker_failure_are_current() -> None:
    ranges = []
    for seed in range(10):
        state = random_cluster(seed, num_brokers=12, partitions=(240,), racks=0, skew=0.0)
        plans = (planned(state, ExactFlow(spreads_failover=spreads)) for spreads in (False, True))
        ranges.append([worst_range(state, replicas) for replicas in (state.replicas, *plans)])
    before, balanced, spread = np.mean(ranges, axis=0)
    text = f"{before:.1f} before, {balanced:.1f} with balanced leaders, and {spread:.1f} with first followers"
    assert text in TEXT


def test_leaders_of_random_clusters_are_balanced() -> None:
    numbers = range(20)
    for number in numbers:
        draw = np.random.default_rng(number)
        partitions = tuple(draw.integers(1, 21, size=draw.integers(1, 4)).tolist())
        for factor in (2, 3):
            state = random_cluster(
                number,
                num_brokers=int(draw.integers(4, 10)),
                partitions=partitions,
                factor=factor,
                racks=int(draw.integers(0, 5)),
                skew=float(draw.choice([0.0, 1.0, 3.0])),
            )
            assert measure_placement(state, PLAIN, planned(state, ExactFlow())).leaders_range <= 1
    assert f"in all of {2 * len(numbers)} random clusters" in TEXT
