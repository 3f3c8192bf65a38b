"""The sections `expect`, conditions on metrics such as `< 60s` or `<= +5%`, and `problem`, what a scenario shows."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

from pydantic import AfterValidator, ConfigDict, Field, PlainValidator, StringConstraints, WithJsonSchema

from scenarios.language.errors import format_value
from scenarios.language.fields import ListEntry, Name, ScenarioSection
from scenarios.language.units import parse_bytes, parse_bytes_per_s, parse_duration_ms
from simulator.results.run_metrics import COMPARISONS, RUN_METRICS, Condition, MetricUnit


def _on_one_line(text: str) -> str:
    if not text.strip():
        raise ValueError("is blank")
    return " ".join(text.split())


Sentences = Annotated[str, Field(max_length=2_000), AfterValidator(_on_one_line)]
"""One or more sentences; line ends are replaced by spaces."""

Ticket = Annotated[str, StringConstraints(pattern=r"^(KAFKA|KIP)-[1-9][0-9]{0,5}$")]


class FixEntry(ScenarioSection):
    """A change that fixes or mitigates the problem."""

    change: Sentences = Field(description="The change, in words.")
    changes: dict[Name, Any] = Field(
        default={}, alias="set", description="The same change in this scenario, by path as in --set."
    )
    assignor: Name | None = Field(
        default=None, description="Label of the assignor of this scenario that already has the change; not with set."
    )


class ProblemEntry(ScenarioSection):
    """A known problem that the scenario reproduces; it does not affect the simulation."""

    title: Annotated[Name, Field(max_length=60)] = Field(description="The problem in a few words.")
    symptom: Sentences = Field(description="What is observed in production.")
    cause: Sentences = Field(description="Why it happens.")
    tickets: list[ListEntry[Ticket]] = Field(default=[], description="Kafka issues and KIPs, such as KAFKA-10199.")
    shown_by: Name | None = Field(
        default=None, description="Label of the assignor that has the problem; default: the first."
    )
    metrics: Annotated[list[ListEntry[Name]], Field(min_length=1)] = Field(
        description="Keys of the metrics that show the problem, most important first; the fixes lower them."
    )
    fixes: Annotated[list[ListEntry[FixEntry]], Field(min_length=1)] = Field(
        description="Changes that fix or mitigate it, the recommended one first."
    )
    note: Sentences | None = Field(default=None, description="Side effects and limits of the fixes.")


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
    """Parse a comparison and a value with a unit, or a share with a sign; raise ValueError if the text is neither."""
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


MAX_CONDITIONS: Final = 10
AGAINST: Final = "against"

_CONDITION_SCHEMA: Final = {"type": "string", "pattern": CONDITION_PATTERN, "examples": ["< 60s"]}
_CONDITIONS_SCHEMA: Final[dict[str, Any]] = {
    "anyOf": [
        _CONDITION_SCHEMA,
        {"type": "array", "items": _CONDITION_SCHEMA, "minItems": 1, "maxItems": MAX_CONDITIONS},
    ],
}


def _parse_conditions(value: Any) -> tuple[str, ...]:
    texts = value if isinstance(value, list) else [value]
    if not 1 <= len(texts) <= MAX_CONDITIONS:
        raise ValueError(f"has {len(texts)} conditions (1 to {MAX_CONDITIONS})")
    for text in texts:
        if isinstance(text, int | float) and not isinstance(text, bool):
            raise ValueError(f"{format_value(text)} has no comparison (as in '<= {format_value(text)}')")
        if not isinstance(text, str):
            raise ValueError(f"expected a condition such as '<= 5', found {format_value(text)}")
    return tuple(texts)


Conditions = Annotated[tuple[str, ...], PlainValidator(_parse_conditions), WithJsonSchema(_CONDITIONS_SCHEMA)]
"""A condition, or a list of conditions that must all be met."""


def _name_metrics(schema: dict[str, Any]) -> None:
    schema["propertyNames"] = {"enum": [AGAINST, *RUN_METRICS]}
    schema["additionalProperties"] = _CONDITIONS_SCHEMA


class ExpectEntry(ScenarioSection):
    """Conditions on metrics: a key of `list metrics`, and a comparison with a value.

    A share with a sign, such as `<= +5%`, is relative to another assignor with the same seed.
    """

    model_config = ConfigDict(extra="allow", json_schema_extra=_name_metrics)
    __pydantic_extra__: dict[str, Conditions]

    against: Name | None = Field(
        default=None,
        description="Label of the assignor to which relative conditions refer; default: the first assignor.",
    )

    @property
    def conditions(self) -> dict[str, tuple[str, ...]]:
        """The conditions by metric."""
        return dict(self.__pydantic_extra__)
