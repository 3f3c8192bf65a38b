"""Tolerances of stored metrics: `metric=5%` of the stored value, or `metric=3` in the unit of the metric."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from simulator.results.run_metrics import metric_hint
from simulator.results.tables import SCHEMAS

_STORED_PRECISION: Final = 1e-8
"""Relative precision of stored floats: they have nine digits, the last of which may differ between processors."""


class ToleranceError(ValueError):
    """A tolerance is not valid."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """By how much a metric may differ from its stored value.

    Attributes:
        share: share of the stored value.
        amount: amount in the unit of the metric.
    """

    share: float = 0.0
    amount: float = 0.0

    def allows(self, before: float, after: float) -> bool:
        """Return whether the difference is within the tolerance."""
        return abs(after - before) <= max(self.share * abs(before), self.amount)


def parse_tolerances(texts: Iterable[str]) -> dict[str, Tolerance]:
    """Parse tolerances for columns of the table `runs`.

    `texts`: `metric=5%` or `metric=3`. Returns tolerances by metric. Raises ToleranceError if a text is not valid.
    """
    metrics = [field.name for field in SCHEMAS["runs"] if field.name != "seed" and not pa.types.is_string(field.type)]
    return {text.partition("=")[0]: parse_tolerance("--tolerance", text, metrics) for text in texts}


def is_same(name: str, before: Any, after: Any, allowed: Mapping[str, Tolerance]) -> bool:
    """Return whether a value is the stored one, up to its stored precision and its tolerance.

    `name`: key of the metric.
    """
    if before == after or not all(isinstance(value, int | float) for value in (before, after)):
        return bool(before == after)
    if isinstance(before, float) and math.isclose(before, after, rel_tol=_STORED_PRECISION):
        return True
    return name in allowed and allowed[name].allows(before, after)


def parse_tolerance(option: str, text: str, metrics: Sequence[str]) -> Tolerance:
    """Parse a tolerance.

    `option`: name of the option, for messages; `text`: `metric=5%` or `metric=3`; `metrics`: keys of the valid metrics.
    Raises ToleranceError if the text is not valid.
    """
    name, _, size = text.partition("=")
    if name not in metrics:
        raise ToleranceError(f"{option} {text}: '{name}' is not a metric ({metric_hint(name, metrics)})")
    try:
        value = float(size.removesuffix("%"))
    except ValueError:
        value = -1.0
    if not (0 <= value < math.inf):
        raise ToleranceError(f"{option} {text}: expected METRIC=5% or METRIC=3, not negative")
    return Tolerance(share=value / 100) if size.endswith("%") else Tolerance(amount=value)
