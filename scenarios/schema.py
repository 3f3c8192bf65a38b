"""The schema of scenarios: one pydantic model per section, and the JSON Schema generated from them.

The models validate single values. `scenarios.resolution` checks how values fit together: names that must exist, counts
that must agree.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field

from scenarios.events.event_entry import EventEntry
from scenarios.language.application_entries import ApplicationSection, ClientEntry, HostEntry, name_workload
from scenarios.language.client_configs import AssignorEntryConfigs
from scenarios.language.cluster_entries import ClusterSection
from scenarios.language.consumer_entries import MAX_GROUPS, ConsumerGroupEntry
from scenarios.language.fields import (
    AssignorParameter,
    Duration,
    KafkaRelease,
    ListEntry,
    Name,
    ScenarioSection,
    TimeOfDay,
    TopicName,
    TrafficFactor,
    expands_to,
)
from scenarios.language.outcome_entries import ExpectEntry, ProblemEntry
from scenarios.language.releases import KafkaReleases
from scenarios.language.traffic_entries import PRICES, OtherTrafficSection, PriceField
from scenarios.language.units import LONG_MAX

SCHEMA_FILE: Final = Path(__file__).with_name("schema.json")
DEFAULT_ASSIGNOR: Final = "high_availability"
MAX_NEIGHBORS: Final = 20
SCHEMA_ID: Final = "https://json-schema.org/draft/2020-12/schema"

LongText = Annotated[str, Field(max_length=10_000)]


def _expand_release(value: Any) -> Any:
    return value if isinstance(value, dict) else {"brokers": value, "clients": value}


class AssignorReleases(ScenarioSection):
    """The Kafka releases of the runs with an assignor; a release that is not set is that of the scenario."""

    brokers: KafkaRelease | None = Field(
        default=None, description="Kafka release of the brokers; default: cluster.kafka."
    )
    clients: KafkaRelease | None = Field(
        default=None, description="Kafka release of the clients; default: application.kafka."
    )

    def over(self, releases: KafkaReleases) -> KafkaReleases:
        """Return the releases of the runs in a scenario with these releases."""
        return KafkaReleases(self.brokers or releases.brokers, self.clients or releases.clients)

    def stated(self) -> tuple[str, ...]:
        """Return whose release is set: `brokers`, `clients`."""
        return tuple(name for name, release in self if release is not None)

    def keys(self) -> dict[str, str]:
        """Return the releases that are set, by the shortest keys of the entry: `kafka` if both are the same."""
        if self.brokers is not None and self.brokers == self.clients:
            return {"kafka": self.brokers}
        stated = {"kafka.brokers": self.brokers, "kafka.clients": self.clients}
        return {key: release for key, release in stated.items() if release is not None}


class AssignorSettings(ScenarioSection):
    """An assignor with its parameters, Kafka release and configs."""

    assignor: Name = Field(description="Name of a built-in assignor; see assignor-sim list.")
    label: Name | None = Field(default=None, description="Label in tables and figures.")
    kafka: Annotated[AssignorReleases, BeforeValidator(_expand_release)] | None = Field(
        default=None,
        description="Kafka release of brokers and clients in the runs with this assignor, or one for each; default: "
        "those of the scenario.",
    )
    parameters: dict[Name, AssignorParameter] = Field(default={}, description="Parameters of the assignor.")
    configs: AssignorEntryConfigs = Field(
        default_factory=AssignorEntryConfigs,
        description="Configs that override the application's, with Kafka's own keys.",
    )
    expect: ExpectEntry | None = Field(
        default=None,
        description="What runs of this assignor must meet; replaces conditions of the scenario for the same metrics.",
    )


AssignorEntry = Annotated[AssignorSettings, expands_to("assignor")]
ClientField = Annotated[ClientEntry, BeforeValidator(name_workload)]
"""A client; its name may be missing if it comes from a manifest."""


class TrafficSection(ScenarioSection):
    """The traffic over the day: hourly factors, or measured rates per partition."""

    hourly: Annotated[list[TrafficFactor], Field(min_length=24, max_length=24)] | None = Field(
        default=None,
        description="Multiple of the topics' rates in each hour of a day; the run starts with the first hour.",
    )
    folder: Name | None = Field(
        default=None,
        alias="from",
        description="A folder written by assignor-sim ingest, with hourly rates and sizes of partitions; they apply to "
        "topics for which the scenario gives none.",
    )
    quantile: Literal["mean", "p50", "p95", "p99"] | None = Field(
        default=None, description="Statistic of the measured hourly rates to use (mean)."
    )
    starts_at: TimeOfDay | None = Field(
        default=None, description="Time of the measured day at which the run starts, in UTC (00:00)."
    )


class ScenarioParts(ScenarioSection):
    """What scenarios of applications and of consumer groups have in common."""

    name: Name | None = Field(default=None, description="Name of the scenario; default: the file name.")
    description: LongText | None = Field(default=None, description="What the scenario demonstrates.")
    problem: ProblemEntry | None = Field(
        default=None, description="The known problem that the scenario reproduces, and what fixes it."
    )
    cluster: ClusterSection = Field(description="The Kafka cluster.")
    hosts: list[ListEntry[HostEntry]] = Field(
        default=[], description="Hosts on which several clients run and share the network."
    )
    alongside: Annotated[list[ListEntry[Name]], Field(max_length=MAX_NEIGHBORS)] = Field(
        default=[],
        description="Scenario files of other applications that run on this cluster at the same time, relative to this "
        "scenario; they restore from the same brokers.",
    )
    traffic: TrafficSection | None = Field(default=None, description="Traffic over the day; default: constant.")
    other_traffic: OtherTrafficSection | None = Field(
        default=None,
        description="Producers and consumer groups of the cluster besides the application; default: not simulated.",
    )
    events: list[ListEntry[EventEntry]] = Field(default=[], description="Events during the run.")
    duration: Duration = Field(default=86_400_000, description="Simulated time (24h).")
    seeds: Annotated[list[Annotated[int, Field(ge=0, le=LONG_MAX)]], Field(min_length=1, max_length=10_000)] = Field(
        default=[1],
        description="Random seeds, one run each; they determine placements and process ids that are not set, and "
        "random events.",
    )
    price: PriceField | None = Field(
        default=None, description="Price of cross-rack traffic: a provider's name, or a custom price."
    )
    expect: ExpectEntry | None = Field(
        default=None, description="What runs of every assignor must meet; run, verify and pytest check it."
    )


class ScenarioFileDocument(ScenarioParts):
    """An assignor-sim scenario: a Kafka cluster, an application or consumer groups on it, and events."""

    application: ApplicationSection | None = Field(default=None, description="The Kafka Streams application.")
    clients: Annotated[list[ListEntry[ClientField]], Field(min_length=1)] | None = Field(
        default=None, description="The application's processes, including those that join later."
    )
    consumers: Annotated[list[ListEntry[ConsumerGroupEntry]], Field(min_length=1, max_length=MAX_GROUPS)] | None = (
        Field(default=None, description="Consumer groups on the cluster, beside the application or without one.")
    )
    subject: TopicName | None = Field(
        default=None,
        description="The application.id or group.id that results are about; default: the application, or else the "
        "first group.",
    )
    assignors: Annotated[list[ListEntry[AssignorEntry]], Field(min_length=1)] | None = Field(
        default=None, description="The assignors to compare for the application."
    )


class ScenarioDocument(ScenarioParts):
    """A scenario of one application, or of one consumer group in the form of an application.

    Attributes:
        application: the application.
        clients: its processes.
        assignors: the assignors to compare.
    """

    application: ApplicationSection
    clients: list[ListEntry[ClientEntry]]
    assignors: list[ListEntry[AssignorSettings]]

    @classmethod
    def of(
        cls,
        file: ScenarioFileDocument,
        application: ApplicationSection,
        clients: Sequence[Any],
        assignors: Sequence[Any],
    ) -> ScenarioDocument:
        """Return the document of an application, or of a consumer group, with the other parts of a file."""
        parts = {name: getattr(file, name) for name in ScenarioParts.model_fields}
        stated = file.model_fields_set & ScenarioParts.model_fields.keys()
        return cls.model_construct(
            _fields_set={*stated, "application", "clients", "assignors"},
            **parts,
            application=application,
            clients=list(clients),
            assignors=list(assignors),
        )


def build_json_schema() -> dict[str, Any]:
    """Return the JSON Schema of scenarios, for completion and validation in editors."""
    schema: dict[str, Any] = _simplify(ScenarioFileDocument.model_json_schema(by_alias=True))
    schema["$defs"]["EventEntry"] |= {"minProperties": 2, "maxProperties": 2}
    schema["anyOf"] = [{"required": ["application", "clients"]}, {"required": ["consumers"]}]
    assignors = _list_of(schema["properties"]["assignors"])
    assignors["items"] = {"anyOf": [{"type": "string"}, assignors["items"]]}
    assignors["default"] = [DEFAULT_ASSIGNOR]
    kafka = schema["$defs"]["AssignorSettings"]["properties"]["kafka"]
    kafka["anyOf"] = [{"type": ["string", "number"]}, *kafka["anyOf"]]
    of_group = _list_of(schema["$defs"]["ConsumerGroupEntry"]["properties"]["assignors"])
    of_group["items"] = {"anyOf": [{"type": "string"}, of_group["items"]]}
    clients, client = _list_of(schema["properties"]["clients"]), schema["$defs"]["ClientEntry"]
    as_list = {key: clients.pop(key) for key in ("type", "items", "minItems")}
    clients["anyOf"] = [as_list, {**as_list["items"], "required": ["from"]}]
    client["anyOf"] = [{"required": client.pop("required")}, {"required": ["from"]}]
    price = schema["properties"]["price"]
    price["anyOf"] = [{"type": "string", "examples": [*PRICES]}, *price["anyOf"]]
    return {"$schema": SCHEMA_ID, "title": "assignor-sim scenario", **schema}


def _list_of(field: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a list that may also be null, without that."""
    listed = next(kind for kind in field.pop("anyOf") if kind["type"] == "array")
    field.update(listed)
    return field


def _simplify(schema: Any) -> Any:
    """Remove generated titles, and defaults that are None, lists or mappings."""
    if isinstance(schema, list):
        return [_simplify(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if not (key == "title" and isinstance(value, str))}
    if kept.get("default") is None or isinstance(kept["default"], dict | list):
        kept.pop("default", None)
    return {key: _simplify(value) for key, value in kept.items()}


def format_json_schema() -> str:
    """Return the content of `schema.json`."""
    return json.dumps(build_json_schema(), indent=2, ensure_ascii=False) + "\n"
