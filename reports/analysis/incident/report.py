"""The report on a past night: recorded rebalances with their causes and moves, and what would have changed.

The rebalances of a past night by cause, as lanes of a timeline.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, Literal

Row = Mapping[str, Any]

FOLLOW_UP: Final = "follow_up"
PROBING: Final = "probing"


@dataclass(frozen=True, slots=True)
class IncidentCause:
    """A cause of a rebalance.

    Attributes:
        kind: What happened, as in `scenarios.kafka.incident.causes`.
        client: Client; None if no single one caused it.
        text: The cause as text.
    """

    kind: str
    client: str | None
    text: str


@dataclass(frozen=True, slots=True)
class IncidentMove:
    """An active task that another client got.

    Attributes:
        source: Client that had it before; None if none had.
        target: Client that got it.
        has_left: Whether the client that had it was no member any more.
        steps: Rows of the assignor's steps; empty if the recomputed assignment differs.
    """

    task: str
    source: str | None
    target: str
    has_left: bool
    steps: tuple[Row, ...] = ()


@dataclass(frozen=True, slots=True)
class IncidentDifference:
    """A copy that the assignor places elsewhere than recorded.

    Attributes:
        role: `active` or `standby`.
        recorded: Clients that were recorded.
        recomputed: Clients according to the assignor.
        reason: What is unknown.
    """

    task: str
    role: str
    recorded: tuple[str, ...]
    recomputed: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class IncidentRebalance:
    """A recorded rebalance.

    Attributes:
        number: Generation or epoch; position in a log without records.
        at_ms: Time since 1970.
        stated: What clients logged as the reason.
        clients: Clients of the group.
        threads: Number of members.
        moves: Moves of active tasks.
        owners: Client of each active task, in Kafka's order.
        standbys: Clients with a standby of each task, in Kafka's order.
        new_standbys: Number of new standbys; None in a consumer group, which has none.
        stable_at_ms: When all members had their assignment; None if another rebalance came first, or it is unknown.
        is_compared: Whether it was recomputed.
        differences: Copies that the assignor places elsewhere.
        lags: `logged`, `estimated`, or `unused` if the assignor does not use lags.
        unrecorded_offsets: Influence of the task offsets that clients of Kafka 4.4 report and records lack: `none`;
            `explained` if the recorded assignment follows from offsets that the records allow; `unknown` if the
            assignment depends on them, and none that were tried lead to the recorded one.
    """

    number: int
    at_ms: int
    causes: tuple[IncidentCause, ...]
    stated: tuple[str, ...]
    clients: tuple[str, ...]
    threads: int
    moves: tuple[IncidentMove, ...]
    owners: Mapping[str, str]
    standbys: Mapping[str, tuple[str, ...]]
    new_standbys: int | None
    stable_at_ms: int | None
    is_compared: bool
    differences: tuple[IncidentDifference, ...]
    lags: str
    unrecorded_offsets: str = "none"

    @property
    def cause_text(self) -> str:
        """The causes as text."""
        return "; ".join(cause.text for cause in self.causes)


@dataclass(frozen=True, slots=True)
class WhatIf:
    """What another assignor or setting does.

    Attributes:
        label: Its name; `recorded` for what was recorded.
        basis: `states` for each recorded state by itself, `night` for a simulation of the recorded events.
        metrics: Figures by key; None where they are unknown.
        problem: Why there are none; empty if there are.
        by_rebalance: Figures of each rebalance by its number, if they are for recorded states.
    """

    label: str
    basis: Literal["states", "night"]
    metrics: Mapping[str, float | None]
    problem: str = ""
    by_rebalance: Mapping[int, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IncidentReport:
    """A past night of an application, or of a consumer group, whose tasks are partitions.

    Attributes:
        protocol: `classic`, `streams` or `consumer`.
        assignor: Assignor with which it was recomputed.
        rebalances: Recorded rebalances, by time.
        what_ifs: What others would have done.
        read: Files, with their kinds.
        remarks: What is missing or assumed.
        is_consumer_group: Whether the members are consumers without Kafka Streams.
    """

    group: str
    protocol: str
    assignor: str
    num_tasks: int
    rebalances: tuple[IncidentRebalance, ...]
    what_ifs: tuple[WhatIf, ...]
    read: tuple[tuple[str, str], ...]
    remarks: tuple[str, ...]
    is_consumer_group: bool = False

    def with_what_ifs(self, what_ifs: Sequence[WhatIf]) -> IncidentReport:
        """Return the night with what others would have done."""
        return replace(self, what_ifs=tuple(what_ifs))

    @property
    def since_ms(self) -> int:
        """Time of the first rebalance."""
        return self.rebalances[0].at_ms

    @property
    def until_ms(self) -> int:
        """Time of the last rebalance."""
        return self.rebalances[-1].at_ms

    @property
    def later(self) -> tuple[IncidentRebalance, ...]:
        """The rebalances after the first one, from which the others are counted."""
        return self.rebalances[1:]

    @property
    def compared(self) -> tuple[IncidentRebalance, ...]:
        """The rebalances that were recomputed."""
        return tuple(rebalance for rebalance in self.rebalances if rebalance.is_compared)

    @property
    def matching(self) -> int:
        """Number of recomputed rebalances that match in every copy."""
        return sum(not rebalance.differences for rebalance in self.compared)

    @property
    def explained_by_offsets(self) -> int:
        """Number of matching rebalances that depend on task offsets that were not recorded."""
        return sum(
            rebalance.unrecorded_offsets == "explained" and not rebalance.differences for rebalance in self.compared
        )

    def num_moves(self) -> int:
        """Return the number of moves of active tasks."""
        return sum(len(rebalance.moves) for rebalance in self.later)

    def moves_by_task(self) -> list[tuple[str, int]]:
        """Return the tasks that moved with the number of their moves, the most moved first."""
        counts = Counter(move.task for rebalance in self.later for move in rebalance.moves)
        return sorted(counts.items(), key=lambda item: (-item[1], _task_key(item[0])))

    def root_causes(self) -> list[tuple[IncidentRebalance, tuple[IncidentCause, ...]]]:
        """Return the rebalances after the first one with their causes; a follow-up has those of the one before."""
        result: list[tuple[IncidentRebalance, tuple[IncidentCause, ...]]] = []
        causes = self.rebalances[0].causes
        for rebalance in self.later:
            if not all(cause.kind == FOLLOW_UP for cause in rebalance.causes):
                causes = rebalance.causes
            result.append((rebalance, causes))
        return result

    def unstable_spans(self) -> list[tuple[int, int]]:
        """Return the times without a stable assignment: from a rebalance until all members had their assignment.

        At the last rebalance, such a time may be open, and then ends there.
        """
        spans: list[tuple[int, int]] = []
        since_ms: int | None = None
        for rebalance in self.rebalances:
            since_ms = rebalance.at_ms if since_ms is None else since_ms
            if rebalance.stable_at_ms is not None:
                spans.append((since_ms, max(since_ms, rebalance.stable_at_ms)))
                since_ms = None
        if since_ms is not None:
            spans.append((since_ms, self.until_ms))
        return spans

    def longest_unstable(self) -> tuple[int, int] | None:
        """Return start and end of the longest time without a stable assignment; None if there was none."""
        spans = self.unstable_spans()
        longest = max(spans, key=lambda span: span[1] - span[0], default=(0, 0))
        return longest if longest[1] > longest[0] else None


def clock(at_ms: int) -> str:
    """Return a time of day in UTC, as in `02:14:07`."""
    return datetime.fromtimestamp(at_ms / 1_000, UTC).strftime("%H:%M:%S")


def timestamp(at_ms: int) -> str:
    """Return a time in UTC, as in `2026-11-23 02:14:07`."""
    return datetime.fromtimestamp(at_ms / 1_000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def report_record(report: IncidentReport, findings: Sequence[str]) -> dict[str, Any]:
    """Return a report for JSON."""
    longest = report.longest_unstable()
    return {
        "group": report.group,
        "protocol": report.protocol,
        "assignor": report.assignor,
        "is_consumer_group": report.is_consumer_group,
        "since_ms": report.since_ms,
        "until_ms": report.until_ms,
        "tasks": report.num_tasks,
        "rebalance_count": len(report.later),
        "active_moves": report.num_moves(),
        "longest_unstable_ms": None if longest is None else longest[1] - longest[0],
        "recomputed": len(report.compared),
        "recomputed_equal": report.matching,
        "explained_by_offsets": report.explained_by_offsets,
        "findings": list(findings),
        "moves_by_task": dict(report.moves_by_task()),
        "rebalances": [asdict(rebalance) for rebalance in report.rebalances],
        "what_ifs": [asdict(what_if) for what_if in report.what_ifs],
        "read": [{"file": file, "kind": kind} for file, kind in report.read],
        "remarks": list(report.remarks),
    }


def _task_key(task: str) -> tuple[str | int, ...]:
    """Return the order of a task such as `0_3`, or of a partition such as `orders-3`."""
    topic, dash, partition = task.rpartition("-")
    if dash and partition.isdecimal():
        return topic, int(partition)
    return "", *(int(part) for part in task.split("_") if part.isdecimal())


MAX_CLIENTS: Final = 8
"""Maximum number of clients with a lane of their own."""

_WITHOUT_CLIENT: Final = {FOLLOW_UP: "follow-ups", PROBING: "probing"}
_OTHER: Final = "other causes"
_OTHER_CLIENTS: Final = "other clients"
_KINDS: Final = {
    "joined": "joined",
    "left": "left or timed out",
    "expired": "old session timed out",
    "restarted": "restarted",
    "returned": "returned",
    "new_process_id": "returned with a new process id",
    FOLLOW_UP: "follow-up",
    PROBING: "probing",
}
OTHER_KIND: Final = "other"


@dataclass(frozen=True, slots=True)
class CauseMark:
    """A cause at a time.

    Attributes:
        at_ms: When.
        kind: What happened, as a title of the legend.
    """

    at_ms: int
    kind: str


@dataclass(frozen=True, slots=True)
class CauseLane:
    """The causes of one client, or of one kind that no single client caused.

    Attributes:
        title: Client, or kind.
        marks: The causes, by time.
        is_client: Whether it is a client's.
    """

    title: str
    marks: tuple[CauseMark, ...]
    is_client: bool


def cause_lanes(report: IncidentReport) -> tuple[CauseLane, ...]:
    """Return the lanes of the rebalances after the first one: the clients with most causes first, then other kinds."""
    counts = Counter(
        cause.client for rebalance in report.later for cause in rebalance.causes if cause.client is not None
    )
    named = [client for client, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MAX_CLIENTS]]
    marks: dict[tuple[str, bool], list[CauseMark]] = {(client, True): [] for client in named}
    if len(counts) > len(named):
        marks[_OTHER_CLIENTS, False] = []
    for rebalance in report.later:
        for cause in rebalance.causes:
            if cause.client is None:
                lane = _WITHOUT_CLIENT.get(cause.kind, _OTHER), False
            else:
                lane = (cause.client, True) if cause.client in named else (_OTHER_CLIENTS, False)
            mark = CauseMark(rebalance.at_ms, _KINDS.get(cause.kind, OTHER_KIND))
            marks.setdefault(lane, []).append(mark)
    return tuple(CauseLane(title, tuple(own), is_client) for (title, is_client), own in marks.items())
