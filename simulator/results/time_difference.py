"""When two times to converge count as different outcomes."""

from __future__ import annotations

from typing import Final

MIN_DIFFERENCE_MS: Final = 3_000
MIN_DIFFERENCE: Final = 0.15


def times_differ(one_ms: int, other_ms: int) -> bool:
    """Return whether two times differ by more than 3 s and by more than 15 % of the longer one."""
    return abs(one_ms - other_ms) > max(MIN_DIFFERENCE_MS, MIN_DIFFERENCE * max(one_ms, other_ms))
