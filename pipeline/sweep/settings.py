"""How settings are chosen from the factors of a sweep: a grid, at random, or as a Latin hypercube."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.sweep.document import DesignEntry, FactorEntry
from simulator.random_streams import random_stream

Value = Any
Setting = tuple[Value, ...]
"""One value for each factor, in their order."""


def count_settings(design: DesignEntry, factors: Sequence[FactorEntry]) -> int:
    """How many settings `choose` gives, those that come twice counted twice."""
    return design.random or design.latin_hypercube or math.prod(_depth(factor) for factor in factors)


def generate_settings(design: DesignEntry, factors: Sequence[FactorEntry]) -> list[Setting]:
    """The settings of a design: of a grid, the last factor changes fastest."""
    if design.grid:
        return list(itertools.product(*map(_levels, factors)))
    number = count_settings(design, factors)
    columns = [_draw(factor, number, design) for factor in factors]
    return list(zip(*columns, strict=True)) if columns else [()]


def is_number(value: Value) -> bool:
    """Whether a value is one to calculate with."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _depth(factor: FactorEntry) -> int:
    return len(factor.values) if factor.values is not None else factor.steps or 2


def _levels(factor: FactorEntry) -> list[Value]:
    if factor.values is not None:
        return factor.values
    return list(dict.fromkeys(_at(factor, np.linspace(0.0, 1.0, factor.steps or 2))))


def _draw(factor: FactorEntry, number: int, design: DesignEntry) -> list[Value]:
    """One value a setting. Each factor has a stream of its own, so that another factor does not change this one.

    In a Latin hypercube the unit interval is cut into as many strips as there are settings, and each strip is used
    once (McKay, Beckman and Conover, 1979).
    """
    chance = random_stream(design.seed, "design", factor.name)
    places = chance.random(number)
    if design.latin_hypercube:
        places = (chance.permutation(number) + places) / number
    if factor.values is not None:
        return [factor.values[int(place * len(factor.values))] for place in places]
    return _at(factor, places)


def _at(factor: FactorEntry, places: NDArray[np.float64]) -> list[Value]:
    """The values at places between 0 and 1 of a range, to six digits."""
    low, high = factor.between or (0.0, 1.0)
    if factor.scale == "log":
        values = np.exp(np.log(low) + places * (np.log(high) - np.log(low)))
    else:
        values = low + places * (high - low)
    if factor.whole:
        return [round(value) for value in values.tolist()]
    return [float(f"{value:.6g}") for value in values.tolist()]
