"""Random numbers equal those of OpenJDK 17, which the tables were recorded with."""

from __future__ import annotations

import pytest

from assignors.java.java_random import JavaRandom


@pytest.mark.parametrize(
    ("seed", "bounds", "drawn", "order"),
    [
        (42, [10, 16, 1000003, 1500000000], [0, 0, 206847, 102948884], [6, 3, 5, 8, 4, 2, 1, 7, 0]),
        (-1, [10, 16, 1000003, 1500000000], [3, 7, 349501, 1176895439], [1, 2, 3, 7, 8, 0, 6, 4, 5]),
        (7, [1, 2, 3, 4, 5, 6, 7], [0, 1, 0, 0, 0, 4, 5], [3, 4, 1, 6, 2, 0, 7, 8, 5]),
    ],
)
def test_numbers_and_shuffles_equal_those_of_java(
    seed: int, bounds: list[int], drawn: list[int], order: list[int]
) -> None:
    random, items = JavaRandom(seed), list(range(9))
    assert [random.next_int(bound) for bound in bounds] == drawn
    random.shuffle(items)
    assert items == order


class Script(JavaRandom):
    """Returns prepared numbers."""

    def __init__(self, drawn: list[int]) -> None:
        super().__init__(0)
        self._drawn = iter(drawn)

    def next(self, bits: int) -> int:
        assert bits == 31
        return next(self._drawn)


def test_biased_draws_are_rejected() -> None:
    whole = 2**31 // 3 * 3
    assert Script([whole, whole + 1, 5]).next_int(3) == 2
    assert Script([whole - 1]).next_int(3) == 2


def test_power_of_two_bound_takes_the_high_bits() -> None:
    assert Script([2**31 - 1]).next_int(4) == 3
    assert Script([3]).next_int(4) == 0
