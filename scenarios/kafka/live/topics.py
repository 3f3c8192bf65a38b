"""Topics of a running cluster: replicas, leaders, sizes, offsets, and how fast they grow.

Source: `MetadataResponse.json`, `DescribeLogDirsResponse.json`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from assignors.model.ids import TopicPartition
from scenarios.kafka.live.admin_api import AdminApi, AdminResponse
from scenarios.kafka.naming import is_purged_topic
from scenarios.kafka.observation.errors import ObservationError
from scenarios.kafka.observation.observation import ObservedTopic

_Offsets = Mapping[TopicPartition, int]
_NO_LEADER: Final = -1


@dataclass(frozen=True, slots=True)
class SeenTopics:
    """Topics by name, and what was assumed."""

    topics: tuple[ObservedTopic, ...]
    assumptions: tuple[str, ...]


def look_at_topics(
    cluster: AdminApi, described: Sequence[AdminResponse], seconds: float, application_id: str
) -> SeenTopics:
    """Measure topics that the metadata describes, for `seconds` seconds; no rates if that is 0.

    Raises:
        ObservationError: the cluster does not answer.
    """
    topics = [_placed(topic) for topic in sorted(described, key=lambda topic: str(topic["name"]))]
    led = [each for each, leader in _leaders(topics).items() if leader != _NO_LEADER]
    asked = {topic.name: range(len(topic.replicas)) for topic in topics}

    def sample() -> _Sample:
        return _Sample(cluster.now_ms(), cluster.end_offsets(led), _sizes(topics, cluster.log_dirs(asked)))

    starts, first = cluster.start_offsets(led), sample()
    last = None
    if seconds > 0:
        cluster.wait(seconds)
        last = sample()
    measured = tuple(_measured(topic, starts, first, last, application_id) for topic in topics)
    return SeenTopics(measured, tuple(_assumptions(measured)))


@dataclass(frozen=True, slots=True)
class _Sample:
    at_ms: int
    ends: _Offsets
    sizes: Mapping[TopicPartition, int]

    def records_per_s(self, earlier: _Sample, partition: TopicPartition) -> float:
        grown = self.ends.get(partition, 0) - earlier.ends.get(partition, 0)
        return 1000 * max(0, grown) / max(1, self.at_ms - earlier.at_ms)


def _leaders(topics: Iterable[ObservedTopic]) -> dict[TopicPartition, int]:
    return {
        TopicPartition(topic.name, number): leader for topic in topics for number, leader in enumerate(topic.leaders)
    }


def _placed(topic: AdminResponse) -> ObservedTopic:
    partitions = sorted(topic["partitions"], key=lambda partition: int(partition["partition_index"]))
    if [partition["partition_index"] for partition in partitions] != list(range(len(partitions))) or not partitions:
        raise ObservationError(f"topic {topic['name']} is being made or deleted; look again in a while")
    return ObservedTopic(
        topic["name"],
        tuple(tuple(partition["replica_nodes"]) for partition in partitions),
        tuple(partition["leader_id"] for partition in partitions),
    )


def _measured(
    topic: ObservedTopic, starts: _Offsets, first: _Sample, last: _Sample | None, application_id: str
) -> ObservedTopic:
    """A partition without a leader has no records to be read: offsets 0, nothing written."""
    partitions = [TopicPartition(topic.name, number) for number in range(len(topic.replicas))]
    sizes = tuple(first.sizes[each] for each in partitions if each in first.sizes)
    told = tuple(starts.get(each, 0) for each in partitions)
    begins: tuple[int, ...] | None = told
    if is_purged_topic(topic.name, application_id) and any(told):
        begins = None if last is None else _starts_on_disk(partitions, starts, first, last)
    return ObservedTopic(
        topic.name,
        topic.replicas,
        topic.leaders,
        sizes if len(sizes) == len(partitions) else None,
        begins,
        tuple(first.ends.get(each, 0) for each in partitions),
        None if last is None else tuple(last.records_per_s(first, each) for each in partitions),
    )


def _starts_on_disk(
    partitions: Sequence[TopicPartition], starts: _Offsets, first: _Sample, last: _Sample
) -> tuple[int, ...] | None:
    """The first offsets whose records take room; None if no record came that would tell.

    Kafka Streams purges what it has read of repartition topics, but segments with purged records stay on disk until
    they are full. So sizes go with earlier offsets; with which ones follows from how large records are that came.
    """
    records = sum(last.ends.get(each, 0) - first.ends.get(each, 0) for each in partitions)
    size = sum(last.sizes.get(each, 0) - first.sizes.get(each, 0) for each in partitions)
    if records <= 0 or size <= 0:
        return None
    held = {each: round(first.sizes.get(each, 0) * records / size) for each in partitions}
    return tuple(min(starts.get(each, 0), max(0, first.ends.get(each, 0) - held[each])) for each in partitions)


def _sizes(topics: Iterable[ObservedTopic], log_dirs: Sequence[AdminResponse]) -> dict[TopicPartition, int]:
    """What the leader's replica holds on disk; that of the largest replica where the leader did not tell."""
    told: dict[TopicPartition, dict[int, int]] = {}
    for broker, partition, size in _replicas(log_dirs):
        told.setdefault(partition, {})[broker] = size
    leaders = _leaders(topics)
    return {
        partition: held.get(leaders[partition], max(held.values()))
        for partition, held in told.items()
        if partition in leaders
    }


def _replicas(log_dirs: Sequence[AdminResponse]) -> Iterator[tuple[int, TopicPartition, int]]:
    for answer in log_dirs:
        for directory in answer["log_dirs"]:
            for topic in directory["topics"]:
                for replica in topic["partitions"]:
                    if not replica["is_future_key"]:
                        partition = TopicPartition(topic["name"], replica["partition_index"])
                        yield answer["broker"], partition, replica["partition_size"]


def _assumptions(topics: Sequence[ObservedTopic]) -> Iterator[str]:
    unsized = [topic.name for topic in topics if topic.size_bytes is None]
    if unsized:
        yield f"No broker told the sizes of {', '.join(unsized)} (that takes Describe on the cluster)."
    unled = [
        f"{topic.name}-{number}"
        for topic in topics
        for number, leader in enumerate(topic.leaders)
        if leader == _NO_LEADER
    ]
    if unled:
        yield f"These partitions have no leader; they are taken to be empty: {', '.join(unled)}."
