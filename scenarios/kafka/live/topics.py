"""Brokers and topics of a running cluster: replicas, leaders, configs, sizes, offsets and growth rates.

Source: `MetadataResponse.json`, `DescribeLogDirsResponse.json`.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assignors.model.ids import TopicId, TopicPartition
from assignors.replicas.retention import RETENTION_CONFIGS
from scenarios.kafka.formats.broker_list import ListedBroker
from scenarios.kafka.formats.topics import NO_LEADER, DescribedTopic
from scenarios.kafka.live.admin_api import AdminApi, AdminResponse, open_cluster
from scenarios.kafka.live.client_properties import client_settings
from scenarios.kafka.naming import is_purged_topic
from scenarios.kafka.observation.observation import ObservationError, ObservedTopic
from scenarios.kafka.observation.scenario_lines import TOPIC_DEFAULTS
from scenarios.language.errors import format_list

_Offsets = Mapping[TopicPartition, int]


def measure_topics(
    cluster: AdminApi, metadata: Sequence[AdminResponse], seconds: float, application_id: str
) -> tuple[tuple[ObservedTopic, ...], tuple[str, ...]]:
    """Measure topics over a period.

    `seconds`: length of the period; 0 for no rates. Returns the topics by name, and what was assumed. Raises
    ObservationError if the cluster does not respond, or a topic is being created or deleted.
    """
    topics = [observed_topic(topic) for topic in sorted(metadata, key=lambda topic: str(topic["name"]))]
    # Values in effect, not only overrides: Kafka reports a retention that brokers set in hours as a default.
    configs_of = cluster.topic_configs([topic.name for topic in topics], tuple(TOPIC_DEFAULTS))
    topics = [replace(topic, configs=_visible(configs_of.get(topic.name, {}))) for topic in topics]
    with_leader = [partition for partition, leader in _leaders(topics).items() if leader != NO_LEADER]
    partitions_of = {topic.name: range(len(topic.replicas)) for topic in topics}

    def sample() -> _Sample:
        return _Sample(
            cluster.now_ms(), cluster.end_offsets(with_leader), partition_sizes(topics, cluster.log_dirs(partitions_of))
        )

    start_offsets, first = cluster.start_offsets(with_leader), sample()
    last = None
    if seconds > 0:
        cluster.wait(seconds)
        last = sample()
    measured = tuple(_measured_topic(topic, start_offsets, first, last, application_id) for topic in topics)
    return measured, tuple(_assumptions(measured))


@dataclass(frozen=True, slots=True)
class _Sample:
    """Offsets and sizes at one point in time. `at_ms`: time since 1970."""

    at_ms: int
    end_offsets: _Offsets
    size_bytes: Mapping[TopicPartition, int]

    def records_per_s(self, earlier: _Sample, partition: TopicPartition) -> float:
        growth = self.end_offsets.get(partition, 0) - earlier.end_offsets.get(partition, 0)
        return 1000 * max(0, growth) / max(1, self.at_ms - earlier.at_ms)


def _leaders(topics: Iterable[ObservedTopic]) -> dict[TopicPartition, int]:
    return {
        TopicPartition(topic.name, number): leader for topic in topics for number, leader in enumerate(topic.leaders)
    }


def observed_topic(topic: AdminResponse) -> ObservedTopic:
    """Return a topic of the metadata, without sizes and offsets.

    Raises ObservationError if the topic is being created or deleted.
    """
    partitions = sorted(topic["partitions"], key=lambda partition: int(partition["partition_index"]))
    if [partition["partition_index"] for partition in partitions] != list(range(len(partitions))) or not partitions:
        raise ObservationError(f"topic {topic['name']} is being created or deleted; try again later")
    return ObservedTopic(
        topic["name"],
        tuple(tuple(partition["replica_nodes"]) for partition in partitions),
        tuple(partition["leader_id"] for partition in partitions),
        topic_id=_topic_id(topic.get("topic_id")),
    )


def _visible(configs: Mapping[str, str | None]) -> dict[str, str]:
    return {key: value for key, value in configs.items() if value is not None}


def _topic_id(value: Any) -> TopicId | None:
    """Return a topic id; None before Kafka 2.8."""
    found = None if value is None else uuid.UUID(str(value))
    return TopicId.of(found) if found is not None and found.int else None


def _measured_topic(
    topic: ObservedTopic, start_offsets: _Offsets, first: _Sample, last: _Sample | None, application_id: str
) -> ObservedTopic:
    """Return a topic with its measurements; a partition without a leader counts as empty and idle."""
    partitions = [TopicPartition(topic.name, number) for number in range(len(topic.replicas))]
    sizes = tuple(first.size_bytes[partition] for partition in partitions if partition in first.size_bytes)
    readable = tuple(start_offsets.get(partition, 0) for partition in partitions)
    on_disk: tuple[int, ...] | None = readable
    if is_purged_topic(topic.name, application_id) and any(readable):
        on_disk = None if last is None else _first_offsets_on_disk(partitions, start_offsets, first, last)
    return ObservedTopic(
        topic.name,
        topic.replicas,
        topic.leaders,
        sizes if len(sizes) == len(partitions) else None,
        on_disk,
        tuple(first.end_offsets.get(partition, 0) for partition in partitions),
        None if last is None else tuple(last.records_per_s(first, partition) for partition in partitions),
        topic.topic_id,
        topic.configs,
    )


def _first_offsets_on_disk(
    partitions: Sequence[TopicPartition], start_offsets: _Offsets, first: _Sample, last: _Sample
) -> tuple[int, ...] | None:
    """Return an estimate of each partition's first offset whose record occupies disk space; None without new records.

    Kafka Streams purges the repartition topics it has read, but segments with purged records remain on disk until they
    are full. The size therefore includes records before the start offset; their number follows from the size of the
    records that arrived between the samples.
    """
    records = sum(last.end_offsets.get(partition, 0) - first.end_offsets.get(partition, 0) for partition in partitions)
    size_bytes = sum(last.size_bytes.get(partition, 0) - first.size_bytes.get(partition, 0) for partition in partitions)
    if records <= 0 or size_bytes <= 0:
        return None
    on_disk = {partition: round(first.size_bytes.get(partition, 0) * records / size_bytes) for partition in partitions}
    return tuple(
        min(start_offsets.get(partition, 0), max(0, first.end_offsets.get(partition, 0) - on_disk[partition]))
        for partition in partitions
    )


def partition_sizes(topics: Iterable[ObservedTopic], log_dirs: Sequence[AdminResponse]) -> dict[TopicPartition, int]:
    """Return the size of each partition's leader replica, or of its largest replica if the leader's is unknown."""
    sizes: dict[TopicPartition, dict[int, int]] = {}
    for broker, partition, size_bytes in _replica_sizes(log_dirs):
        sizes.setdefault(partition, {})[broker] = size_bytes
    leaders = _leaders(topics)
    return {
        partition: by_broker.get(leaders[partition], max(by_broker.values()))
        for partition, by_broker in sizes.items()
        if partition in leaders
    }


def _replica_sizes(log_dirs: Sequence[AdminResponse]) -> Iterator[tuple[int, TopicPartition, int]]:
    for response in log_dirs:
        for directory in response["log_dirs"]:
            for topic in directory["topics"]:
                for replica in topic["partitions"]:
                    if not replica["is_future_key"]:
                        partition = TopicPartition(topic["name"], replica["partition_index"])
                        yield response["broker"], partition, replica["partition_size"]


def _assumptions(topics: Sequence[ObservedTopic]) -> Iterator[str]:
    without_size = [topic.name for topic in topics if topic.size_bytes is None]
    if without_size:
        yield f"Sizes of {', '.join(without_size)} are unknown (they require the operation Describe on the cluster)."
    without_configs = [topic.name for topic in topics if not topic.configs]
    if without_configs:
        yield (
            "Configs of some topics are not visible (they require DescribeConfigs on topics): the defaults of the "
            f"brokers and of Kafka are assumed ({format_list('topics', without_configs)})."
        )
    without_leader = [
        f"{topic.name}-{number}"
        for topic in topics
        for number, leader in enumerate(topic.leaders)
        if leader == NO_LEADER
    ]
    if without_leader:
        yield f"Partitions without a leader are assumed empty: {', '.join(without_leader)}."


@dataclass(frozen=True, slots=True)
class DescribedCluster:
    """The state of a cluster.

    Attributes:
        brokers: Available brokers, by id.
        topics: Topics, by name; of their configs, those on retention.
        sizes: Size of each partition in bytes; None if sizes are not visible.
        remarks: What is unknown or ignored.
    """

    brokers: tuple[ListedBroker, ...]
    topics: tuple[DescribedTopic, ...]
    sizes: Mapping[TopicPartition, int] | None
    remarks: tuple[str, ...]


def describe_cluster(bootstrap: str, properties: Mapping[str, str]) -> DescribedCluster:
    """Describe a running cluster, without changing it.

    `bootstrap`: `host:port` of some brokers, separated by commas; `properties`: connection properties, as Kafka's tools
    take them with `--command-config`. Returns the state of the cluster. Raises ObservationError if the cluster cannot
    be reached or denies a request.
    """
    settings = client_settings(properties)
    with open_cluster(bootstrap, settings) as cluster:
        described = describe(cluster)
    if not settings.ignored:
        return described
    ignored = f"client properties {', '.join(settings.ignored)} are not supported and ignored"
    return DescribedCluster(described.brokers, described.topics, described.sizes, (*described.remarks, ignored))


def describe(cluster: AdminApi) -> DescribedCluster:
    """Describe a cluster through an `AdminApi`; result and errors as in `describe_cluster`."""
    metadata = sorted(cluster.topics(), key=lambda topic: str(topic["name"]))
    if not metadata:
        raise ObservationError(
            "the cluster has no topics, or none is visible (required: the operation Describe on topics)"
        )
    moving = cluster.moving_partitions()
    configs = cluster.topic_configs([str(topic["name"]) for topic in metadata], RETENTION_CONFIGS)
    topics = tuple(
        _described_topic(
            topic,
            configs.get(topic["name"], {}),
            tuple(sorted(number for name, number in moving if name == topic["name"])),
        )
        for topic in metadata
    )
    partitions_of = {topic.name: range(len(topic.replicas)) for topic in topics}
    observed = [observed_topic(topic) for topic in metadata]
    sizes = partition_sizes(observed, cluster.log_dirs(partitions_of)) if topics else {}
    partitions = [TopicPartition(topic.name, number) for topic in topics for number in partitions_of[topic.name]]
    has_sizes = all(partition in sizes for partition in partitions)
    return DescribedCluster(
        brokers=tuple(
            ListedBroker(int(broker["broker_id"]), broker["rack"] or None)
            for broker in sorted(cluster.brokers(), key=lambda broker: int(broker["broker_id"]))
            if not broker.get("is_fenced")
        ),
        topics=topics,
        sizes=sizes if has_sizes else None,
        remarks=tuple(_remarks(topics, has_sizes=has_sizes)),
    )


def _described_topic(
    topic: AdminResponse, configs: Mapping[str, str | None], moving: tuple[int, ...]
) -> DescribedTopic:
    observed = observed_topic(topic)
    partitions = sorted(topic["partitions"], key=lambda partition: int(partition["partition_index"]))
    return DescribedTopic(
        name=observed.name,
        line=None,
        replicas=observed.replicas,
        leaders=observed.leaders,
        configs={key: value for key, value in configs.items() if value is not None},
        moving=moving,
        in_sync=tuple(tuple(partition["isr_nodes"]) for partition in partitions),
    )


def _remarks(topics: tuple[DescribedTopic, ...], *, has_sizes: bool) -> Iterator[str]:
    if not has_sizes:
        yield "partition sizes are not visible (required: the operation Describe on the cluster); pass --log-dirs FILE"
    if any(not topic.configs for topic in topics):
        yield (
            "configs of some topics are not visible (required: the operation DescribeConfigs on topics); Kafka's "
            "default retention is assumed"
        )
