"""How long new replicas take: each fetches from the leader what it lacks, under the throttles of both brokers.

A fluid between two changes: whoever lacks something gets a max-min fair share of what its leader may send and its own
broker may receive, and lacks less by that, and more by what is produced. Replicas that are in sync are never held back,
but what they fetch of a partition that is being reassigned counts against the same throttles.

Complexity: O(K · B) to settle, for K copies on B brokers.
Source: `ReplicaManager.shouldLeaderThrottle`, `KafkaApis.sizeOfThrottledPartitions`, `ReplicaFetcherThread`, Kafka 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assignors.model.columns import BoolArray, IntArray
from simulator.max_min_fairness import max_min_shares_between
from simulator.world.layout import FloatArray, total

NO_BROKER = -1
_LEVEL_BYTES = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class ReplicationSources:
    """Where replicas are fetched from: P partitions, B brokers.

    Attributes:
        leader: shape (P,); the row of the broker that leads, NOBODY if none does.
        followers: shape (P,); how many replicas in sync, that are not new, fetch from the leader.
        growth: shape (P,); bytes per second that are produced.
        alive: shape (B,); which brokers are.
        throttle: bytes per second that every broker may send, and may receive; infinity for no limit.
    """

    leader: IntArray
    followers: IntArray
    growth: FloatArray
    alive: BoolArray
    throttle: float


class ReplicaCopies:
    """New replicas, K of them, from when they are added until their partition is reassigned.

    Attributes:
        partition: shape (K,); the partition that each belongs to.
        broker: shape (K,); the broker that each is on.
        missing: shape (K,); bytes that it lacks.
        level: shape (K,); whether it is in sync.
        rate: shape (K,); bytes per second that it fetches to catch up; infinity where it has all at once.
    """

    def __init__(self) -> None:
        self.partition: IntArray = np.zeros(0, dtype=np.int64)
        self.broker: IntArray = np.zeros(0, dtype=np.int64)
        self.missing: FloatArray = np.zeros(0, dtype=np.float64)
        self.level: BoolArray = np.zeros(0, dtype=np.bool_)
        self.rate: FloatArray = np.zeros(0, dtype=np.float64)
        self._growth: FloatArray = np.zeros(0, dtype=np.float64)
        self._fetching: BoolArray = np.zeros(0, dtype=np.bool_)

    def add(self, partition: int, brokers: Sequence[int], missing: float) -> None:
        """Let brokers begin to copy a partition."""
        count = len(brokers)
        self.partition = np.append(self.partition, np.full(count, partition, dtype=np.int64))
        self.broker = np.append(self.broker, np.array(brokers, dtype=np.int64))
        self.missing = np.append(self.missing, np.full(count, missing))
        self.level = np.append(self.level, np.zeros(count, dtype=np.bool_))
        self.rate = np.append(self.rate, np.zeros(count))
        self._growth = np.append(self._growth, np.zeros(count))
        self._fetching = np.append(self._fetching, np.zeros(count, dtype=np.bool_))

    def drop(self, partition: int, keep: Sequence[int] = ()) -> None:
        """Forget the copies of a partition, but for those on some brokers."""
        stays = (self.partition != partition) | np.isin(self.broker, keep)
        for name in ("partition", "broker", "missing", "level", "rate", "_growth", "_fetching"):
            setattr(self, name, getattr(self, name)[stays])

    def settle(self, sources: ReplicationSources) -> IntArray:
        """Find out how fast each goes from here on; return which have come in sync."""
        leader = sources.leader[self.partition]
        fetching = ~self.level & (leader != NO_BROKER) & sources.alive[self.broker]
        arrived = np.flatnonzero(fetching & (self.missing <= _LEVEL_BYTES))
        self.level[arrived] = True
        fetching[arrived] = False
        self._fetching = fetching
        self._growth = sources.growth[self.partition]
        self.rate = np.where(fetching, np.inf, 0.0)
        if np.isfinite(sources.throttle):
            sent, received = self._left(sources)
            rows = np.flatnonzero(fetching)
            self.rate[rows] = max_min_shares_between(sent, leader[rows], received, self.broker[rows])
        return arrived

    def take_at_once(self) -> FloatArray:
        """What those get that nothing holds back, shape (K,)."""
        at_once: FloatArray = np.where(np.isinf(self.rate), self.missing, 0.0)
        self.missing = np.where(np.isinf(self.rate), 0.0, self.missing)
        return at_once

    def advance(self, seconds: float) -> None:
        """Let time pass at the rates of now."""
        grown = np.where(self.level, 0.0, self._growth)
        self.missing = np.maximum(self.missing + (grown - self.rate) * seconds, 0.0)

    def next_level_s(self) -> float:
        """In how many seconds the next will be in sync, infinity if none will."""
        closing = np.where(self.level, 0.0, self.rate - self._growth)
        return float((self.missing[closing > 0] / closing[closing > 0]).min(initial=np.inf))

    def loses_ground(self) -> BoolArray:
        """Shape (K,); who fetches, but no faster than is produced."""
        lags: BoolArray = self._fetching & (self.rate <= self._growth)
        return lags

    def _left(self, sources: ReplicationSources) -> tuple[FloatArray, FloatArray]:
        """What of the throttle is left of each broker for those that catch up, to send and to receive."""
        count = len(sources.alive)
        led = np.flatnonzero(sources.leader != NO_BROKER)
        leader = sources.leader[self.partition]
        in_sync = self.level & (leader != NO_BROKER) & (leader != self.broker) & sources.alive[self.broker]
        followed = (sources.followers * sources.growth)[led]
        leader, growth = sources.leader[self.partition[in_sync]], self._growth[in_sync]
        sent = total(sources.leader[led], followed, count) + total(leader, growth, count)
        received = total(self.broker[in_sync], growth, count)
        return np.maximum(sources.throttle - sent, 0.0), np.maximum(sources.throttle - received, 0.0)
