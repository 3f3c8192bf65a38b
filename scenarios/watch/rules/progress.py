"""Tasks that make no progress or have no owner, and for how long the simulator predicts that they are down."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from scenarios.kafka.observation.observation import GroupKind, GroupPhase
from scenarios.watch.polls import Poll
from scenarios.watch.predicted_assignment import in_kafka_order
from scenarios.watch.watch_events import MESSAGE_WIDTH, Alarm, EventKind, EventLevel, WatchEvent, seconds, with_names

_TOLERANCE: Final = 1.15
_MIN_TOLERANCE_MS: Final = 3_000
"""A predicted time is met within 15 % or 3 s, as in the comparison with real groups."""


class DowntimeForecast(Protocol):
    """Predicts how long tasks are down."""

    def down_ms(self, process: str, task: str) -> int | None:
        """Return for how long a task is down if its process crashes; None if that is unknown."""

    def restore_ms(self, process: str, tasks: Sequence[str]) -> int:
        """Return how long a process needs to restore tasks together, without any local copy."""


@dataclass(slots=True)
class _TaskRecord:
    """What is known about the progress of a task.

    Attributes:
        committed: sum of its committed offsets.
        end: sum of the end offsets when it last changed.
        last_end: sum of the end offsets at the poll before.
        pending_since_ms: since when records have arrived that are not committed; None if none have.
        owner: its last owner.
        previous: the owner before, which may be the one that crashed.
        moved_together: the tasks that moved to the owner at the same time.
        limit_ms: the predicted downtime, once it was needed.
    """

    committed: int
    end: int
    last_end: int
    pending_since_ms: int | None = None
    owner: str | None = None
    previous: str | None = None
    moved_together: tuple[str, ...] = ()
    limit_ms: int | None = None


class ProgressRule:
    """Reports tasks that make no progress or have no owner; alarms if that lasts longer than after a crash.

    A task makes no progress if its committed offsets do not change, although records arrive. A running task commits
    within `commit.interval.ms`, and the watch sees it at the next poll. A downtime seems longer by up to two commit
    intervals and polls: the last commit before it may be an interval old, and so long takes the first one after it.

    Whether a task has an owner is known from an assignment; it also counts for tasks without records or commits.

    Attributes:
        stalled_ms: for how long each task has made no progress or had no owner, beyond a commit interval and a poll.
        predicted_ms: the predicted downtime of stalled tasks.
    """

    def __init__(self, group: str) -> None:
        self._group = group
        self._down = Alarm(group, EventKind.TASK_DOWN)
        self._tasks: dict[str, _TaskRecord] = {}
        self._unowned_since_ms: dict[str, int] = {}
        self._reported: frozenset[str] = frozenset()
        self._last_gap_ms = 0
        self.stalled_ms: dict[str, int] = {}
        self.predicted_ms: dict[str, int] = {}

    @property
    def alarms(self) -> dict[EventKind, bool]:
        """Return which alarms are active."""
        return {EventKind.TASK_DOWN: self._down.is_active}

    def observe(self, poll: Poll, forecast: DowntimeForecast) -> Iterator[WatchEvent]:
        """Yield the events of a poll."""
        self._note(poll)
        self._note_unowned(poll)
        watched, at_ms = poll.watched, poll.snapshot.at_ms
        gap_ms, self._last_gap_ms = max(poll.gap_ms, self._last_gap_ms), poll.gap_ms
        if watched is None:
            return
        slack_ms = watched.commit_interval_ms + gap_ms
        waiting = {task: at_ms - since_ms for task, since_ms in self._unowned_since_ms.items()}
        for task, record in self._tasks.items():
            if record.pending_since_ms is not None:
                waiting[task] = max(waiting.get(task, 0), at_ms - record.pending_since_ms)
        self.stalled_ms = {task: waited_ms for task, waited_ms in waiting.items() if waited_ms > slack_ms}
        session_ms = watched.group_configs.session_timeout_ms
        self.predicted_ms = {task: self._limit_ms(task, forecast, session_ms) for task in self.stalled_ms}
        down = {
            task
            for task, limit_ms in self.predicted_ms.items()
            if self.stalled_ms[task] > max(_TOLERANCE * limit_ms, limit_ms + _MIN_TOLERANCE_MS) + 2 * slack_ms
        }
        yield from self._stalled_events(poll)
        message, details = self._message("down", down, poll), self._details(down, poll)
        again = "all partitions" if poll.kind is GroupKind.CONSUMERS else "all tasks"
        yield from self._down.update(at_ms, bool(down), message, f"{again} make progress again", details)

    def _note(self, poll: Poll) -> None:
        """Note the offsets and the owners; in an empty group, no task has a process that could crash."""
        snapshot = poll.snapshot
        if snapshot.phase in (GroupPhase.EMPTY, GroupPhase.GONE):
            self._tasks.clear()
            self._unowned_since_ms.clear()
            return
        if poll.watched is not None:
            known = set(poll.watched.task_names)  # A consumer group reads the topics to which members subscribe now.
            self._tasks = {task: record for task, record in self._tasks.items() if task in known}
        owners = snapshot.actives() if poll.is_assigned else {}
        arrived: dict[str, list[str]] = {}
        for task, progress in snapshot.progress.items():
            record = self._tasks.get(task)
            if record is None:
                record = self._tasks[task] = _TaskRecord(progress.committed, progress.end, progress.end)
            elif record.committed != progress.committed:
                record.committed, record.end = progress.committed, progress.end
                record.pending_since_ms = record.limit_ms = None
            elif record.pending_since_ms is None and progress.end > max(record.end, record.committed):
                was_pending = poll.before is not None and record.last_end > record.committed
                record.pending_since_ms = poll.before.at_ms if poll.before and was_pending else snapshot.at_ms
            record.last_end = progress.end
            if (owner := owners.get(task)) is not None and owner != record.owner:
                if record.owner is not None:
                    arrived.setdefault(owner, []).append(task)
                record.owner, record.previous = owner, record.owner
                record.moved_together, record.limit_ms = (), None
        for tasks in arrived.values():
            for task in tasks:
                self._tasks[task].moved_together = tuple(tasks)

    def _note_unowned(self, poll: Poll) -> None:
        """Note the tasks without owner; while a classic group rebalances, its owners are unknown."""
        if poll.watched is None or not poll.is_assigned:
            return
        owned = poll.snapshot.actives()
        self._unowned_since_ms = {
            task: self._unowned_since_ms.get(task, poll.snapshot.at_ms)
            for task in poll.watched.task_names
            if task not in owned
        }

    def _limit_ms(self, task: str, forecast: DowntimeForecast, session_ms: int) -> int:
        """Return the predicted downtime of a task: if its last owner crashed, or the one before.

        If the task has moved, the last owner may also restore all tasks that moved to it, after a session timeout.
        """
        record = self._tasks.get(task)
        if record is None:  # Nothing was committed, so that its last owner was not noted.
            return session_ms
        if record.limit_ms is None:
            owners = [process for process in (record.owner, record.previous) if process is not None]
            predicted = [down_ms for process in owners if (down_ms := forecast.down_ms(process, task)) is not None]
            restore_ms = 0
            if record.owner is not None and record.moved_together:
                restore_ms = forecast.restore_ms(record.owner, record.moved_together)
            record.limit_ms = max([*predicted, session_ms + restore_ms])
        return record.limit_ms

    def _stalled_events(self, poll: Poll) -> Iterator[WatchEvent]:
        new = frozenset(self.stalled_ms) - self._reported
        resumed = self._reported - frozenset(self.stalled_ms)
        self._reported = frozenset(self.stalled_ms)
        at_ms = poll.snapshot.at_ms
        if new:
            message = self._message("without progress", set(new), poll)
            details = self._details(set(new), poll)
            yield WatchEvent(at_ms, self._group, EventKind.TASK_DOWN, EventLevel.INFO, message, details)
        if resumed and not self._down.is_active:
            tasks = in_kafka_order(resumed)
            message = with_names(f"{poll.counted_tasks(len(tasks))} progressing again", tasks)
            yield WatchEvent(at_ms, self._group, EventKind.TASK_DOWN, EventLevel.INFO, message, {"resumed": tasks})

    def _message(self, what: str, tasks: set[str], poll: Poll) -> str:
        if not tasks:
            return what
        worst = max(self.stalled_ms[task] for task in tasks)
        limits = [self.predicted_ms[task] for task in tasks if task in self.predicted_ms]
        predicted = f" (predicted: {seconds(max(limits))})" if limits else ""
        owners = sorted({poll.name(owner) for task in tasks if (owner := self._owner(task)) is not None})
        on = f" on {owners[0]}" if len(owners) == 1 else ""
        if tasks <= self._unowned_since_ms.keys():
            what = "without owner"
        number, rest = poll.counted_tasks(len(tasks)), f"{what} for {seconds(worst)}{predicted}"
        on = on if len(f"{number}{on} {rest}") <= MESSAGE_WIDTH else ""
        return with_names(f"{number}{on} {rest}", in_kafka_order(tasks))

    def _owner(self, task: str) -> str | None:
        """Return the last known owner of a task; None if it has none."""
        record = self._tasks.get(task)
        return None if record is None or task in self._unowned_since_ms else record.owner

    def _details(self, tasks: set[str], poll: Poll) -> dict[str, object]:
        key = "member" if poll.kind is GroupKind.CONSUMERS else "process_id"
        return {
            "tasks": [
                {
                    "task": task,
                    key: self._owner(task),
                    "stalled_ms": self.stalled_ms[task],
                    "predicted_ms": self.predicted_ms.get(task),
                }
                for task in in_kafka_order(tasks)
            ]
        }
