"""Replicas that lag behind their leaders: how they catch up, and when they leave and join the in-sync replicas (ISRs).

A broker sends and receives at most its replication rate. Pairs of a leader and a follower share it max-min fairly,
which is what a fetcher thread serves. Within a pair, followers that have caught up fetch first what is produced. If
that is more than the pair's share, they begin to lag. All replicas of a pair that lag catch up together, when the pair
has fetched what they missed and what has been produced since; those that missed nothing do so at once, and a pair that
fetches no faster than is produced never does. While a partition takes no writes, it does not grow.

An in-sync follower that lags leaves the ISR at the first check of its leader more than `replica.lag.time.max.ms` after
it last had everything. A leader checks twice in that time, from its start on; for leaders that run at the start, the
phase is random (by the seed). The ISR keeps `min.insync.replicas`: below that, the high watermark does not advance, so
the next fetch of a replica that was removed reaches it, and the replica joins the ISR again. Those that lack most leave
first.

Followers of topics that the application writes with `acks=all` always keep up, since its producers wait for them.

Source: `Partition.maybeExpandIsr`, `.getOutOfSyncReplicas`, `.maybeIncrementLeaderHW`, `ReplicaState.isCaughtUp`,
`ReplicaManager.startup`, `ReplicaFetcherManager`, Kafka 4.4.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assignors.model.columns import BoolArray, IntArray
from simulator.brokers.replication_control import ReplicationControl
from simulator.catching_up import is_caught_up
from simulator.max_min_fairness import max_min_shares_between
from simulator.random_streams import random_stream
from simulator.world.disturbances import TrafficChange
from simulator.world.layout import FloatArray, sum_by_row
from simulator.world.world import World, topics_written_by

_TOLERANCE = 1e-9
"""The fraction of what is produced that a pair may miss because of rounding and still keeps up."""
_EQUAL_BYTES = 1_000
"""Replicas that lack equally many bytes to this precision leave an ISR in the reverse of the replica order."""


def may_lag(world: World) -> bool:
    """Return whether all copies of what is produced could be more than one broker replicates."""
    factors = [event.factor for event in world.disturbances if isinstance(event, TrafficChange)]
    copied = 0
    for topic in world.cluster.topics.values():
        followers = max(map(len, topic.replicas), default=1) - 1
        copied += followers * max(map(sum, (topic.bytes_per_s, *topic.hourly_bytes_per_s)))
    slowest = min((broker.replication_bytes_per_s for broker in world.cluster.brokers), default=0)
    return copied * max([1.0, *factors]) > slowest


@dataclass(frozen=True, slots=True, eq=False)
class _Fetchers:
    """The F pairs of a leading and a following broker with replicas that lag, N of them.

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
    """The replicas of a cluster that lag behind their leaders."""

    def __init__(self, world: World, control: ReplicationControl) -> None:
        cluster = world.cluster
        self._control = control
        self._rate: FloatArray = np.array(
            [broker.replication_bytes_per_s for broker in cluster.brokers], dtype=np.float64
        )
        self._waits: BoolArray = np.zeros(len(control.leader), dtype=np.bool_)
        if world.application.acks_all:
            first_rows = cluster.partition_offsets
            for topic in map(cluster.topics.__getitem__, topics_written_by(world.application.subtopologies)):
                self._waits[first_rows[topic.name] : first_rows[topic.name] + topic.num_partitions] = True
        self._lag_ms = cluster.replica_lag_time_max_ms
        self._check_ms = max(1, self._lag_ms // 2)
        self._phase: IntArray = random_stream(world.seed, "isr_checks").integers(self._check_ms, size=len(self._rate))
        self._growth: FloatArray = np.zeros(len(control.leader), dtype=np.float64)
        self._lacking: tuple[IntArray, ...] = np.nonzero(control.lacks())
        self._last_leader: IntArray = control.last_leader.copy()
        none = np.zeros(0, dtype=np.int64)
        self._behind = none, none
        self._fetchers = _Fetchers(none, none, none, np.zeros(0), np.zeros(0))

    def restart_checks(self, brokers: Sequence[int], now_ms: int) -> None:
        """Let brokers, given by their rows, check the ISRs that they lead from now on."""
        self._phase[list(brokers)] = now_ms % self._check_ms

    def take_joins(self) -> tuple[IntArray, IntArray]:
        """Add the replicas that have caught up to the ISRs, and return the partitions and columns that join."""
        control = self._control
        rows, places = control.catching_up()
        caught_up = is_caught_up(control.missing[rows, places])
        self._behind = rows[~caught_up], places[~caught_up]
        rows, places = rows[caught_up], places[caught_up]
        joins = ~control.in_sync[rows, places]
        control.join_isr(rows, places)
        return rows[joins], places[joins]

    def take_leaves(self, now_ms: int) -> tuple[IntArray, IntArray]:
        """Remove the replicas that lag for too long from the ISRs, after those that have caught up were taken.

        Returns their partitions and columns.
        """
        control = self._control
        rows, places = self._removable(*self._behind)
        if not len(rows):
            return rows, places
        is_check = (now_ms - self._phase[control.leader[rows]]) % self._check_ms == 0
        late = is_check & (control.caught_up_ms[rows, places] + self._lag_ms < now_ms)
        rows, places = rows[late], places[late]
        order = np.lexsort((-places, -np.rint(control.missing[rows, places] / _EQUAL_BYTES), rows))
        rows, places = rows[order], places[order]
        rank = np.arange(len(rows)) - np.searchsorted(rows, rows)
        leaves = rank < control.spare_in_sync(rows)
        rows, places = rows[leaves], places[leaves]
        control.leave_isr(rows, places)
        return rows, places

    def next_leave_ms(self, now_ms: int) -> float:
        """Return the time of the next check at which a replica may leave its ISR, infinity if there is none."""
        control = self._control
        rows, places = self._removable(self._fetchers.row, self._fetchers.place)
        if not len(rows):
            return np.inf
        late_ms = np.maximum(control.caught_up_ms[rows, places] + self._lag_ms, now_ms) + 1
        wait_ms = (self._phase[control.leader[rows]] - late_ms) % self._check_ms
        return float((late_ms + wait_ms).min())

    def update(self, growth: FloatArray, now_ms: int) -> None:
        """Recompute how fast brokers fetch; `growth`, shape (P,), is what is produced per second."""
        control, count = self._control, len(self._rate)
        self._growth = np.where(control.takes_writes(), growth, 0.0)
        # A new leader does not know when the replicas that follow it last had everything.
        control.caught_up_ms[control.last_leader != self._last_leader] = now_ms
        self._last_leader = control.last_leader.copy()
        self._lacking = np.nonzero(control.lacks())
        row, place = control.catching_up()
        if not len(row) and (control.replicas.shape[1] - 1) * self._growth.sum() <= self._rate.min(initial=np.inf):
            self._fetchers = _Fetchers(row, place, row, np.zeros(0), np.zeros(0))
            return
        keeps_up = control.fetches() & ~control.follows
        cells = np.where(keeps_up, control.leader[:, None] * count + control.replicas, 0)
        need = sum_by_row(cells.ravel(), (keeps_up * self._growth[:, None]).ravel(), count * count)
        share = self._shares(need, np.unique(control.leader[row] * count + control.replicas[row, place]))
        is_short = need > share * (1 + _TOLERANCE)
        if is_short.any():
            begins = keeps_up & is_short[cells] & (~self._waits & (self._growth > 0))[:, None]
            control.follows |= begins
            control.caught_up_ms[begins] = now_ms
            need -= sum_by_row(cells.ravel(), (begins * self._growth[:, None]).ravel(), count * count)
            row, place = control.catching_up()
        pairs, pair = np.unique(control.leader[row] * count + control.replicas[row, place], return_inverse=True)
        rates = np.maximum(share[pairs] - need[pairs], 0.0)
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

    def _removable(self, rows: IntArray, places: IntArray) -> tuple[IntArray, IntArray]:
        """Return which of the replicas that lag are in an ISR that is larger than needed."""
        is_in_sync = self._control.in_sync[rows, places]
        rows, places = rows[is_in_sync], places[is_in_sync]
        has_spare = self._control.spare_in_sync(rows) > 0
        return rows[has_spare], places[has_spare]

    def _shares(self, need: FloatArray, lagging: IntArray) -> FloatArray:
        """Return what each pair may fetch per second, shape (B * B,).

        `need`, shape (B * B,): what is produced for the followers of each pair that have caught up. `lagging`: the
        pairs with replicas that lag, which fetch as much as they can.
        """
        count, share = len(self._rate), need.copy()
        is_lagging = np.zeros(len(need), dtype=np.bool_)
        is_lagging[lagging] = True
        others = np.flatnonzero((need > 0) & ~is_lagging)
        sender, receiver = np.divmod(others, count)
        sent, received = (sum_by_row(brokers, need[others], count) for brokers in (sender, receiver))
        limit = self._rate * (1 + _TOLERANCE)
        if (sent <= limit).all() and (received <= limit).all():
            left = np.maximum(self._rate - sent, 0.0), np.maximum(self._rate - received, 0.0)
            share[lagging] = max_min_shares_between(left[0], lagging // count, left[1], lagging % count)
            most_sent, most_received = np.zeros(count), np.zeros(count)
            np.maximum.at(most_sent, sender, need[others])
            np.maximum.at(most_received, receiver, need[others])
            # If no other pair needs more than a lagging one gets, the shares are those with all pairs competing.
            if (share[lagging] >= np.maximum(most_sent[lagging // count], most_received[lagging % count])).all():
                return share
        pairs = np.concatenate((others, lagging))
        demand = np.concatenate((need[others], np.full(len(lagging), np.inf)))
        share[pairs] = max_min_shares_between(self._rate, pairs // count, self._rate, pairs % count, demand)
        return share
