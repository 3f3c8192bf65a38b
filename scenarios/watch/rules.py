"""The rules of a watch: state machines without a clock, polls in, events out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from scenarios.kafka.observation.observation import GroupKind, GroupPhase, GroupSnapshot
from scenarios.watch.prediction import (
    ComparedPrediction,
    PredictedTasks,
    PredictionVerdict,
    awaited_copies,
    in_kafka_order,
    rounds_to_converge,
)
from scenarios.watch.watch_events import (
    MESSAGE_WIDTH,
    Alarm,
    EventKind,
    EventLevel,
    WatchEvent,
    counted_processes,
    counted_tasks,
    listed,
    seconds,
    with_names,
)
from scenarios.watch.watched_group import WatchedApplication, WatchedGroup
from simulator.plurals import counted


@dataclass(frozen=True, slots=True, eq=False)
class Poll:
    """A poll.

    Attributes:
        before: the snapshot of the poll before; None at the first.
        assigned_before: the last snapshot with members before this one; None if there was none.
        watched: what the group was observed to be; None while that is unknown.
        compared: the comparison of a new assignment; None if the assignment is that of the poll before.
        names: names of all processes that were ever seen, by process id.
        kind: what the members are; None while no state has shown it.
    """

    snapshot: GroupSnapshot
    before: GroupSnapshot | None
    assigned_before: GroupSnapshot | None
    watched: WatchedGroup | None
    compared: ComparedPrediction | None
    names: Mapping[str, str]
    kind: GroupKind | None = None

    @property
    def is_assigned(self) -> bool:
        """Return whether the snapshot has an assignment: in a classic group, if it is stable."""
        snapshot = self.snapshot
        return bool(snapshot.members) and (snapshot.phase is GroupPhase.STABLE or snapshot.is_coordinated)

    @property
    def is_new(self) -> bool:
        """Return whether the assignment is another one than that of the poll before."""
        return self.compared is not None

    @property
    def gap_ms(self) -> int:
        """Return the time since the poll before; 0 at the first."""
        return 0 if self.before is None else max(0, self.snapshot.at_ms - self.before.at_ms)

    def name(self, process: str) -> str:
        """Return the name of a process."""
        return self.names.get(process, process)

    def counted_tasks(self, number: int) -> str:
        """Return a number of tasks; those of a consumer group are partitions."""
        return counted_tasks(number, self.kind)

    def counted_processes(self, number: int) -> str:
        """Return a number of processes; of a consumer group, which does not show them, of members."""
        return counted_processes(number, self.kind)


class _WatchRule:
    """A rule of a watch with its alarms."""

    def __init__(self, group: str) -> None:
        self._group = group
        self._alarms: dict[EventKind, Alarm] = {}

    @property
    def alarms(self) -> dict[EventKind, bool]:
        """Return which alarms are active."""
        return {kind: alarm.is_active for kind, alarm in self._alarms.items()}

    def _alarm(self, kind: EventKind) -> Alarm:
        alarm = self._alarms[kind] = Alarm(self._group, kind)
        return alarm


class Assignments(_WatchRule):
    """Reports each new assignment with its cause; alarms while the last one differs from its prediction.

    Attributes:
        rebalances: number of rebalances since the first poll, by generation or epoch.
        verdicts: number of new assignments by verdict.
        num_elsewhere: number of tasks that are not where they were predicted, in the last compared assignment.
    """

    def __init__(self, group: str) -> None:
        super().__init__(group)
        self._differs = self._alarm(EventKind.PREDICTION)
        self._last: GroupSnapshot | None = None
        self.rebalances = 0
        self.verdicts: Counter[PredictionVerdict] = Counter()
        self.num_elsewhere = 0

    def observe(self, poll: Poll) -> Iterator[WatchEvent]:
        """Yield the events of a poll."""
        if not poll.is_new or poll.compared is None:
            return
        if self._last is not None:
            yield self._rebalance(poll, self._last)
        self._last = poll.snapshot
        self.verdicts[poll.compared.verdict] += 1
        yield from self._prediction(poll)

    def _rebalance(self, poll: Poll, before: GroupSnapshot) -> WatchEvent:
        snapshot = poll.snapshot
        passed = 1 if snapshot.epoch is None or before.epoch is None else max(1, snapshot.epoch - before.epoch)
        self.rebalances += passed
        cause = rebalance_cause(before, snapshot)
        targets = before.target_actives()
        moved = sum(process != targets.get(task) for task, process in snapshot.target_actives().items())
        unit = "epoch" if snapshot.is_coordinated else "generation"
        number = "" if snapshot.epoch is None else f", {unit} {snapshot.epoch}"
        several = "rebalance" if passed == 1 else f"{passed} rebalances"
        message = f"{several}{number}: {cause}; {poll.counted_tasks(moved)} moved"
        details = {"epoch": snapshot.epoch, "rebalances": passed, "cause": cause, "active_tasks_moved": moved}
        return WatchEvent(snapshot.at_ms, self._group, EventKind.REBALANCE, EventLevel.INFO, message, details)

    def _prediction(self, poll: Poll) -> Iterator[WatchEvent]:
        compared, at_ms = poll.compared, poll.snapshot.at_ms
        assert compared is not None
        if compared.verdict is PredictionVerdict.UNKNOWN:
            message = f"assignment not compared: {compared.reason}"
            yield WatchEvent(at_ms, self._group, EventKind.PREDICTION, EventLevel.INFO, message, {"verdict": "unknown"})
            return
        tasks = in_kafka_order({difference.task for difference in compared.differences})
        self.num_elsewhere = len(tasks)
        differences = [
            {
                "task": difference.task,
                "role": difference.role,
                "predicted": [poll.name(process) for process in difference.predicted],
                "observed": [poll.name(process) for process in difference.observed],
            }
            for difference in compared.differences
        ]
        total = 0 if compared.predicted is None else len(compared.predicted.tasks)
        details = {"verdict": str(compared.verdict), "tasks": total, "differences": differences}
        as_predicted = f"assignment as predicted: {poll.counted_tasks(total)}"
        elsewhere = with_names(f"{len(tasks)} of {poll.counted_tasks(total)} not as predicted", tasks)
        was_active = self._differs.is_active
        yield from self._differs.update(at_ms, bool(tasks), elsewhere, as_predicted, details)
        if was_active == self._differs.is_active:
            level, message = (EventLevel.ALARM, elsewhere) if tasks else (EventLevel.INFO, as_predicted)
            yield WatchEvent(at_ms, self._group, EventKind.PREDICTION, level, message, details)


def rebalance_cause(before: GroupSnapshot, snapshot: GroupSnapshot) -> str:
    """Return why a group has another assignment, as its members show."""
    of_consumers = snapshot.kind is GroupKind.CONSUMERS
    now, earlier = set(snapshot.clients()), set(before.clients())
    joined, left = len(now - earlier), len(earlier - now)
    started, ended = _count_new(before, snapshot), _count_new(snapshot, before)
    if joined or left:
        return _changes("member" if of_consumers else "client", joined, left)
    if of_consumers:
        return _cause_in_consumers(before, snapshot, started)
    if started or ended:
        return _changes("thread", started, ended)
    if before.next_rebalance_at_ms == 0:
        return "follow-up, after tasks were revoked"
    if before.next_rebalance_at_ms is not None and before.next_rebalance_at_ms <= snapshot.at_ms:
        return "probing"
    return "requested by a member"


def _cause_in_consumers(before: GroupSnapshot, snapshot: GroupSnapshot, returned: int) -> str:
    """Return the cause if a consumer group has the same members; static ones have the same instance id."""
    if returned:
        return f"{counted(returned, 'static member')} returned"
    if before.has_outdated_target:
        return "members had changed again"
    if snapshot.is_coordinated:
        return "subscriptions or topics changed"
    if {str(name) for member in before.members for name in member.owned} - set(before.actives()):
        return "follow-up, after partitions were revoked"
    return "requested by a member"


def _changes(noun: str, joined: int, left: int) -> str:
    changes = [f"{counted(joined, noun)} joined"] if joined else []
    return ", ".join([*changes, *([f"{counted(left, noun)} left"] if left else [])])


def _count_new(before: GroupSnapshot, after: GroupSnapshot) -> int:
    return len(set(after.member_ids) - set(before.member_ids))


_MAX_STALE: Final = 3
"""Number of assignments with the same warm-up, none of them with a smaller lag, after which the alarm is raised."""
_SCHEDULE_TOLERANCE: Final = 0.15
_MIN_SCHEDULE_TOLERANCE_MS: Final = 60_000
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


class Probing(_WatchRule):
    """Reports warm-ups with their expected end; alarms if they make no progress, or a scheduled rebalance is overdue.

    A warm-up makes no progress if its lag is not smaller than ever before in three assignments since members last
    changed; other assignments may lie between them (KAFKA-10199 and similar).

    Attributes:
        warmups: the copies that must catch up, in Kafka's order of tasks.
        expected_end_ms: time at which the last task has moved if every copy catches up in time; None if none moves, or
            this is unknown.
    """

    def __init__(self, group: str) -> None:
        super().__init__(group)
        self._stuck = self._alarm(EventKind.PROBING_STUCK)
        self._overdue = self._alarm(EventKind.FOLLOWUP_OVERDUE)
        self._copies: dict[tuple[str, str], _CopyRecord] = {}
        self._processes: frozenset[str] = frozenset()
        self._rounds = 0
        self.warmups: tuple[Warmup, ...] = ()
        self.expected_end_ms: int | None = None

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
                _MIN_SCHEDULE_TOLERANCE_MS,
                round(_SCHEDULE_TOLERANCE * configs.configs.probing_rebalance_interval_ms),
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


class ProgressRule(_WatchRule):
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
        super().__init__(group)
        self._down = self._alarm(EventKind.TASK_DOWN)
        self._tasks: dict[str, _TaskRecord] = {}
        self._unowned_since_ms: dict[str, int] = {}
        self._reported: frozenset[str] = frozenset()
        self._last_gap_ms = 0
        self.stalled_ms: dict[str, int] = {}
        self.predicted_ms: dict[str, int] = {}

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


_MAX_POLL_INTERVAL_MS: Final = 300_000
"""Kafka's default of `max.poll.interval.ms`, while the group is unknown."""


class GroupStates(_WatchRule):
    """Reports states and members; alarms on an empty or deleted group, error codes, and rebalances without end.

    Members have `max.poll.interval.ms` to join a rebalance; those that have not are removed.
    """

    def __init__(self, group: str) -> None:
        super().__init__(group)
        self._empty = self._alarm(EventKind.GROUP_EMPTY)
        self._gone = self._alarm(EventKind.GROUP_GONE)
        self._stuck = self._alarm(EventKind.REBALANCE_STUCK)
        self._error = self._alarm(EventKind.ASSIGNMENT_ERROR)
        self._rebalancing_since_ms: int | None = None

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
