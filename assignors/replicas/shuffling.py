"""Clusters in random order, and comparison of plans independent of the order."""

from __future__ import annotations

import numpy as np

from assignors.model.columns import IntArray
from assignors.model.ids import TopicPartition
from assignors.replicas.state import NO_BROKER, ClusterState

ReplicasByPartition = frozenset[tuple[TopicPartition, tuple[int, ...]]]
"""The replicas of all partitions, by names and ids, independent of the order."""


def replicas_by_partition(state: ClusterState, replicas: IntArray) -> ReplicasByPartition:
    """Return the replicas of every partition as broker ids."""
    ids = np.append(state.ids, NO_BROKER)[replicas]
    return frozenset(
        (state.partition_id(row), tuple(broker for broker in held if broker != NO_BROKER))
        for row, held in enumerate(ids.tolist())
    )


def shuffle_state(state: ClusterState, generator: np.random.Generator) -> ClusterState:
    """Return the same cluster with its brokers, topics and partitions in random order."""
    brokers, topics = generator.permutation(len(state.brokers)), generator.permutation(len(state.topics))
    rows = generator.permutation(state.num_partitions)
    return state.reordered(rows, brokers, topics)
