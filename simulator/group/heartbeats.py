"""When members send heartbeats: each member has a timer of its own.

Classic protocol: the timer of a member starts when its rebalance has all its members (`JoinGroup` response), so members
are in phase right after a rebalance. The heartbeat thread looks at its timer every `retry.backoff.ms` and adds a little
each time, so every heartbeat is up to a hundredth of the interval late, and the phases drift apart within minutes.
A group that has run for long has arbitrary phases.

Source: `AbstractCoordinator.HeartbeatThread`, `Heartbeat.resetTimeouts` and `.sentHeartbeat`, Kafka 4.3.1. The share by
which heartbeats are late is an estimate.

Source of the conversion: `ConsumerGroup.fromClassicGroup`, `ClassicGroup.fromConsumerGroup`, Kafka 4.3.1.

A member of a streams group reports the offsets of its tasks when it joins, with the next heartbeat after that, when its
tasks have changed, and with the first heartbeat after `group.streams.task.offset.interval.ms`. The coordinator keeps
the last report of each member in memory only, so all reports are lost when another broker becomes the coordinator.

Source: `StreamsGroupHeartbeatRequestManager.HeartbeatState.buildRequestData`, kafka-clients 4.4.0;
`GroupMetadataManager.streamsGroupHeartbeat`, `StreamsGroup.taskOffsets`, Kafka 4.4.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from simulator.group.fleet import Fleet
from simulator.group.member import Member
from simulator.group.rebalance_causes import Cause
from simulator.random_streams import random_stream
from simulator.world.group_assignment import GroupAssignment

_MAX_DELAYS_PER_INTERVAL = 100
"""The interval divided by the largest delay of a heartbeat."""


_MAX_CACHED_NUMBERS = 8_192
"""Random numbers that are cached; the least recently used is evicted."""


class Heartbeats:
    """The heartbeats of all members of a group.

    `fleet`: the client processes; `interval_ms`: the time between two heartbeats; `seed`: draws the phases and the
    delays; `are_late` says whether the timer is checked at intervals, so that heartbeats are late.
    """

    def __init__(self, fleet: Fleet, interval_ms: int, seed: int, *, are_late: bool) -> None:
        self._fleet = fleet
        self.interval_ms = interval_ms
        self._seed = seed
        self._max_delay_ms = interval_ms // _MAX_DELAYS_PER_INTERVAL if are_late else 0
        self._since_ms: dict[Member, int] = {}
        self._period_ms: dict[Member, int] = {}

    def restart(self, members: Iterable[Member], now_ms: int) -> None:
        """Restart the timers of members."""
        self._since_ms.update(dict.fromkeys(members, now_ms))

    def spread(self, members: Iterable[Member], now_ms: int) -> None:
        """Give members arbitrary phases, as in a group that has run for long."""
        for member in members:
            since_ms = self._since_ms.get(member, now_ms)
            self._since_ms[member] = since_ms - int(self.draw("phase", member) * self.interval_ms)

    def since_ms(self, member: Member) -> int:
        """Return when the timer of a member was restarted."""
        return self._since_ms[member]

    def last_ms(self, member: Member, now_ms: int) -> int:
        """Return when a member sent its last heartbeat, `now_ms` included; for a crashed member, when it crashed."""
        since_ms = self._since_ms[member]
        return now_ms - (now_ms - since_ms) % self._period(member)

    def is_due(self, member: Member, now_ms: int) -> bool:
        """Return whether a member sends a heartbeat now; not if its timer is restarted now."""
        return self._since_ms[member] < now_ms == self.last_ms(member, now_ms)

    def next_ms(self, member: Member, now_ms: int) -> int:
        """Return when a member sends its next heartbeat after `now_ms`."""
        [next_ms] = self.next_times_ms([member], now_ms)
        return next_ms

    def next_times_ms(self, members: Iterable[Member], now_ms: int) -> list[int]:
        """Return when members send their next heartbeats after `now_ms`, as `next_ms`."""
        since_ms, periods_ms = self._since_ms, self._period_ms
        times_ms = []
        for member in members:
            period_ms = periods_ms.get(member) or self._period(member)
            times_ms.append(now_ms - (now_ms - since_ms[member]) % period_ms + period_ms)
        return times_ms

    def due_ms(self, member: Member, now_ms: int) -> int:
        """Return when a member sends its next heartbeat, `now_ms` included."""
        return self.next_ms(member, now_ms - 1)

    def _period(self, member: Member) -> int:
        period_ms = self._period_ms.get(member)
        if period_ms is None:
            delay_ms = round(self.draw("delay", member) * self._max_delay_ms)
            period_ms = self._period_ms[member] = self.interval_ms + delay_ms
        return period_ms

    def draw(self, purpose: str, member: Member) -> float:
        """Return a number from 0 to 1 that is drawn for a purpose and a member."""
        process_id = self._fleet.first_process_id(member.client)
        return _first_number(self._seed, purpose, str(process_id), member.thread, member.start)


@lru_cache(maxsize=_MAX_CACHED_NUMBERS)
def _first_number(seed: int, purpose: str, process_id: str, thread: int, start: int) -> float:
    """Return the first number of a stream; runs of a scenario with several assignors draw the same ones."""
    return float(random_stream(seed, "heartbeat", purpose, process_id, str(thread), str(start)).random())


@dataclass(frozen=True, slots=True, eq=False)
class GroupHandover:
    """A group between two protocols.

    Attributes:
        members: whether a member is static, by member in the order in which they joined.
        generation: the generation, or the epoch of the last target.
        assignment: what each member has for the coordinator, including members that are down; members that are down
            have the numbers of their slots (`Fleet.slot`).
        heartbeats: the heartbeats of the members of the classic protocol.
        rejoining: the members whose JoinGroup or SyncGroup requests the coordinator answers with REBALANCE_IN_PROGRESS
            because of the conversion.
        joining: the members that have started, but not joined, and why each started.
        assignor: the assignor that the coordinator selected last; None if it selected none.
    """

    members: Mapping[Member, bool]
    generation: int
    assignment: GroupAssignment
    heartbeats: Heartbeats
    rejoining: tuple[Member, ...] = ()
    joining: Mapping[Member, Cause] = field(default_factory=dict)
    assignor: str | None = None


class TaskOffsetReports:
    """The times of the last reports of members.

    `interval_ms`: `group.streams.task.offset.interval.ms`.
    """

    def __init__(self, heartbeats: Heartbeats, interval_ms: int) -> None:
        self._heartbeats = heartbeats
        self._interval_ms = interval_ms
        self._period_ms = -(-interval_ms // heartbeats.interval_ms) * heartbeats.interval_ms
        self._reported_ms: dict[Member, int] = {}
        self._joined_ms: dict[Member, int] = {}
        self._lost_until_ms: int | None = None

    @property
    def period_ms(self) -> int:
        """The time between two reports of a member whose tasks do not change: a multiple of the heartbeat interval."""
        return self._period_ms

    def join(self, member: Member, now_ms: int) -> None:
        """Record the report of a member that joins; its next heartbeat has another one."""
        self._joined_ms[member] = self._reported_ms[member] = now_ms

    def report(self, member: Member, now_ms: int) -> None:
        """Record the report of a member whose tasks have changed."""
        self._reported_ms[member] = now_ms
        self._joined_ms.pop(member, None)

    def resume(self, members: Iterable[Member], now_ms: int) -> None:
        """Let members of a group that has run for long report at the phases of their heartbeats."""
        for member in members:
            self._joined_ms.pop(member, None)
            interval_ms = self._heartbeats.interval_ms
            heartbeats = int(self._heartbeats.draw("task offsets", member) * (self._period_ms // interval_ms))
            last_ms = self._heartbeats.last_ms(member, now_ms)
            self._reported_ms[member] = last_ms - heartbeats * interval_ms

    def lose(self, now_ms: int) -> None:
        """Lose all reports, as another broker becomes the coordinator."""
        self._lost_until_ms = now_ms

    def last_ms(self, member: Member, now_ms: int, *, skips: int = 0) -> int | None:
        """Return when a member sent its last report up to `now_ms`, that included; None if the coordinator has none.

        `skips`: by how many reports its offsets are outdated.
        """
        since_ms = self._reported_ms.get(member)
        if since_ms is None:
            return None
        if member in self._joined_ms:
            second_ms = self._heartbeats.next_ms(member, self._joined_ms[member])
            since_ms = second_ms if second_ms <= now_ms else since_ms
        first_ms = self._heartbeats.due_ms(member, since_ms + self._interval_ms)
        last_ms = since_ms
        if first_ms <= now_ms:
            last_ms = first_ms + (now_ms - first_ms) // self._period_ms * self._period_ms
        is_lost = self._lost_until_ms is not None and last_ms < self._lost_until_ms
        return None if is_lost else last_ms - skips * self._period_ms
