"""Parse durations, sizes, rates and frequencies with units: `20m`, `1h30m`, `5 GB`, `40 MB/s`, `2/h`.

A number without a unit is in the base unit (milliseconds, bytes, bytes per second); a frequency needs a unit.
"""

from __future__ import annotations

import re
from fractions import Fraction

from scenarios.language.errors import format_value

LONG_MAX = 2**63 - 1
"""The maximum number of milliseconds or bytes: Java's `Long.MAX_VALUE`."""

MS_PER_UNIT = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
BYTES_PER_UNIT = {
    "B": 1,
    **{prefix + "B": 1000**power for prefix, power in (("k", 1), ("K", 1), ("M", 2), ("G", 3), ("T", 4), ("P", 5))},
    **{prefix + "iB": 1024**power for power, prefix in enumerate("KMGTP", start=1)},
}
BITS_PER_UNIT = {"bit": 1, "kbit": 1000, "Mbit": 1000**2, "Gbit": 1000**3}

TIME_OF_DAY_PATTERN = r"^([01]\d|2[0-3]):([0-5]\d)$"
_NUMBER = r"\d{1,20}(?:\.\d{1,9})?"
_DURATION_PART = re.compile(rf"({_NUMBER}) ?(ms|s|m|h|d)")
DURATION_PATTERN = "^" + " ?".join(rf"({_NUMBER} ?{unit})?" for unit in reversed(MS_PER_UNIT)) + "$"
SIZE_PATTERN = rf"^{_NUMBER} ?({'|'.join(BYTES_PER_UNIT)})$"
RATE_PATTERN = rf"^{_NUMBER} ?({'|'.join([*BYTES_PER_UNIT, *BITS_PER_UNIT])})/s$"
FREQUENCY_PATTERN = rf"^{_NUMBER} ?/ ?(s|m|h|d)$"
_DURATION, _SIZE, _RATE, _FREQUENCY = map(re.compile, (DURATION_PATTERN, SIZE_PATTERN, RATE_PATTERN, FREQUENCY_PATTERN))
_TIME_OF_DAY = re.compile(TIME_OF_DAY_PATTERN, re.ASCII)

_DURATION_HINT = "a duration, such as 20m, 1h30m or 500 ms (units: ms, s, m, h, d; a number without a unit is in ms)"
_SIZE_HINT = (
    "a size, such as 5 GB or 512 MiB (units: B, kB, MB, GB, TB, PB, KiB, MiB, …; a number without a unit is in bytes)"
)
_RATE_HINT = (
    "a rate, such as 40 MB/s or 10 Mbit/s (a size or bits, then /s; a number without a unit is in bytes per second)"
)
_FREQUENCY_HINT = "a frequency, such as 2/h or 5/d (a count per s, m, h or d)"


def parse_duration_ms(value: object) -> int:
    """Parse a duration such as `1h30m`; raise ValueError if it is none, or not a whole number of milliseconds."""
    if isinstance(value, str) and value and _DURATION.fullmatch(value):
        parts = _DURATION_PART.findall(value)
        return _whole(value, sum(Fraction(number) * MS_PER_UNIT[unit] for number, unit in parts), "milliseconds")
    return _bare(value, "milliseconds", _DURATION_HINT)


def parse_bytes(value: object) -> int:
    """Parse a size; `kB`, `MB`… are powers of 1,000 and `KiB`, `MiB`… of 1,024.

    Raises ValueError if the value is not a size, or not a whole number of bytes.
    """
    if isinstance(value, str) and (match := _SIZE.fullmatch(value)):
        number = value[: match.start(1)].strip()
        return _whole(value, Fraction(number) * BYTES_PER_UNIT[match[1]], "bytes")
    return _bare(value, "bytes", _SIZE_HINT)


def parse_bytes_per_s(value: object) -> int:
    """Parse a rate in bytes or bits; raise ValueError if it is none, or not a whole number of bytes per second."""
    if isinstance(value, str) and (match := _RATE.fullmatch(value)):
        number, unit = value[: match.start(1)].strip(), match[1]
        factor = Fraction(BITS_PER_UNIT[unit], 8) if unit in BITS_PER_UNIT else Fraction(BYTES_PER_UNIT[unit])
        return _whole(value, Fraction(number) * factor, "bytes per second")
    return _bare(value, "bytes per second", _RATE_HINT)


def parse_per_hour(value: object) -> float:
    """Parse a frequency; raise ValueError if the value is not a frequency."""
    if isinstance(value, str) and (match := _FREQUENCY.fullmatch(value)):
        return float(Fraction(value.split("/")[0].strip()) * MS_PER_UNIT["h"] / MS_PER_UNIT[match[1]])
    raise ValueError(f"{format_value(value)} is not {_FREQUENCY_HINT}")


def parse_time_of_day_ms(value: object) -> int:
    """Return the milliseconds since midnight; raise ValueError if the value is not a time of day."""
    if isinstance(value, str) and (match := _TIME_OF_DAY.fullmatch(value)):
        return int(match[1]) * MS_PER_UNIT["h"] + int(match[2]) * MS_PER_UNIT["m"]
    raise ValueError(f"{format_value(value)} is not a time of day, such as 08:00 (hours and minutes, up to 23:59)")


def format_duration(duration_ms: int) -> str:
    """Format a duration as in scenarios, such as `1h30m`."""
    parts = []
    for unit, length in reversed(MS_PER_UNIT.items()):
        count, duration_ms = divmod(duration_ms, length)
        parts += [f"{count}{unit}"] if count else []
    return "".join(parts) or "0s"


def _whole(text: str, amount: Fraction | int, unit: str) -> int:
    if Fraction(amount).denominator != 1:
        raise ValueError(f"'{text}' is not a whole number of {unit}")
    if amount > LONG_MAX:
        raise ValueError(f"'{text}' is too large (at most {LONG_MAX} {unit})")
    return int(amount)


def _bare(value: object, unit: str, hint: str) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        if 0 <= value <= LONG_MAX:
            return value
        raise ValueError(f"{format_value(value)} is not between 0 and {LONG_MAX} {unit}")
    raise ValueError(f"{format_value(value)} is not {hint}")
