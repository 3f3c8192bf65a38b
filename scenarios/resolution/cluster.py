"""Resolve the cluster: brokers, topics and their partitions, with the rates and sizes of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from assignors.model.ids import TopicPartition
from scenarios.kafka.formats.broker_list import parse_broker_list
from scenarios.kafka.formats.topics import DescribedTopic, parse_partition_sizes, parse_topics
from scenarios.language.application_entries import RepartitionEntry, StoreEntry
from scenarios.language.cluster_entries import (
    RACK_AWARE_SELECTOR,
    ClusterFiles,
    ClusterSection,
    PartitionDefaults,
    TopicEntry,
    parse_topic_configs,
)
from scenarios.language.errors import Mistake, Mistakes, format_list, format_value
from scenarios.language.fields import invalid_entries, valid_entries
from scenarios.language.paths import ScenarioPath
from scenarios.language.releases import NEWEST, parse_release
from scenarios.language.validation import SourceMap
from scenarios.references import CLUSTER, Brokers, ImportedContent, ImportedFiles, PartitionBudget, resolve_brokers
from scenarios.sampling.blueprint import MAX_PARTITIONS, TopicBlueprint
from simulator.plurals import counted
from simulator.world.world import NO_LEADER, Controller


@dataclass(frozen=True, slots=True)
class StatedTraffic:
    """The traffic that a scenario sets for a topic, as a whole or per partition; None where it sets nothing.

    `path`: the path of the topic in the scenario.
    """

    path: ScenarioPath
    bytes_per_s: int | list[int] | None
    size: int | list[int] | None
    record_size: int | None

    @classmethod
    def of(cls, entry: TopicEntry | RepartitionEntry | StoreEntry, path: ScenarioPath) -> StatedTraffic:
        """Return the traffic that the entry at this path sets."""
        return cls(path, entry.bytes_per_s, entry.size, entry.record_size)

    @property
    def keys(self) -> frozenset[str]:
        """Return the keys that are set."""
        stated = {"bytes_per_s": self.bytes_per_s, "size": self.size, "record_size": self.record_size}
        return frozenset(key for key, value in stated.items() if value is not None)


def split_evenly(total: int, num_partitions: int) -> tuple[int, ...]:
    """Split a total evenly over partitions; the first ones get the remainder."""
    quotient, remainder = divmod(total, num_partitions)
    return (quotient + 1,) * remainder + (quotient,) * (num_partitions - remainder)


def _resolve_values(
    num_partitions: int,
    value: int | list[int] | None,
    base: tuple[int, ...],
    path: ScenarioPath,
    source_map: SourceMap,
) -> tuple[int, ...]:
    if value is None:
        return base
    if isinstance(value, int):
        return split_evenly(value, num_partitions)
    if len(value) != num_partitions:
        partitions = counted(num_partitions, "partition")
        source_map.add_mistake(path, f"{counted(len(value), 'value')}, but the topic has {partitions}")
        return base
    return tuple(value)


_Described = ImportedContent[tuple[DescribedTopic, ...]]
_Sizes = ImportedContent[Mapping[TopicPartition, int]]

_PERIODIC_CHECKS_SINCE: Final = (4, 0)
"""The first release whose controller elects preferred leaders at fixed intervals."""
_ELIGIBLE_REPLICAS_SINCE: Final = (4, 1)
_ENDS_WITH_NEW_REPLICAS_SINCE: Final = (4, 3)
"""The first release in which new clusters have eligible leader replicas (KIP-966)."""


@dataclass(slots=True)
class ResolvedCluster:
    """The resolved cluster.

    `topics`: the valid ones, by name. `all_names`: those of all topics, also invalid ones; None if not all are known.
    `imported`: the names of the imported topics. `budget`: the partitions and replicas that can still be added.
    """

    section: ClusterSection
    brokers: Brokers
    topics: dict[str, TopicBlueprint]
    all_names: frozenset[str] | None
    imported: frozenset[str]
    budget: PartitionBudget

    @property
    def reads_from_nearest_replica(self) -> bool:
        """Return whether consumers fetch from a replica in their rack."""
        return self.section.configs.replica_selector_class == RACK_AWARE_SELECTOR

    @property
    def states_default_factor(self) -> bool:
        """Return whether the scenario sets `default.replication.factor`."""
        return "default_replication_factor" in self.section.configs.model_fields_set

    @property
    def controller(self) -> Controller:
        """Return how the controller of the brokers' release elects leaders, and ends reassignments."""
        configs, release = self.section.configs, parse_release(self.section.kafka or NEWEST)
        interval_ms = configs.leader_check_interval_s * 1_000 if configs.auto_leader_rebalance else None
        return Controller(
            interval_ms,
            checks_periodically=release >= _PERIODIC_CHECKS_SINCE,
            keeps_eligible_replicas=release >= _ELIGIBLE_REPLICAS_SINCE,
            waits_for_kept_replicas=release < _ENDS_WITH_NEW_REPLICAS_SINCE,
        )


