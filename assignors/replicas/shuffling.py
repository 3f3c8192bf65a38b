"""The same cluster told in another order, and answers compared whatever the order."""

from __future__ import annotations

import numpy as np

from assignors.columns import IntArray
from assignors.ids import TopicPartition
from assignors.replicas.state import NOBODY, ClusterState

Placement = frozenset[tuple[TopicPartition, tuple[int, ...]]]
"""Who holds what, by names and ids."""


def placement(state: ClusterState, replicas: IntArray) -> Placement:
    """The replicas of every partition as broker ids."""
    ids = np.append(state.ids, NOBODY)[replicas]
    return frozenset(
        (state.key(row), tuple(broker for broker in held if broker != NOBODY)) for row, held in enumerate(ids.tolist())
    )


def shuffled(state: ClusterState, generator: np.random.Generator) -> ClusterState:
    """The same cluster with its brokers, topics and partitions in another order."""
    brokers, topics = generator.permutation(len(state.brokers)), generator.permutation(len(state.topics))
    rows = generator.permutation(state.num_partitions)
    return state.reordered(rows, brokers, topics)
