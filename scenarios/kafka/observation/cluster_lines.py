"""The lines of an imported scenario that describe where it comes from, and the cluster."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from scenarios.kafka.naming import repartition_name
from scenarios.kafka.observation.observation import Observation, ObservedTopic
from scenarios.kafka.observation.observed_configs import broker_configs
from scenarios.kafka.observation.volumes import TopicVolume, topic_volumes
from scenarios.kafka.observation.yaml_text import YamlValue, comment_lines, entry_lines, flow_text

_UNCLEAN: Final = "unclean.leader.election.enable"
_SET_BY_STREAMS: Final = {
    "cleanup.policy": "delete",
    "retention.ms": "604800000",
    "retention.bytes": "-1",
    "compression.type": "producer",
}
_SET_FOR_BROKERS: Final = {"min.insync.replicas": "1", _UNCLEAN: "false"}
TOPIC_DEFAULTS: Final = {**_SET_FOR_BROKERS, **_SET_BY_STREAMS}
"""The configs of topics that scenarios have, with the defaults of `LogConfig` in Kafka 4.3.1."""


def header_lines(observation: Observation, warnings: Sequence[str], assumptions: Sequence[str]) -> Iterator[str]:
    """Yield comments on the source, what cannot be simulated, and what is assumed."""
    yield from comment_lines(f"{observation.application_id}, imported: {observation.source}")
    if observation.broker_release is not None:
        yield from comment_lines(f"Brokers: Kafka {observation.broker_release}")
    for sentence in warnings:
        yield "#"
        yield from comment_lines(f"Warning: {sentence}")
    for title, sentences in (("Measured", observation.measurements), ("Assumptions", assumptions)):
        if sentences:
            yield "#"
            yield f"# {title}:"
        for sentence in sentences:
            yield from comment_lines(sentence, "- ")


def cluster_lines(observation: Observation, release: str | None) -> Iterator[str]:
    """Yield the section `cluster`.

    `observation`: the observed state. `release`: the release of the brokers in the scenario; None for the default.
    """
    yield "cluster:"
    if release is not None:
        yield from entry_lines("kafka", release, 2)
    yield "  brokers:"
    for broker in observation.brokers:
        yield f"    - {flow_text({'id': broker.id} | ({} if broker.rack is None else {'rack': broker.rack}))}"
    configs, _ = broker_configs(observation)
    yield from mapping_lines("configs", configs, 2)
    yield "  topics:   # bytes and bytes/s: a list has one entry per partition, a number is the total of the topic"
    volumes = topic_volumes(observation)
    defaults = TOPIC_DEFAULTS | {
        key: observation.broker_configs.get(key, default) for key, default in _SET_FOR_BROKERS.items()
    }
    internal = {name for subtopology in observation.subtopologies for name in subtopology.changelogs.values()}
    for topic in observation.topics:
        yield from _topic_lines(topic, volumes[topic.name], has_id=observation.consumers is not None)
        is_internal = topic.name in internal or repartition_name(observation.application_id, topic.name) is not None
        configs = dict(_topic_configs(topic.configs, defaults, is_internal=is_internal))
        yield from mapping_lines("configs", configs, 6)


def mapping_lines(key: str, content: Mapping[str, YamlValue], indent: int) -> Iterator[str]:
    """Yield a mapping with one line per entry; nothing if it is empty."""
    if content:
        yield f"{' ' * indent}{key}:"
    for name, value in content.items():
        yield from entry_lines(name, value, indent + 2)


def _topic_lines(topic: ObservedTopic, volume: TopicVolume, *, has_id: bool) -> Iterator[str]:
    yield f"    - name: {flow_text(topic.name)}"
    if has_id and topic.topic_id is not None:
        yield from entry_lines("id", str(topic.topic_id), 6)
    yield from entry_lines("replicas", topic.replicas, 6)
    if any(leader != replicas[0] for leader, replicas in zip(topic.leaders, topic.replicas, strict=True)):
        yield from entry_lines("leaders", topic.leaders, 6)
    for key, by_partition in (("bytes_per_s", volume.bytes_per_s), ("size", volume.size_bytes)):
        if by_partition is not None:
            yield from entry_lines(key, _total_if_equal(by_partition), 6)
    if volume.record_bytes is not None:
        yield f"      record_size: {volume.record_bytes}"


def _topic_configs(
    configs: Mapping[str, str], defaults: Mapping[str, str], *, is_internal: bool
) -> Iterator[tuple[str, YamlValue]]:
    """Yield the configs that scenarios have, and that differ from what the scenario has for all topics.

    Kafka Streams sets retention and cleanup of its internal topics itself, and so does a scenario.
    """
    for key, default in defaults.items():
        value = configs.get(key, default)
        if value != default and not (is_internal and key in _SET_BY_STREAMS):
            is_number = re.fullmatch(r"-?\d{1,18}", value)
            yield key, int(value) if is_number else value == "true" if key == _UNCLEAN else value


def _total_if_equal(by_partition: Sequence[int]) -> YamlValue:
    """Return the topic's total if all partitions have the same amount, else the amount of each partition."""
    return sum(by_partition) if len(set(by_partition)) == 1 else by_partition