def resolve_cluster(
    section: ClusterSection, files: ImportedFiles, source_map: SourceMap, mistakes: Mistakes
) -> ResolvedCluster:
    """Resolve the cluster, and report mistakes to `source_map` and `mistakes`."""
    file_names = section.files or ClusterFiles()
    described = files.read((*CLUSTER, "from", "topics"), file_names.topics, parse_topics)
    racks = files.read((*CLUSTER, "from", "brokers"), file_names.brokers, parse_broker_list)
    sizes = files.read((*CLUSTER, "from", "log_dirs"), file_names.log_dirs, parse_partition_sizes)
    brokers = resolve_brokers(section, racks, described, source_map)
    budget = PartitionBudget(source_map)
    topics = _import(section, brokers, described, sizes, budget, mistakes)
    imported = frozenset(topic.name for topic in described.content) if described is not None else frozenset()
    draft = ResolvedCluster(section, brokers, topics, _all_names(section, imported, source_map), imported, budget)
    if described is None and file_names.log_dirs is not None and source_map.is_valid(*CLUSTER, "from"):
        source_map.add_mistake((*CLUSTER, "from", "log_dirs"), "applies to imported topics only; set from.topics, too")
    _add_entries(draft, source_map)
    return draft


def _all_names(section: ClusterSection, imported: frozenset[str], source_map: SourceMap) -> frozenset[str] | None:
    invalid_names = [entry.name for entry in invalid_entries(section.topics)]
    is_known = source_map.is_valid(*CLUSTER, "from", "topics") and all(invalid_names)
    if not is_known or (not section.topics and not source_map.is_valid(*CLUSTER, "topics")):
        return None
    given = [entry.name for _, entry in valid_entries(section.topics)]
    return frozenset([*imported, *given, *(name for name in invalid_names if name)])


def _import(
    section: ClusterSection,
    brokers: Brokers,
    described: _Described | None,
    sizes: _Sizes | None,
    budget: PartitionBudget,
    mistakes: Mistakes,
) -> dict[str, TopicBlueprint]:
    topics: dict[str, TopicBlueprint] = {}
    if described is None:
        return topics
    for topic in described.content:
        unknown = {broker for replicas in topic.replicas for broker in replicas} - set(brokers.ids)
        if unknown and brokers.known is not None:
            replicas = f"topic '{topic.name}' has replicas on broker {min(unknown)}"
            message = f"{replicas}, which does not exist ({format_list('brokers', brokers.ids)})"
            mistakes.add(Mistake(described.source, topic.line, "", message))
            break
        if not budget.reserve(len(topic.replicas), max(map(len, topic.replicas))):
            break
        try:
            topics[topic.name] = _imported(topic, sizes, section)
        except ValueError as error:
            mistakes.add(Mistake(described.source, topic.line, "", f"topic '{topic.name}': {error}"))
            break
    return topics


def _imported(topic: DescribedTopic, sizes: _Sizes | None, section: ClusterSection) -> TopicBlueprint:
    """Return an imported topic."""
    count = len(topic.replicas)
    plan = make_topic(topic.name, count, max(map(len, topic.replicas)), section.partition_defaults)
    if sizes is not None:
        partitions = [TopicPartition(topic.name, partition) for partition in range(count)]
        known = zip(partitions, plan.size_bytes, strict=True)
        plan = replace(plan, size_bytes=tuple(sizes.content.get(partition, size) for partition, size in known))
        if any(partition in sizes.content for partition in partitions):
            plan = replace(plan, stated_keys=frozenset(["size"]))
    parse_topic_configs(topic.configs)
    return replace(
        plan,
        replicas=topic.replicas,
        leaders=topic.leaders,
        in_sync=tuple(isr or replicas for isr, replicas in zip(topic.in_sync, topic.replicas, strict=True)),
        configs=topic.configs,
        topic_id=topic.topic_id,
    )


def make_topic(name: str, count: int, factor: int, defaults: PartitionDefaults) -> TopicBlueprint:
    """Return a topic with `count` partitions with default traffic, whose replicas are not placed yet."""
    rates, sizes = (defaults.bytes_per_s,) * count, (defaults.size,) * count
    return TopicBlueprint(name, count, factor, rates, sizes, defaults.record_size)


