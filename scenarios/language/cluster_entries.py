"""The schema of `cluster`: brokers, topics, and files that describe them."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import Discriminator, Field, Tag

from scenarios.language.broker_configs import BrokerConfigs, TopicConfigs
from scenarios.language.fields import (
    BrokerId,
    DiskCapacity,
    KafkaRelease,
    LeaderId,
    ListEntry,
    Name,
    PartitionCount,
    PositiveInt,
    Rate,
    RateLimit,
    RecordSize,
    ReplicaList,
    ReplicationFactor,
    Size,
    TopicIdField,
    TopicName,
    TopicRates,
    TopicSizes,
)
from scenarios.language.releases import parse_release
from scenarios.language.section import ScenarioSection
from scenarios.language.streams_group_configs import is_known

BROKER_POOL: Final = "<pool>"
BROKER_LIST: Final = "<list>"
"""Union tags of the two forms of `brokers` in pydantic's error locations."""

REPLICATION: Final = 1_250_000_000
"""The rate at which a broker with a network of 10 Gbit/s replicates."""
_REPLICATION_LIMIT: Final = (
    "Maximum rate at which followers fetch from a broker, and at which it fetches as a follower, shared max-min fairly "
    "by pairs of brokers. Replicas that fetch less than is produced lag (replica.lag.time.max.ms); default: 10 Gbit/s."
)

_DELAYS: Final = ("streams_initial_rebalance_delay_ms", "streams_assignment_interval_ms")
"""Configs of streams groups, before whose first release coordinators assign without a delay."""
_ASSIGNMENT_INTERVAL_SINCE: Final = (4, 3)
"""The first release with `group.consumer.assignment.interval.ms` (KIP-1263)."""


class BrokerPool(ScenarioSection):
    """Identical brokers, given by their number and racks."""

    count: PositiveInt = Field(description="Number of brokers.")
    racks: Annotated[list[Name], Field(min_length=1)] | None = Field(
        default=None, description="Racks, assigned round-robin; default: no racks."
    )
    first_id: BrokerId = Field(default=0, description="Id of the first broker; ids are consecutive.")
    restore: RateLimit | None = Field(
        default=None, description="Maximum rate at which each broker serves restoration; default: no limit."
    )
    capacity: DiskCapacity | None = Field(
        default=None, description="Disk capacity of each broker, for reassignment strategies."
    )
    throughput: RateLimit | None = Field(
        default=None,
        description="Maximum write rate of each broker as leader and follower, for reassignment strategies.",
    )
    replication: RateLimit = Field(default=REPLICATION, description=_REPLICATION_LIMIT)


class BrokerEntry(ScenarioSection):
    """A broker."""

    id: BrokerId = Field(description="The node.id.")
    rack: Name | None = Field(default=None, description="The broker.rack.")
    restore: RateLimit | None = Field(
        default=None, description="Maximum rate at which it serves restoration; default: no limit."
    )
    capacity: DiskCapacity | None = Field(default=None, description="Disk capacity, for reassignment strategies.")
    throughput: RateLimit | None = Field(
        default=None, description="Maximum write rate as leader and follower, for reassignment strategies."
    )
    replication: RateLimit = Field(default=REPLICATION, description=_REPLICATION_LIMIT)


class TopicEntry(ScenarioSection):
    """A topic, or changes to an imported topic."""

    name: TopicName = Field(description="Topic name.")
    id: TopicIdField | None = Field(
        default=None,
        description="Topic id, as kafka-topics.sh prints it; the group coordinator assigns the topics of consumer "
        "groups in an order that depends on it. Default: derived from the name.",
    )
    partitions: PartitionCount | None = Field(
        default=None, description="Number of partitions; default: the brokers' num.partitions."
    )
    replication_factor: ReplicationFactor | None = Field(
        default=None, description="Replication factor; default: the brokers' default.replication.factor."
    )
    replicas: Annotated[list[ReplicaList], Field(min_length=1)] | None = Field(
        default=None,
        description="Broker ids of each partition, the preferred leader first; by default Kafka's placement.",
    )
    leaders: Annotated[list[LeaderId], Field(min_length=1)] | None = Field(
        default=None,
        description="Leader of each partition, -1 or none for no leader; default: the first replica.",
    )
    bytes_per_s: TopicRates | None = Field(
        default=None, description="Produce rate of the whole topic, or a list with one rate per partition."
    )
    size: TopicSizes | None = Field(
        default=None, description="Size of the whole topic at the start, or a list with one size per partition."
    )
    record_size: RecordSize | None = Field(default=None, description="Mean record size (1 kB).")
    configs: TopicConfigs = Field(default_factory=TopicConfigs, description="Topic configs, with Kafka's own keys.")


class PartitionDefaults(ScenarioSection):
    """Defaults for partitions without values in the scenario or in an imported file."""

    bytes_per_s: Rate = Field(default=0, description="Produce rate of each partition.")
    size: Size = Field(default=0, description="Size of each partition at the start.")
    record_size: RecordSize = Field(default=1_000, description="Mean record size.")


class ClusterFiles(ScenarioSection):
    """Output files of Kafka's tools; paths are relative to the scenario."""

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
    """The brokers and topics of the cluster."""

    brokers: BrokersEntry | None = Field(default=None, description="Brokers: their number and racks, or a list.")
    kafka: KafkaRelease | None = Field(
        default=None,
        description="Kafka release of the brokers, such as 4.4 or 4.3.1; default: the newest, 4.4. It decides how the "
        "tasks of streams groups are assigned, and defaults of configs.",
    )
    configs: BrokerConfigs = Field(default_factory=BrokerConfigs, description="Broker configs, with Kafka's own keys.")
    topics: list[ListEntry[TopicEntry]] = Field(
        default=[], description="Topics; an entry with the name of an imported topic changes it."
    )
    partition_defaults: PartitionDefaults = Field(
        default_factory=PartitionDefaults, description="Defaults for partitions without values of their own."
    )
    files: ClusterFiles | None = Field(default=None, alias="from", description="Output files of Kafka's tools.")

    def configs_of_release(self) -> BrokerConfigs:
        """Return the configs that the brokers' release knows, with its defaults: a delay that it does not have is 0."""
        if self.kafka is None:
            return self.configs
        release = parse_release(self.kafka)[:2]
        fields = BrokerConfigs.model_fields
        unknown = [name for name, field in fields.items() if not is_known(field.alias or name, release)]
        values = {name: 0 if name in _DELAYS else fields[name].default for name in unknown}
        if release < _ASSIGNMENT_INTERVAL_SINCE:
            values["consumer_assignment_interval_ms"] = 0
        return self.configs.model_copy(update=values)
