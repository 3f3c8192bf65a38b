"""The partition of `__consumer_offsets` that has a group."""

from __future__ import annotations

import pytest

from scenarios.kafka.formats.coordinator_records import partition_of_group


@pytest.mark.parametrize(
    ("group", "hashed"), [("", 0), ("shop", 3_529_462), ("kiosk", 102_055_145), ("Aa", 2_112), ("BB", 2_112)]
)
def test_partition_follows_from_the_hash_of_java(group: str, hashed: int) -> None:
    assert partition_of_group(group, 10**9) == hashed
    assert partition_of_group(group) == hashed % 50


def test_least_integer_counts_as_zero() -> None:
    # The hash of this text in Java is Integer.MIN_VALUE, which has no absolute value.
    assert partition_of_group("polygenelubricants", 7) == 0


def test_negative_hash_has_its_absolute_value() -> None:
    assert partition_of_group("payments-app", 10**9) == 480_600_191
    assert partition_of_group("payments-app") == 41
