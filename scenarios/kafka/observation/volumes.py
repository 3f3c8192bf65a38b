"""Sizes, rates and lags of an observation, in the units of a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from scenarios.kafka.naming import is_purged_topic
from scenarios.kafka.observation.observation import Observation, ObservedProcess, ObservedTopic

_DEFAULT_RECORD_BYTES: Final = 1_000
"""Record size that a scenario assumes by default."""


@dataclass(frozen=True, slots=True)
class TopicVolume:
    """Rates and sizes of a topic in a scenario; None if unknown.

    Attributes:
        bytes_per_s: Bytes produced per second, by partition.
        size_bytes: Size by partition.
        record_bytes: Mean record size.
    """

    bytes_per_s: tuple[int, ...] | None
    size_bytes: tuple[int, ...] | None
    record_bytes: int | None


def changelog_topics(observation: Observation) -> frozenset[str]:
    """Return the topics that are changelogs."""
    return frozenset(topic for subtopology in observation.subtopologies for topic in subtopology.changelogs.values())


def topic_volumes(observation: Observation) -> Mapping[str, TopicVolume]:
    """Compute rates and sizes from offsets and sizes on disk.

    The record size of a topic is its size divided by its number of offsets. The size of a changelog is its end offset
    times the record size: Kafka counts the lag of a client without a local copy as the whole end offset, whatever
    compaction and retention have removed, while the simulator counts lag by size and record size.

    Kafka Streams purges the repartition topics it has read, but the bytes remain until a segment is full. If the number
    of remaining records is therefore unknown, the record size is that of the topics the repartition topic is derived
    from, or larger if its size requires that. Returns the volume of each topic, by name.
    """
    changelogs = changelog_topics(observation)
    record_sizes = {topic.name: _mean_record_bytes(topic) for topic in observation.topics}
    volumes = {}
    for topic in observation.topics:
        record_bytes = record_sizes[topic.name]
        if has_unknown_record_count(topic, observation):
            record_bytes = _record_bytes_of_inputs(topic, observation, record_sizes)
        volumes[topic.name] = _volume(topic, record_bytes, is_changelog=topic.name in changelogs)
    return volumes


def has_unknown_record_count(topic: ObservedTopic, observation: Observation) -> bool:
    """Return whether a topic's size and end offsets are known, but not the number of records on disk."""
    has_size_only = topic.size_bytes is not None and topic.end_offsets is not None and topic.start_offsets is None
    return has_size_only and is_purged_topic(topic.name, observation.application_id)


def task_lags(process: ObservedProcess, observation: Observation) -> Mapping[str, int]:
    """Return the lag in records of the task copies of a process: standbys that lag, and all dormant copies.

    The lag of a copy is the sum of the end offsets of its changelogs minus its offset sum.
    """
    if process.offset_sums is None:
        return {}
    end_offset_sums = _end_offset_sums(observation)
    active = {task for thread in process.threads for task in thread.active}
    standby = {task for thread in process.threads for task in thread.standby}
    lags: dict[str, int] = {}
    for task in standby | set(process.offset_sums) - active:
        if task not in end_offset_sums:
            continue
        offset_sum = process.offset_sums.get(task, 0)
        lag = 0 if offset_sum < 0 else max(0, end_offset_sums[task] - offset_sum)
        if lag or task not in standby:
            lags[task] = lag
    return lags


def _volume(topic: ObservedTopic, mean_record_bytes: float | None, is_changelog: bool) -> TopicVolume:
    record_bytes = None if mean_record_bytes is None else max(1, round(mean_record_bytes))
    size_bytes = topic.size_bytes
    if is_changelog and topic.end_offsets is not None:
        size_bytes = tuple(end * (record_bytes or _DEFAULT_RECORD_BYTES) for end in topic.end_offsets)
    bytes_per_s = None
    if topic.records_per_s is not None:
        factor = (record_bytes if is_changelog else mean_record_bytes) or _DEFAULT_RECORD_BYTES
        bytes_per_s = tuple(round(records * factor) for records in topic.records_per_s)
    return TopicVolume(bytes_per_s, size_bytes, record_bytes)


def _mean_record_bytes(topic: ObservedTopic) -> float | None:
    if topic.size_bytes is None or topic.start_offsets is None or topic.end_offsets is None:
        return None
    num_offsets = sum(topic.end_offsets) - sum(topic.start_offsets)
    return sum(topic.size_bytes) / num_offsets if num_offsets > 0 and any(topic.size_bytes) else None


def _record_bytes_of_inputs(
    topic: ObservedTopic, observation: Observation, record_sizes: Mapping[str, float | None]
) -> float:
    """Return the mean record size of the topics read by a repartition topic's writers, or by all if those are unknown.

    The result is larger if the topic has more bytes than such records.
    """
    writers = [subtopology for subtopology in observation.subtopologies if topic.name in subtopology.writes]
    inputs = sorted({name for subtopology in writers or observation.subtopologies for name in subtopology.sources})
    known = [size for name in inputs if (size := record_sizes.get(name)) is not None]
    likely = sum(known) / len(known) if known else _DEFAULT_RECORD_BYTES
    return max(likely, sum(topic.size_bytes or ()) / max(1, sum(topic.end_offsets or ())))


def _end_offset_sums(observation: Observation) -> Mapping[str, int]:
    """Return the sum of the end offsets of each task's changelogs, for subtopologies with all changelogs observed."""
    topics = {topic.name: topic for topic in observation.topics}
    sums: dict[str, int] = {}
    for subtopology in observation.subtopologies:
        end_offsets = [topics[name].end_offsets for name in subtopology.changelogs.values() if name in topics]
        known = [offsets for offsets in end_offsets if offsets is not None]
        if known and len(known) == len(subtopology.changelogs):
            for partition in range(min(map(len, known))):
                sums[f"{subtopology.id}_{partition}"] = sum(offsets[partition] for offsets in known)
    return sums
