"""The events of a history in time: a clock that jumps from event to event, as in `bridge/src/replay`."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from itertools import count
from typing import Any

from simulator.group.streams_coordinator import Timer

Action = Callable[[], None]


class VirtualClock:
    """The events that are due; in one millisecond, the coordinator's timers come first, and others as they were added.

    Args:
        end: lets a timer of the coordinator end, given by its key.
    """

    def __init__(self, end: Callable[[tuple[str, Any]], None]) -> None:
        self.now_ms = 0
        self._end = end
        self._queue: list[tuple[int, bool, int, list[Action]]] = []
        self._number = count()
        self._timers: dict[Any, list[Action]] = {}

    def at(self, at_ms: int, action: Action) -> None:
        """Add an event."""
        self._add(at_ms, action, is_timer=False)

    def later(self, delay_ms: int, action: Action) -> None:
        """Let something happen after a time, at once if that is 0."""
        if delay_ms == 0:
            action()
        else:
            self.at(self.now_ms + delay_ms, action)

    def start(self, timers: Iterable[Timer]) -> None:
        """Start or cancel timers of the coordinator."""
        for timer in timers:
            self._timers.pop(timer.key, []).clear()
            if timer.at_ms is not None:
                self._timers[timer.key] = self._add(timer.at_ms, lambda key=timer.key: self._fire(key), is_timer=True)

    def run(self, until_ms: int) -> None:
        """Let all events up to a time happen, that included."""
        while self._queue and self._queue[0][0] <= until_ms:
            self.now_ms, _, _, actions = heapq.heappop(self._queue)
            for action in actions:
                action()

    def _fire(self, key: tuple[str, Any]) -> None:
        del self._timers[key]
        self._end(key)

    def _add(self, at_ms: int, action: Action, *, is_timer: bool) -> list[Action]:
        actions = [action]  # Cleared if it is canceled.
        heapq.heappush(self._queue, (at_ms, not is_timer, next(self._number), actions))
        return actions
