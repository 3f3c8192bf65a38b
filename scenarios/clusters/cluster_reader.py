"""A cluster from wherever it is described, as what replica assignors are told.

It is described by a scenario, by an assignment as `kafka-reassign-partitions.sh` takes and prints it, or by what
`kafka-topics.sh --describe` prints; the text tells which of them it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np

from assignors.model.ids import TopicPartition
from assignors.replicas.retention import parse_retention
from assignors.replicas.state import NO_BROKER, BrokerState, ClusterState, TopicRetention
from scenarios.kafka.formats.broker_list import ListedBroker, parse_broker_list
from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.log_dirs import parse_partition_sizes
from scenarios.kafka.formats.reassignment import ANY_LOG_DIR, parse_reassignment
from scenarios.kafka.formats.topics import DescribedTopic, parse_topics
from scenarios.kafka.plan_files.changes import LogDirs
from scenarios.language.errors import Mistake, ScenarioError, format_list
from scenarios.language.text_files import MAX_IMPORT_BYTES, UnreadableError, read_text
from scenarios.load import Scenario, load, loads
from scenarios.resolution.measured_traffic import read_measured_traffic
from scenarios.sampling.planned_reassignments import to_replica_broker
from simulator.world.world import Cluster

T = TypeVar("T")
PartitionKey = tuple[str, int]

_ASSIGNMENT = re.compile(r'"version"\s*:|"partitions"\s*:\s*\[')
_DESCRIPTION = re.compile(r"^\s*Topic:.*\b(PartitionCount|Partition):", re.MULTILINE)
_SCENARIO = re.compile(r"""^[\s{]*["']?(name|cluster|application|clients)["']?\s*:""", re.MULTILINE)
_PROPOSED = "Proposed partition reassignment configuration"


@dataclass(frozen=True, slots=True)
class LoadedCluster:
    """A cluster that was read.

    Attributes:
        source: what messages call the description.
        state: the cluster.
        remarks: what its reader should know: what was not said, or is not as it should be.
        log_dirs: the log directories that an assignment names.
    """

    source: str
    state: ClusterState
    remarks: tuple[str, ...]
    log_dirs: LogDirs = field(default_factory=dict)


@dataclass(slots=True)
class _Draft:
    replicas: dict[PartitionKey, tuple[int, ...]]
    leaders: dict[PartitionKey, int] = field(default_factory=dict)
    brokers: tuple[BrokerState, ...] | None = None
    sizes: Mapping[PartitionKey, int] | None = None
    rates: Mapping[PartitionKey, int | None] | None = None
    retention: Mapping[str, TopicRetention | None] | None = None
    in_sync: Mapping[PartitionKey, tuple[int, ...]] | None = None
    log_dirs: LogDirs = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    lines: Mapping[str, int] = field(default_factory=dict)
    """Where topics are described."""


def read_cluster(
    source: str,
    text: str,
    *,
    path: Path | None = None,
    brokers: Path | None = None,
    log_dirs: Path | None = None,
    rates: Path | None = None,
    seed: int | None = None,
) -> LoadedCluster:
    """Read a cluster.

    Args:
        source: what messages call the text.
        text: the description.
        path: the file that it is in, beside which a scenario's own files are looked for; None if there is none.
        brokers: a file with the brokers, in place of those that the description names.
        log_dirs: what `kafka-log-dirs.sh --describe` printed; its sizes take the place of a scenario's.
        rates: the directory that `assignor-sim ingest` wrote; the mean rate of a day replaces that of a scenario.
        seed: places the replicas of a scenario that leaves that open; its first one if None.

    Raises:
        ScenarioError: a file is not what it should be, or they do not fit together; says where.
    """
    draft = _read(source, text, path, seed)
    _check_leaders(source, draft)
    if brokers is not None:
        listed = read_tool_output(brokers, parse_broker_list)
        draft.brokers = tuple(map(_broker, listed))
        _remark_on_strangers(draft, str(brokers))
    if log_dirs is not None:
        draft.sizes = _sizes(draft, log_dirs)
    if rates is not None:
        draft.rates = _rates(draft, rates)
    if draft.brokers is None:
        everybody = sorted({broker for ids in draft.replicas.values() for broker in ids})
        draft.brokers = tuple(map(BrokerState, everybody))
        draft.remarks.append("racks are not known, nor brokers without replicas; --brokers FILE tells them")
    return LoadedCluster(source, _state(draft), tuple(draft.remarks), draft.log_dirs)


def to_cluster_state(cluster: Cluster) -> ClusterState:
    """The cluster of a world; sizes and rates are not known if all of them are 0."""
    return _state(_draft_of(cluster))


def _state(draft: _Draft) -> ClusterState:
    return ClusterState.of(
        draft.brokers or (),
        draft.replicas,
        leaders=draft.leaders,
        size_bytes=draft.sizes,
        bytes_per_s=draft.rates,
        retention=draft.retention,
        in_sync=draft.in_sync,
    )


def _read(source: str, text: str, path: Path | None, seed: int | None) -> _Draft:
    if _ASSIGNMENT.search(text):
        # Of what --generate prints the current assignment is meant, which stands first.
        current = text.partition(_PROPOSED)[0]
        plan = _parse(source, current if "{" in current else text, parse_reassignment)
        return _Draft(
            {(move.topic, move.partition): move.replicas for move in plan},
            log_dirs={
                (move.topic, move.partition): {
                    broker: log_dir
                    for broker, log_dir in zip(move.replicas, move.log_dirs, strict=True)
                    if log_dir != ANY_LOG_DIR
                }
                for move in plan
                if move.log_dirs
            },
        )
    if _DESCRIPTION.search(text):
        return _described(source, _parse(source, text, parse_topics))
    if not _SCENARIO.search(text):
        what = "no scenario, no JSON of kafka-reassign-partitions.sh, and not what kafka-topics.sh --describe prints"
        raise ScenarioError([Mistake(source, None, "", what)])
    scenario = loads(text, source) if path is None else load(path)
    return _draft_of(_cluster(scenario, seed))


def _cluster(scenario: Scenario, seed: int | None) -> Cluster:
    return scenario.world(scenario.seeds[0] if seed is None else seed).cluster


def _draft_of(cluster: Cluster) -> _Draft:
    rows = [
        ((topic.name, partition), topic, partition)
        for topic in cluster.topics.values()
        for partition in range(topic.num_partitions)
    ]
    sizes = {key: topic.size_bytes[partition] for key, topic, partition in rows}
    rates = {key: topic.bytes_per_s[partition] if topic.has_rates else None for key, topic, partition in rows}
    return _Draft(
        replicas={key: topic.replicas[partition] for key, topic, partition in rows},
        leaders={key: topic.leaders[partition] for key, topic, partition in rows},
        brokers=tuple(map(to_replica_broker, cluster.brokers)),
        sizes=sizes if any(sizes.values()) else None,
        rates=None if all(rate is None for rate in rates.values()) else rates,
        retention={topic.name: topic.retention for topic in cluster.topics.values()},
    )


def _described(source: str, topics: tuple[DescribedTopic, ...]) -> _Draft:
    draft = _Draft({}, lines={topic.name: topic.line for topic in topics})
    draft.retention = {topic.name: _retention(source, topic) for topic in topics}
    draft.in_sync = {
        (topic.name, partition): in_sync for topic in topics for partition, in_sync in enumerate(topic.in_sync)
    }
    lagging = 0
    for topic in topics:
        if topic.moving:
            what = f"{topic.name}-{topic.moving[0]} is being reassigned; wait until that is done, and describe it again"
            raise ScenarioError([Mistake(source, topic.line, "", what)])
        for partition, replicas in enumerate(topic.replicas):
            key = topic.name, partition
            draft.replicas[key], draft.leaders[key] = replicas, topic.leaders[partition]
            lagging += not set(replicas) <= set(topic.in_sync[partition])
    if lagging:
        draft.remarks.append(f"{lagging:,} partitions have replicas that are not in sync")
    return draft


def _retention(source: str, topic: DescribedTopic) -> TopicRetention:
    """Return the retention of a topic; the tool prints every config that differs from Kafka's defaults."""
    try:
        return parse_retention(topic.configs)
    except ValueError as error:
        raise ScenarioError([Mistake(source, topic.line, "", f"topic '{topic.name}': {error}")]) from None


def _check_leaders(source: str, draft: _Draft) -> None:
    for (topic, partition), leader in draft.leaders.items():
        replicas = draft.replicas[topic, partition]
        if leader not in (*replicas, NO_BROKER):
            what = f"{topic}-{partition}: leader {leader} has no replica of it ({format_list('replicas', replicas)})"
            raise ScenarioError([Mistake(source, draft.lines.get(topic), "", what)])


def _broker(listed: ListedBroker) -> BrokerState:
    return BrokerState(listed.id, listed.rack, listed.capacity_bytes, listed.capacity_bytes_per_s)


def _remark_on_strangers(draft: _Draft, source: str) -> None:
    known = {broker.id for broker in draft.brokers or ()}
    strangers = sorted({broker for ids in draft.replicas.values() for broker in ids} - known)
    if strangers:
        draft.remarks.append(
            f"{format_list('brokers', strangers)} hold replicas but are not in {source}; taken as gone"
        )


def _sizes(draft: _Draft, path: Path) -> Mapping[PartitionKey, int]:
    """The sizes in a file, and those already known for what it does not name."""
    found = {
        (topic, partition): size for (topic, partition), size in read_tool_output(path, parse_partition_sizes).items()
    }
    sizes: dict[PartitionKey, int] = {**(draft.sizes or {}), **found}
    missing = next(_without(draft, sizes), None)
    if missing is not None:
        what = f"no size of {TopicPartition(*missing)}; it should say that of every partition"
        raise ScenarioError([Mistake(str(path), None, "", what)])
    return {key: sizes[key] for key in draft.replicas}


def _rates(draft: _Draft, folder: Path) -> Mapping[PartitionKey, int | None]:
    """Return the mean rates measured over a day, and those already known for partitions that were not measured."""
    topics = {topic for topic, _ in draft.replicas}
    try:
        measured, _ = read_measured_traffic(folder, "mean", topics)
    except FormatError as error:
        raise ScenarioError([Mistake(str(folder), error.line, "", str(error))]) from None
    known: dict[PartitionKey, int | None] = {**dict.fromkeys(draft.replicas), **(draft.rates or {})}
    for topic, found in measured.topics.items():
        for place, partition in enumerate(found.partitions.tolist()):
            of_day = found.bytes_per_s[:, place]
            if (topic, partition) in known and np.isfinite(of_day).any():
                known[topic, partition] = round(float(np.nanmean(of_day)))
    unmeasured = len([key for key in draft.replicas if known[key] is None])
    if unmeasured:
        draft.remarks.append(f"{unmeasured:,} partitions have no rate in {folder}")
    return known


def _without(draft: _Draft, sizes: Mapping[PartitionKey, int]) -> Iterator[PartitionKey]:
    return (key for key in draft.replicas if key not in sizes)


def read_tool_output(path: Path, parse: Callable[[str], T]) -> T:
    """Read and parse a file that one of Kafka's tools wrote.

    Raises:
        ScenarioError: it cannot be read, or is something else; says where.
    """
    try:
        text = read_text(path, MAX_IMPORT_BYTES, f"longer than {MAX_IMPORT_BYTES:,} bytes")
    except UnreadableError as error:
        raise ScenarioError([Mistake(str(path), None, "", str(error))]) from None
    return _parse(str(path), text, parse)


def _parse(source: str, text: str, parse: Callable[[str], T]) -> T:
    try:
        return parse(text)
    except FormatError as error:
        raise ScenarioError([Mistake(source, error.line, "", str(error))]) from None
