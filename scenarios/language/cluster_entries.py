"""The schema of `cluster`: brokers, topics, their configs with Kafka's keys and defaults, and files that describe them.

The configs of streams groups, which override those of brokers, are here, too.

Source: `org.apache.kafka.server.config.ReplicationConfigs`,
`org.apache.kafka.coordinator.group.GroupCoordinatorConfig`, `org.apache.kafka.common.config.TopicConfig`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    WithJsonSchema,
    model_validator,
)

from assignors.replicas.retention import parse_retention
from assignors.replicas.state import TopicRetention
from scenarios.language.fields import (
    BrokerId,
    DiskCapacity,
    Duration,
    KafkaRelease,
    LeaderId,
    ListEntry,
    Name,
    PartitionCount,
    PositiveDuration,
    PositiveInt,
    Rate,
    RateLimit,
    RecordSize,
    ReplicaList,
    ReplicationFactor,
    ScenarioSection,
    Size,
    TopicIdField,
    TopicName,
    TopicRates,
    TopicSizes,
    config_keys,
    one_of,
    unit_schema,
)
from scenarios.language.releases import parse_release
from scenarios.language.streams_group_configs import is_known
from scenarios.language.units import DURATION_PATTERN, SIZE_PATTERN, parse_bytes, parse_duration_ms
from scenarios.language.unmodeled_configs import BROKER_CONFIGS_OUTSIDE_THE_MODEL, GROUP_CONFIGS_OUTSIDE_THE_MODEL

_MIN_INSYNC: Final = "min.insync.replicas"
_UNCLEAN: Final = "unclean.leader.election.enable"
_BOOLEANS: Final = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """The parsed configs of a topic; None where the brokers' default applies."""

    retention: TopicRetention
    min_insync_replicas: int | None
    unclean_leader_election: bool | None


def parse_topic_configs(configs: Mapping[str, str]) -> TopicSettings:
    """Parse the configs that the simulator uses, ignoring others; raise ValueError if Kafka rejects a value."""
    min_insync, unclean = configs.get(_MIN_INSYNC), configs.get(_UNCLEAN)
    if min_insync is not None and not re.fullmatch(r"[1-9]\d{0,8}", min_insync):
        raise ValueError(f"{_MIN_INSYNC}={min_insync} is not a positive integer")
    if unclean is not None and unclean.lower() not in _BOOLEANS:
        raise ValueError(f"{_UNCLEAN}={unclean} is neither true nor false")
    return TopicSettings(
        parse_retention(configs),
        None if min_insync is None else int(min_insync),
        None if unclean is None else _BOOLEANS[unclean.lower()],
    )


RACK_AWARE_SELECTOR: Final = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
LEADER_SELECTOR: Final = "org.apache.kafka.common.replica.LeaderSelector"

_SELECTORS: Final = (RACK_AWARE_SELECTOR, LEADER_SELECTOR)
_POLICIES: Final = ("delete", "compact", "compact,delete", "delete,compact")
_UNLIMITED: Final = -1


def _or_unlimited(parse: Callable[[object], int]) -> BeforeValidator:
    """Return a validator that also accepts -1, Kafka's value for no limit."""

    def read(value: object) -> int:
        if type(value) is int and value < 0:
            if value == _UNLIMITED:
                return value
            raise ValueError(f"{value} is negative (use -1 for no limit)")
        return parse(value)

    return BeforeValidator(read)


ReplicaSelector = Annotated[
    str,
    one_of(_SELECTORS, f"a replica selector of Kafka ({' or '.join(_SELECTORS)})"),
    WithJsonSchema({"type": "string", "enum": [*_SELECTORS]}),
]
UnlimitedDuration = Annotated[
    int,
    _or_unlimited(parse_duration_ms),
    unit_schema(DURATION_PATTERN, "milliseconds; -1 for no limit", "7d", _UNLIMITED),
]
UnlimitedSize = Annotated[
    int, _or_unlimited(parse_bytes), unit_schema(SIZE_PATTERN, "bytes; -1 for no limit", "5 GB", _UNLIMITED)
]
CleanupPolicy = Annotated[
    str,
    one_of(_POLICIES, "a cleanup.policy of Kafka (delete, compact or compact,delete)"),
    WithJsonSchema({"type": "string", "enum": [*_POLICIES]}),
]


