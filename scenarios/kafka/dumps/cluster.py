"""The brokers and topics of a folder of dumps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from assignors.model.ids import TopicPartition
from scenarios.kafka.dumps.files import Dumps
from scenarios.kafka.formats.topics import DescribedTopic
from scenarios.kafka.observation.observation import ObservedBroker, ObservedTopic
from scenarios.language.errors import format_list

NO_RATES: Final = (
    "Dumps contain no rates: nothing is produced until you set bytes_per_s of topics, as in "
    "--set 'cluster.topics[NAME].bytes_per_s=10 MB/s'."
)
"""Assumption of every observation of dumps."""


def observed_brokers(dumps: Dumps, assumptions: list[str]) -> tuple[ObservedBroker, ...]:
    """Return the brokers by id; without a list of brokers, those that have replicas.

    `assumptions`: gets what is assumed.
    """
    if dumps.brokers is not None:
        listed = sorted(dumps.brokers.content, key=lambda broker: broker.id)
        return tuple(ObservedBroker(broker.id, broker.rack) for broker in listed)
    assumptions.append("No output of kafka-broker-api-versions.sh: brokers are assumed to have no racks.")
    topics = dumps.topics.content if dumps.topics else ()
    ids = {broker for topic in topics for replicas in topic.replicas for broker in replicas}
    return tuple(ObservedBroker(broker, None) for broker in sorted(ids))


def broker_release(dumps: Dumps) -> str | None:
    """Return the release of all brokers; None if it is unknown or differs."""
    releases = {broker.release for broker in dumps.brokers.content} if dumps.brokers else set[str | None]()
    return next(iter(releases)) if len(releases) == 1 else None


def observed_topics(
    dumps: Dumps, names: Iterable[str], topics: Mapping[str, DescribedTopic], assumptions: list[str]
) -> tuple[ObservedTopic, ...]:
    """Return topics with the sizes of their partitions.

    `assumptions`: gets what is assumed.
    """
    sizes = dumps.sizes.content if dumps.sizes else {}
    observed = tuple(observed_topic(topics[name], sizes) for name in names)
    unsized = [
        topic.name
        for topic in observed
        if any(TopicPartition(topic.name, partition) not in sizes for partition in range(len(topic.replicas)))
    ]
    if dumps.sizes is not None and unsized:
        listed = format_list("topics", unsized)
        assumptions.append(f"{dumps.sizes.file} lacks sizes of partitions, which are assumed empty ({listed}).")
    return observed


def observed_topic(topic: DescribedTopic, sizes: Mapping[TopicPartition, int]) -> ObservedTopic:
    """Return a topic with the sizes of its partitions, if any is known."""
    size_bytes = [sizes.get(TopicPartition(topic.name, partition)) for partition in range(len(topic.replicas))]
    has_sizes = any(size is not None for size in size_bytes)
    return ObservedTopic(
        topic.name,
        topic.replicas,
        topic.leaders,
        tuple(size or 0 for size in size_bytes) if has_sizes else None,
        topic_id=topic.topic_id,
        configs=topic.configs,
    )
