"""How much is produced to the source topics over time, as a multiple of what the topics say."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final

from simulator.world.disturbances import TrafficChange

HOUR_MS: Final = 3_600_000
HOURS_A_DAY: Final = 24


class TrafficProfile:
    """The factor of the hour of the day times that of the last traffic event.

    Args:
        hourly: one factor an hour from the start on, again and again; nothing if every hour is alike.
        events: times and factors, in any order; of one time the last counts.
        starts_at_ms: the time of the day at which the run starts, if topics have rates for each hour of it; else None.
    """

    def __init__(
        self, hourly: Sequence[float], events: Sequence[tuple[int, float]], starts_at_ms: int | None = None
    ) -> None:
        # Of the decimal numbers that were written, products are exact, and so are ratios of rates.
        self._hourly = [Fraction(repr(factor)) for factor in hourly] or [Fraction(1)]
        ordered = sorted(events, key=lambda pair: pair[0])
        self._times = [at_ms for at_ms, _ in ordered]
        self._factors = [Fraction(repr(factor)) for _, factor in ordered]
        self._starts_at_ms = starts_at_ms

    def factor_at(self, at_ms: int) -> Fraction:
        """The factor at a time."""
        position = bisect_right(self._times, at_ms)
        factor = self._factors[position - 1] if position else Fraction(1)
        return self._hourly[at_ms // HOUR_MS % len(self._hourly)] * factor

    def hour_at(self, at_ms: int) -> int | None:
        """The hour of the day at a time, if topics have rates for each."""
        return None if self._starts_at_ms is None else (at_ms + self._starts_at_ms) // HOUR_MS % HOURS_A_DAY

    def change_at(self, at_ms: int) -> TrafficChange:
        """What the traffic is from a time on."""
        return TrafficChange(at_ms, float(self.factor_at(at_ms)), self.hour_at(at_ms))

    def hourly_changes(self, duration_ms: int) -> Iterator[TrafficChange]:
        """What changes at full hours in which there is no event, the beginning of the run included."""
        if len(self._hourly) == 1 and self._starts_at_ms is None:
            return
        events = set(self._times)
        for full_ms in range(-((self._starts_at_ms or 0) % HOUR_MS), duration_ms, HOUR_MS):
            at_ms = max(full_ms, 0)
            before = (self.factor_at(at_ms - 1), self.hour_at(at_ms - 1)) if at_ms else (1, None)
            if (self.factor_at(at_ms), self.hour_at(at_ms)) != before and at_ms not in events:
                yield self.change_at(at_ms)
