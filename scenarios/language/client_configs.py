"""The schema of the configs of applications and of consumers, with Kafka's keys and defaults.

The configs of brokers, groups and topics are in `scenarios.language.cluster_entries`.

Source: `org.apache.kafka.streams.StreamsConfig`; `org.apache.kafka.clients.consumer.ConsumerConfig`
(`checkUnsupportedConfigsPostProcess` for configs that one group protocol rejects) and `ConsumerCoordinator` (the
constructor, for the rebalance protocol that a list of assignors has in common).
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from assignors.consumers.registry import ConsumerProtocol, built_in
from assignors.consumers.selection import BROKER_RANGE, COOPERATIVE_STICKY
from assignors.errors import ConfigError
from assignors.model.configs import AssignmentConfigs, RackAwareStrategy
from scenarios.language.errors import did_you_mean, format_value
from scenarios.language.fields import (
    INT_MAX,
    Duration,
    Name,
    PositiveDuration,
    PositiveInt,
    ScenarioSection,
    Size,
    config_keys,
    one_of,
)
from scenarios.language.units import LONG_MAX
from scenarios.language.unmodeled_configs import CONSUMER_CONFIGS_OUTSIDE_THE_MODEL, STREAMS_CONFIGS_OUTSIDE_THE_MODEL
from simulator.world.group_configs import MAX_UNCOMMITTED_BYTES, GroupProtocol

SESSION_TIMEOUT_MS: Final = 45_000
HEARTBEAT_INTERVAL_MS: Final = 3_000
MAX_POLL_INTERVAL_MS: Final = 300_000
METADATA_MAX_AGE_MS: Final = 300_000

SessionTimeout = Annotated[
    Duration,
    Field(
        alias="session.timeout.ms",
        description="Time until the coordinator removes a crashed member of a classic group.",
    ),
]
HeartbeatInterval = Annotated[
    PositiveDuration,
    Field(
        alias="heartbeat.interval.ms",
        description="Heartbeat interval of members of a classic group; less than the session timeout.",
    ),
]
MetadataMaxAge = Annotated[
    PositiveDuration,
    Field(
        alias="metadata.max.age.ms",
        description="Interval at which the leader of a classic group reads how many partitions topics have.",
    ),
]


MAX_TAGS: Final = 5
"""Kafka's maximum number of tags, in `rack.aware.assignment.tags` and per client."""

_PROTOCOLS: Final = (GroupProtocol.CLASSIC.value, GroupProtocol.STREAMS.value)

_GUARANTEES: Final = ("at_least_once", "exactly_once_v2")
_KIP_925_NAMES = ["min_cost", "balanced_min_cost"]


def _split_tags(value: Any) -> Any:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _check_strategy(text: str) -> str:
    try:
        return RackAwareStrategy.parse(text).value
    except ConfigError as error:
        raise ValueError(error.args[0]) from None


def _check_protocol(text: str) -> str:
    if text.lower() in _PROTOCOLS:
        return text.lower()
    known = ", ".join(_PROTOCOLS)
    raise ValueError(f"{format_value(text)} is not a group.protocol of Kafka Streams (one of: {known})")


def _text_of_acks(value: Any) -> Any:
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    return "all" if text == "-1" else text


def _check_removed_guarantee(text: str) -> str:
    if text in ("exactly_once", "exactly_once_beta"):
        raise ValueError(f"{format_value(text)} was removed in Kafka 4.0; write exactly_once_v2")
    return text


Int = Annotated[int, Field(ge=-INT_MAX - 1, le=INT_MAX)]
Long = Annotated[int, Field(ge=-LONG_MAX - 1, le=LONG_MAX)]
Tags = Annotated[
    list[Name],
    BeforeValidator(_split_tags),
    Field(max_length=MAX_TAGS),
    WithJsonSchema({"type": ["array", "string"], "items": {"type": "string"}, "maxItems": MAX_TAGS}),
]
RackAwareStrategyName = Annotated[
    str,
    AfterValidator(_check_strategy),
    WithJsonSchema({"type": "string", "enum": [*RackAwareStrategy, *_KIP_925_NAMES]}),
]
GroupProtocolName = Annotated[
    str,
    AfterValidator(_check_protocol),
    WithJsonSchema({"type": "string", "enum": [*_PROTOCOLS]}),
]
Acks = Annotated[
    str,
    BeforeValidator(_text_of_acks),
    one_of(("all", "0", "1"), "a value of acks (one of: all, -1, 0, 1)"),
    WithJsonSchema({"type": ["string", "integer"], "enum": ["all", "-1", "0", "1", -1, 0, 1]}),
]
ProcessingGuarantee = Annotated[
    str,
    AfterValidator(_check_removed_guarantee),
    one_of(_GUARANTEES, f"a processing.guarantee (one of: {', '.join(_GUARANTEES)})"),
    WithJsonSchema({"type": "string", "enum": [*_GUARANTEES]}),
]
_DEFAULTS = AssignmentConfigs()


