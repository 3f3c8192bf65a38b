"""The brokers and partitions of a world over time: leaders, in-sync replicas, and the copies of reassignments.

Progress depends on outages, plans, sizes, production rates, throttles and the controller, never on the assignor. So it
is computed before the run and becomes part of the run's timeline.

Guarantees (KIP-455): until the new replicas of its target are in sync, a partition has the target's replicas and those
that will be removed; then it has the target's alone. Before Kafka 4.3, or if the target has fewer replicas than before,
all of them must be in sync. Its leader stays if it is in the target; otherwise the first replica of the target leads. A
new target replaces an older one; copied data is kept. A change of the order alone takes effect immediately.
Preferred leaders are elected at the checks of the controller. When the first of them falls is random (by the seed);
before Kafka 4.0, a check is due an interval after a partition got another leader than its preferred one.
Priority: replicas that are in sync complete their targets, then the next batch begins, then leaders are elected.
Complexity: one step per moment at which replicas come in sync, each O(P · W + K · B) for P partitions with up to W
replicas and K copies on B brokers.
Source: `ReplicationControlManager.changePartitionReassignment`, `QuorumController.registerElectPreferred` (4.0.0),
`.maybeScheduleNextBalancePartitionLeaders` (3.9.1).

Replicas may lag behind their leaders, and leave and join the in-sync replicas (ISRs). A broker sends and receives at
most its replication rate. Pairs of a leader and a follower share it max-min fairly, which is what a fetcher thread
serves. Within a pair, followers that have caught up fetch first what is produced. If that is more than the pair's
share, they begin to lag. All replicas of a pair that lag catch up together, when the pair has fetched what they missed
and what has been produced since; those that missed nothing do so at once, and a pair that fetches no faster than is
produced never does. While a partition takes no writes, it does not grow.

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

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from assignors.model.columns import BoolArray, IntArray, distinct
from assignors.model.ids import TopicPartition
from simulator.brokers.replication_control import ReplicationControl
from simulator.catching_up import is_caught_up
from simulator.max_min_fairness import max_min_shares_between
from simulator.plurals import counted
from simulator.random_streams import random_stream
from simulator.world.changes import RackTransfer, ReplicationStep
from simulator.world.disturbances import LeaderElection, Reassignment, ReassignmentTarget, TrafficChange
from simulator.world.layout import NO_BROKER, FloatArray, sum_by_row
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
        share = self._shares(need, distinct(control.leader[row] * count + control.replicas[row, place]))
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

    The model is a fluid between two changes. A new replica that lacks data gets a max-min fair share of the throttles
    of its leader and of its own broker; its missing bytes shrink by what it fetches and grow by what is produced.
    In-sync replicas are not throttled, but their fetches from partitions that are being reassigned count against the
    throttles. An update of the rates takes O(K · B).

    Source: `ReplicaManager.shouldLeaderThrottle`, `KafkaApis.sizeOfThrottledPartitions`, `ReplicaFetcherThread`
    of Kafka 4.

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
        """Recompute how fast each replica fetches; return the indices of the replicas that have just come in sync."""
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


_USUAL_ROW = 24
"""The row of the usual rates, after those of the 24 hours."""
_MAX_NAMES = 3


@dataclass(slots=True, eq=False)
class _OngoingReassignment:
    """A reassignment that has begun.

    Attributes:
        waiting: its batches that have not begun.
        unfinished: rows of the partitions of the current batch that have not reached their target.
    """

    plan: Reassignment
    waiting: deque[tuple[ReassignmentTarget, ...]]
    unfinished: dict[int, None] = field(default_factory=dict)


def lagging_brokers(world: World, traffic: Iterable[TrafficChange]) -> list[int]:
    """Return the ids of the brokers whose replicas cannot keep up with some traffic while all brokers are up."""
    progress, lagging = ReplicationProgress(world), set[int]()
    replicas = progress.replicas
    for change in traffic:
        progress.set_traffic(change.factor, change.hour)
        deque(progress.take_step(), maxlen=0)
        rows, places = replicas.catching_up()
        lagging.update(replicas.replicas[rows, places].tolist())
    return sorted(world.cluster.brokers[row].id for row in lagging)


class ReplicationProgress:
    """The brokers and partitions of a world at a moment, and the ongoing reassignments.

    `replicas`: replicas, leaders and ISRs.
    """

    def __init__(self, world: World) -> None:
        brokers, topics, controller = world.cluster.brokers, world.cluster.topics, world.cluster.controller
        self._racks = (*world.cluster.racks, None)
        self._rack = np.array([self._racks.index(broker.rack) for broker in brokers], dtype=np.int64)
        self.replicas = ReplicationControl(world)
        self._copies = ReplicaCopies()
        self._catch_up = ReplicaCatchUp(world, self.replicas)
        self._names = [
            TopicPartition(topic.name, number) for topic in topics.values() for number in range(topic.num_partitions)
        ]
        count = len(self.replicas.leader)
        self._size = _by_partition([topic.size_bytes for topic in topics.values()], count)
        usual = _by_partition([topic.bytes_per_s for topic in topics.values()], count)
        self._rates = np.tile(usual, (_USUAL_ROW + 1, 1))
        for topic in topics.values():
            if topic.hourly_bytes_per_s:
                first = self.replicas.row(TopicPartition(topic.name, 0))
                self._rates[:_USUAL_ROW, first : first + topic.num_partitions] = topic.hourly_bytes_per_s
        self._passed_s = np.zeros(_USUAL_ROW + 1, dtype=np.float64)
        self._factor, self._hour, self._throttle = 1.0, _USUAL_ROW, np.inf
        self._ongoing: list[_OngoingReassignment] = []
        self._ongoing_of: dict[int, _OngoingReassignment] = {}
        self._now_ms = 0
        self._copied = self._zero_matrix()
        self._copying: tuple[RackTransfer, ...] = ()
        self._interval_ms, self._is_periodic = controller.check_interval_ms, controller.checks_periodically
        self._check_ms: int | None = None
        if self._interval_ms is not None and (self._is_periodic or self.replicas.is_imbalanced()):
            self._check_ms = 1 + int(random_stream(world.seed, "leader_check").integers(self._interval_ms))
        self._catch_up.update(self._growth(), 0)
        self._begun: list[str] = []
        self._reached: list[TopicPartition] = []
        self._ended: list[str] = []

    def until(self, end_ms: int) -> Iterator[tuple[int, ReplicationStep]]:
        """Advance to just before the end; yield the steps until then, each with its time."""
        while (due_ms := self._next_ms()) < end_ms:
            self._advance(due_ms)
            yield from self.take_step()
        self._advance(end_ms)

    def take_step(self) -> Iterator[tuple[int, ReplicationStep]]:
        """Execute all actions that are due now.

        Yields the step that results, with its time; nothing if nothing changed.
        """
        self._check_leaders()
        copied: tuple[RackTransfer, ...] = ()
        copying: tuple[RackTransfer, ...] = ()
        if self._ongoing:
            self._reassign()
            copied, copying = self._transfers(self._copied), self._transfers(self._by_rack(self._copies.rate))
            self._copied = self._zero_matrix()
        else:
            self._join_isrs()
        self._leave_isrs()
        self._catch_up.update(self._growth(), self._now_ms)
        self._schedule_check()
        step = ReplicationStep(self.replicas.take_changed(), copied, copying, self._describe())
        has_changed = step.states is not None or step.copied or step.about or step.copying != self._copying
        self._copying, self._begun, self._reached, self._ended = step.copying, [], [], []
        if has_changed:
            yield self._now_ms, step

    def _reassign(self) -> None:
        """Begin the batches that are ready and end the copies that are complete, until neither changes anything."""
        while True:
            self._start_ready_batches()
            arrived = self._copies.update_rates(self._sources())
            pairs = list(zip(self._copies.partition[arrived], self._copies.broker[arrived], strict=True))
            unthrottled = self._copies.copy_unthrottled()
            self._copied += self._by_rack(unthrottled)
            for row, broker in pairs:
                self.replicas.end_copy(int(row), int(broker))
                self._complete(int(row))
            if not pairs and not unthrottled.any() and not self._join_isrs():
                break

    def begin(self, plan: Reassignment) -> None:
        """Begin a reassignment; its throttle applies to the ongoing ones, too."""
        if plan.throttle_bytes_per_s is not None:
            self._throttle = float(plan.throttle_bytes_per_s)
        size = plan.batch or max(1, len(plan.targets))
        batches = [plan.targets[first : first + size] for first in range(0, len(plan.targets), size)]
        self._ongoing.append(_OngoingReassignment(plan, deque(batches)))
        self._begun.append(f"reassignment of {counted(len(plan.targets), 'partition')} begins")

    def set_replicas(self, name: TopicPartition, replicas: tuple[int, ...]) -> None:
        """Set the replicas of a partition immediately, which ends its reassignment."""
        row = self.replicas.row(name)
        self._cancel(row)
        self._copies.drop(row)
        self.replicas.set_replicas(row, replicas)

    def stop_brokers(self, brokers: tuple[int, ...], *, crash: bool) -> None:
        """Stop brokers, with or without a controlled shutdown; their copying pauses until they are back."""
        self.replicas.stop_brokers(brokers, crash=crash)

    def start_brokers(self, brokers: tuple[int, ...]) -> None:
        """Start brokers again."""
        self.replicas.start_brokers(brokers)
        self._catch_up.restart_checks(self.replicas.rows_of(brokers), self._now_ms)
        for row in np.flatnonzero(self.replicas.is_reassigned()).tolist():
            self._complete(row)

    def _join_isrs(self) -> bool:
        """Let replicas that have caught up join the ISRs; return whether any did."""
        rows, places = self._catch_up.take_joins()
        has_joined = bool(len(rows))
        if has_joined:
            brokers = distinct(self.replicas.replicas[rows, places]).tolist()
            self._ended.append(f"replicas on {self.replicas.describe(brokers)} are in sync again")
            is_reassigned = self.replicas.is_reassigned()
            for row in distinct(rows[is_reassigned[rows]]).tolist():
                self._complete(row)
        return has_joined

    def _leave_isrs(self) -> None:
        """Let replicas that lag for too long leave the ISRs."""
        rows, places = self._catch_up.take_leaves(self._now_ms)
        if len(rows):
            brokers = distinct(self.replicas.replicas[rows, places]).tolist()
            self._ended.append(f"replicas on {self.replicas.describe(brokers)} lag and are out of sync")

    def is_in_sync(self) -> bool:
        """Return whether no live replica of a partition with a leader is out of sync, copies of reassignments apart."""
        rows, places = self.replicas.catching_up()
        return bool(self.replicas.in_sync[rows, places].all())

    def set_traffic(self, factor: float, hour: int | None) -> None:
        """Set the production rate to a multiple of the usual one, or of that of an hour of the day."""
        self._factor, self._hour = factor, _USUAL_ROW if hour is None else hour

    def held_bytes(self, name: TopicPartition) -> float:
        """Return the current size of a partition: its initial size plus the bytes produced since."""
        row = self.replicas.row(name)
        return float(self._size[row] + (self._rates[:, row] * self._passed_s).sum())

    def unfinished(self) -> list[tuple[Reassignment, int]]:
        """Return the ongoing reassignments, each with its number of partitions that have not reached their target."""
        return [(ongoing.plan, len(ongoing.unfinished) + sum(map(len, ongoing.waiting))) for ongoing in self._ongoing]

    def falling_behind(self) -> list[TopicPartition]:
        """Return the partitions that are copied no faster than they grow."""
        rows = distinct(self._copies.partition[self._copies.falling_behind()])
        return [self._names[row] for row in rows.tolist()]

    def _next_ms(self) -> float:
        seconds = min(self._copies.next_in_sync_s(), self._catch_up.next_s())
        in_sync_ms = np.inf if np.isinf(seconds) else self._now_ms + max(1, int(np.ceil(seconds * 1000)))
        return min(in_sync_ms, self._next_check_ms(), self._catch_up.next_leave_ms(self._now_ms))

    def _next_check_ms(self) -> float:
        """Return the time of the next check at which something may happen, infinity if there is none."""
        if self._check_ms is None or self._interval_ms is None:
            return np.inf
        if not self._is_periodic or self._check_ms > self._now_ms:
            return self._check_ms
        if not self.replicas.electable_at_check().any():
            return np.inf
        return self._check_ms + ((self._now_ms - self._check_ms) // self._interval_ms + 1) * self._interval_ms

    def _check_leaders(self) -> None:
        """Elect preferred leaders if a check is due now."""
        if self._check_ms is None or self._interval_ms is None or self._now_ms < self._check_ms:
            return
        if (self._now_ms - self._check_ms) % self._interval_ms == 0:
            self._elect(self.replicas.electable_at_check())
        if not self._is_periodic:
            self._check_ms = None

    def _schedule_check(self) -> None:
        """Where checks are not periodic, let one fall an interval after leaders got imbalanced."""
        is_due = not self._is_periodic and self._check_ms is None and self.replicas.is_imbalanced()
        if is_due and self._interval_ms is not None:
            self._check_ms = self._now_ms + self._interval_ms

    def _advance(self, now_ms: float) -> None:
        seconds = (now_ms - self._now_ms) / 1000
        self._now_ms = int(now_ms)
        self._passed_s[self._hour] += self._factor * seconds
        self._copies.advance(seconds)
        self._catch_up.advance(seconds)

    def _sources(self) -> ReplicationSources:
        replicas = self.replicas
        return ReplicationSources(
            replicas.leader, replicas.old_followers(), self._growth(), replicas.live_brokers(), self._throttle
        )

    def _growth(self) -> FloatArray:
        """Return the bytes per second that are produced to each partition, shape (P,)."""
        growth: FloatArray = self._factor * self._rates[self._hour]
        return growth

    def _start_ready_batches(self) -> None:
        """Start every batch whose predecessor is done, and end the reassignments that are done."""
        while ready := [ongoing for ongoing in self._ongoing if ongoing.waiting and not ongoing.unfinished]:
            for target in ready[0].waiting.popleft():
                self._begin_partition(ready[0], target)
        for ongoing in [ongoing for ongoing in self._ongoing if not ongoing.unfinished and not ongoing.waiting]:
            self._ongoing.remove(ongoing)
            self._ended.append("reassignment is done")
            if ongoing.plan.election is LeaderElection.AT_END:
                rows = [
                    row
                    for row in map(self._row_of_target, ongoing.plan.targets)
                    if self._ongoing_of.get(row) is ongoing
                ]
                self._elect(np.isin(np.arange(len(self.replicas.leader)), rows))

    def _begin_partition(self, ongoing: _OngoingReassignment, target: ReassignmentTarget) -> None:
        row = self._row_of_target(target)
        self._cancel(row)
        self._ongoing_of[row] = ongoing
        ongoing.unfinished[row] = None
        keeps_leader = ongoing.plan.election is not LeaderElection.AUTO
        added = self.replicas.begin_reassignment(row, target.replicas, keeps_leader=keeps_leader)
        self._copies.add(row, added, self.held_bytes(target.partition))
        self._complete(row)

    def _row_of_target(self, target: ReassignmentTarget) -> int:
        return self.replicas.row(target.partition)

    def _cancel(self, row: int) -> None:
        ongoing = self._ongoing_of.pop(row, None)
        if ongoing is not None:
            ongoing.unfinished.pop(row, None)

    def _complete(self, row: int) -> None:
        if self.replicas.complete_reassignment(row):
            self._copies.drop(row)
            self._ongoing_of[row].unfinished.pop(row)
            self._reached.append(self._names[row])

    def _elect(self, rows: BoolArray) -> None:
        elected = self.replicas.elect_preferred(rows)
        if elected:
            self._ended.append("preferred leaders are elected")

    def _describe(self) -> str:
        reached = [str(name) for name in self._reached]
        names = ", ".join(reached) if len(reached) <= _MAX_NAMES else counted(len(reached), "partition")
        changes = [f"{names} {'has its' if len(reached) == 1 else 'have their'} new replicas"] if reached else []
        return "; ".join((*self._begun, *changes, *self._ended))

    def _by_rack(self, amounts: FloatArray) -> FloatArray:
        """Add up amounts of copies from the leader's rack to the copy's rack, shape (R + 1, R + 1)."""
        rows = np.flatnonzero(amounts)
        leader = self.replicas.leader[self._copies.partition[rows]]
        matrix = self._zero_matrix()
        np.add.at(matrix, (self._rack[leader], self._rack[self._copies.broker[rows]]), amounts[rows])
        return matrix

    def _transfers(self, matrix: FloatArray) -> tuple[RackTransfer, ...]:
        racks = self._racks
        return tuple(RackTransfer(racks[a], racks[b], float(matrix[a, b])) for a, b in np.argwhere(matrix > 0).tolist())

    def _zero_matrix(self) -> FloatArray:
        return np.zeros((len(self._racks), len(self._racks)), dtype=np.float64)


def _by_partition(values: Sequence[Sequence[int]], count: int) -> FloatArray:
    """Return values of the partitions of all topics one after the other, 0 for partitions beyond."""
    flat = np.zeros(count, dtype=np.float64)
    listed = np.fromiter(chain.from_iterable(values), dtype=np.float64)
    flat[: len(listed)] = listed
    return flat
