"""Kafka's configs that a scenario may set, but that the simulator does not read.

A config either has no effect on what is simulated (`without_effect`) or has one that is missing in the simulation
(`unmodeled`): a scenario that sets it to another value than Kafka's default gets a warning.

Configs of streams groups are in `scenarios.language.streams_group_configs`.

`client_configs.json` has the names that released clients know; `python -m tools.client_configs` writes it.

Source: `StreamsConfig`, `ConsumerConfig`, `ProducerConfig`, `GroupCoordinatorConfig`, `KafkaConfig` of Kafka 4.3.1, and
`StreamsConfig.InternalConfig` of Kafka 3.9.1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Final

from scenarios.language.streams_group_configs import (
    Effect,
    StreamsGroupConfig,
    broker_configs_with,
    group_configs_with,
)

_MILLISECONDS: Final = re.compile(r"(\d+)(ms|s|m|h|d)")
_PROVIDERS: Final = "config.providers."
"""The prefix of the parameters of config providers, whose names are free."""

_MS_OF: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


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
        released: Names of released configs by prefix, among them those without one; any other key is unknown. Empty
            if they are not listed.
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
        prefix = max((prefix for prefix in self.released if key.startswith(prefix)), key=len)
        return key.removeprefix(prefix) in self.released[prefix]

    def contains(self, key: str) -> bool:
        """Return whether the simulator knows a config without reading it."""
        return self.find(key) is not None or self.has_no_effect(key)

    def keys_like(self, key: str) -> list[str]:
        """Return the keys without wildcards, with the prefix of a key if it has one, for hints."""
        if self.released:
            prefix = max((prefix for prefix in self.released if key.startswith(prefix)), key=len)
            return sorted(name for name in (f"{prefix}{name}" for name in self.released[prefix]) if self.contains(name))
        prefix = next((prefix for prefix in self.prefixes if key.startswith(prefix)), "")
        keys = [*self.unmodeled, *(pattern for pattern in self.without_effect if not pattern.endswith("*"))]
        return [f"{prefix}{name}" for name in keys]

    def without(self, section: Any, modeled: frozenset[str]) -> Any:
        """Return a section without these configs, except for those that the simulator reads."""
        if not isinstance(section, dict):
            return section
        return {key: value for key, value in section.items() if key in modeled or not self.contains(str(key))}

    def add_to_schema(self, schema: dict[str, Any]) -> None:
        """Add patterns of the keys to the JSON schema of the section."""
        if self.released:
            schema["patternProperties"] = {
                pattern: {"description": "Accepted, but not simulated."} for pattern in self._released_patterns()
            }
            return
        names = sorted({*self.unmodeled, *self.without_effect})
        alternatives = "|".join(re.escape(name).replace(r"\*", ".*") for name in names)
        prefixed = "|".join(map(re.escape, self.prefixes))
        own = "|".join(map(re.escape, sorted(self.unprefixed)))
        patterns = [f"({prefixed})?({alternatives})", f"({prefixed})({own})"] if self.prefixes else [alternatives]
        schema["patternProperties"] = {
            f"^({pattern})$": {"description": "Accepted, but not simulated."} for pattern in patterns
        }

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
        return str(sum(int(number) * _MS_OF[unit] for number, unit in _MILLISECONDS.findall(text)))
    return text


CLIENT_CONFIGS: Final = "client_configs.json"
_THROTTLES: Final = {"leader.replication.throttled.replicas", "follower.replication.throttled.replicas"}
"""Topic configs that `TopicConfig` lacks; source: `QuotaConfig`."""

_CONSUMER_PREFIXES: Final = ("consumer.", "main.consumer.", "restore.consumer.", "global.consumer.")

_NO_TIMEOUTS: Final = "requests and transactions neither fail nor time out in a simulation"
_STATED_RATES: Final = "rates and sizes are those of the scenario (`bytes_per_s`, `size`, `restore`, `records_per_s`)"
_ERRORS: Final = "no record or request fails in a simulation"
_CONNECTIONS: Final = "connections are not simulated"
_CONTENT: Final = "the content of records is not simulated"
_FIXED: Final = "Kafka Streams sets it itself"
_OBSERVED: Final = "metrics and logs are not simulated"


def _unmodeled(configs: Mapping[str, StreamsGroupConfig]) -> dict[str, UnmodeledConfig]:
    return {key: UnmodeledConfig(config.remark, config.default) for key, config in configs.items()}


def _reasons(configs: Mapping[str, StreamsGroupConfig]) -> dict[str, str]:
    return {key: config.remark for key, config in configs.items()}


_INTERNAL: Final = "internal to Kafka Streams"


def _released_client_configs() -> dict[str, frozenset[str]]:
    """Return the names of the released configs of applications by prefix.

    Kafka Streams passes configs without a prefix to each of its clients that knows them.
    """
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
        "metadata.max.age.ms": UnmodeledConfig("members notice changed partitions and racks at once", "300000"),
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
    without_effect={
        "application.server": "interactive queries are not simulated",
        "bootstrap.servers": _CONNECTIONS,
        "client.id": "the names of clients are those of the scenario",
        "client.dns.lookup": _CONNECTIONS,
        "connections.max.idle.ms": _CONNECTIONS,
        "receive.buffer.bytes": _CONNECTIONS,
        "send.buffer.bytes": _CONNECTIONS,
        "reconnect.backoff.*": _CONNECTIONS,
        "retry.backoff.*": _CONNECTIONS,
        "socket.connection.setup.timeout.*": _CONNECTIONS,
        "metadata.recovery.*": _CONNECTIONS,
        "metadata.max.idle.ms": _CONNECTIONS,
        "bootstrap.controllers": _CONNECTIONS,
        "security.*": _CONNECTIONS,
        "ssl.*": _CONNECTIONS,
        "sasl.*": _CONNECTIONS,
        "config.providers*": _CONNECTIONS,
        "default.client.supplier": _CONNECTIONS,
        "admin.*": _CONNECTIONS,
        "default.key.serde": _CONTENT,
        "default.value.serde": _CONTENT,
        "default.list.*": _CONTENT,
        "default.timestamp.extractor": _CONTENT,
        "windowed.inner.class.serde": _CONTENT,
        "window.size.ms": _CONTENT,
        "dsl.store.format": _CONTENT,
        "key.*": _CONTENT,
        "value.*": _CONTENT,
        "interceptor.classes": _CONTENT,
        "processor.wrapper.class": _CONTENT,
        "partitioner.*": _CONTENT,
        "isolation.level": _CONTENT,
        "check.crcs": _CONTENT,
        "default.deserialization.exception.handler": _ERRORS,
        "default.production.exception.handler": _ERRORS,
        "deserialization.exception.handler": _ERRORS,
        "production.exception.handler": _ERRORS,
        "processing.exception.handler*": _ERRORS,
        "errors.dead.letter.queue.topic.name": _ERRORS,
        "retries": _ERRORS,
        "auto.offset.reset": "a task begins where the application stopped",
        "buffered.records.per.partition": _STATED_RATES,
        "cache.max.bytes.buffering": _STATED_RATES,
        "statestore.cache.max.bytes": _STATED_RATES,
        "fetch.*": _STATED_RATES,
        "max.partition.fetch.bytes": _STATED_RATES,
        "max.poll.records": _STATED_RATES,
        "batch.size": _STATED_RATES,
        "buffer.memory": _STATED_RATES,
        "linger.ms": _STATED_RATES,
        "max.request.size": _STATED_RATES,
        "max.in.flight.requests.per.connection": _STATED_RATES,
        "compression.*": _STATED_RATES,
        "repartition.purge.interval.ms": _STATED_RATES,
        "windowstore.changelog.additional.retention.ms": _STATED_RATES,
        "topic.*": _STATED_RATES,
        "restore.consumer.*": _STATED_RATES,
        "global.consumer.*": "global stores are not simulated: they belong to no task",
        "partition.assignment.strategy": _FIXED,
        "enable.auto.commit": _FIXED,
        "auto.commit.interval.ms": _FIXED,
        "allow.auto.create.topics": _FIXED,
        "exclude.internal.topics": _FIXED,
        "group.remote.assignor": _FIXED,
        "enable.idempotence": _FIXED,
        "transactional.id": _FIXED,
        "transaction.two.phase.commit.enable": _FIXED,
        "group.id": _FIXED,
        "consumer.group.protocol": _FIXED,
        "main.consumer.group.protocol": _FIXED,
        "internal.throw.on.fetch.stable.offset.unsupported": _FIXED,
        "__assignment.listener__": _INTERNAL,
        "__emit.interval.ms.*": _INTERNAL,
        "__internal.*": _INTERNAL,
        "__iq.consistency.offset.vector.enabled__": _INTERNAL,
        "__reference.container.instance__": _INTERNAL,
        "share.*": "Kafka Streams uses no share groups",
        "enable.metrics.push": _OBSERVED,
        "built.in.metrics.version": _OBSERVED,
        "metrics.*": _OBSERVED,
        "metric.reporters": _OBSERVED,
        "auto.include.jmx.reporter": _OBSERVED,
        "log.summary.interval.ms": _OBSERVED,
        "state.dir": "every client has a disk of its own",
        "allow.os.group.write.access": "every client has a disk of its own",
        "ensure.explicit.internal.resource.naming": "it only checks the topology",
    },
    unprefixed=frozenset(
        {"session.timeout.ms", "heartbeat.interval.ms", "max.poll.interval.ms", "internal.leave.group.on.close"}
    ),
    prefixes=("consumer.", "main.consumer.", "producer."),
    released=_released_client_configs(),
)

BROKER_CONFIGS_OUTSIDE_THE_MODEL: Final = ConfigsOutsideTheModel(
    unmodeled={
        "group.max.size": UnmodeledConfig("every member may join, however large the group is", "2147483647"),
        **_unmodeled(broker_configs_with(Effect.WARNING)),
        "group.min.session.timeout.ms": UnmodeledConfig("session.timeout.ms is checked against the default", "6000"),
        "group.max.session.timeout.ms": UnmodeledConfig("session.timeout.ms is checked against the default", "1800000"),
        "offsets.retention.minutes": UnmodeledConfig("committed offsets of an empty group never expire", "10080"),
        "replica.lag.time.max.ms": UnmodeledConfig("a replica is out of sync as soon as its broker stops", "30000"),
        "broker.session.timeout.ms": UnmodeledConfig("the controller detects a dead broker at once", "9000"),
        "log.retention.ms": UnmodeledConfig("set retention.ms in the configs of topics"),
        "log.retention.minutes": UnmodeledConfig("set retention.ms in the configs of topics"),
        "log.retention.hours": UnmodeledConfig("set retention.ms in the configs of topics", "168"),
        "log.retention.bytes": UnmodeledConfig("set retention.bytes in the configs of topics", "-1"),
        "log.cleanup.policy": UnmodeledConfig("set cleanup.policy in the configs of topics", "delete"),
    },
    without_effect={
        "group.consumer.*": "Kafka Streams uses no consumer groups of KIP-848",
        "group.share.*": "Kafka Streams uses no share groups",
        **_reasons(broker_configs_with(Effect.IGNORED)),
        "group.coordinator.*": "the threads of the coordinator are not simulated",
        "offsets.topic.*": "internal topics of brokers are not simulated",
        "transaction.state.log.*": "internal topics of brokers are not simulated",
        "transaction.max.timeout.ms": _NO_TIMEOUTS,
        "listeners": _CONNECTIONS,
        "advertised.listeners": _CONNECTIONS,
        "listener.*": _CONNECTIONS,
        "security.*": _CONNECTIONS,
        "ssl.*": _CONNECTIONS,
        "sasl.*": _CONNECTIONS,
        "controller.*": "controllers are not simulated",
        "process.roles": "controllers are not simulated",
        "node.id": "ids of brokers are those of the scenario",
        "broker.id": "ids of brokers are those of the scenario",
        "log.dir": "paths of disks are not simulated",
        "log.dirs": "paths of disks are not simulated",
        "log.segment.bytes": _STATED_RATES,
        "num.io.threads": _STATED_RATES,
        "num.network.threads": _STATED_RATES,
        "num.replica.fetchers": _STATED_RATES,
        "message.max.bytes": _STATED_RATES,
        "auto.create.topics.enable": "topics are those of the scenario",
        "delete.topic.enable": "topics are those of the scenario",
    },
)

GROUP_CONFIGS_OUTSIDE_THE_MODEL: Final = ConfigsOutsideTheModel(
    unmodeled=_unmodeled(group_configs_with(Effect.WARNING)),
    without_effect=_reasons(group_configs_with(Effect.IGNORED)),
)
