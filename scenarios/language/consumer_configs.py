"""The schema of consumer configs, with Kafka's keys and defaults.

Source: `org.apache.kafka.clients.consumer.ConsumerConfig` (`checkUnsupportedConfigsPostProcess` for configs that one
group protocol rejects), `org.apache.kafka.clients.consumer.internals.ConsumerCoordinator` (the constructor, for the
rebalance protocol that a list of assignors has in common).
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from assignors.consumers.registry import ConsumerProtocol, built_in
from assignors.consumers.selection import BROKER_RANGE, COOPERATIVE_STICKY
from scenarios.language.errors import did_you_mean, format_value
from scenarios.language.fields import PositiveDuration
from scenarios.language.member_configs import (
    HEARTBEAT_INTERVAL_MS,
    MAX_POLL_INTERVAL_MS,
    METADATA_MAX_AGE_MS,
    SESSION_TIMEOUT_MS,
    HeartbeatInterval,
    MetadataMaxAge,
    SessionTimeout,
)
from scenarios.language.section import ScenarioSection, config_keys
from scenarios.language.unmodeled_configs import CONSUMER_CONFIGS_OUTSIDE_THE_MODEL

DEFAULT_STRATEGY: Final = ("range", COOPERATIVE_STICKY)
"""The default of `partition.assignment.strategy`: range decides, with the eager protocol."""

CONSUMER_ONLY: Final = ("group.remote.assignor",)
CLASSIC_ONLY: Final = ("partition.assignment.strategy", "session.timeout.ms", "heartbeat.interval.ms")
"""The configs that a consumer rejects under the other group protocol."""


def strategy_name(text: str) -> str:
    """Return the short name of an assignor of the client.

    `text`: its short name, its class, or its class with its package. Raises ValueError if Kafka has no such assignor.
    """
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
