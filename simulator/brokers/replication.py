"""Copies of new replicas: each one fetches the partition from its leader, within the throttles of both brokers.

The model is a fluid between two changes. A new replica that lacks data gets a max-min fair share of the throttles of
its leader and of its own broker; its missing bytes shrink by what it fetches and grow by what is produced. In-sync
replicas are not throttled, but their fetches from partitions that are being reassigned count against the throttles.

Complexity: O(K · B) per update of the rates, for K copies on B brokers.
Source: `ReplicaManager.shouldLeaderThrottle`, `KafkaApis.sizeOfThrottledPartitions`, `ReplicaFetcherThread`, Kafka 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assignors.model.columns import BoolArray, IntArray
from simulator.catching_up import is_caught_up
from simulator.max_min_fairness import max_min_shares_between
from simulator.world.layout import FloatArray, sum_by_row
from simulator.world.sentinels import NO_BROKER


@dataclass(frozen=True, slots=True, eq=False)
class ReplicationSources:
    """The leaders that replicas fetch from: P partitions, B brokers.

    Attributes:
        leader: shape (P,); row of the leading broker, NO_BROKER if none.
        followers: shape (P,); how many in-sync replicas that are not new fetch from the leader.
        growth: shape (P,); bytes per second that are produced.
        alive: shape (B,); which brokers are alive.
        throttle: bytes per second that every broker may send, and may receive; infinity for no limit.
    """

    leader: IntArray
    followers: IntArray
    growth: FloatArray
    alive: BoolArray
    throttle: float


class ReplicaCopies:
    """New replicas, K of them, from when they are added until the reassignment of their partition is done.

    Attributes:
        partition: shape (K,); row of the partition.
        broker: shape (K,); row of the broker.
        missing: shape (K,); bytes that the replica lacks.
        in_sync: shape (K,); whether it has caught up.
        rate: shape (K,); bytes per second that it fetches to catch up; infinity without a throttle.
    """

    def __init__(self) -> None:
        self.partition: IntArray = np.zeros(0, dtype=np.int64)
        self.broker: IntArray = np.zeros(0, dtype=np.int64)
        self.missing: FloatArray = np.zeros(0, dtype=np.float64)
        self.in_sync: BoolArray = np.zeros(0, dtype=np.bool_)
        self.rate: FloatArray = np.zeros(0, dtype=np.float64)
        self._growth: FloatArray = np.zeros(0, dtype=np.float64)
        self._fetching: BoolArray = np.zeros(0, dtype=np.bool_)

    def add(self, partition: int, brokers: Sequence[int], missing: float) -> None:
        """Let brokers, given by their rows, begin to copy a partition of which `missing` bytes are missing."""
        count = len(brokers)
        self.partition = np.append(self.partition, np.full(count, partition, dtype=np.int64))
        self.broker = np.append(self.broker, np.array(brokers, dtype=np.int64))
        self.missing = np.append(self.missing, np.full(count, missing))
        self.in_sync = np.append(self.in_sync, np.zeros(count, dtype=np.bool_))
        self.rate = np.append(self.rate, np.zeros(count))
        self._growth = np.append(self._growth, np.zeros(count))
        self._fetching = np.append(self._fetching, np.zeros(count, dtype=np.bool_))

    def drop(self, partition: int, keep: Sequence[int] = ()) -> None:
        """Forget the copies of a partition, except those on the brokers to keep."""
        stays = (self.partition != partition) | np.isin(self.broker, keep)
        for name in ("partition", "broker", "missing", "in_sync", "rate", "_growth", "_fetching"):
            setattr(self, name, getattr(self, name)[stays])

    def update_rates(self, sources: ReplicationSources) -> IntArray:
        """Recompute how fast each replica fetches.

        Returns:
            The indices of the replicas that have just come in sync.
        """
        leader = sources.leader[self.partition]
        fetching = ~self.in_sync & (leader != NO_BROKER) & sources.alive[self.broker]
        arrived = np.flatnonzero(fetching & is_caught_up(self.missing))
        self.in_sync[arrived] = True
        fetching[arrived] = False
        self._fetching = fetching
        self._growth = sources.growth[self.partition]
        self.rate = np.where(fetching, np.inf, 0.0)
        if np.isfinite(sources.throttle):
            sent, received = self._throttle_left(sources)
            rows = np.flatnonzero(fetching)
            self.rate[rows] = max_min_shares_between(sent, leader[rows], received, self.broker[rows])
        return arrived

    def copy_unthrottled(self) -> FloatArray:
        """Complete the copies without throttle, and return the copied bytes, shape (K,)."""
        copied: FloatArray = np.where(np.isinf(self.rate), self.missing, 0.0)
        self.missing = np.where(np.isinf(self.rate), 0.0, self.missing)
        return copied

    def advance(self, seconds: float) -> None:
        """Let time pass at the current rates."""
        grown = np.where(self.in_sync, 0.0, self._growth)
        self.missing = np.maximum(self.missing + (grown - self.rate) * seconds, 0.0)

    def next_in_sync_s(self) -> float:
        """Return the seconds until the next replica is in sync, infinity if none will be."""
        closing = np.where(self.in_sync, 0.0, self.rate - self._growth)
        return float((self.missing[closing > 0] / closing[closing > 0]).min(initial=np.inf))

    def falling_behind(self) -> BoolArray:
        """Return which replicas fetch no faster than is produced, shape (K,)."""
        falling_behind: BoolArray = self._fetching & (self.rate <= self._growth)
        return falling_behind

    def _throttle_left(self, sources: ReplicationSources) -> tuple[FloatArray, FloatArray]:
        """Return the throttle of each broker minus the fetches of in-sync replicas, sent and received, shape (B,)."""
        count = len(sources.alive)
        led = np.flatnonzero(sources.leader != NO_BROKER)
        leader = sources.leader[self.partition]
        in_sync = self.in_sync & (leader != NO_BROKER) & (leader != self.broker) & sources.alive[self.broker]
        followed = (sources.followers * sources.growth)[led]
        leader, growth = sources.leader[self.partition[in_sync]], self._growth[in_sync]
        sent = sum_by_row(sources.leader[led], followed, count) + sum_by_row(leader, growth, count)
        received = sum_by_row(self.broker[in_sync], growth, count)
        return np.maximum(sources.throttle - sent, 0.0), np.maximum(sources.throttle - received, 0.0)
