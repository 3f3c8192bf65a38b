"""Repeated tests of paired differences: their error rate, their stops, and the same p-values as the single test."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from reports.analysis.sequential_test import (
    MAX_FAMILY,
    decide_family,
    decide_signs,
    family_flips,
    look_level,
    look_sizes,
    sign_flip_p_values,
)
from reports.analysis.statistics import ALPHA, Floats, sign_flip_p

pytestmark = pytest.mark.answers

WORLDS = 2_000
SEEDS = 80

Sample = Callable[[np.random.Generator, tuple[int, int]], Floats]

WITHOUT_EFFECT: dict[str, Sample] = {
    "normal": lambda random, shape: random.normal(size=shape),
    "heavy tails": lambda random, shape: random.standard_cauchy(size=shape),
    "mostly equal": lambda random, shape: random.normal(size=shape) * (random.random(shape) < 0.4),
    "whole numbers": lambda random, shape: random.integers(-2, 3, size=shape).astype(float),
    "growing spread": lambda random, shape: random.normal(size=shape) * np.arange(1, shape[0] + 1)[:, None],
    "unknown values": lambda random, shape: np.where(random.random(shape) < 0.2, np.nan, random.normal(size=shape)),
}


def decided(differences: Floats) -> Floats:
    """Return the number of seeds after which each column is decided, infinity if never."""
    looks = look_sizes(len(differences))
    decisions = decide_signs(differences, np.zeros_like(differences), looks)
    return np.array([np.inf if decision.look is None else looks[decision.look] for decision in decisions])


@pytest.mark.parametrize("name", WITHOUT_EFFECT)
def test_wrong_decisions_stay_within_alpha(name: str) -> None:
    differences = WITHOUT_EFFECT[name](np.random.default_rng(11), (SEEDS, WORLDS))
    assert np.isfinite(decided(differences)).mean() <= ALPHA


def test_same_level_at_every_look_would_exceed_alpha() -> None:
    differences = WITHOUT_EFFECT["normal"](np.random.default_rng(11), (SEEDS, WORLDS))
    naive = np.zeros(WORLDS, dtype=bool)
    for size in look_sizes(SEEDS):
        naive |= sign_flip_p_values(differences[:size]) <= ALPHA
    assert naive.mean() > 1.5 * ALPHA


def test_effect_stops_early_with_its_sign() -> None:
    differences = np.random.default_rng(12).normal(-1.0, 1.0, (SEEDS, WORLDS))
    stops = decided(differences)
    assert np.median(stops) <= 16
    assert np.isfinite(stops).mean() > 0.99
    decisions = decide_signs(differences, np.zeros_like(differences), look_sizes(SEEDS))
    wrong = [decision for decision in decisions if decision.mean is not None and decision.mean > 0]
    assert len(wrong) <= ALPHA / 2 * WORLDS


def test_more_seeds_do_not_change_a_decision() -> None:
    differences = np.random.default_rng(13).normal(0.6, 1.0, (SEEDS, 50))
    whole = decide_signs(differences, np.zeros_like(differences), look_sizes(SEEDS))
    for count in range(1, len(look_sizes(SEEDS)) + 1):
        looks = look_sizes(SEEDS)[:count]
        part = decide_signs(differences[: looks[-1]], np.zeros((looks[-1], 50)), looks)
        for early, late in zip(part, whole, strict=True):
            assert early == late if early.look is not None else late.look is None or late.look >= count


@pytest.mark.parametrize("pairs", [2, 7, 8, 16])
def test_exact_p_values_are_those_of_the_single_test(pairs: int) -> None:
    random = np.random.default_rng(pairs)
    differences = np.round(random.normal(0.5, 1.0, (pairs, 20)), 1)
    expected = [sign_flip_p(column.tolist()) for column in differences.T]
    assert sign_flip_p_values(differences) == pytest.approx(expected)


def test_random_flips_are_close_to_the_exact_test() -> None:
    differences = np.random.default_rng(5).normal(0.5, 1.0, (20, 10))
    expected = [sign_flip_p(column.tolist()) for column in differences.T]
    assert sign_flip_p_values(differences) == pytest.approx(expected, abs=0.015)


def test_equal_or_unknown_values_are_never_decided() -> None:
    values = np.array([[5.0, np.nan, 0.1 + 0.2]] * SEEDS)
    baseline = np.array([[5.0, 1.0, 0.3]] * SEEDS)
    decisions = decide_signs(values, baseline, look_sizes(SEEDS))
    assert [decision.look for decision in decisions] == [None, None, None]
    assert [decision.pairs for decision in decisions] == [64, 0, 64]
    assert decisions[1].mean is None


def test_levels_add_up_to_less_than_alpha() -> None:
    assert sum(map(look_level, range(1_000))) < ALPHA
    assert look_sizes(8) == ()
    assert look_sizes(9) == (8,)
    assert look_sizes(100) == (8, 16, 32, 64)
    # Eight differences of one sign suffice for the first look.
    assert sign_flip_p_values(np.ones((8, 1)))[0] <= look_level(0)


FAMILY = 6
FAMILY_WORLDS = 300


def family_p_values(differences: Floats) -> Floats:
    """Return p-values, shape (looks, worlds, differences), of families of differences (seeds, worlds, differences)."""
    seeds, worlds, family = differences.shape
    columns = differences.reshape(seeds, -1)
    p_values = [
        sign_flip_p_values(columns[:size], family_flips(family, look)) for look, size in enumerate(look_sizes(seeds))
    ]
    return np.array(p_values).reshape(-1, worlds, family)


def families_without_effect(name: str) -> Floats:
    """Return differences of several settings from one baseline, which makes them depend on each other."""
    random = np.random.default_rng(21)
    values = WITHOUT_EFFECT[name](random, (40, FAMILY_WORLDS * (FAMILY + 1))).reshape(40, FAMILY_WORLDS, FAMILY + 1)
    return np.asarray(values[:, :, 1:] - values[:, :, :1])


@pytest.mark.parametrize("name", ["normal", "heavy tails", "whole numbers", "unknown values"])
@pytest.mark.parametrize("with_effect", [0, 3])
def test_any_wrong_decision_of_a_family_stays_within_alpha(name: str, with_effect: int) -> None:
    differences = families_without_effect(name)
    differences[:, :, :with_effect] += 1e6
    wrong = right = 0
    for p_values in np.swapaxes(family_p_values(differences), 0, 1):
        decided = [decision.look is not None for decision in decide_family(p_values)]
        wrong += any(decided[with_effect:])
        right += all(decided[:with_effect])
    assert wrong <= ALPHA * FAMILY_WORLDS
    assert right == FAMILY_WORLDS


def test_levels_of_single_differences_would_exceed_alpha_in_a_family() -> None:
    looks = family_p_values(families_without_effect("normal"))
    levels = np.array([look_level(look) for look in range(len(looks))])
    assert (looks <= levels[:, None, None]).any(axis=(0, 2)).mean() > 1.5 * ALPHA


def test_levels_of_a_family_grow_as_its_differences_are_decided() -> None:
    p_values = np.array([[0.004, 0.03, 0.0084, 1.0], [1.0, 0.0041, 1.0, 0.5]])
    # First look: 0.004 <= 0.025 / 4, but 0.0084 > 0.025 / 3; second look: 0.0041 > 0.025 / 3 / 3.
    assert [decision.look for decision in decide_family(p_values)] == [0, None, None, None]
    # With 0.0083 <= 0.025 / 3, two are left: 0.0041 <= 0.025 / 3 / 2.
    p_values[0, 2] = 0.0083
    decisions = decide_family(p_values)
    assert [decision.look for decision in decisions] == [0, 1, 0, None]
    levels = [decision.level for decision in decisions]
    assert levels == pytest.approx([0.025 / 4, 0.025 / 3 / 2, 0.025 / 3, 0.025 / 3])
    # Of one difference, they are those without a family.
    assert [decide_family(np.array([[p]]))[0].look for p in (0.025, 0.0251)] == [0, None]


def test_largest_family_can_be_decided() -> None:
    differences = np.ones((32, 1))
    [p] = sign_flip_p_values(differences, family_flips(MAX_FAMILY, 2))
    assert p <= look_level(2) / MAX_FAMILY
    [p] = sign_flip_p_values(differences)
    assert p > look_level(2) / MAX_FAMILY


def test_further_looks_of_a_decided_difference_change_nothing() -> None:
    random = np.random.default_rng(4)
    p_values = random.random((3, 12)) ** 4
    whole = decide_family(p_values)
    for count in (1, 2):
        for early, late in zip(decide_family(p_values[:count]), whole, strict=True):
            assert early == late if early.look is not None else late.look is None or late.look >= count
