"""Kafka's configs that a scenario may set, but that the simulator does not read, or that others override.

A config either has no effect on what is simulated (`without_effect`) or has one that is missing in the simulation
(`unmodeled`): a scenario that sets it to another value than Kafka's default gets a warning.

Configs of streams groups are in `scenarios.language.streams_group_configs`. `client_configs.json` has the names that
released clients know; `python -m tools.client_configs` writes it.

Source: `StreamsConfig`, `ConsumerConfig`, `ProducerConfig`, `GroupCoordinatorConfig`, `KafkaConfig` of Kafka 4.3.1 and
4.4.0, and `StreamsConfig.InternalConfig` of Kafka 3.9.1. For overridden configs: `StreamsConfig`
(`NON_CONFIGURABLE_…`, `…_OVERRIDES`, `getMainConsumerConfigs`, `getProducerConfigs`),
`StreamsConfigUtils.totalCacheSize` and `TopologyConfig.resolveDslStoreSuppliers` of Kafka 4.3.1; for streams groups,
KIP-1071: the coordinator sends the heartbeat interval to members and removes them after its own session timeout.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Final

from scenarios.language.errors import format_value
from scenarios.language.streams_group_configs import BROKER_PREFIX, GROUP_PREFIX, Effect, streams_group_configs
from scenarios.language.units import MS_PER_UNIT

_MILLISECONDS: Final = re.compile(r"(\d+)(ms|s|m|h|d)")
_PROVIDERS: Final = "config.providers."
"""The prefix of the parameters of config providers, whose names are free."""


@dataclass(frozen=True, slots=True)
class UnmodeledConfig:
    """A config whose effect is not simulated.

    Attributes:
        effect: What differs from Kafka, or what to set instead.
        default: Kafka's default, with which there is no warning; None if every value has the effect.
    """

    effect: str
    default: str | None = None

    def applies(self, value: object) -> bool:
        """Return whether a value differs from Kafka's default."""
        return self.default is None or _normalized(value) != _normalized(self.default)


@dataclass(frozen=True, slots=True)
class ConfigsOutsideTheModel:
    """The configs of applications, or of brokers, that the simulator does not read.

    Attributes:
        unmodeled: Configs with an effect that is not simulated, by key.
        without_effect: Reasons why configs have no effect on what is simulated, by key; `*` ends a prefix.
        unprefixed: Keys of the scenario that Kafka also accepts with a prefix, which the simulator does not read.
        prefixes: Those prefixes.
        released: Names of released configs by prefix, among them those without one; any other key is unknown. Empty if
            they are not listed.
    """

    unmodeled: Mapping[str, UnmodeledConfig]
    without_effect: Mapping[str, str]
    unprefixed: frozenset[str] = field(default_factory=frozenset)
    prefixes: tuple[str, ...] = ()
    released: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def find(self, key: str) -> UnmodeledConfig | None:
        """Return what is not simulated of a config; None for other configs."""
        if key in self.unmodeled:
            return self.unmodeled[key]
        if not self.is_released(key):
            return None
        for prefix in self.prefixes:
            name = key.removeprefix(prefix)
            if name != key and name in self.unprefixed:
                return UnmodeledConfig(f"the simulator reads {name} without a prefix; set that")
            if name != key and name in self.unmodeled:
                return self.unmodeled[name]
        return None

    def has_no_effect(self, key: str) -> bool:
        """Return whether a config has no effect on what is simulated."""
        if self.find(key) is not None or not self.is_released(key):
            return False
        return any(_matches(key, pattern) for pattern in self.without_effect) or any(
            key.startswith(prefix) and self.has_no_effect(key.removeprefix(prefix)) for prefix in self.prefixes
        )

    def is_released(self, key: str) -> bool:
        """Return whether a released class of Kafka has a config, after its prefix; true if they are not listed."""
        if not self.released or key.startswith(_PROVIDERS):
            return True
        prefix = self._released_prefix(key)
        return key.removeprefix(prefix) in self.released[prefix]

    def _released_prefix(self, key: str) -> str:
        return max((prefix for prefix in self.released if key.startswith(prefix)), key=len)

    def contains(self, key: str) -> bool:
        """Return whether the simulator knows a config without reading it."""
        return self.find(key) is not None or self.has_no_effect(key)

    def keys_like(self, key: str) -> list[str]:
        """Return the keys without wildcards, with the prefix of a key if it has one, for hints."""
        if self.released:
            prefix = self._released_prefix(key)
            return sorted(name for name in (f"{prefix}{name}" for name in self.released[prefix]) if self.contains(name))
        return [*self.unmodeled, *(pattern for pattern in self.without_effect if not pattern.endswith("*"))]

    def without(self, section: Any, modeled: frozenset[str]) -> Any:
        """Return a section without these configs, except for those that the simulator reads."""
        if not isinstance(section, dict):
            return section
        return {key: value for key, value in section.items() if key in modeled or not self.contains(str(key))}

    def add_to_schema(self, schema: dict[str, Any]) -> None:
        """Add patterns of the keys to the JSON schema of the section."""
        names = sorted({*self.unmodeled, *self.without_effect})
        listed = "|".join(re.escape(name).replace(r"\*", ".*") for name in names)
        patterns = self._released_patterns() if self.released else [f"^({listed})$"]
        schema["patternProperties"] = {pattern: {"description": "Accepted, but not simulated."} for pattern in patterns}

    def _released_patterns(self) -> Iterator[str]:
        """Yield a pattern of the accepted names for each set of prefixes that share them."""
        prefixes_of: dict[tuple[str, ...], list[str]] = {}
        for prefix, names in self.released.items():
            accepted = tuple(sorted(name for name in names if self.contains(f"{prefix}{name}")))
            prefixes_of.setdefault(accepted, []).append(prefix)
        for accepted, prefixes in prefixes_of.items():
            yield f"^({'|'.join(map(re.escape, prefixes))})({'|'.join(map(re.escape, accepted))})$"
        unreleased = sorted(name for name in self.unmodeled if not self.is_released(name))
        yield f"^{re.escape(_PROVIDERS)}.*$"
        if unreleased:
            yield f"^({'|'.join(map(re.escape, unreleased))})$"


