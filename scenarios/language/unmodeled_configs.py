"""Kafka's configs that a scenario may set, but that the simulator does not read.

A config either has no effect on what is simulated (`without_effect`) or has one that is missing in the simulation
(`unmodeled`): a scenario that sets it to another value than Kafka's default gets a warning.

Configs of streams groups are in `scenarios.language.streams_group_configs`.

`client_configs.json` has the names that released clients know; `python -m tools.client_configs` writes it.

Source: `StreamsConfig`, `ConsumerConfig`, `ProducerConfig`, `GroupCoordinatorConfig`, `KafkaConfig` of Kafka 4.3.1 and
4.4.0, and `StreamsConfig.InternalConfig` of Kafka 3.9.1.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Final

from scenarios.language.configs_outside_model import ConfigsOutsideTheModel, UnmodeledConfig
from scenarios.language.streams_group_configs import (
    Effect,
    StreamsGroupConfig,
    broker_configs_with,
    group_configs_with,
)

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
        "application.server": _QUERIES,
        "default.interactive.query.isolation.level": _QUERIES,
        "topology.description.push.enabled": "brokers only store the description",
        "producer.client.rack": "only partitioner.rack.aware reads it, which records with keys ignore (KIP-1123)",
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
        "metadata.cluster.check.enable": _CONNECTIONS,
        "bootstrap.resolve.timeout.ms": _CONNECTIONS,
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
        "buffer.memory*": _STATED_RATES,
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
        **_unmodeled(broker_configs_with(Effect.WARNING)),
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
        "group.consumer.*": "the other configs of consumer groups affect neither assignments nor rebalances",
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
