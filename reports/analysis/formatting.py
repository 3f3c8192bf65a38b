"""Formatting of numbers: three significant digits and a unit."""

from __future__ import annotations

from collections.abc import Callable

NumberFormat = Callable[[float], str]
"""Formats a number of a known unit."""

_BYTES = ((1e0, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB"), (1e15, "PB"))
# A unit is used up to twice the next unit, or two days: "90 min" is clearer than "1.5 h".
_TIMES = ((1, "ms", 1e3), (1e3, "s", 120e3), (60e3, "min", 7200e3), (3600e3, "h", 48 * 3600e3), (86400e3, "d", None))


def format_count(value: float) -> str:
    """Return a count: `12`, `12,345`; medians may end in a half: `12.5`."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def format_number(value: float) -> str:
    """Return a number without a unit: `0.333`."""
    return _digits(value)


def format_percent(value: float) -> str:
    """Return a percentage: `12.5 %`."""
    return f"{_digits(value)} %"


def format_bytes(value: float) -> str:
    """Return bytes with a decimal prefix, as in scenarios: `1.5 GB`."""
    factor, unit = byte_unit(value)
    return f"{_digits(value / factor)} {unit}"


def format_rate(value: float) -> str:
    """Return bytes per second: `40 MB/s`."""
    return f"{format_bytes(value)}/s"


def format_usd(value: float) -> str:
    """Return US dollars: `$73.12`, `$1,240`; small amounts are not rounded to 0: `$0.004`."""
    return f"${value:,.2f}" if 0.1 <= value < 100 else f"${_digits(value)}"


def format_duration(value: float) -> str:
    """Return a duration given in milliseconds: `850 ms`, `45 s`, `12.5 min`, `8 h`, `3 d`."""
    rounded = float(f"{value:.3g}")
    if not rounded:
        return "0 s"
    factor, unit = next((factor, unit) for factor, unit, until in _TIMES if until is None or abs(rounded) < until)
    return f"{_digits(value / factor)} {unit}"


def format_clock(value: float) -> str:
    """Return a time, given in milliseconds since the start, as hours, minutes and seconds: `1:05:03`."""
    seconds = round(value / 1000)
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def format_range(minimum: float, maximum: float, write: NumberFormat) -> str:
    """Return a range, with a common unit only once: `10–15 MB/s`."""
    low, high = write(minimum), write(maximum)
    number, _, unit = low.partition(" ")
    return f"{number}–{high}" if high.endswith(f" {unit}") and unit else f"{low}–{high}"


def byte_unit(value: float) -> tuple[float, str]:
    """Return the unit for a number of bytes: its size in bytes, and its name."""
    rounded = abs(float(f"{value:.3g}"))
    return max((unit for unit in _BYTES if unit[0] <= rounded), default=_BYTES[0])


def time_unit(span_ms: float) -> tuple[float, str]:
    """Return the unit for a time axis of this length: its size in milliseconds, and its name."""
    if span_ms <= 120e3:
        return 1e3, "seconds"
    if span_ms <= 3 * 3600e3:
        return 60e3, "minutes"
    if span_ms <= 72 * 3600e3:
        return 3600e3, "hours"
    return 86400e3, "days"


def _digits(value: float) -> str:
    """Return three significant digits, or all digits before the decimal point; without trailing zeros."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"
