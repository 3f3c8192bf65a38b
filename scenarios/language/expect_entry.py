"""The section `expect`: conditions on metrics that runs of the scenario must meet."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field, PlainValidator, WithJsonSchema

from scenarios.language.conditions import CONDITION_PATTERN
from scenarios.language.errors import format_value
from scenarios.language.fields import Name
from scenarios.language.section import ScenarioSection
from simulator.results.run_metrics import RUN_METRICS

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
