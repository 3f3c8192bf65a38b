"""A cluster in canonical order, independent of the order of the input."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assignors.model.columns import IntArray
from assignors.replicas.state import NO_BROKER, ClusterState


@dataclass(frozen=True, slots=True, eq=False)
class CanonicalState:
    """A cluster with brokers by id, topics by name, and partitions by topic and number.

    Attributes:
        state: the cluster in canonical order; replicas keep their order within a partition, which is significant.
        rows: shape (P,); the input row of each partition of `state`.
        brokers: shape (B,); the input row of each broker of `state`.
    """

    state: ClusterState
    rows: IntArray
    brokers: IntArray

    @classmethod
    def of(cls, state: ClusterState) -> CanonicalState:
        """Sort a cluster."""
        brokers = np.argsort(state.ids)
        topics = np.array(sorted(range(len(state.topics)), key=state.topics.__getitem__), dtype=np.int64)
        rows = np.lexsort((state.partition, np.argsort(topics)[state.topic]))
        return cls(state.reordered(rows, brokers, topics), rows, brokers)

    def to_input_order(self, replicas: IntArray) -> IntArray:
        """Convert replicas of `state`, shape (P, W), to the order and the broker rows of the input."""
        replicas_in_input_order = np.empty_like(replicas)
        replicas_in_input_order[self.rows] = np.append(self.brokers, NO_BROKER)[replicas]
        return replicas_in_input_order