def with_stated_traffic(plan: TopicBlueprint, stated: StatedTraffic, source_map: SourceMap) -> TopicBlueprint:
    """Return the topic with the rates and sizes that the scenario sets."""
    rates, sizes = (*stated.path, "bytes_per_s"), (*stated.path, "size")
    return replace(
        plan,
        bytes_per_s=_resolve_values(plan.num_partitions, stated.bytes_per_s, plan.bytes_per_s, rates, source_map),
        size_bytes=_resolve_values(plan.num_partitions, stated.size, plan.size_bytes, sizes, source_map),
        record_bytes=plan.record_bytes if stated.record_size is None else stated.record_size,
        stated_keys=plan.stated_keys | stated.keys,
    )


def _add_entries(draft: ResolvedCluster, source_map: SourceMap) -> None:
    seen: dict[str, int] = {}
    for i, entry in valid_entries(draft.section.topics):
        path = (*CLUSTER, "topics", i)
        if entry.name in seen:
            source_map.add_mistake(
                (*path, "name"), f"{format_value(entry.name)} is also the name of topics[{seen[entry.name]}]"
            )
            continue
        seen[entry.name] = i
        plan = _with_leaders(_topic_of_entry(draft, entry, path, source_map), entry, path, source_map)
        if plan is None:
            draft.topics.pop(entry.name, None)
            source_map.mark_invalid(path)
        else:
            configs, topic_id = {**plan.configs, **entry.configs.to_kafka()}, entry.id or plan.topic_id
            plan = replace(plan, configs=configs, topic_id=topic_id)
            draft.topics[entry.name] = with_stated_traffic(plan, StatedTraffic.of(entry, path), source_map)


def _topic_of_entry(
    draft: ResolvedCluster, entry: TopicEntry, path: ScenarioPath, source_map: SourceMap
) -> TopicBlueprint | None:
    """Return the topic of an entry; missing values are those of the imported topic, or else Kafka's defaults."""
    imported = draft.topics.get(entry.name)
    if not source_map.is_valid(*path, "partitions") or not source_map.is_valid(*path, "replicas"):
        return None
    if entry.replicas is not None:
        return _topic_with_replicas(draft, entry, entry.replicas, path, source_map)
    if imported is not None and entry.partitions is None and entry.replication_factor is None:
        return imported
    configs = draft.section.configs
    count = entry.partitions or (imported.num_partitions if imported else configs.num_partitions)
    factor = entry.replication_factor or (
        imported.replication_factor if imported else configs.default_replication_factor
    )
    if count > MAX_PARTITIONS:
        source_map.add_mistake(
            (*path, "partitions"), f"{count:,} is too large (maximum {MAX_PARTITIONS:,} in a cluster)"
        )
        return None
    if not draft.budget.reserve(count, factor) or not draft.brokers.check_placement(
        factor, (*path, "replication_factor")
    ):
        return None
    plan = make_topic(entry.name, count, factor, draft.section.partition_defaults)
    is_stated = entry.replication_factor is not None or imported is not None or draft.states_default_factor
    return replace(plan, has_default_factor=not is_stated)


def _with_leaders(
    plan: TopicBlueprint | None, entry: TopicEntry, path: ScenarioPath, source_map: SourceMap
) -> TopicBlueprint | None:
    """Return the topic with the leaders of its entry."""
    if plan is None or entry.leaders is None:
        return plan
    leaders_path = (*path, "leaders")
    if plan.replicas is None:
        source_map.add_mistake(leaders_path, "leaders need replicas; set replicas, too")
        return plan
    if len(entry.leaders) != plan.num_partitions:
        source_map.add_mistake(
            leaders_path,
            f"{counted(len(entry.leaders), 'leader')}, but the topic has {counted(plan.num_partitions, 'partition')}",
        )
        return plan
    for i, (leader, replicas) in enumerate(zip(entry.leaders, plan.replicas, strict=True)):
        if leader != NO_LEADER and leader not in replicas:
            source_map.add_mistake(
                (*leaders_path, i), f"{leader} is not a replica of the partition ({format_list('replicas', replicas)})"
            )
    return replace(plan, leaders=tuple(entry.leaders))


def _topic_with_replicas(
    draft: ResolvedCluster, entry: TopicEntry, replicas: list[list[int]], path: ScenarioPath, source_map: SourceMap
) -> TopicBlueprint | None:
    are_valid = [draft.brokers.check_ids(brokers, (*path, "replicas", i)) for i, brokers in enumerate(replicas)]
    if entry.partitions is not None and entry.partitions != len(replicas):
        source_map.add_mistake(
            (*path, "replicas"),
            f"{counted(len(replicas), 'replica list')}, but the topic has {counted(entry.partitions, 'partition')}",
        )
        return None
    factor = max(map(len, replicas))
    if entry.replication_factor not in (None, factor):
        source_map.add_mistake((*path, "replication_factor"), f"{entry.replication_factor}, but replicas has {factor}")
    if not all(are_valid):
        return None
    plan = make_topic(entry.name, len(replicas), factor, draft.section.partition_defaults)
    return replace(plan, replicas=tuple(map(tuple, replicas)))
