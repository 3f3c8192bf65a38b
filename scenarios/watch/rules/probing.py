"""Warm-ups and follow-up rebalances: when they are due, and whether they ever end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from scenarios.kafka.observation.observation import GroupPhase
from scenarios.watch.polls import Poll
from scenarios.watch.prediction import PredictedTasks, awaited_copies, rounds_to_converge
from scenarios.watch.watch_events import Alarm, EventKind, EventLevel, WatchEvent, seconds, with_names
from scenarios.watch.watched_application import WatchedApplication
from simulator.plurals import counted

_MAX_STALE: Final = 3
"""Number of assignments with the same warm-up, none of them with a smaller lag, after which the alarm is raised."""
_TOLERANCE: Final = 0.15
_MIN_TOLERANCE_MS: Final = 60_000
"""How late a scheduled rebalance may be: members rejoin within their poll and heartbeat intervals."""


@dataclass(frozen=True, slots=True)
class Warmup:
    """A copy that must catch up. `lag`: its lag in records, when the process joined the last rebalance."""

    task: str
    process: str
    lag: int


@dataclass(slots=True)
class _CopyRecord:
    smallest_lag: int
    stale: int = 0


class Probing:
    """Reports warm-ups with their expected end; alarms if they make no progress, or a scheduled rebalance is overdue.

    A warm-up makes no progress if its lag is not smaller than ever before in three assignments since members last
    changed; other assignments may lie between them (KAFKA-10199 and similar).

    Attributes:
        warmups: the copies that must catch up, in Kafka's order of tasks.
        expected_end_ms: time at which the last task has moved if every copy catches up in time; None if none moves, or
            this is unknown.
    """

    def __init__(self, group: str) -> None:
        self._group = group
        self._stuck = Alarm(group, EventKind.PROBING_STUCK)
        self._overdue = Alarm(group, EventKind.FOLLOWUP_OVERDUE)
        self._copies: dict[tuple[str, str], _CopyRecord] = {}
        self._processes: frozenset[str] = frozenset()
        self._rounds = 0
        self.warmups: tuple[Warmup, ...] = ()
        self.expected_end_ms: int | None = None

    @property
    def alarms(self) -> dict[EventKind, bool]:
        """Return which alarms are active."""
        return {
            EventKind.PROBING_STUCK: self._stuck.is_active,
            EventKind.FOLLOWUP_OVERDUE: self._overdue.is_active,
        }

    def observe(self, poll: Poll) -> Iterator[WatchEvent]:
        """Yield the events of a poll; consumer groups have neither warm-ups nor scheduled rebalances."""
        yield from self._overdue_events(poll)
        if poll.is_new:
            yield from self._new_assignment(poll)

    def _new_assignment(self, poll: Poll) -> Iterator[WatchEvent]:
        processes = frozenset(poll.snapshot.clients())
        if processes != self._processes:
            self._copies.clear()
            self._rounds = 0
        self._processes = processes
        self.warmups, self.expected_end_ms = _warmups(poll), None
        next_ms, at_ms = poll.snapshot.next_rebalance_at_ms, poll.snapshot.at_ms
        is_scheduled = next_ms not in (None, 0)
        self._rounds += is_scheduled
        if self.warmups and next_ms and isinstance(poll.watched, WatchedApplication):
            yield self._warmup_event(poll, poll.watched, next_ms)
        stale = self._stale_warmups()
        names = [f"{warmup.task} on {poll.name(warmup.process)}" for warmup in stale]
        message = with_names(f"warm-ups do not catch up in {counted(self._rounds, 'rebalance')}", names)
        details = {
            "rebalances": self._rounds,
            "warmups": [self._details(warmup, poll) for warmup in stale],
        }
        yield from self._stuck.update(at_ms, bool(stale), message, "warm-ups catch up again", details)

    def _stale_warmups(self) -> list[Warmup]:
        """Note the lags of the warm-ups, and return those that make no progress."""
        stale = []
        for warmup in self.warmups:
            record = self._copies.get((warmup.task, warmup.process))
            if record is None or warmup.lag < record.smallest_lag:
                self._copies[warmup.task, warmup.process] = _CopyRecord(warmup.lag)
                continue
            record.stale += 1
            if record.stale >= _MAX_STALE:
                stale.append(warmup)
        return stale

    def _warmup_event(self, poll: Poll, application: WatchedApplication, next_ms: int) -> WatchEvent:
        predicted, rounds = _predicted_tasks(poll), None
        if predicted is not None:
            rounds = rounds_to_converge(application, predicted)
        at_ms = poll.snapshot.at_ms
        if rounds:
            interval_ms = application.configs.probing_rebalance_interval_ms
            self.expected_end_ms = next_ms + (rounds - 1) * interval_ms
        ends = (
            ""
            if self.expected_end_ms is None
            else f", done in {seconds(max(0, self.expected_end_ms - at_ms))} or later"
        )
        due = seconds(max(0, next_ms - at_ms))
        copies = "1 copy" if len(self.warmups) == 1 else f"{len(self.warmups)} copies"
        message = f"{copies} catching up; next rebalance in {due}{ends}"
        details = {
            "warmups": [self._details(warmup, poll) for warmup in self.warmups],
            "next_rebalance_at_ms": next_ms,
            "rebalances_left": rounds,
            "expected_end_ms": self.expected_end_ms,
        }
        return WatchEvent(at_ms, self._group, EventKind.WARMUPS, EventLevel.INFO, message, details)

    def _overdue_events(self, poll: Poll) -> Iterator[WatchEvent]:
        """Compare with the schedule of the assignment that the group still has."""
        snapshot, before = poll.snapshot, poll.before
        next_ms = None if before is None or not before.members else before.next_rebalance_at_ms
        late_ms = 0
        is_same = not poll.is_new and snapshot.phase is GroupPhase.STABLE
        if next_ms and is_same and isinstance(poll.watched, WatchedApplication):
            configs = poll.watched
            allowed_ms = max(
                _MIN_TOLERANCE_MS,
                round(_TOLERANCE * configs.configs.probing_rebalance_interval_ms),
                configs.group_configs.session_timeout_ms,
            )
            late_ms = max(0, snapshot.at_ms - next_ms - allowed_ms - poll.gap_ms)
        yield from self._overdue.update(
            snapshot.at_ms,
            late_ms > 0,
            f"no rebalance: it was due {seconds(snapshot.at_ms - (next_ms or 0))} ago",
            "the overdue rebalance has taken place",
            {"due_at_ms": next_ms},
        )

    @staticmethod
    def _details(warmup: Warmup, poll: Poll) -> Mapping[str, object]:
        return {"task": warmup.task, "process": poll.name(warmup.process), "lag": warmup.lag}


def _warmups(poll: Poll) -> tuple[Warmup, ...]:
    """Return the copies that must catch up, while the assignor requests another rebalance."""
    predicted, application = _predicted_tasks(poll), poll.watched
    if predicted is None or not isinstance(application, WatchedApplication) or not predicted.requests_followup:
        return ()
    copies = awaited_copies(application, predicted)
    return tuple(Warmup(str(task), process, lag) for task, process, lag in copies)


def _predicted_tasks(poll: Poll) -> PredictedTasks | None:
    predicted = None if poll.compared is None else poll.compared.predicted
    return predicted if isinstance(predicted, PredictedTasks) else None
