from __future__ import annotations

from collections import Counter
from itertools import permutations

import pytest

from assignors.replicas.go_random import GoRandom


def shuffled(items: list[int], seed: int) -> list[int]:
    copy = list(items)
    GoRandom(seed).shuffle(copy)
    return copy


def test_lists_are_shuffled_as_in_topicmappr_s_own_test() -> None:
    lists = [[1001, 1002], [1002, 1001], [1003, 1004, 1001], [1004, 1003, 1002]]
    actual = [shuffled(ids, n << 20) for n, ids in enumerate(lists)]
    assert actual == [[1001, 1002], [1001, 1002], [1004, 1003, 1001], [1002, 1004, 1003]]


@pytest.mark.parametrize(
    ("seed", "expected"),
    [
        (0, [3, 7, 4, 6, 1, 8, 0, 5, 2, 9]),
        (1, [1, 7, 4, 0, 9, 2, 3, 5, 8, 6]),
        (42, [2, 5, 7, 9, 6, 8, 1, 4, 0, 3]),
        (2**40, [9, 0, 2, 8, 3, 4, 7, 1, 6, 5]),
        (-7, [7, 3, 5, 2, 4, 1, 9, 8, 6, 0]),
    ],
)
def test_ten_numbers_are_shuffled_as_by_go(seed: int, expected: list[int]) -> None:
    assert shuffled(list(range(10)), seed) == expected


def test_two_thousand_numbers_are_shuffled_as_by_go() -> None:
    actual = shuffled(list(range(2_000)), 3)
    assert actual[:8] == [1565, 1386, 769, 1731, 847, 737, 1566, 424]
    assert actual[-5:] == [1783, 1533, 1882, 1304, 1439]


def test_equivalent_seeds_of_go_give_the_same_shuffle() -> None:
    cards = list(range(52))
    assert shuffled(cards, 0) == shuffled(cards, 89_482_311)
    assert shuffled(cards, 5) == shuffled(cards, 5 + 2**31 - 1)
    assert shuffled(cards, 5) != shuffled(cards, 6)


@pytest.mark.parametrize("items", [[], [7]])
def test_empty_and_single_lists_do_not_change(items: list[int]) -> None:
    assert shuffled(items, 1) == items


def test_all_orders_are_about_equally_frequent() -> None:
    actual = Counter(tuple(shuffled([0, 1, 2], seed)) for seed in range(600))
    assert set(actual) == set(permutations(range(3)))
    assert max(actual.values()) < 150
