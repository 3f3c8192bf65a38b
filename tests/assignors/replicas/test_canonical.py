"""A cluster told in one order."""

from __future__ import annotations

import numpy as np

from assignors.replicas.canonical import Canonical
from assignors.replicas.shuffling import shuffled
from tests.assignors.replicas.clusters import random_cluster


def test_whatever_the_order_of_the_input_the_same_cluster_comes_of_it() -> None:
    state = random_cluster(1, num_brokers=12, partitions=(12, 3, 11))
    expected = Canonical.of(state).state
    for seed in range(10):
        told = Canonical.of(shuffled(state, np.random.default_rng(seed))).state
        assert told.brokers == expected.brokers
        assert told.topics == expected.topics == ("topic-a", "topic-b", "topic-c")
        assert [told.name(row) for row in range(26)] == [expected.name(row) for row in range(26)]
        assert told.replicas.tolist() == expected.replicas.tolist()
        assert told.leader.tolist() == expected.leader.tolist()


def test_replicas_are_told_back_in_the_order_of_the_input() -> None:
    state = shuffled(random_cluster(1, num_brokers=12), np.random.default_rng(4))
    canonical = Canonical.of(state)
    assert canonical.state.replicas.tolist() != state.replicas.tolist()
    assert canonical.told_back(canonical.state.replicas).tolist() == state.replicas.tolist()
