"""Repeated tests of paired differences: their error rate, their stops, and the same p-values as the single test."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from reports.analysis.sequential_test import decide_signs, look_level, look_sizes, sign_flip_p_values
from reports.analysis.statistics import ALPHA, Floats, sign_flip_p

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
