"""Large clusters, made from a seed."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from assignors.replicas.state import BrokerState, ClusterState, replica_lists
from scenarios.kafka.formats.reassignment import reassignment_json


def even_cluster(num_brokers: int, num_partitions: int, *, new: int = 0, racks: int = 0, seed: int = 1) -> ClusterState:
    """Return a cluster with as many replicas on every broker, except on the last `new` ones, which are empty.

    A partition has three replicas, in different racks if there are any. In each round over the brokers, every broker
    holds each of the three positions once, at random distances; then the replicas of each partition are shuffled, so
    that leaders are not even. Topics have about a hundred partitions.
    """
    draw = np.random.default_rng(seed)
    old = num_brokers - new
    turn, spot = np.divmod(np.arange(num_partitions), old)
    apart = np.stack([_distances(draw, old, max(racks, 1)) for _ in range(int(turn[-1]) + 1)])
    replicas = draw.permuted((spot[:, None] + apart[turn]) % old, axis=1)
    topics = -(-num_partitions // 100)
    return ClusterState(
        brokers=tuple(BrokerState(i, f"az{i % racks + 1}" if racks else None) for i in range(num_brokers)),
        topics=tuple(f"topic-{i}" for i in range(topics)),
        topic=np.arange(num_partitions) % topics,
        partition=np.arange(num_partitions) // topics,
        replicas=replicas,
        leader=replicas[:, 0].copy(),
    )


def _distances(draw: np.random.Generator, old: int, racks: int) -> np.ndarray:
    """Return the distances of three replicas from the first broker, which lead to three different racks.

    Brokers are in the racks in turn; `old` is a multiple of the number of racks.
    """
    step = draw.choice(old // racks - 1, size=2, replace=False) + 1
    return np.array([0, step[0] * racks + 1 % racks, step[1] * racks + 2 % racks])


def write_cluster(state: ClusterState, folder: Path) -> tuple[Path, Path]:
    """Write the current assignment in the JSON of `kafka-reassign-partitions.sh`, and the brokers; return the files."""
    assignment, brokers = folder / "assignment.json", folder / "brokers.csv"
    ids = state.ids.tolist()
    replicas = (tuple(ids[broker] for broker in held) for held in replica_lists(state))
    assignment.write_text(
        reassignment_json(zip(map(state.partition_id, range(state.num_partitions)), replicas, strict=True))
    )
    brokers.write_text("".join(["id,rack\n", *(f"{broker.id},{broker.rack}\n" for broker in state.brokers)]))
    return assignment, brokers
