"""Iteration order of the coordinator's maps."""

from __future__ import annotations

import random

from assignors.java.hash_order import TimelineOrder

FILLED = [8, 3, 0, 5, 7, 2, 9, 4, 6, 1]
ODD = [3, 5, 7, 9, 1]
GROWN = [34, 21, 13, 39, 26, 3, 31, 18, 23, 10, 36, 28, 15, 20, 5, 33, 38, 25, 12, 30, 17, 7, 35, 22, 14, 27, 32, 19]
GROWN += [24, 11, 9, 37, 1, 29, 16]
"""Orders that `org.apache.kafka.timeline.TimelineHashMap` of Kafka 4.3.1 printed for the same operations."""


def test_order_is_that_of_kafka() -> None:
    order = TimelineOrder()
    for number in range(10):
        order.add(f"member-{number}")
    assert list(order) == [f"member-{number}" for number in FILLED]
    for number in range(0, 10, 2):
        order.remove(f"member-{number}")
    assert list(order) == [f"member-{number}" for number in ODD]
    for number in range(10, 40):
        order.add(f"member-{number}")
    assert list(order) == [f"member-{number}" for number in GROWN]


def test_keys_are_those_of_a_set() -> None:
    rng = random.Random(1)
    order, expected = TimelineOrder(), set[str]()
    for _ in range(2_000):
        key = f"member {rng.randrange(60)}"
        if rng.random() < 0.5:
            order.add(key)
            expected.add(key)
        else:
            order.remove(key)
            expected.discard(key)
        assert sorted(order) == sorted(expected)
