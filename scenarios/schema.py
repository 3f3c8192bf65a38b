"""What may stand in a scenario: one pydantic model a section, and the JSON Schema made from them.

These models say what each value may be. What values mean together (names that must exist, counts that must agree) is
checked in `scenarios.resolution`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from scenarios.configs import MAX_TAGS, BrokerConfigs, ChoiceConfigs, Section, StreamsConfigs
from scenarios.event_entries import EventEntry
from scenarios.fields import (
    BY_THREAD,
    EACH,
    FLAT,
    INT_MAX,
    ONE,
    BrokerId,
    Duration,
    Entry,
    Factor,
    Leader,
    Limit,
    Name,
    Rate,
    Rates,
    Replicas,
    ReplicationFactor,
    Size,
    Sizes,
    Task,
    TaskParameter,
    Tasks,
    TimeOfDay,
    TopicName,
)
from scenarios.prices import PRICES
from scenarios.units import LONG_MAX

SCHEMA_FILE: Final = Path(__file__).with_name("schema.json")
DEFAULT_ASSIGNOR: Final = "high_availability"
SCHEMA_ID: Final = "https://json-schema.org/draft/2020-12/schema"

Text = Annotated[str, Field(max_length=10_000)]
Partitions = Annotated[int, Field(ge=1, le=INT_MAX)]
RecordSize = Annotated[Size, Field(ge=1)]


class BrokerPool(Section):
    """Brokers of which only the number and the racks matter."""

    count: Annotated[int, Field(ge=1, le=INT_MAX)] = Field(description="How many brokers.")
    racks: Annotated[list[Name], Field(min_length=1)] | None = Field(
        default=None, description="Their racks, dealt out in turn; brokers have no rack if there are none."
    )
    first_id: BrokerId = Field(default=0, description="The id of the first broker; the others count on from it.")
    restore: Limit | None = Field(
        default=None, description="What each can send to all clients that restore from it; no limit if not given."
    )


class BrokerEntry(Section):
    """One broker."""

    id: BrokerId = Field(description="Its node.id.")
    rack: Name | None = Field(default=None, description="Its broker.rack.")
    restore: Limit | None = Field(
        default=None, description="What it can send to all clients that restore from it; no limit if not given."
    )


class TopicEntry(Section):
    """A topic, or what is to be changed about one that is imported."""

    name: TopicName = Field(description="Its name.")
    partitions: Partitions | None = Field(
        default=None, description="How many partitions; the brokers' num.partitions if not given."
    )
    replication_factor: ReplicationFactor | None = Field(
        default=None, description="Replicas of each partition; the brokers' default.replication.factor if not given."
    )
    replicas: Annotated[list[Replicas], Field(min_length=1)] | None = Field(
        default=None,
        description="The broker ids of each partition, the preferred leader first; placed as Kafka would if not given.",
    )
    leaders: Annotated[list[Leader], Field(min_length=1)] | None = Field(
        default=None,
        description="The broker that leads each partition, -1 or none where there is no leader; the first of its "
        "replicas if not given.",
    )
    bytes_per_s: Rates | None = Field(
        default=None, description="What is produced to it: for the whole topic, or a list with one rate a partition."
    )
    size: Sizes | None = Field(
        default=None, description="What it holds at the start: the whole topic, or a list with one size a partition."
    )
    record_size: RecordSize | None = Field(default=None, description="The mean size of a record (1 kB).")


class PartitionDefaults(Section):
    """What each partition has of which neither the scenario nor an imported file says more."""

    bytes_per_s: Rate = Field(default=0, description="What is produced to each partition.")
    size: Size = Field(default=0, description="What each partition holds at the start.")
    record_size: RecordSize = Field(default=1_000, description="The mean size of a record.")


class ClusterFiles(Section):
    """Files with what Kafka's tools printed about the cluster; paths are relative to the scenario."""

    topics: Name | None = Field(default=None, description="Output of kafka-topics.sh --describe.")
    brokers: Name | None = Field(default=None, description="Output of kafka-broker-api-versions.sh, for the racks.")
    log_dirs: Name | None = Field(default=None, description="Output of kafka-log-dirs.sh --describe, for the sizes.")


POOL: Final = "<pool>"
LIST: Final = "<list>"


def _kind_of_brokers(value: Any) -> str | None:
    return LIST if isinstance(value, list) else POOL if isinstance(value, dict) else None


Brokers = Annotated[
    Annotated[BrokerPool, Tag(POOL)] | Annotated[list[Entry[BrokerEntry]], Tag(LIST), Field(min_length=1)],
    Discriminator(_kind_of_brokers),
]


class ClusterSection(Section):
    """The cluster."""

    brokers: Brokers | None = Field(
        default=None, description="The brokers: how many and in which racks, or a list of them."
    )
    configs: BrokerConfigs = Field(default_factory=BrokerConfigs, description="Broker configs, with Kafka's own keys.")
    topics: list[Entry[TopicEntry]] = Field(default=[], description="The topics; entries change imported ones.")
    partition_defaults: PartitionDefaults = Field(
        default_factory=PartitionDefaults, description="What partitions have of which nothing more is said."
    )
    files: ClusterFiles | None = Field(
        default=None, alias="from", description="What Kafka's own tools printed about a cluster."
    )


