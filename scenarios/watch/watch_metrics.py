"""The metrics of a watch, in the conventions of Prometheus: names, units, labels and values.

What only Kafka Streams has is missing for consumer groups, not 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from scenarios.kafka.observation.observation import GroupKind, GroupPhase, GroupSnapshot
from scenarios.watch.monitor import MonitorStatus
from scenarios.watch.prediction import PredictionVerdict
from scenarios.watch.watch_events import ALARMS, EventKind

PREFIX: Final = "assignor_sim_watch_"
_STREAMS_ALARMS: Final = (EventKind.PROBING_STUCK, EventKind.FOLLOWUP_OVERDUE, EventKind.ASSIGNMENT_ERROR)
"""Alarms on what only Kafka Streams has."""
LabeledValue = tuple[tuple[str, ...], float]
"""The values of the labels besides `group`, and the value."""


@dataclass(frozen=True, slots=True)
class WatchStatus:
    """What a watch knows of a group.

    Attributes:
        group: `application.id` or `group.id`.
        last_poll_ms: time of the last successful poll, since 1970; None before the first.
        polls: number of successful polls.
    """

    group: str
    monitor: MonitorStatus
    is_unreachable: bool
    last_poll_ms: int | None
    polls: int
    failed_polls: int
    poll_duration_s: float


@dataclass(frozen=True, slots=True)
class WatchMetric:
    """A metric.

    Attributes:
        name: its name without prefix; that of a counter ends with `_total`.
        help: one sentence.
        read: returns its values; none while they are unknown.
        labels: names of its labels besides `group`.
        streams_only: whether only Kafka Streams has it.
    """

    name: str
    unit: str
    help: str
    read: Callable[[WatchStatus], Iterator[LabeledValue]]
    labels: tuple[str, ...] = ()
    streams_only: bool = False

    @property
    def kind(self) -> Literal["gauge", "counter"]:
        """Return the type."""
        return "counter" if self.name.endswith("_total") else "gauge"

    @property
    def full_name(self) -> str:
        """Return the name in Prometheus."""
        return f"{PREFIX}{self.name}"

    def values(self, status: WatchStatus) -> Iterator[LabeledValue]:
        """Yield the values; none while they are unknown, and if the group has no such figure."""
        if _is_application(status) or not self.streams_only:
            yield from self.read(status)


def _is_application(status: WatchStatus) -> bool:
    return status.monitor.kind is GroupKind.APPLICATION


def _plain(value: Callable[[WatchStatus], float | int | None]) -> Callable[[WatchStatus], Iterator[LabeledValue]]:
    def values(status: WatchStatus) -> Iterator[LabeledValue]:
        found = value(status)
        if found is not None:
            yield (), float(found)

    return values


def _of_snapshot(
    value: Callable[[GroupSnapshot], float | int | None],
) -> Callable[[WatchStatus], Iterator[LabeledValue]]:
    return _plain(lambda status: None if status.monitor.snapshot is None else value(status.monitor.snapshot))


def _phases(status: WatchStatus) -> Iterator[LabeledValue]:
    if status.monitor.snapshot is not None:
        for phase in GroupPhase:
            yield (str(phase),), float(phase is status.monitor.snapshot.phase)


def _tasks(status: WatchStatus) -> Iterator[LabeledValue]:
    snapshot, unassigned = status.monitor.snapshot, status.monitor.unassigned
    if snapshot is None or not snapshot.members or unassigned is None:
        return
    yield ("active",), float(sum(len(member.active) for member in snapshot.members))
    if _is_application(status):
        yield ("standby",), float(sum(len(member.standby) for member in snapshot.members))
    yield ("unassigned",), float(unassigned)


def _predictions(status: WatchStatus) -> Iterator[LabeledValue]:
    for verdict in PredictionVerdict:
        yield (str(verdict),), float(status.monitor.verdicts.get(verdict, 0))


def _alarms(status: WatchStatus) -> Iterator[LabeledValue]:
    active = {**status.monitor.alarms, EventKind.UNREACHABLE: status.is_unreachable}
    for kind in ALARMS:
        if _is_application(status) or kind not in _STREAMS_ALARMS:
            yield (str(kind),), float(active.get(kind, False))


def _seconds(at_ms: int | None) -> float | None:
    return None if at_ms is None else at_ms / 1000


def _lag(snapshot: GroupSnapshot) -> int | None:
    if not snapshot.progress:
        return None
    return sum(max(0, progress.end - progress.committed) for progress in snapshot.progress.values())


METRICS: Final = (
    WatchMetric(
        "up",
        "",
        "Whether the last poll succeeded: 1, or 0 while the alarm unreachable is active.",
        _plain(lambda status: not status.is_unreachable),
    ),
    WatchMetric(
        "last_poll_timestamp_seconds",
        "seconds since 1970",
        "Time of the last successful poll.",
        _plain(lambda status: _seconds(status.last_poll_ms)),
    ),
    WatchMetric(
        "poll_duration_seconds",
        "seconds",
        "Duration of the last successful poll.",
        _plain(lambda status: status.poll_duration_s if status.polls else None),
    ),
    WatchMetric("polls_total", "polls", "Successful polls.", _plain(lambda status: status.polls)),
    WatchMetric("failed_polls_total", "polls", "Failed polls.", _plain(lambda status: status.failed_polls)),
    WatchMetric("group_phase", "", "1 for the current phase of the group, 0 for others.", _phases, labels=("phase",)),
    WatchMetric(
        "members",
        "members",
        "Members of the group: stream threads, or consumers.",
        _of_snapshot(lambda snapshot: len(snapshot.member_ids)),
    ),
    WatchMetric(
        "processes",
        "processes",
        "Kafka Streams processes of the members; missing while a classic group rebalances.",
        _of_snapshot(lambda snapshot: len(snapshot.clients()) if snapshot.members or not snapshot.member_ids else None),
        streams_only=True,
    ),
    WatchMetric(
        "tasks", "tasks", "Active tasks, standbys with warm-ups, and tasks without owner.", _tasks, labels=("role",)
    ),
    WatchMetric(
        "rebalances_total",
        "rebalances",
        "Rebalances since the start of the watch, by generation or epoch.",
        _plain(lambda status: status.monitor.rebalances),
    ),
    WatchMetric(
        "predictions_total",
        "assignments",
        "New assignments by comparison with their prediction.",
        _predictions,
        labels=("result",),
    ),
    WatchMetric(
        "tasks_not_as_predicted",
        "tasks",
        "Tasks of the last compared assignment that are not where they were predicted.",
        _plain(lambda status: status.monitor.tasks_elsewhere),
    ),
    WatchMetric(
        "next_rebalance_timestamp_seconds",
        "seconds since 1970",
        "Time of the next scheduled rebalance; missing if none is.",
        _of_snapshot(lambda snapshot: _seconds(snapshot.next_rebalance_at_ms or None)),
        streams_only=True,
    ),
    WatchMetric(
        "warmups",
        "task copies",
        "Copies that must catch up before tasks move to them.",
        _plain(lambda status: status.monitor.warmups),
        streams_only=True,
    ),
    WatchMetric(
        "warmup_lag_records_max",
        "records",
        "Largest lag of a copy that must catch up, at the last rebalance.",
        _plain(lambda status: status.monitor.max_warmup_lag),
        streams_only=True,
    ),
    WatchMetric(
        "expected_convergence_timestamp_seconds",
        "seconds since 1970",
        "Time at which the last task has moved if every copy catches up in time; missing if none moves.",
        _plain(lambda status: _seconds(status.monitor.expected_end_ms)),
        streams_only=True,
    ),
    WatchMetric(
        "source_lag_records", "records", "Records of the source topics that are not committed.", _of_snapshot(_lag)
    ),
    WatchMetric(
        "stalled_tasks",
        "tasks",
        "Tasks without progress, although records arrive, or without owner.",
        _plain(lambda status: status.monitor.stalled_tasks),
    ),
    WatchMetric(
        "stalled_seconds_max",
        "seconds",
        "Longest time without progress or owner of a task.",
        _plain(lambda status: status.monitor.max_stalled_ms / 1000),
    ),
    WatchMetric(
        "predicted_downtime_seconds",
        "seconds",
        "Predicted downtime of stalled tasks if their process has crashed (maximum).",
        _plain(lambda status: status.monitor.predicted_down_ms / 1000),
    ),
    WatchMetric("alarm_active", "", "Whether an alarm is active: 1 or 0.", _alarms, labels=("alarm",)),
)
"""All metrics; every metric has the label `group`."""
