"""Deviation of bins from equal shares."""

from __future__ import annotations

from fractions import Fraction
from math import floor

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assignors.replicas.even_shares import EvenShares


def one_group(*load: int) -> EvenShares:
    return EvenShares.within(np.array(load), np.zeros(len(load), dtype=np.int64), 1)


def test_broker_with_four_leaders_must_give_two_at_a_mean_of_one_and_three_quarters() -> None:
    shares = one_group(4, 1, 1, 1)
    assert shares.must_give.tolist() == [2, 0, 0, 0]
    assert shares.must_take.tolist() == [0, 0, 0, 0]
    assert shares.residue(shares.is_over).tolist() == [0]
    assert shares.residue(shares.is_under).tolist() == [2]


@given(st.lists(st.integers(0, 40), min_size=1, max_size=40))
def test_integer_shares_match_exact_fractions(load: list[int]) -> None:
    shares, mean = one_group(*load), Fraction(sum(load), len(load))
    assert shares.must_give.tolist() == [max(floor(held - mean), 0) for held in load]
    assert shares.must_take.tolist() == [max(floor(mean - held), 0) for held in load]
    over = sum((held - mean for held in load if held > mean), Fraction(0))
    assert shares.must_give.sum() + shares.residue(shares.is_over)[0] == floor(over)
    assert shares.must_take.sum() + shares.residue(shares.is_under)[0] == floor(over)


def test_evenness_is_separate_for_every_group() -> None:
    shares = EvenShares.within(np.array([3, 0, 7, 7]), np.array([0, 0, 1, 1]), 2)
    assert shares.is_uneven.tolist() == [True, False]
    assert shares.distance == 2
    assert shares.spread().tolist() == [3, 0]


def test_target_of_a_group_may_exceed_its_load() -> None:
    shares = EvenShares(np.array([2, 2, 6]), np.array([0, 0, 1]), np.array([7, 3]))
    assert shares.floor.tolist() == [3, 3, 3]
    assert shares.ceiling.tolist() == [4, 4, 3]
    assert shares.must_take.tolist() == [1, 1, 0]
    assert shares.must_give.tolist() == [0, 0, 3]
    assert shares.residue(shares.is_under).tolist() == [1, 0]
