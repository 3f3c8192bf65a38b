"""Sizes, rates and lags of what was seen, in the terms of a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from scenarios.kafka.naming import is_purged_topic
from scenarios.kafka.observation.observation import Observation, ObservedProcess, ObservedTopic

_DEFAULT_RECORD_BYTES: Final = 1_000
"""What a scenario takes for the size of a record if it is not given."""


@dataclass(frozen=True, slots=True)
class TopicVolume:
    """What a scenario says of a topic, an entry a partition; None where it says nothing."""

    bytes_per_s: tuple[int, ...] | None
    size_bytes: tuple[int, ...] | None
    record_bytes: int | None


def changelogs(seen: Observation) -> frozenset[str]:
    """The topics that are changelogs."""
    return frozenset(topic for part in seen.subtopologies for topic in part.changelogs.values())


def amounts_by_topic(seen: Observation) -> Mapping[str, TopicVolume]:
    """Turn offsets and sizes into rates and sizes.

    A record is as large as a partition's bytes come to an offset, on average over the topic. Changelogs get the size
    that this makes of their end offsets: to Kafka, a client without a copy is behind by the whole end offset, whatever
    compaction and retention have left of the records; the simulator counts by size and size of a record.

    Of repartition topics Kafka Streams deletes what it has read, but the bytes stay until a segment is full. Where that
    hides how many records the bytes are, a record is as large as one of the topics that it is made of, or larger if
    there are more bytes than such records.
    """
    logs = changelogs(seen)
    means = {topic.name: _bytes_per_offset(topic) for topic in seen.topics}
    amounts = {}
    for topic in seen.topics:
        mean = means[topic.name]
        if has_hidden_records(topic, seen):
            mean = _like_what_it_is_made_of(topic, seen, means)
        amounts[topic.name] = _amounts(topic, mean, is_changelog=topic.name in logs)
    return amounts


def has_hidden_records(topic: ObservedTopic, seen: Observation) -> bool:
    """Whether a topic's bytes and end offsets were seen, but not how many records the bytes are."""
    told = topic.size_bytes is not None and topic.end_offsets is not None and topic.start_offsets is None
    return told and is_purged_topic(topic.name, seen.application_id)


def lags_of(process: ObservedProcess, seen: Observation) -> Mapping[str, int]:
    """By how many records the copies of a process are behind: standbys that are not level, and all dormant ones.

    A copy's lag is the sum of its changelogs' end offsets less the sum of offsets that the process told.
    """
    if process.copies is None:
        return {}
    ends = _end_offset_sums(seen)
    active = {task for thread in process.threads for task in thread.active}
    standby = {task for thread in process.threads for task in thread.standby}
    lags: dict[str, int] = {}
    for task in standby | set(process.copies) - active:
        if task not in ends:
            continue
        offset_sum = process.copies.get(task, 0)
        lag = 0 if offset_sum < 0 else max(0, ends[task] - offset_sum)
        if lag or task not in standby:
            lags[task] = lag
    return lags


def _amounts(topic: ObservedTopic, mean: float | None, is_changelog: bool) -> TopicVolume:
    record_bytes = None if mean is None else max(1, round(mean))
    size = topic.size_bytes
    if is_changelog and topic.end_offsets is not None:
        size = tuple(end * (record_bytes or _DEFAULT_RECORD_BYTES) for end in topic.end_offsets)
    rate = None
    if topic.records_per_s is not None:
        each = record_bytes if is_changelog else mean
        rate = tuple(round(records * (each or _DEFAULT_RECORD_BYTES)) for records in topic.records_per_s)
    return TopicVolume(rate, size, record_bytes)


def _bytes_per_offset(topic: ObservedTopic) -> float | None:
    if topic.size_bytes is None or topic.start_offsets is None or topic.end_offsets is None:
        return None
    offsets = sum(topic.end_offsets) - sum(topic.start_offsets)
    return sum(topic.size_bytes) / offsets if offsets > 0 and any(topic.size_bytes) else None


def _like_what_it_is_made_of(topic: ObservedTopic, seen: Observation, means: Mapping[str, float | None]) -> float:
    """The mean record of what the writers of a repartition topic read; of all sources if its writers are not known."""
    writers = [part for part in seen.subtopologies if topic.name in part.writes]
    read = sorted({name for part in writers or seen.subtopologies for name in part.sources})
    known = [mean for name in read if (mean := means.get(name)) is not None]
    likely = sum(known) / len(known) if known else _DEFAULT_RECORD_BYTES
    return max(likely, sum(topic.size_bytes or ()) / max(1, sum(topic.end_offsets or ())))


def _end_offset_sums(seen: Observation) -> Mapping[str, int]:
    """The sum of the end offsets of each task's changelogs, where all of them were seen."""
    topics = {topic.name: topic for topic in seen.topics}
    sums: dict[str, int] = {}
    for part in seen.subtopologies:
        ends = [topics[name].end_offsets for name in part.changelogs.values() if name in topics]
        known = [end for end in ends if end is not None]
        if known and len(known) == len(part.changelogs):
            for partition in range(min(map(len, known))):
                sums[f"{part.id}_{partition}"] = sum(end[partition] for end in known)
    return sums
