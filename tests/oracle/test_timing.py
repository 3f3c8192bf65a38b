"""What is made of the times that Kafka takes."""

from __future__ import annotations

from tools.kafka_oracle.timing import Timing, measured


def test_warm_ups_do_not_count() -> None:
    assert measured([9_000_000, 8_000_000, 3_000_000, 1_000_000, 2_000_000], 2) == (3.0, 1.0, 2.0)


def test_a_warm_up_counts_where_there_was_no_time_for_more() -> None:
    assert measured([70_000_000_000], 2) == (70_000.0,)


def test_the_median_is_told_with_its_range() -> None:
    assert Timing("300x30", (3.0, 1.0, 2.0)).line() == "300x30: median 2.0 ms of 3 (1.0 to 3.0)"


def test_who_was_stopped_has_no_median() -> None:
    timing = Timing("1000x50", (), 150.0)
    assert timing.line() == "1000x50: > 150 s (stopped)"
    assert timing.summary() == {"id": "1000x50", "median_ms": None, "runs_ms": [], "stopped_after_s": 150.0}