def _matches(key: str, pattern: str) -> bool:
    return key.startswith(pattern[:-1]) if pattern.endswith("*") else key == pattern


def _normalized(value: object) -> str:
    """Return a value as Kafka's text, without case; durations of scenarios in ms."""
    text = str(value).strip().lower()
    if re.fullmatch(rf"({_MILLISECONDS.pattern})+", text):
        return str(sum(int(number) * MS_PER_UNIT[unit] for number, unit in _MILLISECONDS.findall(text)))
    return text


CLIENT_CONFIGS: Final = "client_configs.json"
_THROTTLES: Final = {"leader.replication.throttled.replicas", "follower.replication.throttled.replicas"}
"""Topic configs that `TopicConfig` lacks; source: `QuotaConfig`."""

_CONSUMER_PREFIXES: Final = ("consumer.", "main.consumer.", "restore.consumer.", "global.consumer.")

_NO_TIMEOUTS: Final = "requests and transactions neither fail nor time out in a simulation"
_STATED_RATES: Final = "rates and sizes are those of the scenario (`bytes_per_s`, `size`, `restore`, `records_per_s`)"
_ERRORS: Final = "no record or request fails in a simulation"
_CONNECTIONS: Final = "connections are not simulated"
_QUERIES: Final = "interactive queries are not simulated"
_CONTENT: Final = "the content of records is not simulated"
_FIXED: Final = "Kafka Streams sets it itself"
_OBSERVED: Final = "metrics and logs are not simulated"


def _unmodeled(prefix: str) -> dict[str, UnmodeledConfig]:
    configs = streams_group_configs(Effect.WARNING, prefix)
    return {key: UnmodeledConfig(config.remark, config.default) for key, config in configs.items()}


def _ignored(prefix: str) -> dict[str, str]:
    return {key: config.remark for key, config in streams_group_configs(Effect.IGNORED, prefix).items()}


def _by_reason(keys_of: Mapping[str, str]) -> dict[str, str]:
    """Return the reason of each key, given the keys of each reason, separated by spaces."""
    return {key: reason for reason, keys in keys_of.items() for key in keys.split()}


_INTERNAL: Final = "internal to Kafka Streams"


def _released_client_configs() -> dict[str, frozenset[str]]:
    """Return the released configs by prefix; Kafka Streams passes those without one to each client that knows them."""
    text = files(__package__).joinpath(CLIENT_CONFIGS).read_text(encoding="utf-8")
    names = {kind: frozenset(listed) for kind, listed in json.loads(text).items()}
    return {
        "": names["streams"] | names["consumer"] | names["producer"] | names["admin"],
        **dict.fromkeys(_CONSUMER_PREFIXES, names["consumer"]),
        "producer.": names["producer"],
        "admin.": names["admin"],
        "topic.": names["topic"] | _THROTTLES,
    }


