"""The traffic factor over time, which hours and events change."""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from fractions import Fraction
from heapq import merge
from operator import attrgetter
from typing import Final

from simulator.world.disturbances import TrafficChange

HOUR_MS: Final = 3_600_000
HOURS_A_DAY: Final = 24


class TrafficProfile:
    """The traffic factor over time: the factor of the hour times the factor of the last traffic event.

    `hourly`: factors per hour from the start of the run, repeated cyclically; empty for a constant factor of 1.
    `events`: times and factors of traffic events, in any order; of several at one time, the last applies.
    `starts_at_ms`: the time of day at which the run starts, if topics have hourly rates; else None.
    """

    def __init__(
        self, hourly: Sequence[float], events: Sequence[tuple[int, float]], starts_at_ms: int | None = None
    ) -> None:
        # Fractions of the decimal representation keep products of factors and ratios of rates exact.
        self._hourly = [Fraction(repr(factor)) for factor in hourly] or [Fraction(1)]
        ordered = sorted(events, key=lambda pair: pair[0])
        self._times = [at_ms for at_ms, _ in ordered]
        self._factors = [Fraction(repr(factor)) for _, factor in ordered]
        self._starts_at_ms = starts_at_ms

    def factor_at(self, at_ms: int) -> Fraction:
        """Return the traffic factor at a time."""
        position = bisect_right(self._times, at_ms)
        factor = self._factors[position - 1] if position else Fraction(1)
        return self._hourly[at_ms // HOUR_MS % len(self._hourly)] * factor

    def hour_at(self, at_ms: int) -> int | None:
        """Return the hour of the day (0 to 23) at a time, or None if topics have no hourly rates."""
        return None if self._starts_at_ms is None else (at_ms + self._starts_at_ms) // HOUR_MS % HOURS_A_DAY

    def change_at(self, at_ms: int) -> TrafficChange:
        """Return the traffic from a time on."""
        return TrafficChange(at_ms, float(self.factor_at(at_ms)), self.hour_at(at_ms))

    def changes(self) -> Iterator[TrafficChange]:
        """Yield all changes in order, without an end if the traffic goes on changing by the hour."""
        yield from merge(map(self.change_at, self._times), self.hourly_changes(sys.maxsize), key=attrgetter("at_ms"))

    def hourly_changes(self, duration_ms: int) -> Iterator[TrafficChange]:
        """Yield the changes at full hours, including the start, except at times of traffic events."""
        if len(self._hourly) == 1 and self._starts_at_ms is None:
            return
        if self._starts_at_ms is None and (len(set(self._hourly)) == 1 or self._factors[-1:] == [0]):
            # No hour differs from the one before from the last event on.
            duration_ms = min(duration_ms, (self._times or [0])[-1] + 1)
        event_times = set(self._times)
        for full_ms in range(-((self._starts_at_ms or 0) % HOUR_MS), duration_ms, HOUR_MS):
            at_ms = max(full_ms, 0)
            before = (self.factor_at(at_ms - 1), self.hour_at(at_ms - 1)) if at_ms else (1, None)
            if (self.factor_at(at_ms), self.hour_at(at_ms)) != before and at_ms not in event_times:
                yield self.change_at(at_ms)


MAX_OCCURRENCES: Final = 20_000
"""The maximum number of occurrences of one event or of the daily traffic profile, for example hourly for two years."""
TOO_MANY: Final = f"more than the {MAX_OCCURRENCES:,} that can be simulated"
