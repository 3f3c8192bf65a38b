"""The order of replicas within partitions, with as few changes as possible.

Tables have shape (P, W), as `NormalizedProblem.held`.
"""

from __future__ import annotations

import numpy as np

from assignors.model.columns import IntArray
from assignors.replicas.normalized_problem import NormalizedProblem
from assignors.replicas.state import NO_BROKER


def keep_order(problem: NormalizedProblem, pairs: IntArray) -> IntArray:
    """Return the replicas in order: kept replicas keep their positions; added ones fill the gaps first, then the end.

    Args:
        problem: the current replicas.
        pairs: the wanted replicas, as sorted pairs (partition * brokers + broker).
    """
    width = int(problem.factors.max(initial=0))
    old = np.full((problem.num_partitions, max(width, problem.held.shape[1])), NO_BROKER, dtype=np.int64)
    old[:, : problem.held.shape[1]] = problem.held
    pair = np.arange(problem.num_partitions)[:, None] * problem.num_brokers + old
    is_kept = (old != NO_BROKER) & np.isin(pair, pairs)
    table = np.where(is_kept, old, NO_BROKER)
    partition, broker = np.divmod(np.setdiff1d(pairs, pair[is_kept]), problem.num_brokers)
    rank_in_partition = np.arange(len(partition)) - np.searchsorted(partition, partition)
    gaps_first = np.argsort(is_kept, axis=1, kind="stable")
    table[partition, gaps_first[partition, rank_in_partition]] = broker
    replicas_first = np.argsort(table == NO_BROKER, axis=1, kind="stable")
    return np.take_along_axis(table, replicas_first, axis=1)[:, :width]


def swap_to_position(table: IntArray, position: int, broker: IntArray) -> IntArray:
    """Swap the given broker of each partition with the broker at a position; NO_BROKER leaves a partition unchanged."""
    rows = np.flatnonzero(broker != NO_BROKER)
    if not len(rows):
        return table
    current_position = (table[rows] == broker[rows, None]).argmax(axis=1)
    changed = table.copy()
    changed[rows, current_position] = table[rows, position]
    changed[rows, position] = broker[rows]
    return changed
