"""How far a figure may be from what was stored: `metric=5%` of it, or `metric=3` in its own unit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from simulator.results.tables import SCHEMAS

_LAST_DIGITS: Final = 1e-8
"""Sums of floats are stored to nine digits; the last one may round otherwise on another processor."""


class ToleranceError(ValueError):
    """A tolerance that cannot be understood; says why, and what would be right."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far a figure may be off.

    Attributes:
        share: of the stored figure.
        amount: in the figure's unit.
    """

    share: float = 0.0
    amount: float = 0.0

    def allows(self, before: float, after: float) -> bool:
        """Whether a figure may become another."""
        return abs(after - before) <= max(self.share * abs(before), self.amount)


def parse_tolerances(texts: Iterable[str]) -> dict[str, Tolerance]:
    """Understand tolerances of figures of the table `runs`, by the figure that they are for.

    Raises:
        ToleranceError: one is not understood.
    """
    figures = [each.name for each in SCHEMAS["runs"] if each.name != "seed" and not pa.types.is_string(each.type)]
    return {text.partition("=")[0]: parse_tolerance("--tolerance", text, figures) for text in texts}


def is_same(name: str, before: Any, after: Any, allowed: Mapping[str, Tolerance]) -> bool:
    """Whether a figure is what was stored, as far as that matters."""
    if before == after or not all(isinstance(each, int | float) for each in (before, after)):
        return bool(before == after)
    if isinstance(before, float) and math.isclose(before, after, rel_tol=_LAST_DIGITS):
        return True
    return name in allowed and allowed[name].allows(before, after)


def parse_tolerance(option: str, text: str, metrics: Sequence[str]) -> Tolerance:
    """Understand a tolerance.

    Args:
        option: what messages call the place where it stands.
        text: `metric=5%` or `metric=3`.
        metrics: which there are.

    Raises:
        ToleranceError: it is not understood.
    """
    name, _, size = text.partition("=")
    if name not in metrics:
        raise ToleranceError(f"{option} {text}: '{name}' is not a metric (metrics: {', '.join(metrics)})")
    try:
        value = float(size.removesuffix("%"))
    except ValueError:
        value = -1.0
    if not (0 <= value < math.inf):
        raise ToleranceError(f"{option} {text}: expected METRIC=5% or METRIC=3, of at least 0")
    return Tolerance(share=value / 100) if size.endswith("%") else Tolerance(amount=value)