class BrokerConfigs(ScenarioSection):
    """The configs of brokers; those outside the model are accepted and not read."""

    model_config = ConfigDict(json_schema_extra=BROKER_CONFIGS_OUTSIDE_THE_MODEL.add_to_schema)

    replica_selector_class: ReplicaSelector | None = Field(
        default=None,
        alias="replica.selector.class",
        description="With RackAwareReplicaSelector, consumers fetch from a replica in their rack, else from leaders.",
    )
    initial_rebalance_delay_ms: Duration = Field(
        default=3_000,
        alias="group.initial.rebalance.delay.ms",
        description="Delay of the first rebalance of an empty classic group, for more members to join.",
    )
    streams_initial_rebalance_delay_ms: Duration = Field(
        default=3_000,
        alias="group.streams.initial.rebalance.delay.ms",
        description="Delay of the first assignment of an empty streams group, for more members to join.",
    )
    streams_heartbeat_interval_ms: PositiveDuration = Field(
        default=5_000,
        alias="group.streams.heartbeat.interval.ms",
        description="Heartbeat interval of members of a streams group; less than the session timeout.",
    )
    streams_min_heartbeat_interval_ms: PositiveDuration = Field(
        default=5_000, alias="group.streams.min.heartbeat.interval.ms", description="Minimum heartbeat interval."
    )
    streams_max_heartbeat_interval_ms: PositiveDuration = Field(
        default=15_000, alias="group.streams.max.heartbeat.interval.ms", description="Maximum heartbeat interval."
    )
    streams_assignment_interval_ms: Duration = Field(
        default=1_000,
        alias="group.streams.assignment.interval.ms",
        description="Minimum time between two target assignments of a streams group; before Kafka 4.3, 0.",
    )
    streams_min_assignment_interval_ms: Duration = Field(
        default=0, alias="group.streams.min.assignment.interval.ms", description="Minimum assignment interval."
    )
    streams_max_assignment_interval_ms: Duration = Field(
        default=15_000, alias="group.streams.max.assignment.interval.ms", description="Maximum assignment interval."
    )
    streams_task_offset_interval_ms: PositiveDuration = Field(
        default=60_000,
        alias="group.streams.task.offset.interval.ms",
        description="Interval at which members of a streams group report task offsets (Kafka 4.4).",
    )
    streams_min_task_offset_interval_ms: PositiveDuration = Field(
        default=15_000, alias="group.streams.min.task.offset.interval.ms", description="Minimum task offset interval."
    )
    streams_session_timeout_ms: PositiveDuration = Field(
        default=45_000,
        alias="group.streams.session.timeout.ms",
        description="Time until the coordinator removes a crashed member of a streams group.",
    )
    streams_min_session_timeout_ms: PositiveDuration = Field(
        default=45_000, alias="group.streams.min.session.timeout.ms", description="Minimum session timeout."
    )
    streams_max_session_timeout_ms: PositiveDuration = Field(
        default=60_000, alias="group.streams.max.session.timeout.ms", description="Maximum session timeout."
    )
    consumer_heartbeat_interval_ms: PositiveDuration = Field(
        default=5_000,
        alias="group.consumer.heartbeat.interval.ms",
        description="Heartbeat interval of members of a group of the consumer protocol; less than the session timeout.",
    )
    consumer_min_heartbeat_interval_ms: PositiveDuration = Field(
        default=5_000, alias="group.consumer.min.heartbeat.interval.ms", description="Minimum heartbeat interval."
    )
    consumer_max_heartbeat_interval_ms: PositiveDuration = Field(
        default=15_000, alias="group.consumer.max.heartbeat.interval.ms", description="Maximum heartbeat interval."
    )
    consumer_assignment_interval_ms: Duration = Field(
        default=1_000,
        alias="group.consumer.assignment.interval.ms",
        description="Minimum time between two target assignments of a group of the consumer protocol; before Kafka "
        "4.3, 0.",
    )
    consumer_min_assignment_interval_ms: Duration = Field(
        default=0, alias="group.consumer.min.assignment.interval.ms", description="Minimum assignment interval."
    )
    consumer_max_assignment_interval_ms: Duration = Field(
        default=15_000, alias="group.consumer.max.assignment.interval.ms", description="Maximum assignment interval."
    )
    consumer_session_timeout_ms: PositiveDuration = Field(
        default=45_000,
        alias="group.consumer.session.timeout.ms",
        description="Time until the coordinator removes a crashed member of a group of the consumer protocol.",
    )
    consumer_min_session_timeout_ms: PositiveDuration = Field(
        default=45_000, alias="group.consumer.min.session.timeout.ms", description="Minimum session timeout."
    )
    consumer_max_session_timeout_ms: PositiveDuration = Field(
        default=60_000, alias="group.consumer.max.session.timeout.ms", description="Maximum session timeout."
    )
    default_replication_factor: PositiveInt = Field(
        default=1,
        alias="default.replication.factor",
        description="Replication factor of topics that do not set one.",
    )
    num_partitions: PositiveInt = Field(
        default=1, alias="num.partitions", description="Number of partitions of topics that do not set one."
    )
    min_insync_replicas: PositiveInt = Field(
        default=1,
        alias="min.insync.replicas",
        description="In-sync replicas that a partition needs to accept writes with acks=all.",
    )
    unclean_leader_election: bool = Field(
        default=False,
        alias="unclean.leader.election.enable",
        description="Whether an out-of-sync replica may become leader if no in-sync replica is alive; the loss of "
        "records is not modeled.",
    )
    auto_leader_rebalance: bool = Field(
        default=True,
        alias="auto.leader.rebalance.enable",
        description="Whether the controller elects preferred leaders.",
    )
    leader_check_interval_s: PositiveInt = Field(
        default=300,
        alias="leader.imbalance.check.interval.seconds",
        description="Seconds between two checks at which the controller elects preferred leaders.",
    )
    replica_lag_time_max_ms: PositiveDuration = Field(
        default=30_000,
        alias="replica.lag.time.max.ms",
        description="How long an in-sync replica may lag behind its leader, which checks twice in that time; replicas "
        "lag if their brokers replicate less (cluster.brokers.replication) than is produced.",
    )

    @model_validator(mode="before")
    @classmethod
    def _without_unmodeled(cls, section: Any) -> Any:
        return BROKER_CONFIGS_OUTSIDE_THE_MODEL.without(section, config_keys(cls))


