"""The monitor of a group: compares each poll with the ones before, and passes it to the rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from scenarios.kafka.observation.observation import GroupKind, GroupPhase, GroupSnapshot
from scenarios.watch.assignment_comparison import compare_assignment, unknown_prediction
from scenarios.watch.forecast import SimulatedDowntimes
from scenarios.watch.polls import ComparedPrediction, Poll, PredictionVerdict, process_names
from scenarios.watch.rules.assignments import Assignments
from scenarios.watch.rules.group_states import GroupStates
from scenarios.watch.rules.probing import Probing
from scenarios.watch.rules.progress import ProgressRule
from scenarios.watch.watch_events import EventKind, WatchEvent
from scenarios.watch.watched_group import WatchedGroup


@dataclass(frozen=True, slots=True)
class MonitorStatus:
    """What a monitor knows after a poll, for metrics.

    Attributes:
        snapshot: the last snapshot; None before the first poll.
        rebalances: number of rebalances since the first poll.
        verdicts: number of new assignments by verdict.
        tasks_elsewhere: number of tasks that are not where they were predicted.
        warmups: number of copies that must catch up.
        max_warmup_lag: largest lag of such a copy, in records.
        expected_end_ms: time at which the last task has moved if copies catch up in time; None if none moves.
        stalled_tasks: number of tasks without progress.
        max_stalled_ms: longest time without progress.
        predicted_down_ms: largest predicted downtime of a stalled task.
        unassigned: number of tasks without owner; None if it is unknown.
        alarms: which alarms are active.
        kind: what the members are; None while no poll has shown it.
    """

    snapshot: GroupSnapshot | None
    rebalances: int
    verdicts: Mapping[PredictionVerdict, int]
    tasks_elsewhere: int
    warmups: int
    max_warmup_lag: int
    expected_end_ms: int | None
    stalled_tasks: int
    max_stalled_ms: int
    predicted_down_ms: int
    unassigned: int | None
    alarms: Mapping[EventKind, bool]
    kind: GroupKind | None


class GroupMonitor:
    """Turns the polls of one group into events; a state machine without a clock."""

    def __init__(self, group: str) -> None:
        """Create a monitor.

        `group`: `application.id` or `group.id`.
        """
        self._states = GroupStates(group)
        self._assignments = Assignments(group)
        self._probing = Probing(group)
        self._progress = ProgressRule(group)
        self._downtimes = SimulatedDowntimes()
        self._last: GroupSnapshot | None = None
        self._assigned: GroupSnapshot | None = None
        self._watched: WatchedGroup | None = None
        self._kind: GroupKind | None = None
        self._problem = ""
        self._clients: dict[str, str] = {}

    def is_new_assignment(self, snapshot: GroupSnapshot) -> bool:
        """Return whether a snapshot has another assignment than the last one."""
        if not snapshot.members or not (snapshot.is_coordinated or snapshot.phase is GroupPhase.STABLE):
            return False
        return self._assigned is None or self._assigned.rebalance != snapshot.rebalance

    def observe(
        self, snapshot: GroupSnapshot, watched: WatchedGroup | None = None, problem: str = ""
    ) -> list[WatchEvent]:
        """Return the events of a poll.

        `watched`: the group as observed with this snapshot; None to keep what is known so far. `problem`: why the group
        could not be observed with this snapshot, and is unknown from now on.
        """
        is_new = self.is_new_assignment(snapshot)
        if watched is not None or problem:
            self._watched, self._problem = watched, problem
        elif snapshot.kind not in (None, self._kind):
            self._watched = None  # The group id now belongs to members of another kind.
        self._kind = snapshot.kind or self._kind
        self._clients.update(snapshot.clients())
        compared = self._compare(snapshot) if is_new else None
        names = process_names(self._clients)
        poll = Poll(snapshot, self._last, self._assigned, self._watched, compared, names, self._kind)
        events = list(self._events(poll))
        if watched is not None:
            self._downtimes.remember(watched)
        self._last = snapshot
        if poll.is_assigned:
            self._assigned = snapshot
        return events

    @property
    def status(self) -> MonitorStatus:
        """Return what is known after the last poll."""
        warmups, progress = self._probing.warmups, self._progress
        rules = (self._states, self._assignments, self._probing, self._progress)
        return MonitorStatus(
            snapshot=self._last,
            rebalances=self._assignments.rebalances,
            verdicts=dict(self._assignments.verdicts),
            tasks_elsewhere=self._assignments.num_elsewhere,
            warmups=len(warmups),
            max_warmup_lag=max((warmup.lag for warmup in warmups), default=0),
            expected_end_ms=self._probing.expected_end_ms,
            stalled_tasks=len(progress.stalled_ms),
            max_stalled_ms=max(progress.stalled_ms.values(), default=0),
            predicted_down_ms=max(progress.predicted_ms.values(), default=0),
            unassigned=self._num_unassigned(),
            alarms={kind: is_active for rule in rules for kind, is_active in rule.alarms.items()},
            kind=self._kind,
        )

    def _events(self, poll: Poll) -> Iterator[WatchEvent]:
        yield from self._states.observe(poll)
        yield from self._assignments.observe(poll)
        yield from self._probing.observe(poll)
        yield from self._progress.observe(poll, self._downtimes)

    def _num_unassigned(self) -> int | None:
        if self._watched is None or self._last is None or not self._last.members:
            return None
        actives = self._last.actives()
        return sum(task not in actives for task in self._watched.task_names)

    def _compare(self, snapshot: GroupSnapshot) -> ComparedPrediction:
        if self._watched is None:
            group = "consumer group" if self._kind is GroupKind.CONSUMERS else "application"
            return unknown_prediction(self._problem or f"the {group} is not known yet")
        return compare_assignment(self._watched, snapshot, self._last, self._assigned)