STREAMS_CONFIGS_OUTSIDE_THE_MODEL: Final = ConfigsOutsideTheModel(
    unmodeled={
        "max.task.idle.ms": UnmodeledConfig(
            "tasks never wait for records of other input partitions; processing delays are too short", "0"
        ),
        "task.timeout.ms": UnmodeledConfig("tasks never fail, so no task is given up after this time", "300000"),
        "default.api.timeout.ms": UnmodeledConfig(_NO_TIMEOUTS, "60000"),
        "request.timeout.ms": UnmodeledConfig(_NO_TIMEOUTS, "40000"),
        "delivery.timeout.ms": UnmodeledConfig(_NO_TIMEOUTS, "120000"),
        "max.block.ms": UnmodeledConfig(_NO_TIMEOUTS, "60000"),
        "transaction.timeout.ms": UnmodeledConfig(
            "the open transaction of a killed client delays no task; in Kafka, new owners wait until it is aborted",
            "10000",
        ),
        "acks": UnmodeledConfig("the simulator reads producer.acks; set that", "all"),
        "poll.ms": UnmodeledConfig("threads notice a rebalance without waiting for a poll to return", "100"),
        "rocksdb.config.setter": UnmodeledConfig("if it changes the size of the memtable, set write_buffer of stores"),
        "default.dsl.store": UnmodeledConfig("set persistent: false of stores in memory", "rocksdb"),
        "dsl.store.suppliers.class": UnmodeledConfig(
            "set persistent: false of stores in memory",
            "org.apache.kafka.streams.state.BuiltInDslStoreSuppliers$RocksDBDslStoreSuppliers",
        ),
        "topology.optimization": UnmodeledConfig(
            "subtopologies are those of the scenario; describe the optimized topology", "none"
        ),
        "upgrade.from": UnmodeledConfig(
            "members use the protocol of application.kafka, not the older one of a group that is being upgraded"
        ),
        "state.cleanup.dir.max.age.ms": UnmodeledConfig("a process keeps all state on its disk when it starts", "-1"),
        "__state.updater.enabled__": UnmodeledConfig(
            "restoration has a thread of its own; without it, stream threads process nothing while they restore", "true"
        ),
        "__processing.threads.enabled__": UnmodeledConfig("stream threads process the records themselves", "false"),
    },
    without_effect=_by_reason(
        {
            _QUERIES: "application.server default.interactive.query.isolation.level",
            "brokers only store the description": "topology.description.push.enabled",
            "only partitioner.rack.aware reads it, which records with keys ignore (KIP-1123)": "producer.client.rack",
            _CONNECTIONS: (
                "bootstrap.servers client.dns.lookup connections.max.idle.ms receive.buffer.bytes send.buffer.bytes "
                "reconnect.backoff.* retry.backoff.* socket.connection.setup.timeout.* metadata.recovery.* "
                "metadata.cluster.check.enable bootstrap.resolve.timeout.ms metadata.max.idle.ms "
                "bootstrap.controllers security.* ssl.* sasl.* config.providers* default.client.supplier admin.*"
            ),
            "the names of clients are those of the scenario": "client.id",
            _CONTENT: (
                "default.key.serde default.value.serde default.list.* default.timestamp.extractor "
                "windowed.inner.class.serde window.size.ms dsl.store.format key.* value.* interceptor.classes "
                "processor.wrapper.class partitioner.* isolation.level check.crcs"
            ),
            _ERRORS: (
                "default.deserialization.exception.handler default.production.exception.handler "
                "deserialization.exception.handler production.exception.handler processing.exception.handler* "
                "errors.dead.letter.queue.topic.name retries"
            ),
            "a task begins where the application stopped": "auto.offset.reset",
            _STATED_RATES: (
                "buffered.records.per.partition cache.max.bytes.buffering statestore.cache.max.bytes fetch.* "
                "max.partition.fetch.bytes max.poll.records batch.size buffer.memory* linger.ms max.request.size "
                "max.in.flight.requests.per.connection compression.* repartition.purge.interval.ms "
                "windowstore.changelog.additional.retention.ms topic.* restore.consumer.*"
            ),
            "global stores are not simulated: they belong to no task": "global.consumer.*",
            _FIXED: (
                "partition.assignment.strategy enable.auto.commit auto.commit.interval.ms allow.auto.create.topics "
                "exclude.internal.topics group.remote.assignor enable.idempotence transactional.id "
                "transaction.two.phase.commit.enable group.id consumer.group.protocol main.consumer.group.protocol "
                "internal.throw.on.fetch.stable.offset.unsupported"
            ),
            _INTERNAL: (
                "__assignment.listener__ __emit.interval.ms.* __internal.* __iq.consistency.offset.vector.enabled__ "
                "__reference.container.instance__"
            ),
            "Kafka Streams uses no share groups": "share.*",
            _OBSERVED: (
                "enable.metrics.push built.in.metrics.version metrics.* metric.reporters auto.include.jmx.reporter "
                "log.summary.interval.ms"
            ),
            "every client has a disk of its own": "state.dir allow.os.group.write.access",
            "it only checks the topology": "ensure.explicit.internal.resource.naming",
        }
    ),
    unprefixed=frozenset(
        {
            "session.timeout.ms",
            "heartbeat.interval.ms",
            "max.poll.interval.ms",
            "metadata.max.age.ms",
            "internal.leave.group.on.close",
        }
    ),
    prefixes=("consumer.", "main.consumer.", "producer."),
    released=_released_client_configs(),
)

