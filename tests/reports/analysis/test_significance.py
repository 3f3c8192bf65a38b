"""The sign-flip test and Holm's correction, against what can be worked out by hand or counted."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.analysis.significance import holm_correction, sign_flip_p, smallest_p

whole = st.integers(-20, 20)


def counted(differences: list[int]) -> float:
    """The p-value by going through every flip."""
    flips = product((1, -1), repeat=len(differences))
    sums = [abs(sum(sign * each for sign, each in zip(flip, differences, strict=True))) for flip in flips]
    return sum(each >= abs(sum(differences)) for each in sums) / len(sums)


@given(st.lists(whole, max_size=8))
def test_the_p_value_is_the_share_of_flips_that_are_as_far_from_0(differences: list[int]) -> None:
    assert sign_flip_p(differences) == pytest.approx(counted(differences) if any(differences) else 1.0)


@pytest.mark.parametrize("pairs", [1, 2, 5, 10, 20])
def test_no_p_value_is_less_than_that_of_differences_that_all_say_the_same(pairs: int) -> None:
    assert sign_flip_p([0.1] * pairs) == pytest.approx(smallest_p(pairs))


def test_equal_pairs_say_nothing_either_way() -> None:
    assert sign_flip_p([]) == sign_flip_p([0.0, 0.0]) == 1.0
    assert sign_flip_p([3, 1, 0, 0]) == sign_flip_p([3, 1])


def test_the_sign_of_all_does_not_matter() -> None:
    differences = [0.3, -0.1, 0.7, 0.2, 0.5]
    assert sign_flip_p(differences) == sign_flip_p([-each for each in differences])


def test_many_differences_are_judged_by_drawn_flips_that_are_the_same_each_time() -> None:
    chance = np.random.default_rng(5)
    shifted = (chance.normal(size=25) + 0.5).tolist()
    drawn = sign_flip_p(shifted, "a", "b")
    assert drawn == sign_flip_p(shifted, "a", "b")
    assert drawn == pytest.approx(sign_flip_p(shifted, "c"), rel=0.1)
    assert 1 / 200_001 <= sign_flip_p([1.0] * 40) < 1e-4


def test_where_there_is_nothing_a_p_value_below_the_level_is_as_rare_as_the_level() -> None:
    chance = np.random.default_rng(7)
    p_values = [sign_flip_p(chance.normal(size=8).tolist()) for _ in range(2_000)]
    assert 0.035 < np.mean(np.array(p_values) <= 0.05) < 0.06


def test_holm_multiplies_the_least_by_all_and_each_next_by_one_less() -> None:
    assert holm_correction([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm_correction([0.5, 0.9]) == [1.0, 1.0]
    assert holm_correction([]) == []


@given(st.lists(st.floats(0, 1), max_size=12))
def test_corrected_p_values_keep_their_order_and_are_never_less(p_values: list[float]) -> None:
    adjusted = holm_correction(p_values)
    assert all(p <= corrected <= 1 for p, corrected in zip(p_values, adjusted, strict=True))
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    assert [adjusted[place] for place in order] == sorted(adjusted)
