"""The configs of an application that a scenario may set, with Kafka's keys and defaults.

Source: `org.apache.kafka.streams.StreamsConfig`, `org.apache.kafka.clients.consumer.ConsumerConfig`. Those of brokers
and topics are in `scenarios.language.broker_configs`.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from assignors.errors import ConfigError
from assignors.model.configs import AssignmentConfigs, RackAwareStrategy
from scenarios.language.errors import format_value
from scenarios.language.fields import INT_MAX, Duration, Name
from scenarios.language.units import LONG_MAX
from simulator.world.world import GroupProtocol

MAX_TAGS: Final = 5
"""How many tags Kafka takes, in `rack.aware.assignment.tags` and on a client."""

_KIP_925_NAMES = ["min_cost", "balanced_min_cost"]


class ScenarioSection(BaseModel):
    """A part of a scenario: only what is declared may be written, in the type that is declared."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, defer_build=True)


def _split_tags(value: Any) -> Any:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _check_strategy(text: str) -> str:
    try:
        return RackAwareStrategy.parse(text).value
    except ConfigError as error:
        raise ValueError(error.args[0]) from None


def _check_protocol(text: str) -> str:
    try:
        return GroupProtocol(text.lower()).value
    except ValueError:
        known = ", ".join(GroupProtocol)
        raise ValueError(f"{format_value(text)} is not a group.protocol of Kafka Streams (one of: {known})") from None


def _text_of_acks(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _check_acks(text: str) -> str:
    if text not in ("all", "-1", "0", "1"):
        raise ValueError(f"{format_value(text)} is not a value of acks (one of: all, -1, 0, 1)")
    return "all" if text == "-1" else text


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
    WithJsonSchema({"type": "string", "enum": [*GroupProtocol]}),
]
PositiveDuration = Annotated[Duration, Field(ge=1, le=INT_MAX)]
Acks = Annotated[
    str,
    BeforeValidator(_text_of_acks),
    AfterValidator(_check_acks),
    WithJsonSchema({"type": ["string", "integer"], "enum": ["all", "-1", "0", "1", -1, 0, 1]}),
]
_DEFAULTS = AssignmentConfigs()


class AssignorConfigs(ScenarioSection):
    """The configs that an assignor is given, and that may change while the application runs."""

    acceptable_recovery_lag: Long = Field(
        default=_DEFAULTS.acceptable_recovery_lag,
        alias="acceptable.recovery.lag",
        json_schema_extra={"minimum": 0},
        description="The lag, in records over all stores of a task, up to which a client counts as caught up.",
    )
    max_warmup_replicas: Int = Field(
        default=_DEFAULTS.max_warmup_replicas,
        alias="max.warmup.replicas",
        json_schema_extra={"minimum": 1},
        description="How many extra standbys may warm up at the same time before tasks move to them.",
    )
    num_standby_replicas: Int = Field(
        default=_DEFAULTS.num_standby_replicas,
        alias="num.standby.replicas",
        json_schema_extra={"minimum": 0},
        description="How many standbys each stateful task has.",
    )
    probing_rebalance_interval_ms: Duration = Field(
        default=_DEFAULTS.probing_rebalance_interval_ms,
        alias="probing.rebalance.interval.ms",
        description="How long to wait before asking again whether warm-ups have caught up.",
    )
    rack_aware_assignment_tags: Tags = Field(
        default=[],
        alias="rack.aware.assignment.tags",
        description="The client tags over whose values the standbys of a task are spread.",
    )
    rack_aware_assignment_strategy: RackAwareStrategyName = Field(
        default=_DEFAULTS.rack_aware_assignment_strategy.value,
        alias="rack.aware.assignment.strategy",
        description="How cross-rack traffic is traded against balance; KIP-925's names are accepted too.",
    )
    rack_aware_traffic_cost: Int | None = Field(
        default=None,
        alias="rack.aware.assignment.traffic_cost",
        json_schema_extra={"minimum": 0},
        description="What a partition read across racks costs; by default the assignor's own choice.",
    )
    rack_aware_non_overlap_cost: Int | None = Field(
        default=None,
        alias="rack.aware.assignment.non_overlap_cost",
        json_schema_extra={"minimum": 0},
        description="What moving a task costs; by default the assignor's own choice.",
    )

    def changes(self) -> dict[str, Any]:
        """What is set, by the field names of `AssignmentConfigs`, checked one by one only."""
        values: dict[str, Any] = self.model_dump(include=set(AssignorConfigs.model_fields) & self.model_fields_set)
        if "rack_aware_assignment_tags" in values:
            values["rack_aware_assignment_tags"] = tuple(values["rack_aware_assignment_tags"])
        if "rack_aware_assignment_strategy" in values:
            values["rack_aware_assignment_strategy"] = RackAwareStrategy(values["rack_aware_assignment_strategy"])
        return values


