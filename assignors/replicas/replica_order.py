"""From who holds what to replicas in order, as plans hold them."""

from __future__ import annotations

import numpy as np

from assignors.model.columns import IntArray
from assignors.replicas.normalized_problem import NormalizedProblem
from assignors.replicas.state import NO_BROKER


def current_positions(question: NormalizedProblem, partition: IntArray, broker: IntArray) -> IntArray:
    """Where brokers stand among the replicas of partitions today; W for one that holds none.

    Args:
        question: who holds what.
        partition: shape (N,).
        broker: shape (N,); places in `question.brokers`.
    """
    is_there = question.held[partition] == broker[:, None]
    places: IntArray = np.where(is_there.any(axis=1), is_there.argmax(axis=1), question.held.shape[1])
    return places


def order_replicas(
    question: NormalizedProblem, partition: IntArray, broker: IntArray, *priorities: IntArray
) -> IntArray:
    """Replicas as `Plan.replicas` holds them.

    Args:
        question: what was asked.
        partition: shape (N,); the partition of each replica.
        broker: shape (N,); its broker.
        priorities: shape (N,) each; replicas of a partition stand in the order of the first, then the second.
    """
    order = np.lexsort((*reversed(priorities), partition))
    counts = np.bincount(partition, minlength=question.num_partitions)
    starts = np.cumsum(counts) - counts
    column = np.arange(len(order)) - starts[partition[order]]
    table = np.full((question.num_partitions, int(counts.max())), NO_BROKER, dtype=np.int64)
    table[partition[order], column] = broker[order]
    return question.to_input_order(table)
