"""Sparklines: a row of figures as a row of small bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

_BARS: Final = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float | None], width: int) -> str:
    """Draw figures of at least 0 as bars of their share in the most; a space where one is not known.

    Args:
        values: from left to right.
        width: how many characters there may be; where there are more values, each bar is the most of several.
    """
    bars = [_most(part) for part in _parts(values, width)]
    most = max((value for value in bars if value is not None), default=0.0)
    return "".join(" " if value is None else _bar(value, most) for value in bars)


def _bar(value: float, most: float) -> str:
    """The lowest bar is for nothing alone, so that little can be told from it."""
    return _BARS[math.ceil(value / most * (len(_BARS) - 1))] if most else _BARS[0]


def _most(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _parts(values: Sequence[float | None], width: int) -> list[Sequence[float | None]]:
    parts = min(len(values), max(width, 1))
    return [values[len(values) * part // parts : len(values) * (part + 1) // parts] for part in range(parts)]
