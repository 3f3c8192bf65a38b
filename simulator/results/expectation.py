"""An expectation: what a scenario demands of a metric of its runs."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


def _is_equal(value: float, limit: float) -> bool:
    return math.isclose(value, limit, rel_tol=1e-9)


COMPARISONS: Final[Mapping[str, Callable[[float, float], bool]]] = MappingProxyType(
    {"<=": operator.le, ">=": operator.ge, "==": _is_equal, "<": operator.lt, ">": operator.gt}
)
"""How a value is compared with a limit, by the sign that scenarios use; longer signs first."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison of a metric with a limit.

    Attributes:
        text: the condition as the scenario states it, such as `< 60s` or `<= +5%`.
        comparison: a key of `COMPARISONS`.
        limit: the limit in the unit of the metric; for a relative condition, a share: 0.05 for `+5%`.
        is_relative: whether the limit is relative to another assignor.
    """

    text: str
    comparison: str
    limit: float
    is_relative: bool

    def limit_for(self, reference: float | None) -> float | None:
        """Return the limit in the unit of the metric; None if it is relative to an unknown value."""
        if not self.is_relative:
            return self.limit
        return None if reference is None else reference * (1 + self.limit)

    def is_met(self, value: float | None, limit: float | None) -> bool:
        """Return whether a value meets the condition; an unknown value, or an unknown limit, does not."""
        return value is not None and limit is not None and COMPARISONS[self.comparison](value, limit)


@dataclass(frozen=True, slots=True)
class Expectation:
    """A condition that runs of a scenario must meet.

    Attributes:
        metric: key of the metric.
        assignor: label of the assignor that it holds for; None for every assignor without its own conditions.
        except_for: with `assignor` None, labels of assignors with their own conditions for the metric.
        against: label of the assignor that a relative condition refers to.
        place: file, line and path in the scenario, for messages.
    """

    metric: str
    condition: Condition
    assignor: str | None
    except_for: tuple[str, ...]
    against: str
    place: str

    def applies_to(self, label: str) -> bool:
        """Return whether it holds for an assignor; a relative condition does not hold for its own reference."""
        if self.condition.is_relative and label == self.against:
            return False
        return label not in self.except_for if self.assignor is None else label == self.assignor
