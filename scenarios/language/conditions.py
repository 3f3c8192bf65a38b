"""Parse conditions on metrics: `< 60s`, `<= 5 GB`, `>= 3`, `<= +5%`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Final

from scenarios.language.errors import format_value
from scenarios.language.units import parse_bytes, parse_bytes_per_s, parse_duration_ms
from simulator.results.run_metrics import COMPARISONS, Condition, MetricUnit

CONDITION_PATTERN: Final = r"^ *(<=|>=|==|<|>) *\S.*$"
_CONDITION: Final = re.compile(rf" *({'|'.join(COMPARISONS)}) *(\S(?:.*\S)?) *")
_SHARE: Final = re.compile(r"([+-]\d{1,9}(?:\.\d{1,9})?) ?%")
_NUMBER: Final = re.compile(r"\d{1,18}(?:\.\d{1,9})?")
_EXAMPLES: Final[Mapping[MetricUnit, str]] = {
    MetricUnit.COUNT: "<= 12",
    MetricUnit.NUMBER: "<= 1.5",
    MetricUnit.PERCENT: "<= 10 %",
    MetricUnit.MS: "< 60s",
    MetricUnit.BYTES: "<= 5 GB",
    MetricUnit.BYTES_PER_S: "<= 40 MB/s",
    MetricUnit.USD: "<= $50",
}


def parse_condition(text: str, unit: MetricUnit) -> Condition:
    """Parse a condition on a metric.

    `text`: a comparison and a value with a unit, or a share with a sign, such as `<= +5%`. Raises ValueError if the
    text is not a condition.
    """
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise ValueError(f"{format_value(text)} has no comparison (as in '{_EXAMPLES[unit]}'; {_known()})")
    comparison, value = match[1], match[2]
    share = _SHARE.fullmatch(value)
    if share is not None:
        if float(share[1]) < -100:
            raise ValueError(f"'{value}' is below -100%")
        return Condition(text.strip(), comparison, float(share[1]) / 100, is_relative=True)
    try:
        limit = _PARSERS[unit](value)
    except ValueError:
        limit = math.nan
    if math.isnan(limit):
        hint = "a share of another assignor's value has a sign, as in +5%; " if value.endswith("%") else ""
        raise ValueError(f"'{value}' is not {unit.value} ({hint}as in '{_EXAMPLES[unit]}')")
    return Condition(text.strip(), comparison, limit, is_relative=False)


def _known() -> str:
    return f"comparisons: {', '.join(sorted(COMPARISONS))}"


def _parse_number(value: str) -> float:
    if not _NUMBER.fullmatch(value):
        raise ValueError(value)
    return float(value)


def _or_number(parse: Callable[[object], int]) -> Callable[[str], float]:
    """Return a parser that also takes a number in the base unit, which is text within a condition."""
    return lambda value: parse(int(value) if value.isascii() and value.isdigit() else value)


_PARSERS: Final[Mapping[MetricUnit, Callable[[str], float]]] = {
    MetricUnit.COUNT: _parse_number,
    MetricUnit.NUMBER: _parse_number,
    MetricUnit.PERCENT: lambda value: _parse_number(value.removesuffix("%").rstrip()),
    MetricUnit.MS: _or_number(parse_duration_ms),
    MetricUnit.BYTES: _or_number(parse_bytes),
    MetricUnit.BYTES_PER_S: _or_number(parse_bytes_per_s),
    MetricUnit.USD: lambda value: _parse_number(value.removeprefix("$")),
}
