"""Clusters in canonical order."""

from __future__ import annotations

import numpy as np

from assignors.replicas.normalized_problem import CanonicalState
from assignors.replicas.plan_evaluation import shuffle_state
from tests.assignors.replicas.clusters import random_cluster


def test_every_input_order_gives_the_same_cluster() -> None:
    state = random_cluster(1, num_brokers=12, partitions=(12, 3, 11))
    expected = CanonicalState.of(state).state
    for seed in range(10):
        shuffled = CanonicalState.of(shuffle_state(state, np.random.default_rng(seed))).state
        assert shuffled.brokers == expected.brokers
        assert shuffled.topics == expected.topics == ("topic-a", "topic-b", "topic-c")
        assert [shuffled.name(row) for row in range(26)] == [expected.name(row) for row in range(26)]
        assert shuffled.replicas.tolist() == expected.replicas.tolist()
        assert shuffled.leader.tolist() == expected.leader.tolist()


def test_replicas_are_returned_in_input_order() -> None:
    state = shuffle_state(random_cluster(1, num_brokers=12), np.random.default_rng(4))
    canonical = CanonicalState.of(state)
    assert canonical.state.replicas.tolist() != state.replicas.tolist()
    assert canonical.to_input_order(canonical.state.replicas).tolist() == state.replicas.tolist()
