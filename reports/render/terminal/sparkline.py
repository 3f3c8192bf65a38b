"""Sparklines: values as a row of small bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

_BARS: Final = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float | None], width: int) -> str:
    """Return values as bars relative to the maximum; a space for unknown values.

    Args:
        values: at least 0, or None if unknown.
        width: maximum number of bars; longer series show the maximum of each part.

    Returns:
        One character per bar.
    """
    bars = [_maximum(part) for part in _parts(values, width)]
    maximum = max((value for value in bars if value is not None), default=0.0)
    return "".join(" " if value is None else _bar(value, maximum) for value in bars)


def _bar(value: float, maximum: float) -> str:
    """Return the bar of a value; the lowest bar is used for 0 only."""
    return _BARS[math.ceil(value / maximum * (len(_BARS) - 1))] if maximum else _BARS[0]


def _maximum(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _parts(values: Sequence[float | None], width: int) -> list[Sequence[float | None]]:
    parts = min(len(values), max(width, 1))
    return [values[len(values) * part // parts : len(values) * (part + 1) // parts] for part in range(parts)]
