"""The downtime of a task, divided among its moves."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

Row = Mapping[str, Any]
Interval = tuple[int, int]


@dataclass(frozen=True, slots=True)
class TaskTimes:
    """When a task ran after its moves, and its downtime because of each.

    All downtime of the task since the first round is that of one move or round.

    Attributes:
        runs_at_ms: when it ran on its new client, by the round of the move; absent if it moved again before that.
        moved_ms: downtime by the round of the move: from when the task stopped, which may be before the round, until it
            ran on its new client or moved again.
        stayed_ms: downtime without a move, by the last round before it.
    """

    runs_at_ms: Mapping[int, int]
    moved_ms: Counter[int]
    stayed_ms: Counter[int]

    @classmethod
    def of(cls, states: Sequence[Row], moves: Mapping[int, str | None], rounds: Sequence[Row]) -> TaskTimes:
        """Divide the downtime of a task.

        Args:
            states: its rows of the table `task_states`.
            moves: the client that it moved to, by round.
            rounds: all rows of the table `rounds` of the run; at least one.

        Returns:
            Its times.
        """
        end_ms = rounds[-1]["until_ms"]
        at_ms = {row["round"]: row["at_ms"] for row in rounds}
        running = list(_running(states, end_ms))
        runs_at_ms: dict[int, int] = {}
        waits: dict[int, Interval] = {}
        for number, until in zip(moves, [*(at_ms[number] for number in moves), end_ms][1:], strict=True):
            since = at_ms[number]
            runs = (max(start, since) for start, end, client in running if end > since and client == moves[number])
            first = next(runs, until)
            if first < until:
                runs_at_ms[number] = first
            waits[number] = since, min(first, until)
        moved_ms: Counter[int] = Counter()
        stayed_ms: Counter[int] = Counter()
        times = [row["at_ms"] for row in rounds]
        for down in _down(running, times[0], end_ms):
            cuts = {cut for wait in waits.values() for cut in wait if down[0] < cut < down[1]}
            for start, end in pairwise(sorted({*down, *cuts})):
                moved = _move_of((start, end), down, waits)
                if moved is None:
                    stayed_ms[rounds[bisect_right(times, start) - 1]["round"]] += end - start
                else:
                    moved_ms[moved] += end - start
        return cls(runs_at_ms, moved_ms, stayed_ms)


def _running(states: Sequence[Row], end_ms: int) -> Iterator[tuple[int, int, str | None]]:
    """Yield start, end and client of each interval in which a task ran."""
    ends = [*(row["at_ms"] for row in states), end_ms][1:]
    for row, end in zip(states, ends, strict=False):
        if row["state"] == "running" and end > row["at_ms"]:
            yield row["at_ms"], end, row["client"]


def _down(running: Sequence[tuple[int, int, str | None]], start_ms: int, end_ms: int) -> Iterator[Interval]:
    """Yield the intervals between two times in which a task did not run."""
    at_ms = start_ms
    for start, end, _ in running:
        if start > at_ms:
            yield at_ms, start
        at_ms = max(at_ms, end)
    if at_ms < end_ms:
        yield at_ms, end_ms


def _move_of(part: Interval, down: Interval, waits: Mapping[int, Interval]) -> int | None:
    """Return the round of the move that a part of an interval without the task belongs to; None if to none."""
    for number, (since, until) in waits.items():
        if since <= part[0] < until or part[1] <= since <= down[1]:
            return number
    return None
