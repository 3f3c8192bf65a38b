"""Safe restarts of brokers: a broker stops only when the replicas of the brokers before it are in sync again.

Failures of brokers and reassignments are left out; the traffic is that of the time of each restart.

A bound proves most restarts safe in O(P · W) for P partitions with up to W replicas. Otherwise, the restarts are
simulated. A broker whose turn comes too early waits, which says how long a pause suffices; restarts with such pauses
meet other traffic, so they are simulated again. Partitions with the same replicas and leader count as one: their
replicas lag and catch up together, see `simulator.brokers.replication_progress`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from itertools import chain, pairwise, takewhile
from typing import Final, NamedTuple

import numpy as np

from assignors.model.columns import IntArray
from simulator.brokers.coordinator import OFFSETS_TOPIC
from simulator.brokers.replication_progress import ReplicationProgress
from simulator.world.disturbances import BrokerBounce, TrafficChange
from simulator.world.layout import FloatArray, sum_by_row
from simulator.world.world import Subtopology, Topic, World, topics_written_by

LONGEST_WAIT_MS: Final = 24 * 3_600_000
"""The longest pause, and the longest time that restarts are postponed."""
_SECOND_MS: Final = 1_000
_HOURS: Final = 24

Traffic = Callable[[], Iterator[TrafficChange]]
"""Returns the traffic over time, in order, without an end; before the first change, it is the usual traffic."""


@dataclass(frozen=True, slots=True)
class UnsafeRestart:
    """A broker that stops before the replicas of another one are in sync again.

    Attributes:
        number: which of the restarts.
        place: which of their brokers; the first one needs another time, any other one a longer pause.
        before: id of the broker that restarted before it.
        safe_ms: when restarts may begin, if the restarts before them are safe, or a pause that suffices, where one that
            is a second shorter does not if all other restarts are safe; in full seconds, None if nothing within a day
            suffices.
    """

    number: int
    place: int
    before: int
    safe_ms: int | None


def unsafe_restarts(world: World, bounces: Sequence[BrokerBounce], traffic: Traffic) -> list[UnsafeRestart]:
    """Return which restarts are unsafe, and when they are safe.

    `world`: the cluster at its start, without disturbances; `traffic`: the traffic over time. Returns at most two for
    each of the restarts, for their time and their pause; the first one in time comes first.
    """
    world = _merge_partitions(world)
    if _are_safe_by_bound(world, bounces, traffic):
        return []
    plan, first = list(bounces), dict[tuple[int, bool], UnsafeRestart]()
    while delayed := _RestartSimulation(world, plan, traffic).run():
        for unsafe in delayed:
            number, place, safe_ms = unsafe.number, unsafe.place, unsafe.safe_ms
            bounce = plan[number]
            if safe_ms is None:
                plan[number] = replace(bounce, brokers=bounce.brokers[:place])
            elif place == 0:
                plan[number] = replace(bounce, at_ms=safe_ms)
            else:
                plan[number] = replace(bounce, pause_ms=max(bounce.pause_ms, safe_ms))
            first.setdefault((number, place > 0), unsafe)
    restarts = []
    for unsafe in first.values():
        safe_ms = _safe_ms(world, plan, bounces, unsafe, traffic)
        if unsafe.place and safe_ms is not None:
            plan[unsafe.number] = replace(plan[unsafe.number], pause_ms=safe_ms)
        restarts.append(replace(unsafe, safe_ms=safe_ms))
    return restarts


def _safe_ms(
    world: World, plan: Sequence[BrokerBounce], bounces: Sequence[BrokerBounce], unsafe: UnsafeRestart, traffic: Traffic
) -> int | None:
    """Return when unsafe restarts may begin, or a pause that suffices, while one that is a second shorter does not.

    `plan`: safe restarts, without those that nothing makes safe; `traffic`: the traffic over time.
    """
    number = unsafe.number
    planned, given = plan[number], bounces[number]
    if unsafe.place == 0:
        return planned.at_ms if planned.brokers else None
    if len(planned.brokers) < len(given.brokers):
        return None
    short_s, long_s = given.pause_ms // _SECOND_MS, planned.pause_ms // _SECOND_MS
    tried_s = long_s - 1
    while long_s - short_s > 1:
        tried = [*plan]
        tried[number] = replace(planned, pause_ms=tried_s * _SECOND_MS)
        if _RestartSimulation(world, tried, traffic).run(ends_at_first=True):
            short_s = tried_s
        else:
            long_s = tried_s
        tried_s = (short_s + long_s) // 2
    return long_s * _SECOND_MS


class _Kind(NamedTuple):
    """What partitions of a merged topic have in common.

    Attributes:
        holds_offsets: whether they are those of `__consumer_offsets`.
        waits: whether their producers wait for followers, see `simulator.brokers.replication_progress`.
    """

    holds_offsets: bool
    waits: bool
    min_insync_replicas: int
    unclean_leader_election: bool


_State = tuple[tuple[int, ...], int, tuple[int, ...], tuple[bool, ...]]
"""Replicas, leader and ISR of a partition at the start, and at which traffic anything is produced for it."""


def _merge_partitions(world: World) -> World:
    """Return a world in which the partitions with the same replicas, leader, ISR and configs are one.

    They lack something, or nothing, at the same times, and a broker catches up with all that it lacks together.
    """
    cluster, application = world.cluster, world.application
    written = topics_written_by(application.subtopologies) if application.acks_all else ()
    is_hourly = any(topic.hourly_bytes_per_s for topic in cluster.topics.values())
    rows_of: dict[_Kind, dict[_State, int]] = {}
    rates: dict[_Kind, list[tuple[IntArray, FloatArray]]] = {}
    for name, topic in cluster.topics.items():
        kind = _Kind(name == OFFSETS_TOPIC, name in written, topic.min_insync_replicas, topic.unclean_leader_election)
        merged = rows_of.setdefault(kind, {})
        hours = topic.hourly_bytes_per_s or (topic.bytes_per_s,) * _HOURS
        table = np.array([topic.bytes_per_s, *(hours if is_hourly else ())], dtype=np.float64)
        grows = map(tuple, (table.T > 0).tolist())
        states = zip(topic.replicas, topic.leaders, topic.in_sync or topic.replicas, grows, strict=True)
        rows = np.array([merged.setdefault(state, len(merged)) for state in states], dtype=np.int64)
        rates.setdefault(kind, []).append((rows, table))
    topics = {}
    for number, (kind, merged) in enumerate(rows_of.items()):
        rows = np.concatenate([rows for rows, _ in rates[kind]])
        table = np.concatenate([table for _, table in rates[kind]], axis=1)
        usual, *hourly = (tuple(map(int, sum_by_row(rows, column, len(merged)).tolist())) for column in table)
        replicas, leaders, in_sync, _ = zip(*merged, strict=True)
        name = OFFSETS_TOPIC if kind.holds_offsets else str(number)
        topics[name] = Topic(
            name,
            replicas,
            leaders,
            usual,
            size_bytes=(0,) * len(merged),
            hourly_bytes_per_s=tuple(hourly),
            in_sync=() if in_sync == replicas else in_sync,
            min_insync_replicas=kind.min_insync_replicas,
            unclean_leader_election=kind.unclean_leader_election,
        )
    waiting = tuple(name for name, kind in zip(topics, rows_of, strict=True) if kind.waits)
    merged_application = replace(application, subtopologies=(Subtopology(0, (), written_topics=waiting),))
    return replace(world, cluster=replace(cluster, topics=topics), application=merged_application)


def _are_safe_by_bound(world: World, bounces: Sequence[BrokerBounce], traffic: Traffic) -> bool:
    """Return whether a bound proves that restarts are safe.

    If no broker sends more than half of its replication rate to followers in sync, whichever replicas lead, they do not
    lag. Then all that a restarted broker lacks shrinks by the rate that it or a leader has left, less what is produced.
    Rates are the highest ones from its restart until the next one.
    """
    brokers, topics = world.cluster.brokers, world.cluster.topics.values()
    if any(topic.in_sync for topic in topics):
        return False
    rate = np.array([broker.replication_bytes_per_s for broker in brokers], dtype=np.float64)
    row_of = {broker.id: row for row, broker in enumerate(brokers)}
    restarts = sorted(
        (bounce.at_ms + place * (bounce.down_ms + bounce.pause_ms), bounce.down_ms, row_of[broker])
        for bounce in bounces
        for place, broker in enumerate(bounce.brokers)
    )
    last_ms = max((stop_ms for stop_ms, _, _ in restarts), default=0)
    changes = [TrafficChange(0, 1.0), *takewhile(lambda change: change.at_ms < last_ms, traffic())]
    starts = [change.at_ms for change in changes]
    rates = _rates_of_brokers(world, row_of)

    def highest(from_ms: int, until_ms: int) -> tuple[FloatArray, FloatArray]:
        """Return what is stored and sent per second at most by each broker in a period."""
        during = changes[bisect_right(starts, from_ms) - 1 : bisect_left(starts, until_ms)]
        loads = [change.factor * rates[..., 0 if change.hour is None else 1 + change.hour] for change in during]
        stored, sent = np.max(loads, axis=0)
        return stored, sent

    first_ms = min((stop_ms for stop_ms, _, _ in restarts), default=0)
    if len(restarts) > 1 and first_ms > 0 and (rate < 2 * highest(0, first_ms)[1]).any():
        return False  # Replicas may lag before the first broker stops.
    for (stop_ms, down_ms, broker), (next_ms, _, _) in pairwise(restarts):
        # Each pair of brokers ends at a full millisecond; the next broker stops after the last one.
        room_ms = next_ms - stop_ms - down_ms - len(brokers) - 1
        if room_ms < 0:
            return False
        stored, sent = highest(stop_ms, next_ms)
        closing = min(rate[broker], (rate - sent).min()) - stored[broker]
        if (rate < 2 * sent).any() or closing <= 0 or stored[broker] * down_ms > closing * room_ms:
            return False
    return True


def _rates_of_brokers(world: World, row_of: Mapping[int, int]) -> FloatArray:
    """Return what is produced per second for the replicas of each broker, and what it sends if it leads them all.

    The result has shape (2, B, 25): both at the usual traffic, then in each hour of the day.
    """
    rates = np.zeros((2, len(row_of), 1 + _HOURS), dtype=np.float64)
    for topic in world.cluster.topics.values():
        usual = topic.bytes_per_s
        table = np.array([usual, *(topic.hourly_bytes_per_s or (usual,) * _HOURS)], dtype=np.float64)
        for place in range(max(map(len, topic.replicas), default=0)):
            cells = [
                (column, row_of[replicas[place]], len(replicas) - 1)
                for column, replicas in enumerate(topic.replicas)
                if place < len(replicas) and replicas[place] in row_of
            ]
            columns, brokers, followers = np.array(cells, dtype=np.int64).reshape(-1, 3).T
            produced = table.T[columns]
            np.add.at(rates[0], brokers, produced)
            np.add.at(rates[1], brokers, produced * followers[:, None])
    return rates


class _BrokerStop(NamedTuple):
    """The time at which a broker stops: which of the restarts, and which of their brokers."""

    at_ms: int
    number: int
    place: int


class _RestartSimulation:
    """Restarts in which a broker whose turn comes too early waits until all replicas are in sync."""

    def __init__(self, world: World, bounces: Sequence[BrokerBounce], traffic: Traffic) -> None:
        self._bounces = bounces
        self._progress = ReplicationProgress(world)
        self._traffic = traffic()
        replicas = [listed for topic in world.cluster.topics.values() for listed in topic.replicas if len(listed) > 1]
        self._replicated = frozenset(chain.from_iterable(replicas))
        self._stops = [_BrokerStop(bounce.at_ms, number, 0) for number, bounce in enumerate(bounces) if bounce.brokers]
        heapify(self._stops)
        self._starts: list[tuple[int, int]] = []
        self._waiting: list[_BrokerStop] = []
        self._outages = Counter[int]()
        self._down = set[int]()
        self._last: int | None = None
        self._ready_ms: dict[int, int] = {}
        self._delayed: dict[tuple[int, int], UnsafeRestart] = {}

    def run(self, *, ends_at_first: bool = False) -> list[UnsafeRestart]:
        """Return the brokers that wait, in order of time, each with the time or the pause that it needs.

        `ends_at_first` says whether to return the first one at once, without that.
        """
        change = next(self._traffic, None)
        while (self._stops or self._waiting) and not (ends_at_first and self._delayed):
            due_ms = [*(stop.at_ms for stop in self._stops[:1]), *map(self._last_ms, self._waiting)]
            due_ms += [at_ms for at_ms, _ in self._starts[:1]]
            now_ms = min(due_ms if change is None else [*due_ms, change.at_ms])
            if any(self._resume(step_ms) for step_ms, _ in self._progress.until(now_ms)):
                continue
            while change is not None and change.at_ms <= now_ms:
                self._progress.set_traffic(change.factor, change.hour)
                change = next(self._traffic, None)
            self._restart(now_ms)
            deque(self._progress.take_step(), maxlen=0)
            if not self._resume(now_ms):
                self._waiting = [stop for stop in self._waiting if self._last_ms(stop) > now_ms]
        return list(self._delayed.values())

    def _restart(self, now_ms: int) -> None:
        """Stop and start the brokers that are due; a broker whose outage ends as another one begins stays down."""
        ended = []
        while self._starts and self._starts[0][0] == now_ms:
            ended.append(heappop(self._starts)[1])
        while self._stops and self._stops[0].at_ms == now_ms:
            self._stop(heappop(self._stops))
        self._outages.subtract(ended)
        started = tuple(broker for broker in dict.fromkeys(ended) if not self._outages[broker])
        self._down.difference_update(started)
        self._progress.start_brokers(started)

    def _stop(self, stop: _BrokerStop) -> None:
        """Stop a broker, or let it wait."""
        bounce = self._bounces[stop.number]
        broker = bounce.brokers[stop.place]
        if broker not in self._down:
            if self._last is not None and not self._is_safe():
                unsafe = UnsafeRestart(stop.number, stop.place, self._last, None)
                self._delayed[stop.number, stop.place] = unsafe
                self._waiting.append(stop)
                return
            self._progress.stop_brokers((broker,), crash=False)
            self._down.add(broker)
            self._last = broker
        start_ms = stop.at_ms + bounce.down_ms
        self._outages[broker] += 1
        heappush(self._starts, (start_ms, broker))
        if stop.place + 1 < len(bounce.brokers):
            self._ready_ms[stop.number] = start_ms
            heappush(self._stops, _BrokerStop(start_ms + bounce.pause_ms, stop.number, stop.place + 1))

    def _resume(self, now_ms: int) -> bool:
        """Let the brokers that wait stop at their next full second if that is safe, and return whether it is."""
        if not self._waiting or not self._is_safe():
            return False
        for stop in self._waiting:
            ready_ms = self._ready_ms[stop.number] if stop.place else 0
            safe_ms = ((now_ms - ready_ms) // _SECOND_MS + 1) * _SECOND_MS
            key = stop.number, stop.place
            self._delayed[key] = replace(self._delayed[key], safe_ms=safe_ms)
            heappush(self._stops, _BrokerStop(ready_ms + safe_ms, *key))
        self._waiting = []
        return True

    def _is_safe(self) -> bool:
        return self._down.isdisjoint(self._replicated) and self._progress.is_in_sync()

    def _last_ms(self, stop: _BrokerStop) -> int:
        """Return until when a broker waits."""
        begin_ms = self._ready_ms[stop.number] if stop.place else self._bounces[stop.number].at_ms
        return max(stop.at_ms, begin_ms + LONGEST_WAIT_MS)
