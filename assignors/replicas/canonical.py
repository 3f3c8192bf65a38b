"""A cluster told in one order, whatever order its input had."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from assignors.columns import IntArray
from assignors.replicas.state import NOBODY, ClusterState


@dataclass(frozen=True, slots=True, eq=False)
class Canonical:
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
    def of(cls, state: ClusterState) -> Canonical:
        """Sort a cluster."""
        brokers = np.argsort(state.ids)
        topics = np.array(sorted(range(len(state.topics)), key=state.topics.__getitem__), dtype=np.int64)
        topic_place, broker_place = np.argsort(topics), np.append(np.argsort(brokers), NOBODY)
        rows = np.lexsort((state.partition, topic_place[state.topic]))
        part = state.take(rows)
        told = replace(
            part,
            brokers=tuple(state.brokers[row] for row in brokers),
            topics=tuple(state.topics[row] for row in topics),
            topic=topic_place[part.topic],
            replicas=broker_place[part.replicas],
            leader=broker_place[part.leader],
        )
        return cls(told, rows, brokers)

    def told_back(self, replicas: IntArray) -> IntArray:
        """Replicas of `state`, shape (P, W), in the order of the input."""
        back = np.empty_like(replicas)
        back[self.rows] = np.append(self.brokers, NOBODY)[replicas]
        return back
