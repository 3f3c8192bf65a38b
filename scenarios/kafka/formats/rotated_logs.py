"""Rotated logs of group leaders: a rebalance that begins in one file and ends in the next one.

Files may be in any order, and from several instances of the application, which log into files of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from scenarios.kafka.formats.leader_log import RELEVANT_LINE, find_leader, find_time_ms, starts_assignment

LONGEST_REBALANCE_MS: Final = 300_000
"""Maximum time between the last line of a file and the first one of the next file, for one rebalance in both."""

_RELEVANT = re.compile(RELEVANT_LINE)
_START = "participating in this rebalance"
_END = re.compile(r"Finished (un)?stable assignment")


@dataclass(frozen=True, slots=True)
class LogBounds:
    """Where a log begins and ends.

    Attributes:
        head: relevant lines before the first rebalance that begins in the log.
        has_start: whether a rebalance begins in the log.
        first_ms: time of the first relevant line that has one, in ms since 1970; None if none has.
        last_ms: time of the last one.
        head_threads: stream threads in the head.
        leader: stream thread of the last rebalance; None if unknown.
        is_open: whether the last rebalance, or the head without one, has no end.
        has_assignment: whether the last rebalance has the first line of its assignment.
    """

    head: tuple[str, ...]
    has_start: bool
    first_ms: int | None
    last_ms: int | None
    head_threads: tuple[str, ...]
    leader: str | None
    is_open: bool
    has_assignment: bool


def find_bounds(text: str) -> LogBounds:
    """Return where a log begins and ends."""
    lines = [line for line in text.split("\n") if _RELEVANT.search(line)]
    starts = [number for number, line in enumerate(lines) if _START in line]
    head = lines[: starts[0]] if starts else lines
    last = lines[starts[-1] :] if starts else lines
    times = [time for time in map(find_time_ms, lines) if time is not None]
    return LogBounds(
        tuple(head),
        bool(starts),
        times[0] if times else None,
        times[-1] if times else None,
        _threads(head),
        next(iter(_threads(last)), None),
        bool(last) and not any(_END.search(line) for line in last),
        any(starts_assignment(line) for line in last),
    )


def join_rotated(bounds: Mapping[str, LogBounds]) -> dict[str, str]:
    """Find the logs that begin with the end of a rebalance of another log.

    `bounds`: where the logs begin and end, by file. Returns, for each such log, the file in which the rebalance begins.
    """
    open_logs: dict[str, tuple[int, str | None]] = {}
    joined: dict[str, str] = {}
    in_time = ((log.first_ms, file, log) for file, log in bounds.items() if log.first_ms is not None)
    for first_ms, file, log in sorted(in_time, key=lambda item: item[:2]):
        assert log.last_ms is not None
        owner = _find_owner(open_logs, first_ms, log) if log.head else None
        if owner is not None:
            joined[file] = owner
            leader = open_logs.pop(owner)[1]
            if not log.has_start and log.is_open:
                open_logs[owner] = (log.last_ms, leader)
        if log.has_start and log.is_open:
            open_logs[file] = (log.last_ms, log.leader)
    return joined


def move_heads(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the texts of logs, each with the rebalances that begin in it.

    Line numbers stay the same: lines that belong to another log become empty. A log without any other relevant line is
    left out.
    """
    bounds = {file: find_bounds(text) for file, text in texts.items()}
    joined = join_rotated(bounds)
    heads = heads_by_file(joined, bounds)
    moved = {file: with_heads(text, file in joined, heads.get(file, ())) for file, text in texts.items()}
    return {file: text for file, text in moved.items() if file not in joined or bounds[file].has_start}


def heads_by_file(joined: Mapping[str, str], bounds: Mapping[str, LogBounds]) -> dict[str, list[str]]:
    """Return the lines to append to each file, in the order of their times."""
    heads: dict[str, list[str]] = {}
    for file in sorted(joined, key=lambda name: (bounds[name].first_ms or 0, name)):
        heads.setdefault(joined[file], []).extend(bounds[file].head)
    return heads


def with_heads(text: str, is_joined: bool, heads: Iterable[str]) -> str:
    """Return the text of a log without its head if it is joined to another one, and with the heads of others."""
    lines = text.split("\n")
    if is_joined:
        left = len(find_bounds(text).head)
        for number, line in enumerate(lines):
            if left and _RELEVANT.search(line):
                lines[number] = ""
                left -= 1
    return "\n".join([*lines, *heads])


def _find_owner(open_logs: Mapping[str, tuple[int, str | None]], first_ms: int, log: LogBounds) -> str | None:
    """Return the open log that ends last before the head of a log, with the same leader; None without one."""
    candidates = [
        (last_ms, file)
        for file, (last_ms, leader) in open_logs.items()
        if 0 <= first_ms - last_ms <= LONGEST_REBALANCE_MS
        and (leader is None or not log.head_threads or leader in log.head_threads)
    ]
    return max(candidates)[1] if candidates else None


def _threads(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(thread for thread in map(find_leader, lines) if thread is not None))
