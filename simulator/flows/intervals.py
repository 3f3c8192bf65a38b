"""The time intervals in which a condition holds."""

from __future__ import annotations


class Intervals:
    """Collects the intervals in which a condition holds, from observations in order of time."""

    def __init__(self) -> None:
        self._closed: list[tuple[int, int]] = []
        self._since_ms: int | None = None

    def note(self, now_ms: int, holds: bool) -> None:
        """Note whether the condition holds from now on; of several observations at one time the last one counts."""
        if holds and self._since_ms is None:
            self._since_ms = now_ms
            if self._closed and self._closed[-1][1] == now_ms:
                self._since_ms = self._closed.pop()[0]
        elif not holds and self._since_ms is not None:
            if now_ms > self._since_ms:
                self._closed.append((self._since_ms, now_ms))
            self._since_ms = None

    def first_without(self, at_ms: int) -> int | None:
        """Return the first time, from a given one on, at which the condition does not hold; None if there is none."""
        if self._since_ms is not None and self._since_ms <= at_ms:
            return None
        return next((end_ms for start_ms, end_ms in self._closed if start_ms <= at_ms < end_ms), at_ms)
