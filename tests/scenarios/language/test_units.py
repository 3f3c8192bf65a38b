"""Parsing of durations, sizes, rates and frequencies."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios.language import units
from scenarios.language.units import format_duration, parse_bytes, parse_bytes_per_s, parse_duration_ms, parse_per_hour


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("20m", 1_200_000),
        ("500ms", 500),
        ("500 ms", 500),
        ("1h30m", 5_400_000),
        ("1h 30m", 5_400_000),
        ("1d2h3m4s5ms", 93_784_005),
        ("1.5h", 5_400_000),
        ("0.001s", 1),
        ("0s", 0),
        (30_000, 30_000),
        (3e4, 30_000),
    ],
)
def test_duration_is_parsed(text: object, expected: int) -> None:
    assert parse_duration_ms(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5 GB", 5_000_000_000),
        ("5GB", 5_000_000_000),
        ("512 MiB", 536_870_912),
        ("1.5 kB", 1_500),
        ("1 KB", 1_000),
        ("1 KiB", 1_024),
        ("2 TB", 2_000_000_000_000),
        ("1 PiB", 2**50),
        ("7 B", 7),
        (7, 7),
    ],
)
def test_size_is_parsed(text: object, expected: int) -> None:
    assert parse_bytes(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("40 MB/s", 40_000_000),
        ("40MiB/s", 41_943_040),
        ("10 Mbit/s", 1_250_000),
        ("1 Gbit/s", 125_000_000),
        ("8 bit/s", 1),
        (1_000, 1_000),
    ],
)
def test_rate_is_parsed(text: object, expected: int) -> None:
    assert parse_bytes_per_s(text) == expected


@pytest.mark.parametrize(
    ("parse", "value", "message"),
    [
        (parse_duration_ms, "20 minutes", "'20 minutes' is not a duration, such as 20m, 1h30m or 500 ms (units: ms, s"),
        (parse_duration_ms, "30m1h", "'30m1h' is not a duration"),
        (parse_duration_ms, "-5m", "'-5m' is not a duration"),
        (parse_duration_ms, "10:00", "'10:00' is not a duration"),
        (parse_duration_ms, "", "'' is not a duration"),
        (parse_duration_ms, "20", "'20' is not a duration"),
        (parse_duration_ms, "0.0001s", "'0.0001s' is not a whole number of milliseconds"),
        (parse_duration_ms, "999999999999d", "'999999999999d' is too large (at most 9223372036854775807 milliseconds)"),
        (parse_duration_ms, None, "nothing is not a duration"),
        (parse_duration_ms, True, "true is not a duration"),
        (parse_duration_ms, -1, "-1 is not between 0 and 9223372036854775807 milliseconds"),
        (parse_duration_ms, 0.5, "0.5 is not a duration"),
        (parse_duration_ms, float("inf"), "inf is not a duration"),
        (parse_bytes, "5 gb", "'5 gb' is not a size, such as 5 GB or 512 MiB (units: B, kB"),
        (parse_bytes, "5 GB/s", "'5 GB/s' is not a size"),
        (parse_bytes, "five GB", "'five GB' is not a size"),
        (parse_bytes, "0.5 B", "'0.5 B' is not a whole number of bytes"),
        (parse_bytes, 2**63, f"{2**63} is not between 0 and"),
        (parse_bytes, [], "a list is not a size"),
        (parse_bytes_per_s, "40 MB", "'40 MB' is not a rate, such as 40 MB/s or 10 Mbit/s"),
        (parse_bytes_per_s, "40 MB/h", "'40 MB/h' is not a rate"),
        (parse_bytes_per_s, "1 bit/s", "'1 bit/s' is not a whole number of bytes per second"),
        (parse_per_hour, "2", "'2' is not a frequency, such as 2/h or 5/d (a count per s, m, h or d)"),
        (parse_per_hour, "2/w", "'2/w' is not a frequency"),
        (parse_per_hour, "-2/h", "'-2/h' is not a frequency"),
        (parse_per_hour, 2, "2 is not a frequency"),
    ],
)
def test_invalid_value_is_rejected_with_an_example(
    parse: Callable[[object], float], value: object, message: str
) -> None:
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        parse(value)


@pytest.mark.parametrize(("text", "expected"), [("2/h", 2), ("12/d", 0.5), ("0.5/m", 30), ("1 / s", 3_600), ("0/h", 0)])
def test_frequency_is_parsed(text: str, expected: float) -> None:
    assert parse_per_hour(text) == expected


@given(st.integers(0, 10**15))
def test_duration_in_several_units_is_parsed(ms: int) -> None:
    rest, parts = ms, []
    for unit, length in reversed(units.MS_PER_UNIT.items()):
        count, rest = divmod(rest, length)
        parts.append(f"{count}{unit}")
    assert parse_duration_ms("".join(parts)) == ms


@given(st.integers(0, 10**15))
def test_formatted_duration_is_parsed_back(ms: int) -> None:
    assert parse_duration_ms(format_duration(ms)) == ms


@pytest.mark.parametrize(("ms", "text"), [(0, "0s"), (90 * 60_000, "1h30m"), (86_400_001, "1d1ms")])
def test_duration_is_formatted_briefly(ms: int, text: str) -> None:
    assert format_duration(ms) == text