class RepartitionEntry(Section):
    """A repartition topic that a subtopology writes: <application.id>-<name>-repartition."""

    name: TopicName = Field(description="Its name, without application id and -repartition.")
    partitions: Partitions | None = Field(
        default=None, description="How many partitions; if not given, what Kafka Streams would take."
    )
    bytes_per_s: Rates | None = Field(default=None, description="What is written to it, as of a topic.")
    size: Sizes | None = Field(default=None, description="What it holds at the start, as of a topic.")
    record_size: RecordSize | None = Field(default=None, description="The mean size of a record.")


class StoreEntry(Section):
    """A state store; its changelog is <application.id>-<name>-changelog."""

    name: TopicName = Field(description="Its name.")
    logged: bool | None = Field(default=None, description="Whether it has a changelog (true).")
    persistent: bool = Field(default=True, description="Whether it is kept on disk.")
    changelog: TopicName | None = Field(
        default=None, description="Its changelog, where that is a source topic, as with topology.optimization."
    )
    size: Sizes | None = Field(default=None, description="The size of its changelog, as of a topic.")
    bytes_per_s: Rates | None = Field(default=None, description="What is written to its changelog, as of a topic.")
    record_size: RecordSize | None = Field(default=None, description="The mean size of a record of its changelog.")


class SubtopologyEntry(Section):
    """A subtopology; it has one task for each partition of its largest source topic."""

    id: Annotated[int, Field(ge=0, le=999_999_999)] | None = Field(
        default=None, description="The first number of its task ids; its place in the list if not given."
    )
    sources: Annotated[list[TopicName], Field(min_length=1)] = Field(
        description="The topics it reads; repartition topics by their short or full name."
    )
    copartitioned: list[Annotated[list[TopicName], Field(min_length=2)]] = Field(
        default=[], description="Groups of sources that are joined, and so need the same number of partitions."
    )
    repartition: list[Entry[RepartitionEntry]] = Field(default=[], description="The repartition topics it writes.")
    writes: list[TopicName] = Field(
        default=[], description="The result topics it writes; all that is produced to them comes from it."
    )
    stores: list[Entry[StoreEntry]] = Field(default=[], description="Its state stores.")


class ApplicationFiles(Section):
    """Files about the application; paths are relative to the scenario."""

    topology: Name = Field(description="What Topology.describe() prints.")


class ApplicationSection(Section):
    """The Kafka Streams application."""

    id: TopicName = Field(description="Its application.id.")
    starts: Literal["warm", "cold", "running"] = Field(
        default="warm",
        description="Whether the application has run before and has its state in place, or has to restore all of it, "
        "or is running already, with the tasks that its clients have.",
    )
    next_rebalance: Duration | None = Field(
        default=None,
        description="If it is running already, with the classic protocol: in how long the rebalance is due that its "
        "last assignment asked for, to probe whether warm-ups have caught up; none is if not given.",
    )
    configs: StreamsConfigs = Field(default_factory=StreamsConfigs, description="Configs, with Kafka's own keys.")
    rejoins_when_brokers_bounce: bool = Field(
        default=False,
        description="Whether members with client.rack join anew when a broker goes or comes, as they do in releases "
        "without the fix of KAFKA-20778.",
    )
    leader_speed: Annotated[float, Field(ge=0.001, le=1_000, allow_inf_nan=False)] = Field(
        default=1.0,
        description="How fast the group leader computes, as a multiple of the machine that Kafka was timed on.",
    )
    subtopologies: Annotated[list[Entry[SubtopologyEntry]], Field(min_length=1)] | None = Field(
        default=None, description="Its subtopologies, unless they are imported."
    )
    stores: list[Entry[StoreEntry]] = Field(
        default=[], description="What an imported topology does not say about its stores, by name."
    )
    files: ApplicationFiles | None = Field(
        default=None, alias="from", description="What the application says about itself."
    )


class TasksEntry(Section):
    """What a client has of an application that is running already."""

    active: Tasks = Field(
        default=[],
        description="The tasks that it runs: a list for each of its threads, or one list, dealt out over them.",
    )
    standby: Tasks = Field(default=[], description="Its standby and warm-up tasks, in the same way.")
    lags: dict[Task, Annotated[int, Field(ge=0, le=LONG_MAX)]] = Field(
        default={},
        description="By how many records its copies are behind, by task: those of its tasks that are not level, and "
        "those that lie on its disk unassigned.",
    )


