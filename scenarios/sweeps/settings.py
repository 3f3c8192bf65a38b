"""Settings from the factors of a sweep: a grid, a random sample, or a Latin hypercube."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scenarios.sweeps.document import DesignEntry, FactorEntry
from simulator.random_streams import random_stream

Value = Any
Setting = tuple[Value, ...]
"""One value per factor, in the order of the factors."""


def count_settings(design: DesignEntry, factors: Sequence[FactorEntry]) -> int:
    """Return the number of settings that `generate_settings` returns, including duplicates."""
    return design.random or design.latin_hypercube or math.prod(_count_levels(factor) for factor in factors)


def generate_settings(design: DesignEntry, factors: Sequence[FactorEntry]) -> list[Setting]:
    """Return the settings of a design; in a grid, the last factor varies fastest."""
    if design.grid:
        return list(itertools.product(*map(_levels, factors)))
    number = count_settings(design, factors)
    columns = [_draw(factor, number, design) for factor in factors]
    return list(zip(*columns, strict=True)) if columns else [()]


def is_number(value: Value) -> bool:
    """Return whether a value is numeric (not a boolean)."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _count_levels(factor: FactorEntry) -> int:
    return len(factor.values) if factor.values is not None else factor.steps or 2


def _levels(factor: FactorEntry) -> list[Value]:
    if factor.values is not None:
        return factor.values
    return list(dict.fromkeys(_values_at(factor, np.linspace(0.0, 1.0, factor.steps or 2))))


def _draw(factor: FactorEntry, number: int, design: DesignEntry) -> list[Value]:
    """Draw the values of a factor; return one value per setting.

    Each factor has its own random stream, so adding a factor does not change the values of others. In a Latin
    hypercube, the unit interval is cut into as many strips as there are settings, and each strip is used once (McKay,
    Beckman and Conover, 1979).
    """
    generator = random_stream(design.seed, "design", factor.name)
    positions = generator.random(number)
    if design.latin_hypercube:
        positions = (generator.permutation(number) + positions) / number
    if factor.values is not None:
        return [factor.values[int(position * len(factor.values))] for position in positions]
    return _values_at(factor, positions)


def _values_at(factor: FactorEntry, positions: NDArray[np.float64]) -> list[Value]:
    """Return the values at positions between 0 and 1 of a range, rounded to six digits."""
    low, high = factor.between or (0.0, 1.0)
    if factor.scale == "log":
        values = np.exp(np.log(low) + positions * (np.log(high) - np.log(low)))
    else:
        values = low + positions * (high - low)
    if factor.whole:
        return [round(value) for value in values.tolist()]
    return [float(f"{value:.6g}") for value in values.tolist()]
