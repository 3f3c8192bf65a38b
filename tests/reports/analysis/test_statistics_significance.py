"""The sign-flip test and the Holm correction, compared with enumerated flips and values computed by hand."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.analysis.statistics import holm_correction, sign_flip_p, smallest_p

integers = st.integers(-20, 20)


def enumerated_p(differences: list[int]) -> float:
    """Return the p-value by enumerating every flip."""
    flips = product((1, -1), repeat=len(differences))
    sums = [abs(sum(sign * value for sign, value in zip(flip, differences, strict=True))) for flip in flips]
    return sum(total >= abs(sum(differences)) for total in sums) / len(sums)


@given(st.lists(integers, max_size=8))
def test_the_p_value_is_the_share_of_flips_with_a_sum_at_least_as_extreme(differences: list[int]) -> None:
    assert sign_flip_p(differences) == pytest.approx(enumerated_p(differences) if any(differences) else 1.0)


@pytest.mark.parametrize("pairs", [1, 2, 5, 10, 20])
def test_differences_of_one_sign_have_the_smallest_possible_p_value(pairs: int) -> None:
    assert sign_flip_p([0.1] * pairs) == pytest.approx(smallest_p(pairs))


def test_differences_of_0_are_ignored() -> None:
    assert sign_flip_p([]) == sign_flip_p([0.0, 0.0]) == 1.0
    assert sign_flip_p([3, 1, 0, 0]) == sign_flip_p([3, 1])


def test_the_test_is_two_sided() -> None:
    differences = [0.3, -0.1, 0.7, 0.2, 0.5]
    assert sign_flip_p(differences) == sign_flip_p([-value for value in differences])


def test_random_flips_depend_on_names() -> None:
    rng = np.random.default_rng(5)
    shifted = (rng.normal(size=25) + 0.5).tolist()
    p_value = sign_flip_p(shifted, "a", "b")
    assert p_value == sign_flip_p(shifted, "a", "b")
    assert p_value == pytest.approx(sign_flip_p(shifted, "c"), rel=0.1)
    assert 2 / 100_001 <= sign_flip_p([1.0] * 40) < 1e-4


def test_without_an_effect_p_values_below_the_level_are_as_rare_as_the_level() -> None:
    rng = np.random.default_rng(7)
    p_values = [sign_flip_p(rng.normal(size=8).tolist()) for _ in range(2_000)]
    assert 0.035 < np.mean(np.array(p_values) <= 0.05) < 0.06


def test_holm_multiplies_the_smallest_p_value_by_their_number_and_the_next_by_one_less() -> None:
    assert holm_correction([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm_correction([0.5, 0.9]) == [1.0, 1.0]
    assert holm_correction([]) == []


@given(st.lists(st.floats(0, 1), max_size=12))
def test_corrected_p_values_keep_their_order_and_never_decrease(p_values: list[float]) -> None:
    adjusted = holm_correction(p_values)
    assert all(p <= corrected <= 1 for p, corrected in zip(p_values, adjusted, strict=True))
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    assert [adjusted[index] for index in order] == sorted(adjusted)
