"""Topics with skewed leaders, and the fewest changes that balance them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from assignors.flow.min_cost import Arcs, min_cost_flow
from assignors.model.columns import IntArray
from assignors.replicas.state import NO_BROKER, BrokerState, ClusterState, count_leaders


def topic(replicas: IntArray | Sequence[Sequence[int]], num_brokers: int) -> ClusterState:
    """Build a topic with these broker ids as replicas, preferred leader first."""
    rows = [[broker for broker in row if broker != NO_BROKER] for row in np.asarray(replicas, dtype=object).tolist()]
    return ClusterState.of(map(BrokerState, range(num_brokers)), {("t", p): row for p, row in enumerate(rows)})


def loads(*chains: Sequence[int], alone: Sequence[int] = ()) -> ClusterState:
    """Build partitions in chains, each followed by the next of two brokers, and some without a choice.

    Args:
        chains: brokers; each but the last leads a partition that the next one follows.
        alone: the only replicas of further partitions.
    """
    held = [[giver, taker] for chain in chains for giver, taker in pairwise(chain)]
    held += [[broker] for broker in alone]
    broker_ids = sorted({broker for row in held for broker in row})
    return ClusterState.of(map(BrokerState, broker_ids), {("t", p): row for p, row in enumerate(held)})


def even_sets(draw: np.random.Generator, num_partitions: int, num_brokers: int, factor: int = 3) -> IntArray:
    """Return random sets of replicas with equal counts of brokers."""
    table = draw.permutation(np.resize(np.arange(num_brokers), num_partitions * factor)).reshape(-1, factor)
    while len(twice := np.flatnonzero((np.diff(np.sort(table, axis=1)) == 0).any(axis=1))):
        for row in twice:
            other, place, other_place = draw.integers(num_partitions), draw.integers(factor), draw.integers(factor)
            table[row, place], table[other, other_place] = table[other, other_place], table[row, place]
    return table


def skewed(draw: np.random.Generator, replicas: IntArray, share: float) -> IntArray:
    """Return the same replicas; in a share of the partitions, the most frequent broker leads."""
    popularity = draw.random(int(replicas.max()) + 1)
    by_popularity = np.take_along_axis(replicas, np.argsort(-popularity[replicas], axis=1), axis=1)
    return np.where(draw.random(len(replicas))[:, None] < share, by_popularity, replicas)


def leader_range(replicas: IntArray, num_brokers: int) -> int:
    """Return the range of leader counts."""
    return int(np.ptp(count_leaders(replicas, num_brokers)))


def changes(state: ClusterState, replicas: IntArray | None) -> int:
    """Return the number of partitions with another preferred leader."""
    assert replicas is not None
    return int((replicas[:, 0] != state.replicas[:, 0]).sum())


def min_leader_changes_per_topic(state: ClusterState) -> int | None:
    """Return the fewest leader changes after which leader counts differ by at most 1; None if that is impossible."""
    count, brokers = state.num_partitions, len(state.brokers)
    share, rest = divmod(count, brokers)
    row, column = np.nonzero(state.replicas != NO_BROKER)
    broker = count + np.arange(brokers)
    arcs = Arcs.joined(
        Arcs(row, count + state.replicas[row, column], np.ones_like(row), (column > 0).astype(np.int64)),
        Arcs(broker, np.full(brokers, count + brokers), np.full(brokers, share), np.zeros_like(broker)),
        Arcs(broker, np.full(brokers, count + brokers + 1), np.full(brokers, int(rest > 0)), np.zeros_like(broker)),
    )
    supply = np.concatenate([np.ones(count), np.zeros(brokers), [-share * brokers, -rest]]).astype(np.int64)
    flows = min_cost_flow(arcs, supply)
    return None if flows is None else int((flows * arcs.cost).sum())
