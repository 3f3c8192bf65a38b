"""Replicas that were out of sync catch up: each broker fetches what its replicas missed from their leaders.

A broker sends and receives at most its replication rate. In-sync followers fetch what is produced; returning brokers
share what is left, max-min fairly between pairs of a leader and a follower, which is what a fetcher thread serves. All
replicas of a pair come in sync together, when the pair has fetched what they missed and what has been produced since;
those that missed nothing do so at once, and a pair that fetches no faster than is produced never does. While a
partition takes no writes, it does not grow.

In-sync followers keep up, whatever they need, so none of them lags for `replica.lag.time.max.ms`.

Source: `Partition.maybeExpandIsr`, `ReplicaFetcherManager`, Kafka 4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assignors.model.columns import IntArray
from simulator.brokers.replication_control import ReplicationControl
from simulator.catching_up import is_caught_up
from simulator.max_min_fairness import max_min_shares_between
from simulator.world.layout import FloatArray, sum_by_row
from simulator.world.world import World


@dataclass(frozen=True, slots=True, eq=False)
class _Fetchers:
    """The F pairs of a leading and a following broker with replicas that catch up, N of them.

    Attributes:
        row: shape (N,); the partition of each replica.
        place: shape (N,); its column.
        pair: shape (N,); its pair.
        growth: shape (F,); bytes per second that are produced to the partitions of each pair.
        rate: shape (F,); bytes per second that it fetches.
    """

    row: IntArray
    place: IntArray
    pair: IntArray
    growth: FloatArray
    rate: FloatArray


class ReplicaCatchUp:
    """The catching up of the replicas of a cluster."""

    def __init__(self, world: World, control: ReplicationControl) -> None:
        self._control = control
        self._rate: FloatArray = np.array(
            [broker.replication_bytes_per_s for broker in world.cluster.brokers], dtype=np.float64
        )
        self._growth: FloatArray = np.zeros(len(control.leader), dtype=np.float64)
        self._lacking: tuple[IntArray, ...] = np.nonzero(control.lacks())
        none = np.zeros(0, dtype=np.int64)
        self._fetchers = _Fetchers(none, none, none, np.zeros(0), np.zeros(0))

    def take_joins(self) -> tuple[IntArray, IntArray]:
        """Add the replicas that have caught up to the ISRs, and return their partitions and columns."""
        control = self._control
        rows, places = control.catching_up()
        caught_up = is_caught_up(control.missing[rows, places])
        rows, places = rows[caught_up], places[caught_up]
        control.join_isr(rows, places)
        return rows, places

    def update(self, growth: FloatArray) -> None:
        """Recompute how fast brokers fetch; `growth`, shape (P,), is what is produced per second."""
        control, count = self._control, len(self._rate)
        self._lacking = np.nonzero(control.lacks())
        row, place = control.catching_up()
        if not len(self._lacking[0]):
            self._fetchers = _Fetchers(row, place, row, np.zeros(0), np.zeros(0))
            return
        self._growth = np.where(control.takes_writes(), growth, 0.0)
        cells = control.leader[row] * count + control.replicas[row, place]
        pairs, pair = np.unique(cells, return_inverse=True)
        rates = np.zeros(0)
        if len(pairs):
            sent, received = np.maximum(self._rate - self._needed(), 0.0)
            rates = max_min_shares_between(sent, pairs // count, received, pairs % count)
        self._fetchers = _Fetchers(row, place, pair, sum_by_row(pair, self._growth[row], len(pairs)), rates)

    def advance(self, seconds: float) -> None:
        """Let time pass at the current rates."""
        missing, fetchers = self._control.missing, self._fetchers
        row, place, pair = fetchers.row, fetchers.place, fetchers.pair
        before, growth = missing[row, place], self._growth[row] * seconds
        missing[self._lacking] += self._growth[self._lacking[0]] * seconds
        total, closing = sum_by_row(pair, before, len(fetchers.rate)), fetchers.rate - fetchers.growth
        # All replicas of a pair shrink by the same factor, or else grow by the share of what is produced in excess.
        shrinks = np.divide(closing * seconds, total, out=np.zeros_like(total), where=total > 0)
        exceeds = np.divide(-closing, fetchers.growth, out=np.zeros_like(total), where=fetchers.growth > 0)
        missing[row, place] = np.where(
            closing[pair] > 0, before * np.maximum(1.0 - shrinks[pair], 0.0), before + growth * exceeds[pair]
        )

    def next_s(self) -> float:
        """Return the seconds until the next pair has caught up, infinity if none will."""
        fetchers = self._fetchers
        total = sum_by_row(fetchers.pair, self._control.missing[fetchers.row, fetchers.place], len(fetchers.rate))
        closing = fetchers.rate - fetchers.growth
        caught_up = (total[closing > 0] / closing[closing > 0]).min(initial=np.inf)
        return float(caught_up)

    def _needed(self) -> FloatArray:
        """Return what in-sync followers fetch from each broker, and on each broker, shape (2, B)."""
        control, count = self._control, len(self._rate)
        row, place = np.nonzero(control.fetches())
        growth = self._growth[row]
        return np.stack(
            (sum_by_row(control.leader[row], growth, count), sum_by_row(control.replicas[row, place], growth, count))
        )
