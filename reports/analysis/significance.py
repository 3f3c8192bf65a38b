"""Whether paired differences are more than chance: a sign-flip test, and Holm's correction where there are many.

Guarantees:
    The test assumes nothing of the differences but that, were there nothing behind them, each would be as likely to be
    the other way round. It is exact up to 20 differences that are not 0, and drawn from 200,000 flips beyond. Of k such
    differences no p-value is less than 2/2^k.
    Holm's correction holds the chance of even one false finding at the level, however the tests hang together.

Complexity: O(2^k) time and memory up to 20 differences, O(flips · k) beyond.

Source: R. A. Fisher, The Design of Experiments (1935), section 21; S. Holm, A simple sequentially rejective multiple
test procedure, Scandinavian Journal of Statistics 6 (1979).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simulator.random_streams import random_stream

LEVEL: Final = 0.05
"""A p-value below it counts as a difference that is not chance."""

_EXACT: Final = 20
_FLIPS: Final = 200_000
_AT_ONCE: Final = 20_000
_ROUNDING: Final = 1e-9

Floats = NDArray[np.float64]


def sign_flip_p(differences: Sequence[float], *names: str) -> float:
    """How likely a mean as far from 0 as this is, or farther, were each difference as likely to be its opposite.

    Args:
        differences: one a pair.
        names: what they are of; where flips are drawn, they hang on it.
    """
    values = np.array([each for each in differences if each], dtype=np.float64)
    if not len(values):
        return 1.0
    least = abs(values.sum()) * (1 - _ROUNDING)
    if len(values) <= _EXACT:
        return float((np.abs(_flipped_sums(values)) >= least).mean())
    return (1 + _drawn_as_far(values, least, names)) / (1 + _FLIPS)


def smallest_p(pairs: int) -> float:
    """The least p-value that so many differences can have."""
    return min(1.0, 2.0 ** (1 - pairs))


def holm_correction(p_values: Sequence[float]) -> list[float]:
    """Corrected p-values, in the order given: each may be held against the level as if it were the only one."""
    adjusted = [1.0] * len(p_values)
    highest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda place: p_values[place])):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = highest
    return adjusted


def _flipped_sums(values: Floats) -> Floats:
    """The sums under all flips but those of the first sign: theirs are the opposites."""
    sums = values[:1]
    for value in values[1:]:
        sums = np.concatenate((sums + value, sums - value))
    return sums


def _drawn_as_far(values: Floats, least: float, names: tuple[str, ...]) -> int:
    chance = random_stream(0, "sign flips", *names)
    as_far = 0
    for _ in range(0, _FLIPS, _AT_ONCE):
        signs = chance.integers(0, 2, size=(_AT_ONCE, len(values))) * 2 - 1
        as_far += int((np.abs(signs @ values) >= least).sum())
    return as_far
