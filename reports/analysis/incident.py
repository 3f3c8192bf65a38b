"""The report on a past night: recorded rebalances with their causes and moves, what would have changed, and findings.

For terminals and pages: its figures as text, and the rebalances by cause as lanes of a timeline.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from itertools import pairwise
from statistics import median
from typing import Any, Final, Literal

from reports.analysis.formatting import format_bytes, format_count, format_duration
from reports.analysis.text import listed, printable
from simulator.plurals import counted

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


STATE_COLUMNS: Final = {
    "active_moves": "active\nmoves",
    "new_standbys": "new\nstandbys",
    "follow_ups": "probing\nrequested",
}
"""Figures of a comparison of recorded states: key and title in lines."""

NIGHT_COLUMNS: Final = {
    "rebalances": "rebalances",
    "active_moves": "active\nmoves",
    "restored_bytes": "restored",
    "worst_downtime_ms": "worst task\ndowntime",
}
"""Figures of a simulation of the night: key and title in lines."""


CONSUMER_COLUMNS: Final = {"active_moves": "partitions\nmoved", "worst_downtime_ms": "worst partition\ndowntime"}
"""Titles of figures of a consumer group that differ from those of an application."""


def known_columns(report: IncidentReport, what_ifs: Sequence[WhatIf], columns: Mapping[str, str]) -> dict[str, str]:
    """Return the columns of a comparison that have a figure, with the titles for the group of the report."""
    titles = {**columns, **CONSUMER_COLUMNS} if report.is_consumer_group else columns
    return {key: titles[key] for key in columns if any(what_if.metrics.get(key) is not None for what_if in what_ifs)}


def task_noun(report: IncidentReport) -> str:
    """Return what the group assigns."""
    return "partition" if report.is_consumer_group else "task"


def move_noun(report: IncidentReport) -> str:
    """Return what a move is."""
    return "partition move" if report.is_consumer_group else "active move"


def span_text(report: IncidentReport) -> str:
    """Return the time of a night, and the protocol of its group."""
    of_consumers = "consumer group, " if report.is_consumer_group else ""
    span = f"{timestamp(report.since_ms)} to {timestamp(report.until_ms)} UTC"
    return f"{span} ({of_consumers}{report.protocol} protocol)"


def summary_text(report: IncidentReport) -> str:
    """Return the numbers of rebalances and moves, and the longest time without a stable assignment."""
    longest = report.longest_unstable()
    moved = len(report.moves_by_task())
    moves = counted(report.num_moves(), move_noun(report))
    text = (
        f"{counted(len(report.later), 'rebalance')} after the first, {moves} of {moved} of "
        f"{counted(report.num_tasks, task_noun(report))}."
    )
    if longest is None:
        return f"{text} Each assignment was stable at once."
    duration = format_duration(longest[1] - longest[0])
    return f"{text} Longest time without a stable assignment: {duration}, from {clock(longest[0])}."


def match_text(rebalance: IncidentRebalance) -> str:
    """Return whether the recomputed assignment is equal, or how many copies differ."""
    if not rebalance.is_compared:
        return "–"
    text = "equal" if not rebalance.differences else f"{len(rebalance.differences)} differ"
    return text if rebalance.unrecorded_offsets == "none" else f"{text}*"


def figure_text(key: str, value: float | None) -> str:
    """Return a figure of a comparison with its unit, by its key."""
    if value is None:
        return "n/a"
    if key.endswith("_bytes"):
        return format_bytes(value)
    return format_duration(value) if key.endswith("_ms") else format_count(value)


def place_text(rebalance: IncidentRebalance, task: str, move: IncidentMove | None) -> str:
    """Return where a task is after a rebalance, and where it was if it moved."""
    owner = rebalance.owners.get(task)
    of_consumers = rebalance.new_standbys is None
    standbys = ", ".join(map(printable, rebalance.standbys.get(task, ()))) or "none"
    if move is not None and move.source is not None:
        gone = ", which had left" if move.has_left else ""
        where = f"{printable(move.source)}{gone} → {printable(move.target)}"
    else:
        where = "not assigned yet" if owner is None else f"on {printable(owner)}"
    return where if of_consumers else f"{where}; standbys: {standbys}"


OFFSETS_NOTE: Final = (
    "*: the answer depends on task offsets, which clients of Kafka 4.4 report and records do not have. Equal: with "
    "offsets that the records allow."
)
"""Explanation of the mark of `match_text`."""


def recomputation_text(report: IncidentReport) -> str:
    """Return how many recorded assignments the assignor returns; empty if none was recomputed."""
    compared = len(report.compared)
    if not compared:
        return ""
    name, by_offsets = printable(report.assignor), report.explained_by_offsets
    with_offsets = (
        f" ({format_count(by_offsets)} of them with task offsets that the records allow)" if by_offsets else ""
    )
    if report.matching == compared:
        noun = task_noun(report)
        return f"{name} returns all {format_count(compared)} recorded assignments, {noun} for {noun}{with_offsets}."
    return f"{name} returns {report.matching} of {format_count(compared)} recorded assignments{with_offsets}."


def depends_on_offsets(report: IncidentReport) -> bool:
    """Return whether a recomputed assignment depends on offsets that were not recorded."""
    return any(rebalance.unrecorded_offsets != "none" for rebalance in report.compared)


_RESTARTS: Final = ("restarted", "returned", "new_process_id")
_MIN_SHARE: Final = 0.3
"""Share of the rebalances from which on a client is named."""
_MIN_PROBES: Final = 3
_MIN_MOVED: Final = 0.5
"""Share of the tasks that move in one rebalance from which on it is named."""
_MAX_NAMED: Final = 2
_TOGETHER_MS: Final = 10_000
"""Threads of a process that join or leave within this time do so together."""
_TITLES: Final = {
    "joined": "joined",
    "restarted": "restarted within its session",
    "returned": "returned after its session had ended",
    "new_process_id": "returned with a new process id",
    "left": "left or timed out",
    "expired": "had old sessions that timed out",
}

_CONSUMER_TITLES: Final = {"restarted": "restarted", "returned": "returned"}
"""Titles of consumers, of which records do not say whether they left before they restarted."""


def night_findings(report: IncidentReport) -> tuple[str, ...]:
    """Return the findings as sentences, the most important first."""
    return (
        *_client_findings(report),
        *_process_findings(report),
        *_probing_findings(report),
        *_large_moves(report),
        *_restless_tasks(report),
        *_missing(report),
    )


def _client_findings(report: IncidentReport) -> Iterator[str]:
    """Yield the clients that caused many rebalances, with their follow-ups."""
    caused: dict[str, list[IncidentRebalance]] = {}
    for rebalance, causes in report.root_causes():
        for client in dict.fromkeys(cause.client for cause in causes if cause.client is not None):
            caused.setdefault(client, []).append(rebalance)
    total = len(report.later)
    ranked = sorted(caused.items(), key=lambda item: (-len(item[1]), item[0]))
    for client, rebalances in ranked[:_MAX_NAMED]:
        if len(rebalances) < max(2, _MIN_SHARE * total):
            continue
        follow_ups = sum(cause.kind == FOLLOW_UP for rebalance in rebalances for cause in rebalance.causes)
        with_follow_ups = f", {follow_ups} of them as follow-ups" if follow_ups else ""
        yield (
            f"{len(rebalances)} of {total} rebalances were caused by {client}{with_follow_ups}: "
            f"{_history(report, client)}."
        )


def _history(report: IncidentReport, client: str) -> str:
    """Return what happened to a client how often; threads that follow each other within seconds count once."""
    counts: Counter[str] = Counter()
    last_ms: dict[str, int] = {}
    returns_ms: list[int] = []
    for rebalance in report.later:
        for cause in rebalance.causes:
            if cause.client != client or cause.kind not in _TITLES:
                continue
            is_same = rebalance.at_ms - last_ms.get(cause.kind, -_TOGETHER_MS) < _TOGETHER_MS
            last_ms[cause.kind] = rebalance.at_ms
            if not is_same:
                counts[cause.kind] += 1
            if cause.kind in _RESTARTS and (not returns_ms or rebalance.at_ms - returns_ms[-1] >= _TOGETHER_MS):
                returns_ms.append(rebalance.at_ms)
    titles = {**_TITLES, **_CONSUMER_TITLES} if report.is_consumer_group else _TITLES
    parts = [f"{titles[kind]} {_times_text(count)}" for kind, count in counts.items()]
    gaps = [after - before for before, after in pairwise(returns_ms)]
    every = f", about every {format_duration(median(gaps))}" if len(gaps) > 1 else ""
    return listed(parts) + every


def _times_text(count: int) -> str:
    return "once" if count == 1 else "twice" if count == 2 else f"{count} times"


def _process_findings(report: IncidentReport) -> Iterator[str]:
    found: dict[str, tuple[int, int]] = {}
    for rebalance in report.later:
        for cause in rebalance.causes:
            if cause.kind != "new_process_id" or cause.client is None:
                continue
            at_ms, moves = found.get(cause.client, (rebalance.at_ms, 0))
            if at_ms == rebalance.at_ms or rebalance.at_ms - at_ms < _TOGETHER_MS:
                found[cause.client] = at_ms, moves + len(rebalance.moves)
    for client, (at_ms, moves) in found.items():
        yield (
            f"At {clock(at_ms)}, {client} came back with a new process id, so its state directory was lost or is not "
            f"persistent; {moves} active tasks moved then."
        )


def _probing_findings(report: IncidentReport) -> Iterator[str]:
    probes = [rebalance for rebalance in report.later if any(cause.kind == PROBING for cause in rebalance.causes)]
    if len(probes) < _MIN_PROBES:
        return
    ended = report.rebalances[-1].stable_at_ms is not None
    end = "then ended" if ended else "never ended"
    between = f"between {clock(probes[0].at_ms)} and {clock(probes[-1].at_ms)}"
    yield f"{len(probes)} probing rebalances {between}; probing {end}."


def _large_moves(report: IncidentReport) -> Iterator[str]:
    noun = f"{task_noun(report)}s"
    ranked = sorted(report.later, key=lambda rebalance: (-len(rebalance.moves), rebalance.at_ms))
    for rebalance in ranked[:_MAX_NAMED]:
        left = sum(move.has_left for move in rebalance.moves)
        if len(rebalance.moves) < max(2, _MIN_MOVED * report.num_tasks):
            return
        because = f"{left} of them because their client had left; " if left else ""
        yield (
            f"At {clock(rebalance.at_ms)}, {len(rebalance.moves)} of {report.num_tasks} {noun} moved at once "
            f"({because}{rebalance.cause_text})."
        )


def _restless_tasks(report: IncidentReport) -> Iterator[str]:
    moved = report.moves_by_task()
    if not moved or moved[0][1] < 3:
        return
    most = moved[0][1]
    tasks = [task for task, count in moved if count == most]
    shown = ", ".join(tasks[:5]) + (f" and {len(tasks) - 5} more" if len(tasks) > 5 else "")
    yield f"Moved most: {shown}, {most} times{' each' if len(tasks) > 1 else ''}."


def _missing(report: IncidentReport) -> Iterator[str]:
    unexplained = sum(any(cause.kind == "unknown" for cause in rebalance.causes) for rebalance in report.later)
    if unexplained:
        total = len(report.later)
        yield f"The cause of {unexplained} of {total} rebalances is unknown: neither records nor logs have it."
