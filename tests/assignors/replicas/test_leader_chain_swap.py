"""Balance of leaders by one chain at a time."""

from __future__ import annotations

import numpy as np
import pytest

from assignors.model.columns import IntArray
from assignors.replicas.leader_chain_swap import LeaderChainSwap
from assignors.replicas.leader_max_flow import LeaderMaxFlow
from assignors.replicas.plan import PlanRequest
from assignors.replicas.plan_evaluation import replicas_by_partition, shuffle_state
from assignors.replicas.planning import plan
from assignors.replicas.state import BrokerState, ClusterState, added_replicas, count_leaders
from tests.assignors.replicas.clusters import ids, random_cluster
from tests.assignors.replicas.topics import (
    changes,
    even_sets,
    leader_range,
    loads,
    min_leader_changes_per_topic,
    skewed,
    topic,
)


def swapped(state: ClusterState) -> IntArray:
    proposal = plan(LeaderChainSwap(), state, PlanRequest())
    assert proposal.replicas is not None, proposal.reason
    return proposal.replicas


def test_inner_brokers_of_a_chain_keep_their_number_of_leaders() -> None:
    state = loads((1, 2, 4), alone=[1, 2, 3])
    assert count_leaders(state.replicas, 4).tolist() == [2, 2, 1, 0]
    replicas = swapped(state)
    assert ids(state, replicas) == [[2, 1], [4, 2], [1], [2], [3]]
    assert count_leaders(replicas, 4).tolist() == [1, 2, 1, 1]


def test_broker_with_fewest_leaders_receives_even_if_another_is_nearer() -> None:
    state = topic([[0, 1], [1, 2], [0], [0]], 3)
    assert ids(state, swapped(state)) == [[1, 0], [2, 1], [0], [0]]


def test_shorter_of_two_chains_is_taken() -> None:
    state = topic([[0, 1], [1, 2], [0, 2], [1], [0]], 3)
    assert ids(state, swapped(state))[:3] == [[0, 1], [1, 2], [2, 0]]


def test_broker_without_a_chain_does_not_block_others() -> None:
    state = topic([[0], [0], [0], [0], [1, 2], [1, 2], [1, 2]], 3)
    assert sorted(count_leaders(swapped(state), 3).tolist()) == [1, 2, 4]


@pytest.mark.parametrize("seed", range(20))
def test_skew_is_minimal(seed: int) -> None:
    draw = np.random.default_rng(seed)
    state = topic(np.argsort(draw.random((25, 12)) * np.arange(1, 13), axis=1)[:, :2], 12)
    replicas = swapped(state)
    assert not added_replicas(state.replicas, replicas).any()
    flow = plan(LeaderMaxFlow(), state, PlanRequest()).replicas
    assert flow is not None
    squares = [(count_leaders(rows, 12) ** 2).sum() for rows in (replicas, flow)]
    assert squares[0] <= squares[1]


def test_many_overloaded_brokers_change_more_leaders_than_a_flow() -> None:
    chained, flowed = 0, 0
    for seed in range(8):
        draw = np.random.default_rng(seed)
        state = topic(skewed(draw, even_sets(draw, 180, 122), 0.3), 122)
        replicas = swapped(state)
        assert leader_range(replicas, 122) <= 1
        fewest = min_leader_changes_per_topic(state)
        assert fewest is not None
        assert changes(state, replicas) >= fewest
        chained += changes(state, replicas)
        flowed += changes(state, plan(LeaderMaxFlow(), state, PlanRequest()).replicas)
    assert chained > 1.05 * flowed


def test_topics_are_balanced_separately() -> None:
    held = {(name, p): [0, 1] for name in ("a", "b") for p in range(4)}
    state = ClusterState.of(map(BrokerState, range(2)), held)
    replicas = swapped(state)
    assert [leader_range(replicas[state.topic == name], 2) for name in range(2)] == [0, 0]


def test_own_plan_changes_nothing_and_input_order_does_not_matter() -> None:
    for seed in range(10):
        state = random_cluster(seed, num_brokers=8, partitions=(20, 6), factor=2 + seed % 2, skew=2.0)
        replicas = swapped(state)
        assert swapped(state.with_replicas(replicas)).tolist() == replicas.tolist()
        shuffled = shuffle_state(state, np.random.default_rng(seed))
        assert replicas_by_partition(shuffled, swapped(shuffled)) == replicas_by_partition(state, replicas)
