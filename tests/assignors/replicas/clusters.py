"""Builders of clusters for tests of replica assignors."""

from __future__ import annotations

import numpy as np

from assignors.model.columns import IntArray
from assignors.replicas.state import NO_BROKER, BrokerState, ClusterState


def brokers(count: int, racks: int = 0, *, first: int = 0, capacity_bytes: int | None = None) -> list[BrokerState]:
    """Return brokers in this number of racks by turns; without racks for 0."""
    return [
        BrokerState(first + i, f"az{i % racks + 1}" if racks else None, capacity_bytes=capacity_bytes)
        for i in range(count)
    ]


def random_cluster(
    seed: int,
    *,
    num_brokers: int = 6,
    partitions: tuple[int, ...] = (12, 5),
    factor: int = 3,
    racks: int = 3,
    skew: float = 1.0,
    sizes: bool = True,
) -> ClusterState:
    """Return a cluster with random replicas, more of them on brokers with low ids for a larger `skew`."""
    draw = np.random.default_rng(seed)
    weights = (np.arange(num_brokers) + 1.0) ** -skew
    weights /= weights.sum()
    held = {
        (f"topic-{chr(97 + t)}", p): draw.choice(num_brokers, size=factor, replace=False, p=weights).tolist()
        for t, count in enumerate(partitions)
        for p in range(count)
    }
    grown = {key: int(draw.integers(1, 5_000)) * 1_000_000 for key in held} if sizes else None
    broker_states = brokers(num_brokers, racks, capacity_bytes=200_000_000_000)
    return ClusterState.of(broker_states, held, size_bytes=grown)


def ids(state: ClusterState, replicas: IntArray) -> list[list[int]]:
    """Return the replicas of every partition as broker ids."""
    names = np.append(state.ids, NO_BROKER)[replicas]
    return [[broker for broker in row if broker != NO_BROKER] for row in names.tolist()]


def killerwhile() -> ClusterState:
    """Return the example of kafka-assignment-optimizer: 20 brokers in two zones (odd and even) and 10 partitions."""
    followers = [18, 19, 10, 11, 12, 13, 14, 15, 16, 17]
    leaders = [7, 8, 9, 0, 1, 2, 3, 4, 5, 6]
    broker_states = [BrokerState(i, "b" if i % 2 else "a") for i in range(20)]
    return ClusterState.of(
        broker_states, {("x.y.z.t", p): pair for p, pair in enumerate(zip(leaders, followers, strict=True))}
    )
