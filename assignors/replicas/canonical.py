"""A cluster told in one order, whatever order its input had."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assignors.model.columns import IntArray
from assignors.replicas.state import NO_BROKER, ClusterState


@dataclass(frozen=True, slots=True, eq=False)
class CanonicalState:
    """A cluster with brokers by id, topics by name and partitions by topic and number.

    Attributes:
        state: the cluster in that order; the order of replicas within a partition is kept, for it means something.
        rows: shape (P,); the row that each partition of `state` has in the input.
        brokers: shape (B,); the same of brokers.
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
        """Replicas of `state`, shape (P, W), in the order of the input."""
        back = np.empty_like(replicas)
        back[self.rows] = np.append(self.brokers, NO_BROKER)[replicas]
        return back