class AssignorConfigs(ScenarioSection):
    """The configs that an assignor receives, and that may change during a run."""

    acceptable_recovery_lag: Long = Field(
        default=_DEFAULTS.acceptable_recovery_lag,
        alias="acceptable.recovery.lag",
        json_schema_extra={"minimum": 0},
        description="Maximum lag, in records over all stores of a task, at which a client is caught up.",
    )
    max_warmup_replicas: Int = Field(
        default=_DEFAULTS.max_warmup_replicas,
        alias="max.warmup.replicas",
        json_schema_extra={"minimum": 1},
        description="Maximum number of warm-up replicas at a time.",
    )
    num_standby_replicas: Int = Field(
        default=_DEFAULTS.num_standby_replicas,
        alias="num.standby.replicas",
        json_schema_extra={"minimum": 0},
        description="Number of standbys of each stateful task.",
    )
    probing_rebalance_interval_ms: Duration = Field(
        default=_DEFAULTS.probing_rebalance_interval_ms,
        alias="probing.rebalance.interval.ms",
        description="Interval of probing rebalances, which check whether warm-ups have caught up.",
    )
    rack_aware_assignment_tags: Tags = Field(
        default=[],
        alias="rack.aware.assignment.tags",
        description="Client tags over whose values the standbys of a task are distributed.",
    )
    rack_aware_assignment_strategy: RackAwareStrategyName = Field(
        default=_DEFAULTS.rack_aware_assignment_strategy.value,
        alias="rack.aware.assignment.strategy",
        description="Trade-off between cross-rack traffic and balance; KIP-925's names are accepted, too.",
    )
    rack_aware_traffic_cost: Int | None = Field(
        default=None,
        alias="rack.aware.assignment.traffic_cost",
        json_schema_extra={"minimum": 0},
        description="Cost of a partition that is read across racks; default: the assignor's.",
    )
    rack_aware_non_overlap_cost: Int | None = Field(
        default=None,
        alias="rack.aware.assignment.non_overlap_cost",
        json_schema_extra={"minimum": 0},
        description="Cost of moving a task; default: the assignor's.",
    )

    def changes(self) -> dict[str, Any]:
        """Return the configs that are set, by field of `AssignmentConfigs`; combinations are not validated."""
        values: dict[str, Any] = self.model_dump(include=set(AssignorConfigs.model_fields) & self.model_fields_set)
        if "rack_aware_assignment_tags" in values:
            values["rack_aware_assignment_tags"] = tuple(values["rack_aware_assignment_tags"])
        if "rack_aware_assignment_strategy" in values:
            values["rack_aware_assignment_strategy"] = RackAwareStrategy(values["rack_aware_assignment_strategy"])
        return values


class AssignorEntryConfigs(AssignorConfigs):
    """The configs that can differ between assignors."""

    group_protocol: GroupProtocolName | None = Field(
        default=None, alias="group.protocol", description="Group protocol of the runs with this assignor."
    )


