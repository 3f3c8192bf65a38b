"""What may stand in a scenario: one pydantic model a section, and the JSON Schema made from them.

These models say what each value may be. What values mean together (names that must exist, counts that must agree) is
checked in `scenarios.resolution`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field

from scenarios.language.application_entries import ApplicationSection, ClientEntry
from scenarios.language.cluster_entries import BROKER_LIST, BROKER_POOL, ClusterSection
from scenarios.language.configs import AssignorEntryConfigs, ScenarioSection
from scenarios.language.event_entries import EventEntry
from scenarios.language.fields import (
    FLAT_LIST,
    PER_PARTITION,
    PER_THREAD,
    WHOLE_TOPIC,
    AssignorParameter,
    Duration,
    ListEntry,
    Name,
    TimeOfDay,
    TrafficFactor,
)
from scenarios.language.prices import PRICES
from scenarios.language.units import LONG_MAX

SCHEMA_FILE: Final = Path(__file__).parents[1] / "schema.json"
DEFAULT_ASSIGNOR: Final = "high_availability"
SCHEMA_ID: Final = "https://json-schema.org/draft/2020-12/schema"

LongText = Annotated[str, Field(max_length=10_000)]


UNION_TAGS: Final = frozenset([WHOLE_TOPIC, PER_PARTITION, FLAT_LIST, PER_THREAD, BROKER_POOL, BROKER_LIST])
"""What stands in the places that pydantic names without standing in the data."""


def _by_name(value: Any) -> Any:
    return {"assignor": value} if isinstance(value, str) else value


def _by_provider(value: Any) -> Any:
    return {"provider": value} if isinstance(value, str) else value


class AssignorSettings(ScenarioSection):
    """An assignor with its settings."""

    assignor: Name = Field(description="The name of a built-in assignor; assignor-sim list shows them.")
    label: Name | None = Field(default=None, description="What tables and pictures call it.")
    parameters: dict[Name, AssignorParameter] = Field(default={}, description="Parameters of the assignor itself.")
    configs: AssignorEntryConfigs = Field(
        default_factory=AssignorEntryConfigs,
        description="Configs that differ from the application's, with Kafka's own keys.",
    )


AssignorEntry = Annotated[
    AssignorSettings,
    BeforeValidator(_by_name),
]


class TrafficSection(ScenarioSection):
    """How much is produced to the topics over the day: by factors, or as it was measured of each partition."""

    hourly: Annotated[list[TrafficFactor], Field(min_length=24, max_length=24)] | None = Field(
        default=None,
        description="So many times what the topics say, in each hour of a day; the run starts with the first.",
    )
    folder: Name | None = Field(
        default=None,
        alias="from",
        description="A folder that assignor-sim ingest made of measurements: rates of partitions in each hour of the "
        "day, and sizes, of topics for which the scenario gives none.",
    )
    quantile: Literal["mean", "p50", "p95", "p99"] | None = Field(
        default=None, description="Which of the measured rates of an hour to take (mean)."
    )
    starts_at: TimeOfDay | None = Field(
        default=None, description="The time of the measured day, in UTC, at which the run starts (00:00)."
    )


class PriceEntry(ScenarioSection):
    """What a gigabyte (10⁹ bytes) costs that crosses from one rack to another."""

    provider: Name = Field(description="Whose price it is; those of aws, azure and gcp are known.")
    usd_per_gb: Annotated[float, Field(ge=0, le=1_000, allow_inf_nan=False)] | None = Field(
        default=None, description="The price in US dollars, where it is not the one that is known."
    )


PriceField = Annotated[PriceEntry, BeforeValidator(_by_provider)]


class ScenarioDocument(ScenarioSection):
    """A scenario of assignor-sim: a Kafka cluster, a Kafka Streams application on it, and what happens to them."""

    name: Name | None = Field(default=None, description="What the scenario is called; its file's name if not given.")
    description: LongText | None = Field(default=None, description="What it shows.")
    cluster: ClusterSection = Field(description="The Kafka cluster.")
    application: ApplicationSection = Field(description="The application.")
    clients: Annotated[list[ListEntry[ClientEntry]], Field(min_length=1)] = Field(
        description="The application's processes, those that come later included."
    )
    traffic: TrafficSection | None = Field(
        default=None, description="How traffic changes over the day; it does not if not given."
    )
    events: list[ListEntry[EventEntry]] = Field(default=[], description="What happens.")
    assignors: Annotated[list[ListEntry[AssignorEntry]], Field(min_length=1)] = Field(
        default_factory=lambda: [AssignorSettings(assignor=DEFAULT_ASSIGNOR)], description="The assignors to compare."
    )
    duration: Duration = Field(default=86_400_000, description="How long to simulate (24h).")
    seeds: Annotated[list[Annotated[int, Field(ge=0, le=LONG_MAX)]], Field(min_length=1, max_length=10_000)] = Field(
        default=[1],
        description="One run for each: seeds draw placements and process ids that are not given, and all chance.",
    )
    price: PriceField | None = Field(
        default=None, description="What traffic between racks costs: a provider's name, or a price of one's own."
    )


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a scenario, for editors to complete and check by."""
    schema: dict[str, Any] = _tidy(ScenarioDocument.model_json_schema(by_alias=True))
    schema["$defs"]["EventEntry"] |= {"minProperties": 2, "maxProperties": 2}
    assignors = schema["properties"]["assignors"]
    assignors["items"] = {"anyOf": [{"type": "string"}, assignors["items"]]}
    assignors["default"] = [DEFAULT_ASSIGNOR]
    price = schema["properties"]["price"]
    price["anyOf"] = [{"type": "string", "examples": [*PRICES]}, *price["anyOf"]]
    return {"$schema": SCHEMA_ID, "title": "assignor-sim scenario", **schema}


def _tidy(schema: Any) -> Any:
    """Leave out what an editor need not show: titles made from field names, and defaults that are empty or sections."""
    if isinstance(schema, list):
        return [_tidy(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if not (key == "title" and isinstance(value, str))}
    if kept.get("default") is None or isinstance(kept["default"], dict | list):
        kept.pop("default", None)
    return {key: _tidy(value) for key, value in kept.items()}


def json_schema_text() -> str:
    """The JSON Schema as it is kept in `schema.json`."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def write_json_schema(path: Path = SCHEMA_FILE) -> None:
    """Write the JSON Schema to a file."""
    path.write_text(json_schema_text(), encoding="utf-8")