class GroupOverrides(ScenarioSection):
    """The configs of a streams group, which override those of the brokers; those outside the model are not read."""

    model_config = ConfigDict(json_schema_extra=GROUP_CONFIGS_OUTSIDE_THE_MODEL.add_to_schema)

    session_timeout_ms: PositiveDuration | None = Field(
        default=None,
        alias="streams.session.timeout.ms",
        description="Time until the coordinator removes a crashed member; default: the brokers'.",
    )
    heartbeat_interval_ms: PositiveDuration | None = Field(
        default=None,
        alias="streams.heartbeat.interval.ms",
        description="Heartbeat interval of members; default: the brokers'.",
    )
    assignment_interval_ms: Duration | None = Field(
        default=None,
        alias="streams.assignment.interval.ms",
        description="Minimum time between two target assignments; default: the brokers'.",
    )
    task_offset_interval_ms: PositiveDuration | None = Field(
        default=None,
        alias="streams.task.offset.interval.ms",
        description="Interval at which members report task offsets; default: the brokers'.",
    )
    initial_rebalance_delay_ms: Duration | None = Field(
        default=None,
        alias="streams.initial.rebalance.delay.ms",
        description="Delay of the first assignment of the empty group; default: the brokers'.",
    )

    @model_validator(mode="before")
    @classmethod
    def _without_unmodeled(cls, section: Any) -> Any:
        return GROUP_CONFIGS_OUTSIDE_THE_MODEL.without(section, config_keys(cls))

    def apply_to(self, brokers: BrokerConfigs, release: tuple[int, int]) -> BrokerConfigs:
        """Return the configs of brokers of a release as they hold for the group; overrides unknown to it do not."""
        fields = type(self).model_fields
        known = {name: value for name, value in self if is_known(fields[name].alias or name, release)}
        return brokers.model_copy(
            update={f"streams_{name}": value for name, value in known.items() if value is not None}
        )


class TopicConfigs(ScenarioSection):
    """The topic configs that the simulator uses; the default is the imported value, or else Kafka's."""

    cleanup_policy: CleanupPolicy = Field(
        default="delete",
        alias="cleanup.policy",
        description="delete, compact or both.",
    )
    retention_ms: UnlimitedDuration = Field(
        default=604_800_000, alias="retention.ms", description="Retention time; -1 for no limit."
    )
    retention_bytes: UnlimitedSize = Field(
        default=-1, alias="retention.bytes", description="Retention size of a partition; -1 for no limit."
    )

    min_insync_replicas: PositiveInt | None = Field(
        default=None,
        alias="min.insync.replicas",
        description="In-sync replicas that a partition needs to accept writes with acks=all; default: the brokers' "
        "min.insync.replicas.",
    )
    unclean_leader_election: bool | None = Field(
        default=None,
        alias="unclean.leader.election.enable",
        description="Whether an out-of-sync replica may become leader if no in-sync replica is alive; default: the "
        "brokers' unclean.leader.election.enable.",
    )

    compression_type: Literal["producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"] | None = Field(
        default=None,
        alias="compression.type",
        description="How leaders store batches: as they arrive (producer), or compressed anew; for the bytes of "
        "other_traffic.",
    )

    def to_kafka(self) -> dict[str, str]:
        """Return the configs that are set, in Kafka's notation."""
        set_configs = self.model_dump(by_alias=True, exclude_unset=True, exclude_none=True)
        return {key: str(value).lower() for key, value in set_configs.items()}


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
