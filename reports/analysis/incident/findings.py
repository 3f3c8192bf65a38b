"""Findings on a past night, each with its evidence.

The figures of a past night as text, for terminals and pages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Final

from reports.analysis.formatting import format_bytes, format_count, format_duration
from reports.analysis.incident.report import (
    FOLLOW_UP,
    PROBING,
    IncidentMove,
    IncidentRebalance,
    IncidentReport,
    WhatIf,
    clock,
    timestamp,
)
from reports.analysis.text import listed, printable

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


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, as in `2 rebalances`."""
    return f"{format_count(number)} {noun}{'' if number == 1 else 's'}"


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


def find(report: IncidentReport) -> tuple[str, ...]:
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
