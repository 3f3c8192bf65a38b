"""Replicas as lists, for strategies that process them one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from assignors.model.columns import IntArray
from assignors.replicas.state import NO_BROKER, ClusterState


def replica_lists(state: ClusterState) -> list[list[int]]:
    """Return the replicas of every partition, as rows of brokers in replica order."""
    return [[broker for broker in held if broker != NO_BROKER] for held in state.replicas.tolist()]


def replica_table(lists: Sequence[Sequence[int]]) -> IntArray:
    """Return the lists as an array as in `Plan.replicas`, shape (P, W)."""
    width = max(map(len, lists), default=0)
    padded = [[*held, *[NO_BROKER] * (width - len(held))] for held in lists]
    return np.array(padded, dtype=np.int64).reshape(len(lists), width)


def rows_by_topic(state: ClusterState) -> Iterator[tuple[str, list[int]]]:
    """Yield the topics that have partitions, in the order of `ClusterState.topics`, with their rows in the input's order."""
    order = np.argsort(state.topic, kind="stable")
    ends = np.cumsum(np.bincount(state.topic, minlength=len(state.topics)))
    for name, rows in zip(state.topics, np.split(order, ends[:-1]), strict=True):
        if len(rows):
            yield name, rows.tolist()
