"""When members send heartbeats: each member has a timer of its own.

Classic protocol: the timer of a member starts when its rebalance has all its members (`JoinGroup` response), so members
are in phase right after a rebalance. The heartbeat thread looks at its timer every `retry.backoff.ms` and adds a little
each time, so every heartbeat is up to a hundredth of the interval late, and the phases drift apart within minutes.
A group that has run for long has arbitrary phases.

Source: `AbstractCoordinator.HeartbeatThread`, `Heartbeat.resetTimeouts` and `.sentHeartbeat`, Kafka 4.3.1. The share by
which heartbeats are late is an estimate.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from simulator.group.fleet import Fleet
from simulator.group.member import Member
from simulator.random_streams import random_stream

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