_CONSUMERS_READ: Final = frozenset(
    {
        "group.protocol",
        "partition.assignment.strategy",
        "group.remote.assignor",
        "session.timeout.ms",
        "heartbeat.interval.ms",
        "max.poll.interval.ms",
        "metadata.max.age.ms",
    }
)
_CONSUMERS_MISPLACED: Final = frozenset({"group.id", "group.instance.id", "client.rack"})


def _ignored_consumer_configs() -> dict[str, str]:
    """Return the released configs of consumers that have no effect on what is simulated, with the reason."""
    names = _released_client_configs()["consumer."] - _CONSUMERS_READ - _CONSUMERS_MISPLACED
    return dict.fromkeys(sorted(names), "it affects neither assignments nor rebalances of a simulated group")


CONSUMER_CONFIGS_OUTSIDE_THE_MODEL: Final = ConfigsOutsideTheModel(
    unmodeled={
        "internal.leave.group.on.close": UnmodeledConfig("set leaves_group of the events that close clients", "true"),
    },
    without_effect=_ignored_consumer_configs(),
    released={"": _released_client_configs()["consumer."]},
)

BROKER_CONFIGS_OUTSIDE_THE_MODEL: Final = ConfigsOutsideTheModel(
    unmodeled={
        "group.max.size": UnmodeledConfig("every member may join, however large the group is", "2147483647"),
        **_unmodeled(BROKER_PREFIX),
        "group.min.session.timeout.ms": UnmodeledConfig("session.timeout.ms is checked against the default", "6000"),
        "group.max.session.timeout.ms": UnmodeledConfig("session.timeout.ms is checked against the default", "1800000"),
        "offsets.retention.minutes": UnmodeledConfig("committed offsets of an empty group never expire", "10080"),
        "broker.session.timeout.ms": UnmodeledConfig("the controller detects a dead broker at once", "9000"),
        "log.retention.ms": UnmodeledConfig("set retention.ms in the configs of topics"),
        "log.retention.minutes": UnmodeledConfig("set retention.ms in the configs of topics"),
        "log.retention.hours": UnmodeledConfig("set retention.ms in the configs of topics", "168"),
        "log.retention.bytes": UnmodeledConfig("set retention.bytes in the configs of topics", "-1"),
        "log.cleanup.policy": UnmodeledConfig("set cleanup.policy in the configs of topics", "delete"),
    },
    without_effect={
        **_by_reason(
            {
                "the other configs of consumer groups affect neither assignments nor rebalances": "group.consumer.*",
                "Kafka Streams uses no share groups": "group.share.*",
            }
        ),
        **_ignored(BROKER_PREFIX),
        **_by_reason(
            {
                "the threads of the coordinator are not simulated": "group.coordinator.*",
                "internal topics of brokers are not simulated": "offsets.topic.* transaction.state.log.*",
                _NO_TIMEOUTS: "transaction.max.timeout.ms",
                _CONNECTIONS: "listeners advertised.listeners listener.* security.* ssl.* sasl.*",
                "controllers are not simulated": "controller.* process.roles",
                "ids of brokers are those of the scenario": "node.id broker.id",
                "paths of disks are not simulated": "log.dir log.dirs",
                _STATED_RATES: (
                    "log.segment.bytes num.io.threads num.network.threads num.replica.fetchers message.max.bytes"
                ),
                "topics are those of the scenario": "auto.create.topics.enable delete.topic.enable",
            }
        ),
    },
)

GROUP_CONFIGS_OUTSIDE_THE_MODEL: Final = ConfigsOutsideTheModel(
    unmodeled=_unmodeled(GROUP_PREFIX),
    without_effect=_ignored(GROUP_PREFIX),
)


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


_SET_BY_STREAMS: Final = (
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
    """Yield each config of an application that has another value than the one that holds, with what overrides it."""
    exactly_once = configs.get("processing.guarantee") == "exactly_once_v2"
    for fixed in _SET_BY_STREAMS:
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
