"""The cluster of a scenario, as it may be written: brokers, topics, and files about them.

Sections of `scenarios.language.schema`, by the same rules.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import Discriminator, Field, Tag

from scenarios.language.broker_configs import BrokerConfigs, TopicConfigs
from scenarios.language.configs import ScenarioSection
from scenarios.language.fields import (
    INT_MAX,
    BrokerId,
    DiskCapacity,
    LeaderId,
    ListEntry,
    Name,
    PartitionCount,
    Rate,
    RateLimit,
    RecordSize,
    ReplicaList,
    ReplicationFactor,
    Size,
    TopicName,
    TopicRates,
    TopicSizes,
)

BROKER_POOL: Final = "<pool>"
BROKER_LIST: Final = "<list>"
"""What pydantic names the two ways to give brokers."""


class BrokerPool(ScenarioSection):
    """Brokers of which only the number and the racks matter."""

    count: Annotated[int, Field(ge=1, le=INT_MAX)] = Field(description="How many brokers.")
    racks: Annotated[list[Name], Field(min_length=1)] | None = Field(
        default=None, description="Their racks, dealt out in turn; brokers have no rack if there are none."
    )
    first_id: BrokerId = Field(default=0, description="The id of the first broker; the others count on from it.")
    restore: RateLimit | None = Field(
        default=None, description="What each can send to all clients that restore from it; no limit if not given."
    )
    capacity: DiskCapacity | None = Field(
        default=None, description="What the disks of each hold; for strategies that plan reassignments."
    )
    throughput: RateLimit | None = Field(
        default=None, description="What may be written to each, as leader and as follower; for the same strategies."
    )


class BrokerEntry(ScenarioSection):
    """One broker."""

    id: BrokerId = Field(description="Its node.id.")
    rack: Name | None = Field(default=None, description="Its broker.rack.")
    restore: RateLimit | None = Field(
        default=None, description="What it can send to all clients that restore from it; no limit if not given."
    )
    capacity: DiskCapacity | None = Field(
        default=None, description="What its disks hold; for strategies that plan reassignments."
    )
    throughput: RateLimit | None = Field(
        default=None, description="What may be written to it, as leader and as follower; for the same strategies."
    )


class TopicEntry(ScenarioSection):
    """A topic, or what is to be changed about one that is imported."""

    name: TopicName = Field(description="Its name.")
    partitions: PartitionCount | None = Field(
        default=None, description="How many partitions; the brokers' num.partitions if not given."
    )
    replication_factor: ReplicationFactor | None = Field(
        default=None, description="Replicas of each partition; the brokers' default.replication.factor if not given."
    )
    replicas: Annotated[list[ReplicaList], Field(min_length=1)] | None = Field(
        default=None,
        description="The broker ids of each partition, the preferred leader first; placed as Kafka would if not given.",
    )
    leaders: Annotated[list[LeaderId], Field(min_length=1)] | None = Field(
        default=None,
        description="The broker that leads each partition, -1 or none where there is no leader; the first of its "
        "replicas if not given.",
    )
    bytes_per_s: TopicRates | None = Field(
        default=None, description="What is produced to it: for the whole topic, or a list with one rate a partition."
    )
    size: TopicSizes | None = Field(
        default=None, description="What it holds at the start: the whole topic, or a list with one size a partition."
    )
    record_size: RecordSize | None = Field(default=None, description="The mean size of a record (1 kB).")
    configs: TopicConfigs = Field(default_factory=TopicConfigs, description="Topic configs, with Kafka's own keys.")


class PartitionDefaults(ScenarioSection):
    """What each partition has of which neither the scenario nor an imported file says more."""

    bytes_per_s: Rate = Field(default=0, description="What is produced to each partition.")
    size: Size = Field(default=0, description="What each partition holds at the start.")
    record_size: RecordSize = Field(default=1_000, description="The mean size of a record.")


class ClusterFiles(ScenarioSection):
    """Files with what Kafka's tools printed about the cluster; paths are relative to the scenario."""

    topics: Name | None = Field(default=None, description="Output of kafka-topics.sh --describe.")
    brokers: Name | None = Field(
        default=None,
        description="Output of kafka-broker-api-versions.sh, for the racks; or lines of id,rack,capacity,throughput.",
    )
    log_dirs: Name | None = Field(default=None, description="Output of kafka-log-dirs.sh --describe, for the sizes.")


def _kind_of_brokers(value: Any) -> str | None:
    return BROKER_LIST if isinstance(value, list) else BROKER_POOL if isinstance(value, dict) else None


BrokersEntry = Annotated[
    Annotated[BrokerPool, Tag(BROKER_POOL)]
    | Annotated[list[ListEntry[BrokerEntry]], Tag(BROKER_LIST), Field(min_length=1)],
    Discriminator(_kind_of_brokers),
]


class ClusterSection(ScenarioSection):
    """The cluster."""

    brokers: BrokersEntry | None = Field(
        default=None, description="The brokers: how many and in which racks, or a list of them."
    )
    configs: BrokerConfigs = Field(default_factory=BrokerConfigs, description="Broker configs, with Kafka's own keys.")
    topics: list[ListEntry[TopicEntry]] = Field(default=[], description="The topics; entries change imported ones.")
    partition_defaults: PartitionDefaults = Field(
        default_factory=PartitionDefaults, description="What partitions have of which nothing more is said."
    )
    files: ClusterFiles | None = Field(
        default=None, alias="from", description="What Kafka's own tools printed about a cluster."
    )
