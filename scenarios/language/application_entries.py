"""The application of a scenario, as it may be written: its subtopologies, its configs, and its clients.

Sections of `scenarios.language.schema`, by the same rules.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from scenarios.language.configs import MAX_TAGS, ScenarioSection, StreamsConfigs
from scenarios.language.fields import (
    INT_MAX,
    Duration,
    ListEntry,
    Name,
    PartitionCount,
    Rate,
    RecordSize,
    TaskIdField,
    TaskLists,
    TopicName,
    TopicRates,
    TopicSizes,
)
from scenarios.language.units import LONG_MAX


class RepartitionEntry(ScenarioSection):
    """A repartition topic that a subtopology writes: <application.id>-<name>-repartition."""

    name: TopicName = Field(description="Its name, without application id and -repartition.")
    partitions: PartitionCount | None = Field(
        default=None, description="How many partitions; if not given, what Kafka Streams would take."
    )
    bytes_per_s: TopicRates | None = Field(default=None, description="What is written to it, as of a topic.")
    size: TopicSizes | None = Field(default=None, description="What it holds at the start, as of a topic.")
    record_size: RecordSize | None = Field(default=None, description="The mean size of a record.")


class StoreEntry(ScenarioSection):
    """A state store; its changelog is <application.id>-<name>-changelog."""

    name: TopicName = Field(description="Its name.")
    logged: bool | None = Field(default=None, description="Whether it has a changelog (true).")
    persistent: bool = Field(default=True, description="Whether it is kept on disk.")
    changelog: TopicName | None = Field(
        default=None, description="Its changelog, where that is a source topic, as with topology.optimization."
    )
    size: TopicSizes | None = Field(default=None, description="The size of its changelog, as of a topic.")
    bytes_per_s: TopicRates | None = Field(default=None, description="What is written to its changelog, as of a topic.")
    record_size: RecordSize | None = Field(default=None, description="The mean size of a record of its changelog.")


class SubtopologyEntry(ScenarioSection):
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
    repartition: list[ListEntry[RepartitionEntry]] = Field(default=[], description="The repartition topics it writes.")
    writes: list[TopicName] = Field(
        default=[], description="The result topics it writes; all that is produced to them comes from it."
    )
    stores: list[ListEntry[StoreEntry]] = Field(default=[], description="Its state stores.")


class ApplicationFiles(ScenarioSection):
    """Files about the application; paths are relative to the scenario."""

    topology: Name = Field(description="What Topology.describe() prints.")


class ApplicationSection(ScenarioSection):
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
    subtopologies: Annotated[list[ListEntry[SubtopologyEntry]], Field(min_length=1)] | None = Field(
        default=None, description="Its subtopologies, unless they are imported."
    )
    stores: list[ListEntry[StoreEntry]] = Field(
        default=[], description="What an imported topology does not say about its stores, by name."
    )
    files: ApplicationFiles | None = Field(
        default=None, alias="from", description="What the application says about itself."
    )


class TasksEntry(ScenarioSection):
    """What a client has of an application that is running already."""

    active: TaskLists = Field(
        default=[],
        description="The tasks that it runs: a list for each of its threads, or one list, dealt out over them.",
    )
    standby: TaskLists = Field(default=[], description="Its standby and warm-up tasks, in the same way.")
    lags: dict[TaskIdField, Annotated[int, Field(ge=0, le=LONG_MAX)]] = Field(
        default={},
        description="By how many records its copies are behind, by task: those of its tasks that are not level, and "
        "those that lie on its disk unassigned.",
    )


class ClientEntry(ScenarioSection):
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
