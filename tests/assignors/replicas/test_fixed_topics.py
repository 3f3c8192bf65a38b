"""Topics that may not change use capacity."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assignors.replicas.capacity_packing import CapacityPacking
from assignors.replicas.goal_chain import GoalChain
from assignors.replicas.plan import PlanRequest, PlanStatus
from assignors.replicas.plan_evaluation import replicas_by_partition, shuffle_state
from assignors.replicas.planning import plan
from assignors.replicas.state import BrokerState, ClusterState, TopicRetention
from assignors.replicas.topicmappr import TopicmapprStorage

PLAIN = PlanRequest(rack_aware=False)


def cluster(*, network: int | None = None, other: int = 90, sizes: tuple[int, ...] = (5, 5)) -> ClusterState:
    """Build a cluster: broker 0 holds all movable replicas and a large fixed topic, brokers 1 and 2 are empty."""
    held = {("other", 0): [0]} | {("mine", p): [0] for p in range(len(sizes))}
    size = {("other", 0): other} | {("mine", p): bytes_ for p, bytes_ in enumerate(sizes)}
    broker_states = [BrokerState(i, capacity_bytes=100, capacity_bytes_per_s=network) for i in range(3)]
    return ClusterState.of(
        broker_states, held, size_bytes=size, retention=dict.fromkeys(("other", "mine"), TopicRetention(ms=1_000))
    )


def test_packing_respects_the_bytes_of_fixed_topics() -> None:
    proposal = plan(CapacityPacking(), cluster(sizes=(8, 8)), PLAIN, ["mine"])
    assert proposal.replicas is not None
    assert proposal.replicas[0].tolist() == [0]
    assert proposal.value == 1
    assert proposal.replicas[1:, 0].tolist() in ([1, 1], [2, 2])


def test_network_is_shared_with_fixed_topics() -> None:
    proposal = plan(CapacityPacking(), cluster(network=94), PLAIN, ["mine"])
    assert proposal.replicas is not None
    assert 0 not in proposal.replicas[1:, 0].tolist()


def test_balance_includes_fixed_topics() -> None:
    proposal = plan(CapacityPacking(objective="balance"), cluster(), PLAIN, ["mine"])
    assert (proposal.value, proposal.bound) == (90.0, 90.0)
    assert proposal.replicas is not None
    assert 0 not in proposal.replicas[1:, 0].tolist()


def test_rate_of_a_fixed_topic_must_be_known() -> None:
    state = replace(cluster(network=100), retention=(TopicRetention(ms=None), TopicRetention(ms=1_000)))
    proposal = plan(CapacityPacking(), state, PLAIN, ["mine"])
    assert proposal.status == PlanStatus.NOT_APPLICABLE
    assert "other (retention.ms=-1)" in proposal.reason


def test_disk_goals_include_fixed_topics() -> None:
    chain = GoalChain(goals=("DiskCapacityGoal",), disk_threshold=0.9, only_new_receive=False)
    proposal = plan(chain, cluster(), PLAIN, ["mine"])
    assert proposal.replicas is not None
    assert 0 not in proposal.replicas[1:, 0].tolist()


def test_free_storage_excludes_fixed_topics() -> None:
    state = cluster(other=50, sizes=(9,))
    request = PlanRequest(brokers=(0, 1, 2), replication_factor=2)
    moved = replace(
        state, brokers=(state.brokers[0], BrokerState(1, capacity_bytes=30), BrokerState(2, capacity_bytes=100))
    )
    grown = replace(moved, replicas=np.array([[2], [0]]), leader=np.array([2, 0]))
    proposal = plan(TopicmapprStorage(), grown, request, ["mine"])
    assert proposal.replicas is not None
    assert proposal.replicas[1].tolist() == [0, 2], "50 free there, 30 on broker 1"
    fuller = replace(grown, size_bytes=np.array([80, 9]))
    proposal = plan(TopicmapprStorage(), fuller, request, ["mine"])
    assert proposal.replicas is not None
    assert proposal.replicas[1].tolist() == [0, 1], "20 free on broker 2"


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["fewest", "balance"]))
def test_no_disk_overflows_in_any_input_order(seed: int, objective: Any) -> None:
    draw = np.random.default_rng(seed)
    broker_states = [BrokerState(i, f"az{i % 2}", capacity_bytes=int(draw.integers(60, 90))) for i in range(4)]
    held = {(topic, p): draw.permutation(4)[:2].tolist() for topic in ("mine", "other") for p in range(4)}
    sizes = {key: int(draw.integers(1, 10)) for key in held}
    state = ClusterState.of(broker_states, held, size_bytes=sizes)
    assignor = CapacityPacking(objective=objective)
    proposal = plan(assignor, state, PlanRequest(), ["mine"])
    assert proposal.replicas is not None, proposal.reason
    assert state.size_bytes is not None
    for row, broker in enumerate(broker_states):
        used = int(state.size_bytes[(proposal.replicas == row).any(axis=1)].sum())
        assert used <= (broker.capacity_bytes or 0)
    if objective == "balance":
        peak = max(
            -(
                -int(state.size_bytes[(proposal.replicas == row).any(axis=1)].sum())
                * 1_000
                // (broker.capacity_bytes or 1)
            )
            for row, broker in enumerate(broker_states)
        )
        assert proposal.value is not None
        assert peak <= proposal.value * 10 + 1e-9
    shuffled = shuffle_state(state, draw)
    other = plan(assignor, shuffled, PlanRequest(), ["mine"])
    assert other.replicas is not None
    assert replicas_by_partition(shuffled, other.replicas) == replicas_by_partition(state, proposal.replicas)


@pytest.mark.parametrize("topics", [None, ["mine", "other"]])
def test_no_partition_is_fixed_without_a_topic_filter(topics: list[str] | None) -> None:
    proposal = plan(CapacityPacking(objective="balance"), cluster(), PLAIN, topics)
    assert proposal.value == 90.0
