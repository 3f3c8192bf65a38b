"""The state of the group and its members: what changes, and when a rebalance takes too long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scenarios.kafka.observation.observation import GroupKind, GroupPhase
from scenarios.watch.polls import Poll
from scenarios.watch.watch_events import Alarm, EventKind, EventLevel, WatchEvent, listed, seconds
from simulator.plurals import counted

_MAX_POLL_INTERVAL_MS: Final = 300_000
"""Kafka's default of `max.poll.interval.ms`, while the group is unknown."""


class GroupStates:
    """Reports states and members; alarms on an empty or deleted group, error codes, and rebalances without end.

    Members have `max.poll.interval.ms` to join a rebalance; those that have not are removed.
    """

    def __init__(self, group: str) -> None:
        self._group = group
        self._empty = Alarm(group, EventKind.GROUP_EMPTY)
        self._gone = Alarm(group, EventKind.GROUP_GONE)
        self._stuck = Alarm(group, EventKind.REBALANCE_STUCK)
        self._error = Alarm(group, EventKind.ASSIGNMENT_ERROR)
        self._rebalancing_since_ms: int | None = None

    @property
    def alarms(self) -> dict[EventKind, bool]:
        """Return which alarms are active."""
        return {
            EventKind.GROUP_EMPTY: self._empty.is_active,
            EventKind.GROUP_GONE: self._gone.is_active,
            EventKind.REBALANCE_STUCK: self._stuck.is_active,
            EventKind.ASSIGNMENT_ERROR: self._error.is_active,
        }

    def observe(self, poll: Poll) -> Iterator[WatchEvent]:
        """Yield the events of a poll."""
        snapshot, before = poll.snapshot, poll.before
        at_ms = snapshot.at_ms
        if before is None or before.state != snapshot.state:
            change = snapshot.state if before is None else f"{before.state} -> {snapshot.state}"
            details = {"state": snapshot.state, "phase": str(snapshot.phase), "members": len(snapshot.member_ids)}
            message = f"{self._group}: {change}, {counted(len(snapshot.member_ids), 'member')}"
            yield WatchEvent(at_ms, self._group, EventKind.GROUP_STATE, EventLevel.INFO, message, details)
        is_empty, is_gone = snapshot.phase is GroupPhase.EMPTY, snapshot.phase is GroupPhase.GONE
        running = f"{self._group} has members again"
        yield from self._empty.update(at_ms, is_empty, f"{self._group} has no members: nothing is processed", running)
        yield from self._gone.update(at_ms, is_gone, f"{self._group} does not exist, or is not visible", running)
        yield from self._stuck_events(poll)
        code = snapshot.error_code
        yield from self._error.update(
            at_ms,
            bool(code),
            f"{self._group}: the leader sent error {code} instead of an assignment",
            f"{self._group}: members have an assignment again",
            {"error_code": code},
        )
        yield from self._member_events(poll)

    def _stuck_events(self, poll: Poll) -> Iterator[WatchEvent]:
        at_ms = poll.snapshot.at_ms
        if poll.snapshot.phase is not GroupPhase.REBALANCING:
            self._rebalancing_since_ms = None
        elif self._rebalancing_since_ms is None:
            self._rebalancing_since_ms = at_ms
        waited_ms = 0 if self._rebalancing_since_ms is None else at_ms - self._rebalancing_since_ms
        watched = poll.watched
        limit_ms = _MAX_POLL_INTERVAL_MS if watched is None else watched.group_configs.max_poll_interval_ms
        yield from self._stuck.update(
            at_ms,
            waited_ms > limit_ms,
            f"rebalance without end: {poll.snapshot.state} for {seconds(waited_ms)}",
            "the rebalance has ended",
            {"waited_ms": waited_ms, "limit_ms": limit_ms},
        )

    def _member_events(self, poll: Poll) -> Iterator[WatchEvent]:
        if not poll.is_assigned or poll.assigned_before is None:
            return
        now, earlier = poll.snapshot.clients(), poll.assigned_before.clients()
        joined = [poll.name(process) for process in sorted(set(now) - set(earlier))]
        left = [poll.name(process) for process in sorted(set(earlier) - set(now))]
        changes = [f"{what}: {listed(names)}" for what, names in (("joined", joined), ("left", left)) if names]
        if changes:
            number = "members" if poll.kind is GroupKind.CONSUMERS else "processes"
            details = {"joined": joined, "left": left, number: len(now)}
            message = f"{'; '.join(changes)} ({poll.counted_processes(len(now))})"
            yield WatchEvent(poll.snapshot.at_ms, self._group, EventKind.MEMBERS, EventLevel.INFO, message, details)