class ClientEntry(Section):
    """A client (a Kafka Streams process), or several alike, which are called <name>-0, <name>-1 and so on."""

    name: Name = Field(description="Its name, or the name of all of them.")
    count: Annotated[int, Field(ge=1, le=INT_MAX)] | None = Field(
        default=None, description="How many; one if not given."
    )
    process_id: Name | None = Field(
        default=None, description="The UUID that the group knows it by; drawn from the seed if not given."
    )
    rack: Name | None = Field(default=None, description="Where it stands, and its client.rack.")
    racks: Annotated[list[Name], Field(min_length=1)] | None = Field(
        default=None, description="The racks of several clients, dealt out in turn."
    )
    client_rack: bool = Field(
        default=True, description="Whether client.rack is set; if not, Kafka does not know where it stands."
    )
    threads: Annotated[int, Field(ge=1, le=1_000)] | None = Field(
        default=None, description="Its num.stream.threads; the application's if not given."
    )
    tags: Annotated[dict[Name, Name], Field(max_length=MAX_TAGS)] = Field(
        default={}, description="Its client.tag.* configs, without that prefix."
    )
    restore: Rate = Field(default=50_000_000, description="How fast it reads changelogs, over all its tasks.")
    records_per_s: Annotated[int, Field(ge=1, le=LONG_MAX)] | None = Field(
        default=None, description="How many source records each of its threads can process; no limit if not given."
    )
    static_membership: bool = Field(
        default=False,
        description="Whether its members have a group.instance.id, which Kafka refuses in streams groups.",
    )
    reports: Literal["current", "stale", "never"] = Field(
        default="current",
        description="Which offsets of its copies it reports when it joins: those of then, those of the rebalance "
        "before, or none but for tasks that run there.",
    )
    starts: bool = Field(default=True, description="Whether it is there from the start; if not, an event adds it.")
    tasks: TasksEntry | None = Field(
        default=None, description="What it has at the start, where the application is running already."
    )


TAGS: Final = frozenset([ONE, EACH, FLAT, BY_THREAD, POOL, LIST])
"""What stands in the places that pydantic names without standing in the data."""


def _by_name(value: Any) -> Any:
    return {"assignor": value} if isinstance(value, str) else value


def _by_provider(value: Any) -> Any:
    return {"provider": value} if isinstance(value, str) else value


class AssignorSettings(Section):
    """An assignor with its settings."""

    assignor: Name = Field(description="The name of a built-in assignor; assignor-sim list shows them.")
    label: Name | None = Field(default=None, description="What tables and pictures call it.")
    parameters: dict[Name, TaskParameter] = Field(default={}, description="Parameters of the assignor itself.")
    configs: ChoiceConfigs = Field(
        default_factory=ChoiceConfigs,
        description="Configs that differ from the application's, with Kafka's own keys.",
    )


AssignorEntry = Annotated[
    AssignorSettings,
    BeforeValidator(_by_name),
]


class TrafficSection(Section):
    """How much is produced to the topics over the day: by factors, or as it was measured of each partition."""

    hourly: Annotated[list[Factor], Field(min_length=24, max_length=24)] | None = Field(
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


class PriceEntry(Section):
    """What a gigabyte (10⁹ bytes) costs that crosses from one rack to another."""

    provider: Name = Field(description="Whose price it is; those of aws, azure and gcp are known.")
    usd_per_gb: Annotated[float, Field(ge=0, le=1_000, allow_inf_nan=False)] | None = Field(
        default=None, description="The price in US dollars, where it is not the one that is known."
    )


Price = Annotated[PriceEntry, BeforeValidator(_by_provider)]


class Document(Section):
    """A scenario of assignor-sim: a Kafka cluster, a Kafka Streams application on it, and what happens to them."""

    name: Name | None = Field(default=None, description="What the scenario is called; its file's name if not given.")
    description: Text | None = Field(default=None, description="What it shows.")
    cluster: ClusterSection = Field(description="The Kafka cluster.")
    application: ApplicationSection = Field(description="The application.")
    clients: Annotated[list[Entry[ClientEntry]], Field(min_length=1)] = Field(
        description="The application's processes, those that come later included."
    )
    traffic: TrafficSection | None = Field(
        default=None, description="How traffic changes over the day; it does not if not given."
    )
    events: list[Entry[EventEntry]] = Field(default=[], description="What happens.")
    assignors: Annotated[list[Entry[AssignorEntry]], Field(min_length=1)] = Field(
        default_factory=lambda: [AssignorSettings(assignor=DEFAULT_ASSIGNOR)], description="The assignors to compare."
    )
    duration: Duration = Field(default=86_400_000, description="How long to simulate (24h).")
    seeds: Annotated[list[Annotated[int, Field(ge=0, le=LONG_MAX)]], Field(min_length=1, max_length=10_000)] = Field(
        default=[1],
        description="One run for each: seeds draw placements and process ids that are not given, and all chance.",
    )
    price: Price | None = Field(
        default=None, description="What traffic between racks costs: a provider's name, or a price of one's own."
    )


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a scenario, for editors to complete and check by."""
    schema: dict[str, Any] = _tidy(Document.model_json_schema(by_alias=True))
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
