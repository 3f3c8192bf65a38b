"""Configs of applications that Kafka Streams, another config or the brokers override, and what holds instead.

Source: `StreamsConfig` (`NON_CONFIGURABLE_…`, `…_OVERRIDES`, `getMainConsumerConfigs`, `getProducerConfigs`),
`StreamsConfigUtils.totalCacheSize` and `TopologyConfig.resolveDslStoreSuppliers` of Kafka 4.3.1; for streams groups,
KIP-1071: the coordinator sends the heartbeat interval to members and removes them after its own session timeout.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from scenarios.language.configs_outside_model import UnmodeledConfig
from scenarios.language.errors import format_value

_CONSUMERS: Final = ("", "consumer.", "main.consumer.")
_PRODUCERS: Final = ("", "producer.")


@dataclass(frozen=True, slots=True)
class _FixedConfig:
    """A config that Kafka Streams sets itself.

    Attributes:
        holds: The value that holds, in words if it is none that a scenario could state.
        prefixes: Prefixes with which it is overridden.
        exactly_once: Whether it is overridden with `processing.guarantee: exactly_once_v2` only.
    """

    key: str
    holds: str
    prefixes: tuple[str, ...] = _CONSUMERS
    exactly_once: bool = False


_FIXED: Final = (
    _FixedConfig("enable.auto.commit", "false"),
    _FixedConfig("allow.auto.create.topics", "false"),
    _FixedConfig("group.protocol", "the group.protocol of the application", _CONSUMERS[1:]),
    _FixedConfig("group.id", "application.id"),
    _FixedConfig("partition.assignment.strategy", "StreamsPartitionAssignor"),
    _FixedConfig("isolation.level", "read_committed", ("", "consumer."), exactly_once=True),
    _FixedConfig("enable.idempotence", "true", _PRODUCERS, exactly_once=True),
    _FixedConfig("transactional.id", "an id of application.id and process", _PRODUCERS, exactly_once=True),
)

_MAIN_CONSUMER: Final = (
    "session.timeout.ms",
    "heartbeat.interval.ms",
    "max.poll.interval.ms",
    "internal.leave.group.on.close",
)
"""Configs that only the main consumer uses, so that those with its prefix leave no effect to the others."""

_OVERRIDDEN_BY: Final = (
    *((name, f"main.consumer.{name}") for name in _MAIN_CONSUMER),
    *((f"consumer.{name}", f"main.consumer.{name}") for name in _MAIN_CONSUMER),
    *((name, f"consumer.{name}") for name in _MAIN_CONSUMER),
    ("acks", "producer.acks"),
    ("cache.max.bytes.buffering", "statestore.cache.max.bytes"),
    ("default.deserialization.exception.handler", "deserialization.exception.handler"),
    ("default.production.exception.handler", "production.exception.handler"),
    ("default.dsl.store", "dsl.store.suppliers.class"),
)
"""Pairs of a config and the config that holds where both are set; of a config, the first pair counts."""

SET_BY_COORDINATOR: Final = ("session.timeout.ms", "heartbeat.interval.ms")
"""Configs of clients without effect in streams groups, where `group.streams.NAME` or `streams.NAME` holds."""


def overridden_configs(configs: Mapping[Any, Any]) -> Iterator[tuple[str, str]]:
    """Yield each config that is set to another value than the one that holds, with what overrides it.

    `configs`: the configs of an application, as a scenario states them.
    """
    exactly_once = configs.get("processing.guarantee") == "exactly_once_v2"
    for fixed in _FIXED:
        for key in (f"{prefix}{fixed.key}" for prefix in fixed.prefixes):
            if key in configs and fixed.exactly_once <= exactly_once and _differs(configs[key], fixed.holds):
                reason = "processing.guarantee: exactly_once_v2" if fixed.exactly_once else "Kafka Streams"
                yield key, f"overridden by {reason}: {fixed.holds} holds"
    holding: dict[str, str] = {}
    for key, other in _OVERRIDDEN_BY:
        if key in configs and other in configs:
            holding.setdefault(key, other)
    for key, other in holding.items():
        if _differs(configs[key], configs[other]):
            value = format_value(configs[other])
            remedy = f", but the simulator reads {key}; set it to {value}" if key in _MAIN_CONSUMER else ""
            yield key, f"overridden by {other}: {value} holds{remedy}"


def _differs(value: object, other: object) -> bool:
    return UnmodeledConfig("", str(other)).applies(value)