class StreamsConfigs(AssignorConfigs):
    """The application's configs; those outside the model are accepted and not read."""

    model_config = ConfigDict(json_schema_extra=STREAMS_CONFIGS_OUTSIDE_THE_MODEL.add_to_schema)

    group_protocol: GroupProtocolName = Field(
        default=GroupProtocol.CLASSIC.value,
        alias="group.protocol",
        description="Group protocol: with classic, the group leader assigns; with streams, the group coordinator "
        "(KIP-1071).",
    )
    num_stream_threads: Annotated[int, Field(ge=1, le=1_000)] = Field(
        default=1, alias="num.stream.threads", description="Stream threads of clients that do not set threads."
    )
    replication_factor: Annotated[int, Field(ge=-1, le=INT_MAX)] = Field(
        default=-1,
        alias="replication.factor",
        description="Replication factor of changelog and repartition topics; -1 for the brokers' "
        "default.replication.factor.",
    )
    topic_min_insync_replicas: PositiveInt | None = Field(
        default=None,
        alias="topic.min.insync.replicas",
        description="The min.insync.replicas of changelog and repartition topics; default: the brokers'.",
    )
    topic_unclean_leader_election: bool | None = Field(
        default=None,
        alias="topic.unclean.leader.election.enable",
        description="The unclean.leader.election.enable of changelog and repartition topics; default: the brokers'.",
    )
    producer_acks: Acks = Field(
        default="all",
        alias="producer.acks",
        description="The acks of producers; min.insync.replicas applies only with all.",
    )
    session_timeout_ms: SessionTimeout = SESSION_TIMEOUT_MS
    heartbeat_interval_ms: HeartbeatInterval = HEARTBEAT_INTERVAL_MS
    metadata_max_age_ms: MetadataMaxAge = METADATA_MAX_AGE_MS
    max_poll_interval_ms: PositiveDuration = Field(
        default=MAX_POLL_INTERVAL_MS,
        alias="max.poll.interval.ms",
        description="Maximum time to join a rebalance, and for the leader to compute the assignment.",
    )
    leave_group_on_close: bool = Field(
        default=False,
        alias="internal.leave.group.on.close",
        description="Whether dynamic members of a classic group leave it when they close (Kafka 4.1 and older; set "
        "application.kafka); by default their session times out.",
    )
    processing_guarantee: ProcessingGuarantee = Field(
        default="at_least_once",
        alias="processing.guarantee",
        description="Processing guarantee; decides which state a killed process finds again on its disk.",
    )
    commit_interval_ms: PositiveDuration | None = Field(
        default=None,
        alias="commit.interval.ms",
        description="Interval between two commits; default: 30 s, and 100 ms with exactly_once_v2.",
    )
    transactional_stores: bool = Field(
        default=False,
        alias="enable.transactional.statestores",
        description="Whether state stores get writes only at commits, so that a killed process keeps its state (4.4).",
    )
    max_uncommitted_bytes: Size = Field(
        default=MAX_UNCOMMITTED_BYTES,
        alias="statestore.uncommitted.max.bytes",
        description="What all threads of a client together collect in transactional stores before they commit earlier; "
        "0: no limit.",
    )
    state_cleanup_delay_ms: Duration = Field(
        default=600_000,
        alias="state.cleanup.delay.ms",
        description="Time for which the state of a moved task stays on disk.",
    )

    @model_validator(mode="before")
    @classmethod
    def _without_unmodeled(cls, section: Any) -> Any:
        return STREAMS_CONFIGS_OUTSIDE_THE_MODEL.without(section, config_keys(cls))

    def internal_topic_configs(self) -> dict[str, str]:
        """Return the configs of internal topics (`topic.…`) that are set, in Kafka's notation."""
        stated = {
            "min.insync.replicas": self.topic_min_insync_replicas,
            "unclean.leader.election.enable": self.topic_unclean_leader_election,
        }
        return {key: str(value).lower() for key, value in stated.items() if value is not None}


MISPLACED_CONFIGS: Final = {
    "application.id": "set application.id",
    "client.rack": "set rack or racks of clients",
    "group.instance.id": "set static_membership: true of clients",
    "client.tag.": "set tags of clients",
    "broker.rack": "set rack under cluster.brokers",
    "task.assignor.class": "list the assignors under assignors",
    "internal.task.assignor.class": "list the assignors under assignors",
}
"""Kafka configs that scenarios set outside of `configs`, with the place to use instead."""

