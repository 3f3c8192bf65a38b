"""Read a cluster as input of replica assignors.

The source is a running cluster, a scenario, a reassignment JSON of `kafka-reassign-partitions.sh`, or the output of
`kafka-topics.sh --describe`; the format of a text is detected.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np

from assignors.model.ids import TopicPartition
from assignors.replicas.retention import parse_retention
from assignors.replicas.state import NO_BROKER, BrokerState, ClusterState, TopicRetention
from scenarios.events.partition_reassignment import to_replica_broker
from scenarios.kafka.formats.broker_list import ListedBroker, parse_broker_list
from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.reassignment import ANY_LOG_DIR, parse_reassignment
from scenarios.kafka.formats.topics import DescribedTopic, parse_partition_sizes, parse_topics
from scenarios.kafka.live.topics import describe_cluster
from scenarios.kafka.plan_files import LogDirs
from scenarios.language.errors import Mistake, ScenarioError, format_list
from scenarios.language.text_files import MAX_IMPORT_BYTES, UnreadableError, read_text
from scenarios.load import load, loads
from scenarios.resolution.measured_traffic import read_measured_traffic
from simulator.plurals import counted
from simulator.world.world import Cluster

T = TypeVar("T")
PartitionKey = tuple[str, int]

_ASSIGNMENT = re.compile(r'"version"\s*:|"partitions"\s*:\s*\[')
_DESCRIPTION = re.compile(r"^\s*Topic:.*\b(PartitionCount|Partition):", re.MULTILINE)
_SCENARIO = re.compile(r"""^[\s{]*["']?(name|cluster|application|clients)["']?\s*:""", re.MULTILINE)
_PROPOSED = "Proposed partition reassignment configuration"


@dataclass(frozen=True, slots=True)
class LoadedCluster:
    """A cluster that was read from a file, or is running.

    `remarks`: notes for the user on missing or unusual data. `log_dirs`: the log directories that a reassignment names.
    """

    source: str
    state: ClusterState
    remarks: tuple[str, ...]
    log_dirs: LogDirs = field(default_factory=dict)


@dataclass(slots=True)
class _ClusterDraft:
    """A cluster while its files are read; None where data is unknown."""

    replicas: dict[PartitionKey, tuple[int, ...]]
    leaders: dict[PartitionKey, int] = field(default_factory=dict)
    brokers: tuple[BrokerState, ...] | None = None
    sizes: Mapping[PartitionKey, int] | None = None
    rates: Mapping[PartitionKey, int | None] | None = None
    retention: Mapping[str, TopicRetention | None] | None = None
    in_sync: Mapping[PartitionKey, tuple[int, ...]] | None = None
    log_dirs: LogDirs = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    lines: Mapping[str, int | None] = field(default_factory=dict)
    """The line of each topic in the source."""


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

    Raises ScenarioError if a file is invalid, or the files are inconsistent.

    Args:
        source: the name of the text in messages.
        path: the file of the text, to resolve the imports of a scenario; None if there is no file.
        brokers: a file with the brokers, which replaces those of the description.
        log_dirs: output of `kafka-log-dirs.sh --describe`; its sizes replace those of a scenario.
        rates: the directory that `assignor-sim ingest` wrote; daily mean rates replace those of a scenario.
        seed: the seed for replica placement in a scenario; None for the scenario's first.
    """
    return _loaded(source, _read(source, text, path, seed), brokers, log_dirs, rates)


def read_running_cluster(
    bootstrap: str,
    properties: Mapping[str, str],
    *,
    brokers: Path | None = None,
    log_dirs: Path | None = None,
    rates: Path | None = None,
) -> LoadedCluster:
    """Read a running cluster, without changing it.

    `bootstrap`: `host:port` of some brokers, separated by commas. `properties`: connection properties, in the format of
    Kafka's tools. `brokers`: a file with the brokers, which replaces those of the cluster; for capacities. `log_dirs`:
    output of `kafka-log-dirs.sh --describe`, if the cluster does not show sizes. Raises ScenarioError if a file is
    invalid, or a reassignment is in progress.
    """
    described = describe_cluster(bootstrap, properties)
    source = f"cluster {bootstrap}"
    draft = _described(source, described.topics)
    draft.brokers = tuple(map(_broker, described.brokers))
    draft.sizes = (
        None
        if described.sizes is None
        else {(topic, number): size for (topic, number), size in described.sizes.items()}
    )
    draft.remarks.extend(described.remarks)
    if brokers is None:
        down = _unknown_brokers(draft)
        if down:
            draft.remarks.append(f"assumed decommissioned, as they are down: {', '.join(map(str, down))} (broker ids)")
    return _loaded(source, draft, brokers, log_dirs, rates)


def _loaded(
    source: str, draft: _ClusterDraft, brokers: Path | None, log_dirs: Path | None, rates: Path | None
) -> LoadedCluster:
    """Return the cluster of a draft, with data of further files."""
    _check_leaders(source, draft)
    if brokers is not None:
        listed = read_tool_output(brokers, parse_broker_list)
        draft.brokers = tuple(map(_broker, listed))
        if unknown := _unknown_brokers(draft):
            listed_unknown = format_list("brokers", unknown)
            draft.remarks.append(f"{listed_unknown} hold replicas but are not in {brokers}; assumed decommissioned")
    if log_dirs is not None:
        draft.sizes = _sizes(draft, log_dirs)
    if rates is not None:
        draft.rates = _rates(draft, rates)
    if draft.brokers is None:
        broker_ids = sorted({broker for ids in draft.replicas.values() for broker in ids})
        draft.brokers = tuple(map(BrokerState, broker_ids))
        draft.remarks.append("racks and brokers without replicas are unknown; set --brokers FILE")
    return LoadedCluster(source, _state(draft), tuple(draft.remarks), draft.log_dirs)


def to_cluster_state(cluster: Cluster) -> ClusterState:
    """Convert the cluster of a world; sizes and rates are unknown if all of them are 0."""
    return _state(_draft_of(cluster))


def _state(draft: _ClusterDraft) -> ClusterState:
    return ClusterState.of(
        draft.brokers or (),
        draft.replicas,
        leaders=draft.leaders,
        size_bytes=draft.sizes,
        bytes_per_s=draft.rates,
        retention=draft.retention,
        in_sync=draft.in_sync,
    )


def _read(source: str, text: str, path: Path | None, seed: int | None) -> _ClusterDraft:
    if _ASSIGNMENT.search(text):
        # The output of --generate holds the current assignment first, then the proposed one; use the current one.
        current = text.partition(_PROPOSED)[0]
        plan = _parse(source, current if "{" in current else text, parse_reassignment)
        return _ClusterDraft(
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
        message = (
            "not a scenario, not JSON of kafka-reassign-partitions.sh, and not output of kafka-topics.sh --describe"
        )
        raise ScenarioError([Mistake(source, None, "", message)])
    scenario = loads(text, source) if path is None else load(path)
    return _draft_of(scenario.world(scenario.seeds[0] if seed is None else seed).cluster)


def _draft_of(cluster: Cluster) -> _ClusterDraft:
    rows = [
        ((topic.name, partition), topic, partition)
        for topic in cluster.topics.values()
        for partition in range(topic.num_partitions)
    ]
    sizes = {key: topic.size_bytes[partition] for key, topic, partition in rows}
    rates = {key: topic.bytes_per_s[partition] if topic.has_rates else None for key, topic, partition in rows}
    return _ClusterDraft(
        replicas={key: topic.replicas[partition] for key, topic, partition in rows},
        leaders={key: topic.leaders[partition] for key, topic, partition in rows},
        brokers=tuple(map(to_replica_broker, cluster.brokers)),
        sizes=sizes if any(sizes.values()) else None,
        rates=None if all(rate is None for rate in rates.values()) else rates,
        retention={topic.name: topic.retention for topic in cluster.topics.values()},
    )


def _described(source: str, topics: tuple[DescribedTopic, ...]) -> _ClusterDraft:
    draft = _ClusterDraft({}, lines={topic.name: topic.line for topic in topics})
    draft.retention = {topic.name: _retention(source, topic) for topic in topics}
    draft.in_sync = {
        (topic.name, partition): in_sync for topic in topics for partition, in_sync in enumerate(topic.in_sync)
    }
    lagging = 0
    for topic in topics:
        if topic.moving:
            message = f"{topic.name}-{topic.moving[0]} is being reassigned; describe it again after the reassignment"
            raise ScenarioError([Mistake(source, topic.line, "", message)])
        for partition, replicas in enumerate(topic.replicas):
            key = topic.name, partition
            draft.replicas[key], draft.leaders[key] = replicas, topic.leaders[partition]
            lagging += not set(replicas) <= set(topic.in_sync[partition])
    if lagging:
        draft.remarks.append(f"{counted(lagging, 'partition has', 'partitions have')} out-of-sync replicas")
    return draft


def _retention(source: str, topic: DescribedTopic) -> TopicRetention:
    """Return the retention of a topic; the tool prints every config that differs from Kafka's defaults.

    Raises ScenarioError if a config is invalid.
    """
    try:
        return parse_retention(topic.configs)
    except ValueError as error:
        raise ScenarioError([Mistake(source, topic.line, "", f"topic '{topic.name}': {error}")]) from None


def _check_leaders(source: str, draft: _ClusterDraft) -> None:
    for (topic, partition), leader in draft.leaders.items():
        replicas = draft.replicas[topic, partition]
        if leader not in (*replicas, NO_BROKER):
            message = f"{topic}-{partition}: leader {leader} is not a replica ({format_list('replicas', replicas)})"
            raise ScenarioError([Mistake(source, draft.lines.get(topic), "", message)])


def _broker(listed: ListedBroker) -> BrokerState:
    return BrokerState(listed.id, listed.rack, listed.capacity_bytes, listed.capacity_bytes_per_s)


def _unknown_brokers(draft: _ClusterDraft) -> list[int]:
    """Return the ids of the brokers that hold replicas but are not among the brokers, sorted."""
    known = {broker.id for broker in draft.brokers or ()}
    return sorted({broker for ids in draft.replicas.values() for broker in ids} - known)


def _sizes(draft: _ClusterDraft, path: Path) -> Mapping[PartitionKey, int]:
    """Return the sizes in a file, and the known sizes of other partitions.

    Raises ScenarioError if the file is invalid, or a partition has no size.
    """
    file_sizes = {
        (topic, partition): size for (topic, partition), size in read_tool_output(path, parse_partition_sizes).items()
    }
    sizes: dict[PartitionKey, int] = {**(draft.sizes or {}), **file_sizes}
    missing = next((key for key in draft.replicas if key not in sizes), None)
    if missing is not None:
        message = f"no size of {TopicPartition(*missing)}; the file must contain every partition"
        raise ScenarioError([Mistake(str(path), None, "", message)])
    return {key: sizes[key] for key in draft.replicas}


def _rates(draft: _ClusterDraft, folder: Path) -> Mapping[PartitionKey, int | None]:
    """Return the daily mean of measured rates, and the known rates of partitions without measurements.

    Raises ScenarioError if the folder is invalid.
    """
    topics = {topic for topic, _ in draft.replicas}
    try:
        measured, _ = read_measured_traffic(folder, "mean", topics)
    except FormatError as error:
        raise ScenarioError([Mistake(str(folder), error.line, "", str(error))]) from None
    known: dict[PartitionKey, int | None] = {**dict.fromkeys(draft.replicas), **(draft.rates or {})}
    for topic, measured_topic in measured.topics.items():
        for column, partition in enumerate(measured_topic.partitions.tolist()):
            daily_rates = measured_topic.bytes_per_s[:, column]
            if (topic, partition) in known and np.isfinite(daily_rates).any():
                known[topic, partition] = round(float(np.nanmean(daily_rates)))
    unmeasured = len([key for key in draft.replicas if known[key] is None])
    if unmeasured:
        draft.remarks.append(f"{counted(unmeasured, 'partition has', 'partitions have')} no rate in {folder}")
    return known


def read_tool_output(path: Path, parse: Callable[[str], T]) -> T:
    """Read and parse an output file of a Kafka tool.

    `parse`: the parser of the format. Returns the parsed content. Raises ScenarioError if the file cannot be read or
    has another format.
    """
    try:
        text = read_text(path, MAX_IMPORT_BYTES, f"longer than the maximum of {MAX_IMPORT_BYTES:,} bytes")
    except UnreadableError as error:
        raise ScenarioError([Mistake(str(path), error.line, "", str(error))]) from None
    return _parse(str(path), text, parse)


def _parse(source: str, text: str, parse: Callable[[str], T]) -> T:
    try:
        return parse(text)
    except FormatError as error:
        raise ScenarioError([Mistake(source, error.line, "", str(error))]) from None
