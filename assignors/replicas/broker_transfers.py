"""Replica transfers between brokers: moves from a losing to a receiving broker, and copies from a leader."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from assignors.model.columns import IntArray
from assignors.replicas.broker_loads import added_replicas
from assignors.replicas.state import NO_BROKER, ClusterState

Transfers = tuple[IntArray, IntArray, IntArray]
"""Partitions (rows of the state), and the source and the target broker of each transfer."""


def pair_moves(state: ClusterState, replicas: IntArray) -> Transfers:
    """Pair each broker that loses a replica with the broker that receives it.

    For several moved replicas of a partition, moves within a rack are paired first, then in replica order. An
    additional replica has the source NO_BROKER. Returns transfers that cover every added replica once.
    """
    rows, sources, targets = (np.concatenate(parts) for parts in zip(*_pair_moves(state, replicas), strict=True))
    return rows, sources, targets


def _pair_moves(state: ClusterState, replicas: IntArray) -> Iterator[Transfers]:
    is_added = added_replicas(state.replicas, replicas)
    is_lost = added_replicas(replicas, state.replicas)
    racks = np.append(state.rack, NO_BROKER)
    for same_rack in (True, False):
        for old in range(state.replicas.shape[1]):
            for new in range(replicas.shape[1]):
                is_pair = is_lost[:, old] & is_added[:, new]
                if same_rack:
                    is_pair &= racks[state.replicas[:, old]] == racks[replicas[:, new]]
                is_lost[is_pair, old] = False
                is_added[is_pair, new] = False
                rows = np.flatnonzero(is_pair)
                yield rows, state.replicas[rows, old], replicas[rows, new]
    rows, positions = np.nonzero(is_added)
    yield rows, np.full(len(rows), NO_BROKER), replicas[rows, positions]


def pair_copies(state: ClusterState, replicas: IntArray) -> Transfers:
    """Pair each added replica with the leader that it fetches from; NO_BROKER if no replica is alive."""
    rows, positions = np.nonzero(added_replicas(state.replicas, replicas))
    return rows, _fetch_sources(state)[rows], replicas[rows, positions]


def count_offline_partitions(state: ClusterState, replicas: IntArray) -> int:
    """Return the number of partitions with added replicas that cannot be copied because no replica is alive."""
    rows, sources, _ = pair_copies(state, replicas)
    return len(np.unique(rows[sources == NO_BROKER]))


def sum_transfers(
    transfers: Transfers, broker_ids: IntArray, size_bytes: IntArray | None
) -> tuple[IntArray, IntArray, IntArray | None]:
    """Sum transfers by pair of brokers.

    `broker_ids`, shape (B,): the ids of the brokers. `size_bytes`, shape (P,): the size of a replica; None if unknown.
    Returns pairs of broker ids (source, target), shape (N, 2), NO_BROKER for no source; the number of replicas and
    their size in bytes, shape (N,); None for an unknown size.
    """
    rows, sources, targets = transfers
    ids = np.append(broker_ids, NO_BROKER)
    pairs, index = np.unique(np.stack([ids[sources], ids[targets]], axis=1), axis=0, return_inverse=True)
    counts = np.bincount(index.ravel(), minlength=len(pairs))
    total_bytes = None
    if size_bytes is not None:
        total_bytes = np.zeros(len(pairs), dtype=np.int64)
        np.add.at(total_bytes, index.ravel(), size_bytes[rows])
    return pairs, counts, total_bytes


def _fetch_sources(state: ClusterState) -> IntArray:
    """Return the leader of each partition, or its first replica that is alive, or NO_BROKER, shape (P,)."""
    is_alive = np.append(state.is_alive, False)
    is_live_replica = is_alive[state.replicas]
    rows = np.arange(len(is_live_replica))
    first = state.replicas[rows, is_live_replica.argmax(axis=1)] if is_live_replica.size else state.leader
    fallback = np.where(is_live_replica.any(axis=1), first, NO_BROKER)
    source = np.where(is_alive[state.leader], state.leader, fallback)
    return np.where(state.leader == NO_BROKER, NO_BROKER, source)
