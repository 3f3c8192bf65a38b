"""Findings on a past night, each with its evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from statistics import median
from typing import Final

from reports.analysis.formatting import format_duration
from reports.analysis.incident.report import (
    FOLLOW_UP,
    PROBING,
    IncidentRebalance,
    IncidentReport,
    clock,
)
from reports.analysis.incident.wording import task_noun
from reports.analysis.text import listed

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
