"""Generate random clusters of any size, to test replica assignors.

Numbers of partitions per topic, sizes and replica placements are random, as in a cluster without rebalancing. The
default proportions, the exponential popularity of topics, and rack-unaware placement follow Cruise Control's tests.

Source: `com.linkedin.kafka.cruisecontrol.common.TestConstants` (BASE_PROPERTIES) and `model.RandomCluster`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assignors.model.columns import IntArray
from assignors.replicas.state import BrokerState, ClusterState

MEAN_BYTES = 4_000_000_000
"""The mean size of a partition."""

_CAPACITY_FACTOR = 2
"""The disk capacity of a broker, as a multiple of the mean data per broker."""


@dataclass(frozen=True, slots=True)
class ClusterShape:
    """The size of a cluster.

    Raises ValueError if the numbers are inconsistent.

    Attributes:
        racks: number of racks, assigned to brokers round-robin.
        topics: number of topics, each with at least one partition.
        partitions: number of partitions of all topics.
        factor: replication factor.
    """

    brokers: int = 40
    racks: int = 10
    topics: int = 3_000
    partitions: int = 16_667
    factor: int = 3

    def __post_init__(self) -> None:
        if min(self.brokers, self.racks, self.topics, self.factor) < 1:
            raise ValueError("a cluster needs at least one broker, rack, topic and replica")
        if self.racks > self.brokers:
            raise ValueError(f"{self.racks} racks need at least as many brokers, but the cluster has {self.brokers}")
        if self.partitions < self.topics:
            raise ValueError(
                f"{self.topics} topics need at least as many partitions, but the cluster has {self.partitions}"
            )
        if self.factor > self.brokers:
            raise ValueError(
                f"{self.factor} replicas need at least as many brokers, but the cluster has {self.brokers}"
            )


def generate_cluster(shape: ClusterShape, seed: int) -> ClusterState:
    """Generate a cluster; the same shape and seed give the same cluster.

    Complexity: O(partitions · brokers).
    """
    topic_stream, replica_stream, size_stream = (
        np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(stream,))) for stream in range(3)
    )
    counts = _partitions_by_topic(shape, topic_stream)
    topic = np.repeat(np.arange(shape.topics), counts)
    first = np.cumsum(counts) - counts
    replicas = replica_stream.random((shape.partitions, shape.brokers)).argsort(axis=1)[:, : shape.factor]
    size_bytes = np.maximum(size_stream.exponential(MEAN_BYTES, shape.partitions), 1.0).astype(np.int64)
    capacity = _CAPACITY_FACTOR * MEAN_BYTES * shape.partitions * shape.factor // shape.brokers
    digits = len(str(shape.topics - 1))
    return ClusterState(
        brokers=tuple(BrokerState(i, f"rack-{i % shape.racks}", capacity_bytes=capacity) for i in range(shape.brokers)),
        topics=tuple(f"topic-{i:0{digits}}" for i in range(shape.topics)),
        topic=topic,
        partition=np.arange(shape.partitions) - first[topic],
        replicas=replicas,
        leader=replicas[:, 0].copy(),
        size_bytes=size_bytes,
    )


def _partitions_by_topic(shape: ClusterShape, stream: np.random.Generator) -> IntArray:
    """Return the partitions per topic: one each, the rest in proportion to random popularities."""
    popularity = stream.exponential(1.0, shape.topics)
    drawn: IntArray = stream.multinomial(shape.partitions - shape.topics, popularity / popularity.sum())
    return drawn + 1