class AssignorEntryConfigs(AssignorConfigs):
    """The configs that may differ from assignor to assignor."""

    group_protocol: GroupProtocolName | None = Field(
        default=None, alias="group.protocol", description="Who assigns, in the runs with this assignor."
    )


class StreamsConfigs(AssignorConfigs):
    """The application's configs."""

    group_protocol: GroupProtocolName = Field(
        default=GroupProtocol.CLASSIC.value,
        alias="group.protocol",
        description="Who assigns: classic, a member that leads the group; streams, the group coordinator (KIP-1071).",
    )
    num_stream_threads: Annotated[int, Field(ge=1, le=1_000)] = Field(
        default=1, alias="num.stream.threads", description="Threads of every client that does not say otherwise."
    )
    replication_factor: Annotated[int, Field(ge=-1, le=INT_MAX)] = Field(
        default=-1,
        alias="replication.factor",
        description="Replicas of changelog and repartition topics; -1 is the brokers' default.replication.factor.",
    )
    topic_min_insync_replicas: Annotated[int, Field(ge=1, le=INT_MAX)] | None = Field(
        default=None,
        alias="topic.min.insync.replicas",
        description="The min.insync.replicas of changelog and repartition topics; by default the brokers'.",
    )
    topic_unclean_leader_election: bool | None = Field(
        default=None,
        alias="topic.unclean.leader.election.enable",
        description="The unclean.leader.election.enable of changelog and repartition topics; by default the brokers'.",
    )
    producer_acks: Acks = Field(
        default="all",
        alias="producer.acks",
        description="The acks of the producers; min.insync.replicas matters only with all.",
    )
    session_timeout_ms: Duration = Field(
        default=45_000,
        alias="session.timeout.ms",
        description="When a member of a classic group that crashed is missed.",
    )
    heartbeat_interval_ms: PositiveDuration = Field(
        default=3_000,
        alias="heartbeat.interval.ms",
        description="How often a member of a classic group hears from it; less than the session timeout.",
    )
    max_poll_interval_ms: PositiveDuration = Field(
        default=300_000,
        alias="max.poll.interval.ms",
        description="How long members have to join a rebalance, and how long the leader may compute.",
    )
    leave_group_on_close: bool = Field(
        default=False,
        alias="internal.leave.group.on.close",
        description="Whether dynamic members of a classic group leave it when they close (Kafka 4.1 and older); by "
        "default the group waits for their session.",
    )
    state_cleanup_delay_ms: Duration = Field(
        default=600_000,
        alias="state.cleanup.delay.ms",
        description="How long the state of a task that moved away stays on disk.",
    )

    def of_topics(self) -> dict[str, str]:
        """Return the configs for internal topics (`topic.…`) that are set, as Kafka writes them."""
        stated = {
            "min.insync.replicas": self.topic_min_insync_replicas,
            "unclean.leader.election.enable": self.topic_unclean_leader_election,
        }
        return {key: str(value).lower() for key, value in stated.items() if value is not None}


MISPLACED_CONFIGS: Final = {
    "application.id": "give it as application.id",
    "client.rack": "give it as rack, or racks, of clients",
    "group.instance.id": "give static_membership: true to clients",
    "client.tag.": "give it under tags of clients",
    "broker.rack": "give it under cluster.brokers",
    "task.assignor.class": "name the assignors under assignors",
}
"""What a Kafka engineer may write under `configs`, and where it stands in a scenario instead."""

UNRELEASED_CONFIGS: Final = {
    "rack.aware.assignment.enabled": "KIP-925 drafted it, no release has it; rack.aware.assignment.strategy: "
    "min_traffic or balance_subtopology switches rack-aware assignment on",
    "internal.rack.aware.assignment.strategy": "KIP-925 drafted it; released as rack.aware.assignment.strategy",
    "internal.rack.aware.assignment.standby.strategy": "KIP-925 drafted it, no release has it; Kafka places standbys "
    "by option I, the assignor ha_reliable_standbys by option II",
    "internal.rack.aware.assignment.traffic_weight": "KIP-925 drafted it; released as "
    "rack.aware.assignment.traffic_cost",
    "internal.rack.aware.assignment.non_overlap_weight": "KIP-925 drafted it; released as "
    "rack.aware.assignment.non_overlap_cost",
}
"""Keys of KIP drafts, and what to set instead."""
