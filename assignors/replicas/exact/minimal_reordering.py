"""The order of replicas within partitions, changed as little as can be.

Tables have shape (P, W), as `Question.held`.
"""

from __future__ import annotations

import numpy as np

from assignors.model.columns import IntArray
from assignors.replicas.normalized_problem import NormalizedProblem
from assignors.replicas.state import NO_BROKER


def keep_order(question: NormalizedProblem, pairs: IntArray) -> IntArray:
    """Replicas that stay keep their places; those that are added take the places of those that go, then new ones.

    Args:
        question: who holds what today.
        pairs: who shall: partition x brokers + broker, sorted.
    """
    width = int(question.factors.max(initial=0))
    old = np.full((question.num_partitions, max(width, question.held.shape[1])), NO_BROKER, dtype=np.int64)
    old[:, : question.held.shape[1]] = question.held
    number = np.arange(question.num_partitions)[:, None] * question.num_brokers + old
    stays = (old != NO_BROKER) & np.isin(number, pairs)
    table = np.where(stays, old, NO_BROKER)
    partition, broker = np.divmod(np.setdiff1d(pairs, number[stays]), question.num_brokers)
    turn = np.arange(len(partition)) - np.searchsorted(partition, partition)
    gap = np.argsort(stays, axis=1, kind="stable")
    table[partition, gap[partition, turn]] = broker
    behind = np.argsort(table == NO_BROKER, axis=1, kind="stable")
    return np.take_along_axis(table, behind, axis=1)[:, :width]


def swap_to_position(table: IntArray, place: int, broker: IntArray) -> IntArray:
    """In every partition the broker named for it changes places with the one at that place; NOBODY changes nothing."""
    rows = np.flatnonzero(broker != NO_BROKER)
    if not len(rows):
        return table
    here = (table[rows] == broker[rows, None]).argmax(axis=1)
    changed = table.copy()
    changed[rows, here] = table[rows, place]
    changed[rows, place] = broker[rows]
    return changed
