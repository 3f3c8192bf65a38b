"""The schema of broker, group and topic configs, with Kafka's keys and defaults.

The configs of applications are in `scenarios.language.streams_configs`.

Source: `org.apache.kafka.server.config.ReplicationConfigs`,
`org.apache.kafka.coordinator.group.GroupCoordinatorConfig`, `org.apache.kafka.common.config.TopicConfig`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from scenarios.language.errors import format_value
from scenarios.language.fields import Duration, PositiveDuration, PositiveInt
from scenarios.language.section import ScenarioSection, config_keys
from scenarios.language.streams_group_configs import is_known
from scenarios.language.units import DURATION_PATTERN, SIZE_PATTERN, parse_bytes, parse_duration_ms
from scenarios.language.unmodeled_configs import BROKER_CONFIGS_OUTSIDE_THE_MODEL, GROUP_CONFIGS_OUTSIDE_THE_MODEL

RACK_AWARE_SELECTOR: Final = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
LEADER_SELECTOR: Final = "org.apache.kafka.common.replica.LeaderSelector"

_UNLIMITED: Final = -1


def _check_selector(text: str) -> str:
    if text not in (RACK_AWARE_SELECTOR, LEADER_SELECTOR):
        known = f"{RACK_AWARE_SELECTOR} or {LEADER_SELECTOR}"
        raise ValueError(f"{format_value(text)} is not a replica selector of Kafka ({known})")
    return text


def _check_policy(text: str) -> str:
    if text not in ("delete", "compact", "compact,delete", "delete,compact"):
        raise ValueError(f"{format_value(text)} is not a cleanup.policy of Kafka (delete, compact or compact,delete)")
    return text


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
    AfterValidator(_check_selector),
    WithJsonSchema({"type": "string", "enum": [RACK_AWARE_SELECTOR, LEADER_SELECTOR]}),
]

UnlimitedDuration = Annotated[
    int,
    _or_unlimited(parse_duration_ms),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "pattern": DURATION_PATTERN, "minLength": 1},
                {"type": "integer", "minimum": _UNLIMITED, "description": "in milliseconds; -1 for no limit"},
            ],
            "examples": ["7d"],
        }
    ),
]
UnlimitedSize = Annotated[
    int,
    _or_unlimited(parse_bytes),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "pattern": SIZE_PATTERN, "minLength": 1},
                {"type": "integer", "minimum": _UNLIMITED, "description": "in bytes; -1 for no limit"},
            ],
            "examples": ["5 GB"],
        }
    ),
]
CleanupPolicy = Annotated[
    str,
    AfterValidator(_check_policy),
    WithJsonSchema({"type": "string", "enum": ["delete", "compact", "compact,delete", "delete,compact"]}),
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
