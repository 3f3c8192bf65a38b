"""Formatting of numbers."""

from __future__ import annotations

import pytest

from reports.analysis.formatting import (
    NumberFormat,
    byte_unit,
    format_bytes,
    format_clock,
    format_count,
    format_duration,
    format_number,
    format_percent,
    format_range,
    format_rate,
    format_usd,
    time_unit,
)


@pytest.mark.parametrize(
    ("write", "value", "text"),
    [
        (format_bytes, 0, "0 B"),
        (format_bytes, 999, "999 B"),
        (format_bytes, 999.6, "1 kB"),
        (format_bytes, 999_600, "1 MB"),
        (format_bytes, 52_449_000_000, "52.4 GB"),
        (format_bytes, 4.2e18, "4,200 PB"),
        (format_rate, 41_250_000.0, "41.2 MB/s"),
        (format_count, 0, "0"),
        (format_count, 12_345, "12,345"),
        (format_count, 12.5, "12.5"),
        (format_number, 1 / 3, "0.333"),
        (format_number, 2.0, "2"),
        (format_number, 100.0, "100"),
        (format_number, 0.00012345, "0.000123"),
        (format_percent, 33.3333, "33.3 %"),
        (format_usd, 0, "$0"),
        (format_usd, 0.0042, "$0.0042"),
        (format_usd, 3.5, "$3.50"),
        (format_usd, 281.44, "$281"),
        (format_usd, 12_345.6, "$12,346"),
        (format_duration, 0, "0 s"),
        (format_duration, 850, "850 ms"),
        (format_duration, 3_000, "3 s"),
        (format_duration, 119_000, "119 s"),
        (format_duration, 119_990, "2 min"),
        (format_duration, 12.5 * 60_000, "12.5 min"),
        (format_duration, 8 * 3_600_000, "8 h"),
        (format_duration, 7 * 86_400_000, "7 d"),
        (format_clock, 3_000, "0:00:03"),
        (format_clock, 26 * 3_600_000 + 65_000, "26:01:05"),
    ],
)
def test_number_formats(write: NumberFormat, value: float, text: str) -> None:
    assert write(value) == text


def test_range_has_common_unit_once() -> None:
    assert format_range(10e6, 15.5e6, format_rate) == "10–15.5 MB/s"
    assert format_range(900e3, 1.2e6, format_rate) == "900 kB/s–1.2 MB/s"
    assert format_range(10, 12, format_count) == "10–12"


def test_axis_unit_keeps_numbers_small() -> None:
    assert byte_unit(48e6) == (1e6, "MB")
    assert byte_unit(0) == (1, "B")
    units = [time_unit(minutes * 60_000)[1] for minutes in (1, 20, 600, 10_000)]
    assert units == ["seconds", "minutes", "hours", "days"]
