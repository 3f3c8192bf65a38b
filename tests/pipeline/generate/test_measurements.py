"""Sampling times and files of synthetic measurements; their content is tested by ingesting them."""

from __future__ import annotations

import pytest

from pipeline.generate import Schedule, ScheduleError

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(("interval", "slots"), [("5m", 288), ("1m", 1440), ("15 m", 96), ("1h", 24)])
def test_schedule_has_whole_blocks_per_day(interval: str, slots: int) -> None:
    assert Schedule.parse(2, interval).slots == 2 * slots


@pytest.mark.parametrize("interval", ["7m", "0m", "often", "500ms", "2d"])
def test_interval_that_does_not_divide_a_day_is_rejected(interval: str) -> None:
    with pytest.raises(ScheduleError, match="interval "):
        Schedule.parse(1, interval)


@pytest.mark.parametrize("partitions", [10, 10_000, 100_000])
def test_files_cover_equal_parts_of_days(partitions: int) -> None:
    schedule = Schedule(30, 300)
    files = schedule.files(partitions)
    assert files % 30 == 0
    assert schedule.slots * partitions / files <= 4_000_000
    assert (schedule.slots // files) % 8 == 0
