"""The same cluster told in another order, and answers compared whatever the order."""

from __future__ import annotations

import numpy as np

from assignors.model.columns import IntArray
from assignors.model.ids import TopicPartition
from assignors.replicas.state import NO_BROKER, ClusterState

ReplicasByPartition = frozenset[tuple[TopicPartition, tuple[int, ...]]]
"""Who holds what, by names and ids."""


def replicas_by_partition(state: ClusterState, replicas: IntArray) -> ReplicasByPartition:
    """The replicas of every partition as broker ids."""
    ids = np.append(state.ids, NO_BROKER)[replicas]
    return frozenset(
        (state.key(row), tuple(broker for broker in held if broker != NO_BROKER))
        for row, held in enumerate(ids.tolist())
    )


def shuffle_state(state: ClusterState, generator: np.random.Generator) -> ClusterState:
    """The same cluster with its brokers, topics and partitions in another order."""
    brokers, topics = generator.permutation(len(state.brokers)), generator.permutation(len(state.topics))
    rows = generator.permutation(state.num_partitions)
    return state.reordered(rows, brokers, topics)