UNRELEASED_CONFIGS: Final = {
    "rack.aware.assignment.enabled": "proposed in KIP-925, but never released; rack.aware.assignment.strategy: "
    "min_traffic or balance_subtopology enables rack-aware assignment",
    "internal.rack.aware.assignment.strategy": "proposed in KIP-925; released as rack.aware.assignment.strategy",
    "internal.rack.aware.assignment.standby.strategy": "proposed in KIP-925, but never released; Kafka places standbys "
    "by option I, the assignor ha_reliable_standbys by option II",
    "internal.rack.aware.assignment.traffic_weight": "proposed in KIP-925; released as "
    "rack.aware.assignment.traffic_cost",
    "internal.rack.aware.assignment.non_overlap_weight": "proposed in KIP-925; released as "
    "rack.aware.assignment.non_overlap_cost",
}
"""Keys of KIP drafts, with the config to set instead."""


DEFAULT_STRATEGY: Final = ("range", COOPERATIVE_STICKY)
"""The default of `partition.assignment.strategy`: range decides, with the eager protocol."""

CONSUMER_ONLY: Final = ("group.remote.assignor",)
CLASSIC_ONLY: Final = ("partition.assignment.strategy", "session.timeout.ms", "heartbeat.interval.ms")
"""The configs that a consumer rejects under the other group protocol."""


def strategy_name(text: str) -> str:
    """Return the short name of an assignor of the client, or of its class; raise ValueError if Kafka has none."""
    known: list[str] = []
    for info in built_in():
        if info.protocol is ConsumerProtocol.CLASSIC:
            if text in (info.name, info.kafka_class, info.qualified_class):
                return info.name
            known += (info.name, info.kafka_class)
    hint = did_you_mean(text.rpartition(".")[2], known)
    raise ValueError(f"{format_value(text)} is not an assignor of Kafka's consumer ({hint})")


def _split(value: Any) -> Any:
    return [part.strip() for part in value.split(",")] if isinstance(value, str) else value


def _check_unique(names: list[str]) -> list[str]:
    for i, name in enumerate(names):
        if name in names[:i]:
            raise ValueError(f"duplicate assignor '{name}'; consumers refuse to start")
    return names


def _lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


StrategyList = Annotated[
    list[Annotated[str, AfterValidator(strategy_name)]],
    BeforeValidator(_split),
    Field(min_length=1),
    AfterValidator(_check_unique),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}),
]
"""Assignors of the client in the order of preference: a list, or Kafka's text with commas."""


MemberProtocol = Annotated[Literal["classic", "consumer"], BeforeValidator(_lower)]
"""The group protocol of a member."""

RemoteAssignor = Literal["uniform", "range"] | None
"""The assignor of the coordinator that a member names."""


def server_assignor_name(name: str | None) -> str | None:
    """Return the name here of an assignor of the coordinator, by Kafka's name."""
    return BROKER_RANGE if name == "range" else name


class ConsumerConfigs(ScenarioSection):
    """The configs of a consumer group's members; those outside the model are accepted and not read."""

    model_config = ConfigDict(json_schema_extra=CONSUMER_CONFIGS_OUTSIDE_THE_MODEL.add_to_schema)

    group_protocol: MemberProtocol = Field(
        default="classic",
        alias="group.protocol",
        description="Group protocol: with classic, a member assigns the partitions; with consumer, the group "
        "coordinator (KIP-848).",
    )
    strategies: StrategyList = Field(
        default=[*DEFAULT_STRATEGY],
        alias="partition.assignment.strategy",
        description="Assignors of the classic protocol, by name or class, the preferred one first: range, roundrobin, "
        "sticky or cooperative-sticky. All but the last stop the whole group in every rebalance; so does a list with "
        "another assignor beside the last.",
    )
    remote_assignor: RemoteAssignor = Field(
        default=None,
        alias="group.remote.assignor",
        description="Assignor of the consumer protocol; default: uniform, the brokers' default.",
    )
    session_timeout_ms: SessionTimeout = SESSION_TIMEOUT_MS
    heartbeat_interval_ms: HeartbeatInterval = HEARTBEAT_INTERVAL_MS
    metadata_max_age_ms: MetadataMaxAge = METADATA_MAX_AGE_MS
    max_poll_interval_ms: PositiveDuration = Field(
        default=MAX_POLL_INTERVAL_MS, alias="max.poll.interval.ms", description="Maximum time to join a rebalance."
    )

    @model_validator(mode="before")
    @classmethod
    def _without_unmodeled(cls, section: Any) -> Any:
        return CONSUMER_CONFIGS_OUTSIDE_THE_MODEL.without(section, config_keys(cls))
