"""Numbers as people read them: three significant digits and a unit."""

from __future__ import annotations

from collections.abc import Callable

NumberFormat = Callable[[float], str]
"""Writes a number of a known unit."""

_BYTES = ((1e0, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB"), (1e15, "PB"))
# A unit is used up to twice the next one: "90 min" says more than "1.5 h".
_TIMES = ((1, "ms", 1e3), (1e3, "s", 120e3), (60e3, "min", 7200e3), (3600e3, "h", 48 * 3600e3), (86400e3, "d", None))


def format_count(value: float) -> str:
    """Write how many: `12`, `12,345`; halves may come from medians: `12.5`."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def format_number(value: float) -> str:
    """Write a number without a unit: `0.333`."""
    return _digits(value)


def format_percent(value: float) -> str:
    """Write per cent: `12.5 %`."""
    return f"{_digits(value)} %"


def format_bytes(value: float) -> str:
    """Write bytes with a decimal prefix, as scenarios take them: `1.5 GB`."""
    factor, unit = byte_unit(value)
    return f"{_digits(value / factor)} {unit}"


def format_rate(value: float) -> str:
    """Write bytes per second: `40 MB/s`."""
    return f"{format_bytes(value)}/s"


def format_usd(value: float) -> str:
    """Write US dollars: `$73.12`, `$1,240`; what is not nothing is never written as nothing: `$0.004`."""
    return f"${value:,.2f}" if 0.1 <= value < 100 else f"${_digits(value)}"


def format_duration(value: float) -> str:
    """Write milliseconds: `850 ms`, `45 s`, `12.5 min`, `8 h`, `3 d`."""
    rounded = float(f"{value:.3g}")
    if not rounded:
        return "0 s"
    factor, unit = next((factor, unit) for factor, unit, until in _TIMES if until is None or abs(rounded) < until)
    return f"{_digits(value / factor)} {unit}"


def format_clock(value: float) -> str:
    """Write a point in time, in milliseconds from the start, to the second: `1:05:03`."""
    seconds = round(value / 1000)
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def format_range(least: float, most: float, write: NumberFormat) -> str:
    """Write from where to where, the unit once if it is one: `10–15 MB/s`."""
    low, high = write(least), write(most)
    number, _, unit = low.partition(" ")
    return f"{number}–{high}" if high.endswith(f" {unit}") and unit else f"{low}–{high}"


def byte_unit(value: float) -> tuple[float, str]:
    """The unit to write this many bytes in: how many bytes it is, and its name."""
    rounded = abs(float(f"{value:.3g}"))
    return max((unit for unit in _BYTES if unit[0] <= rounded), default=_BYTES[0])


def time_unit(span_ms: float) -> tuple[float, str]:
    """The unit for an axis of time of this length: how many milliseconds it is, and its name."""
    if span_ms <= 120e3:
        return 1e3, "seconds"
    if span_ms <= 3 * 3600e3:
        return 60e3, "minutes"
    if span_ms <= 72 * 3600e3:
        return 3600e3, "hours"
    return 86400e3, "days"


def _digits(value: float) -> str:
    """Three significant digits, more before the point if there are; no zeros at the end."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"
