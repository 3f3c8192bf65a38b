"""How much is produced to the source topics over time, as a multiple of what the topics say."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final

from simulator.disturbances import TrafficChange

HOUR_MS: Final = 3_600_000


class Profile:
    """The factor of the hour of the day times that of the last traffic event.

    Args:
        hourly: one factor an hour from the start on, again and again; nothing if every hour is alike.
        events: times and factors, in any order; of one time the last counts.
    """

    def __init__(self, hourly: Sequence[float], events: Sequence[tuple[int, float]]) -> None:
        # Of the decimal numbers that were written, products are exact, and so are ratios of rates.
        self._hourly = [Fraction(repr(factor)) for factor in hourly] or [Fraction(1)]
        ordered = sorted(events, key=lambda pair: pair[0])
        self._times = [at_ms for at_ms, _ in ordered]
        self._factors = [Fraction(repr(factor)) for _, factor in ordered]

    def at(self, at_ms: int) -> Fraction:
        """The factor at a time."""
        position = bisect_right(self._times, at_ms)
        factor = self._factors[position - 1] if position else Fraction(1)
        return self._hourly[at_ms // HOUR_MS % len(self._hourly)] * factor

    def hourly_changes(self, duration_ms: int) -> Iterator[TrafficChange]:
        """What changes at full hours in which there is no event, the beginning of the run included."""
        if len(self._hourly) == 1:
            return
        events = set(self._times)
        for at_ms in range(0, duration_ms, HOUR_MS):
            before = self.at(at_ms - 1) if at_ms else 1
            if self.at(at_ms) != before and at_ms not in events:
                yield TrafficChange(at_ms, float(self.at(at_ms)))
