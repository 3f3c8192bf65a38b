"""A HashMap that is filled step by step iterates its keys in the order of the JDK."""

from __future__ import annotations

import random

import pytest

from assignors.java.hash_order import JavaHashMap, StringHashMap, table_size_for
from tests.assignors.java.conftest import Ask


def test_puts_computations_and_removals_give_java_order(ask_java: Ask) -> None:
    rng = random.Random(5)
    lines, orders = [], []
    for _ in range(300):
        capacity, spread = rng.choice((0, 1, 2, 3, 5, 16, 40)), rng.choice((60, 2**20, 2**32))
        hashes = [rng.randrange(spread) * rng.choice((1, 16)) % 2**32 for _ in range(rng.randint(1, 60))]
        filled, steps, inside = JavaHashMap(table_size_for(capacity)), [], set()
        for _ in range(rng.randint(1, 90)):
            key = rng.randrange(len(hashes))
            what = rng.choice(("p", "c", "c", "r"))
            if what == "p":
                filled.put(key, hashes[key])
            elif what == "c":
                assert filled.compute_if_absent(key, hashes[key]) == (key not in inside)
            else:
                filled.remove(key)
            inside = inside - {key} if what == "r" else inside | {key}
            assert len(filled) == len(inside)
            steps.append(f"{what}:{key}:{hashes[key]}")
        if not has_full_bin(hashes):
            lines.append(f"steps {capacity} {' '.join(steps)}")
            orders.append(list(filled))
    assert orders == ask_java(lines)
    assert len(lines) > 150


def has_full_bin(hashes: list[int]) -> bool:
    """Return whether a bin could become a tree, whose order is not reproduced."""
    bins = [(value ^ (value >> 16)) & 63 for value in hashes]
    return max(map(bins.count, bins)) > 7


def test_a_small_table_grows_when_a_bin_is_full(ask_java: Ask) -> None:
    for letter in "pc":
        keys = [16 * number for number in range(9)]
        filled = JavaHashMap()
        for key in keys:
            if letter == "p":
                filled.put(key, key)
            else:
                filled.compute_if_absent(key, key)
        [order] = ask_java(["steps 16 " + " ".join(f"{letter}:{key}:{key}" for key in keys)])
        assert list(filled) == order
        assert order != keys


@pytest.mark.parametrize(("capacity", "bins"), [(0, 1), (1, 1), (2, 2), (3, 4), (16, 16), (17, 32)])
def test_capacity_is_rounded_up_to_a_power_of_two(capacity: int, bins: int) -> None:
    assert table_size_for(capacity) == bins


def test_integers_are_their_own_hashes() -> None:
    numbers = JavaHashMap()
    numbers.add_all([17, 1, 33, 4])
    assert list(numbers) == [17, 1, 33, 4]
    numbers.add_all([17])
    assert 17 in numbers
    assert 2 not in numbers


def test_strings_with_equal_hashes_have_the_order_of_insertion() -> None:
    strings = StringHashMap()
    for key in ("BB", "Aa", "C", "BB"):
        strings.add(key)
    assert [key for key in strings if key != "C"] == ["BB", "Aa"]
    assert "C" in list(strings)
    strings.remove("BB")
    strings.remove("absent")
    strings.add("BB")
    assert [key for key in strings if key != "C"] == ["Aa", "BB"]
