"""What a watch reports: events, and alarms that are raised and resolved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from scenarios.kafka.observation.observation import GroupKind
from simulator.plurals import counted

_WIDTH: Final = 80
MESSAGE_WIDTH: Final = 60
"""Width of a message; the rest of the line has the time and `resolved: `."""
_SHOWN: Final = 4


class EventLevel(StrEnum):
    """The level of an event.

    Attributes:
        INFO: something happened that is expected.
        ALARM: an alarm was raised.
        RESOLVED: an alarm was resolved.
    """

    INFO = "info"
    ALARM = "alarm"
    RESOLVED = "resolved"


class EventKind(StrEnum):
    """What an event is about. An alarm is raised and resolved with the same kind.

    Attributes:
        STARTED: the watch knows the application, or the consumer group.
        GROUP_STATE: the group has another state.
        MEMBERS: processes, or members of a consumer group, joined or left.
        REBALANCE: the group has a new assignment.
        PREDICTION: the new assignment was compared with the predicted one. Alarm: a task is elsewhere.
        WARMUPS: copies must catch up before tasks move to them, and another rebalance is due.
        PROBING_STUCK: alarm: the lag of a copy does not fall, or the same warm-ups repeat.
        FOLLOWUP_OVERDUE: alarm: a scheduled rebalance has not taken place.
        REBALANCE_STUCK: alarm: a rebalance takes longer than members have to join it.
        TASK_DOWN: a task makes no progress, or has no owner. Alarm: for longer than predicted.
        GROUP_EMPTY: alarm: the group has no members.
        GROUP_GONE: alarm: the group does not exist.
        ASSIGNMENT_ERROR: alarm: the leader sent an error code instead of an assignment.
        UNREACHABLE: alarm: the group could not be described several times.
    """

    STARTED = "started"
    GROUP_STATE = "group_state"
    MEMBERS = "members"
    REBALANCE = "rebalance"
    PREDICTION = "prediction"
    WARMUPS = "warmups"
    PROBING_STUCK = "probing_stuck"
    FOLLOWUP_OVERDUE = "followup_overdue"
    REBALANCE_STUCK = "rebalance_stuck"
    TASK_DOWN = "task_down"
    GROUP_EMPTY = "group_empty"
    GROUP_GONE = "group_gone"
    ASSIGNMENT_ERROR = "assignment_error"
    UNREACHABLE = "unreachable"


ALARMS: Final = (
    EventKind.PREDICTION,
    EventKind.PROBING_STUCK,
    EventKind.FOLLOWUP_OVERDUE,
    EventKind.REBALANCE_STUCK,
    EventKind.TASK_DOWN,
    EventKind.GROUP_EMPTY,
    EventKind.GROUP_GONE,
    EventKind.ASSIGNMENT_ERROR,
    EventKind.UNREACHABLE,
)
"""Kinds of events that are alarms."""


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """An event.

    Attributes:
        at_ms: time of the poll, since 1970.
        group: `application.id` or `group.id`.
        kind: what it is about.
        message: one sentence.
        details: figures, JSON-serializable.
    """

    at_ms: int
    group: str
    kind: EventKind
    level: EventLevel
    message: str
    details: Mapping[str, Any] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """Return the event as a JSON object."""
        time = datetime.fromtimestamp(self.at_ms / 1000, UTC).isoformat(timespec="milliseconds")
        return {
            "time": time.replace("+00:00", "Z"),
            "group": self.group,
            "event": str(self.kind),
            "level": str(self.level),
            "message": self.message,
            "details": dict(self.details),
        }

    def line(self) -> str:
        """Return the event as one line of up to 80 characters, with the time of day in UTC."""
        time = datetime.fromtimestamp(self.at_ms / 1000, UTC).strftime("%H:%M:%SZ")
        label = {EventLevel.INFO: "", EventLevel.ALARM: "ALARM ", EventLevel.RESOLVED: "resolved: "}[self.level]
        text = "".join(char if char.isprintable() else "?" for char in f"{time} {label}{self.message}")
        return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


class Alarm:
    """An alarm that is raised once, and resolved once its condition no longer holds."""

    def __init__(self, group: str, kind: EventKind) -> None:
        self._group = group
        self._kind = kind
        self.is_active = False

    def update(
        self, at_ms: int, holds: bool, message: str, resolved: str, details: Mapping[str, Any] | None = None
    ) -> Iterator[WatchEvent]:
        """Yield an event if the alarm is raised or resolved.

        `at_ms`: time of the poll; `holds` says whether its condition holds; `message`: the sentence when it is raised;
        `resolved`: the sentence when it is resolved.
        """
        if holds != self.is_active:
            self.is_active = holds
            level = EventLevel.ALARM if holds else EventLevel.RESOLVED
            yield WatchEvent(at_ms, self._group, self._kind, level, message if holds else resolved, details or {})


def with_names(sentence: str, names: Sequence[str]) -> str:
    """Return a sentence with as many names behind it as fit a line: all, some, or none."""
    for shown in range(min(len(names), _SHOWN), 0, -1):
        rest = "" if shown == len(names) else f" and {len(names) - shown} more"
        text = f"{sentence}: {', '.join(names[:shown])}{rest}"
        if len(text) <= MESSAGE_WIDTH:
            return text
    return sentence


def listed(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are."""
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"


def counted_tasks(number: int, kind: GroupKind | None) -> str:
    """Return a number of tasks; those of a consumer group are partitions."""
    return counted(number, "partition" if kind is GroupKind.CONSUMERS else "task")


def counted_processes(number: int, kind: GroupKind | None) -> str:
    """Return a number of processes; of a consumer group, which does not show them, of members."""
    if kind is GroupKind.CONSUMERS:
        return counted(number, "member")
    return counted(number, "process", "processes")


def seconds(duration_ms: int) -> str:
    """Return a duration in seconds, or in minutes from ten minutes on."""
    return f"{duration_ms / 60_000:.0f} min" if duration_ms >= 600_000 else f"{duration_ms / 1000:.0f} s"
