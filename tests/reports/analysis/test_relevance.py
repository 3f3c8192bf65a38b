"""Differences that advice counts: significant, at least 1 % of the value before, and at least the stated minimum."""

from __future__ import annotations

import random

import pytest

from reports.analysis.metrics import least_relevant
from reports.analysis.recommendation import MetricChange


def direction(name: str, before: float, difference: float, half_width: float = 0.0) -> int:
    interval = (difference - half_width, difference + half_width)
    return MetricChange(
        name, 10, before, None, before + difference, None, difference, interval, least_relevant(name)
    ).direction


@pytest.mark.parametrize(
    ("name", "before", "difference", "expected"),
    [
        ("cross_rack_usd_per_day", 2.1, -5.83e-07, 0),
        ("cross_rack_usd_per_day", 0.5, -0.011, -1),
        ("cross_rack_usd_per_day", 200.0, -1.5, 0),
        ("cross_rack_usd_per_day", 200.0, -2.5, -1),
        ("worst_downtime_ms", 46_900.0, 20.0, 0),
        ("worst_downtime_ms", 46_900.0, 1_100.0, 1),
        ("active_moves", 0.0, 0.9, 0),
        ("active_moves", 0.0, 1.0, 1),
        ("restored_bytes", 0.0, 5e5, 0),
    ],
)
def test_small_differences_do_not_count(name: str, before: float, difference: float, expected: int) -> None:
    assert direction(name, before, difference) == expected


def test_directions_follow_interval_share_and_minimum() -> None:
    draw = random.Random(5)
    for _ in range(2_000):
        name = draw.choice(("cross_rack_usd_per_day", "worst_downtime_ms", "active_moves", "load_skew"))
        least = least_relevant(name)
        before, difference = draw.uniform(0, 500) * least, draw.uniform(-10, 10) * least
        half_width = draw.uniform(0, 10) * least
        counts = abs(difference) > half_width and abs(difference) >= least and abs(difference) >= before / 100
        assert direction(name, before, difference, half_width) == (counts and (1 if difference > 0 else -1))
