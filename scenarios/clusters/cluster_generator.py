"""Clusters of any size, made up to try replica assignors on.

Topics are as large as chance makes them, replicas lie anywhere, and sizes differ: what a cluster comes to that grew by
itself. The proportions that are the defaults, the exponential popularity of topics, and that racks are not looked at,
are those of Cruise Control's own tests.

Source: `com.linkedin.kafka.cruisecontrol.common.TestConstants` (BASE_PROPERTIES) and `model.RandomCluster`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assignors.model.columns import IntArray
from assignors.replicas.state import BrokerState, ClusterState

MEAN_BYTES = 4_000_000_000
"""What a partition holds in the mean."""

_ROOM = 2
"""So many times what a broker would hold in the mean fits on it."""


@dataclass(frozen=True, slots=True)
class ClusterShape:
    """How large a cluster is.

    Attributes:
        brokers: how many brokers.
        racks: how many racks they stand in, by turns.
        topics: how many topics, each of one partition at least.
        partitions: how many partitions all topics have.
        factor: how many replicas each partition has.

    Raises:
        ValueError: such a cluster cannot be.
    """

    brokers: int = 40
    racks: int = 10
    topics: int = 3_000
    partitions: int = 16_667
    factor: int = 3

    def __post_init__(self) -> None:
        if min(self.brokers, self.racks, self.topics, self.factor) < 1:
            raise ValueError("a cluster has at least one broker, rack, topic and replica")
        if self.racks > self.brokers:
            raise ValueError(f"{self.racks} racks are more than there are brokers ({self.brokers})")
        if self.partitions < self.topics:
            raise ValueError(f"{self.partitions} partitions are fewer than there are topics ({self.topics})")
        if self.factor > self.brokers:
            raise ValueError(f"{self.factor} replicas need as many brokers, but there are {self.brokers}")


def generate_cluster(shape: ClusterShape, seed: int) -> ClusterState:
    """Make a cluster up; the same shape and seed give the same one.

    Complexity: O(partitions · brokers).
    """
    of_topics, of_replicas, of_sizes = (
        np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(stream,))) for stream in range(3)
    )
    counts = _partitions_by_topic(shape, of_topics)
    topic = np.repeat(np.arange(shape.topics), counts)
    first = np.cumsum(counts) - counts
    replicas = of_replicas.random((shape.partitions, shape.brokers)).argsort(axis=1)[:, : shape.factor]
    size_bytes = np.maximum(of_sizes.exponential(MEAN_BYTES, shape.partitions), 1.0).astype(np.int64)
    capacity = _ROOM * MEAN_BYTES * shape.partitions * shape.factor // shape.brokers
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


def _partitions_by_topic(shape: ClusterShape, draw: np.random.Generator) -> IntArray:
    """One each, and the rest in proportion to popularities that are drawn."""
    popularity = draw.exponential(1.0, shape.topics)
    drawn: IntArray = draw.multinomial(shape.partitions - shape.topics, popularity / popularity.sum())
    return drawn + 1
