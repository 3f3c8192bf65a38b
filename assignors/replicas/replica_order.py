"""Conversion of pairs of partition and broker to ordered replicas, as `Plan.replicas` holds them."""

from __future__ import annotations

import numpy as np

from assignors.model.columns import IntArray
from assignors.replicas.normalized_problem import NormalizedProblem
from assignors.replicas.state import NO_BROKER


def current_positions(problem: NormalizedProblem, partition: IntArray, broker: IntArray) -> IntArray:
    """Return the current position of each broker among the replicas of its partition; W for a broker without a replica.

    `partition`, shape (N,): the partitions. `broker`, shape (N,): indices in `problem.brokers`.
    """
    is_held = problem.held[partition] == broker[:, None]
    positions: IntArray = np.where(is_held.any(axis=1), is_held.argmax(axis=1), problem.held.shape[1])
    return positions


def order_replicas(
    problem: NormalizedProblem, partition: IntArray, broker: IntArray, *priorities: IntArray
) -> IntArray:
    """Return replicas as `Plan.replicas` holds them.

    `problem`: the partitions and brokers. `partition`, shape (N,): the partition of each replica. `broker`, shape (N,):
    the broker of each replica. `priorities`, shape (N,) each: the replicas of a partition are sorted by the first, then
    by the second.
    """
    order = np.lexsort((*reversed(priorities), partition))
    counts = np.bincount(partition, minlength=problem.num_partitions)
    starts = np.cumsum(counts) - counts
    column = np.arange(len(order)) - starts[partition[order]]
    table = np.full((problem.num_partitions, int(counts.max())), NO_BROKER, dtype=np.int64)
    table[partition[order], column] = broker[order]
    return problem.to_input_order(table)
