"""Brokers and partitions of a running cluster, as Kafka's tools describe them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from assignors.model.ids import TopicPartition
from assignors.replicas.retention import RETENTION_CONFIGS
from scenarios.kafka.formats.broker_list import ListedBroker
from scenarios.kafka.formats.topics import DescribedTopic
from scenarios.kafka.live.admin_api import AdminApi, AdminResponse
from scenarios.kafka.live.client_properties import client_settings
from scenarios.kafka.live.opening import open_cluster
from scenarios.kafka.live.topics import observed_topic, partition_sizes
from scenarios.kafka.observation.observation import ObservationError


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
