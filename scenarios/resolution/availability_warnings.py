"""Warnings about the availability of topics: out-of-sync replicas, and writes that can never succeed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from assignors.model.configs import RackAwareStrategy
from scenarios.language.errors import format_list
from scenarios.language.fields import valid_entries
from scenarios.language.paths import ScenarioPath
from scenarios.language.schema import ScenarioDocument
from scenarios.language.topic_configs import parse_topic_configs
from scenarios.language.units import format_duration
from scenarios.language.validation import SourceMap
from scenarios.resolution.assignors import AssignorSpec
from scenarios.resolution.brokers import CLUSTER
from scenarios.resolution.cluster import ResolvedCluster
from scenarios.sampling.blueprint import Blueprint, TopicBlueprint, TopicDefaults
from scenarios.sampling.event_plans import BrokerUpgradePlan
from simulator.brokers.replication_progress import catch_up_ms, catches_up_within, lagging_brokers
from simulator.world.disturbances import BrokerBounce, TrafficChange

_FAILURES: Final = ("broker_bounce", "broker_loss", "rack_outage", "upgrade")
_LONGEST_PAUSE_MS: Final = 24 * 3_600_000
"""The longest time to wait for replicas that catch up."""


def warn_about_availability(topics: Iterable[TopicBlueprint], defaults: TopicDefaults, source_map: SourceMap) -> None:
    """Warn about out-of-sync replicas, and about topics with fewer replicas than `min.insync.replicas`."""
    topics = list(topics)
    out_of_sync = [
        f"{plan.name}-{number} (broker {', '.join(str(broker) for broker in replicas if broker not in in_sync)})"
        for plan in topics
        for number, (replicas, in_sync) in enumerate(zip(plan.replicas or (), plan.in_sync or (), strict=False))
        if set(replicas) - set(in_sync)
    ]
    if out_of_sync:
        label = "replicas that are out of sync until their broker restarts during the run"
        source_map.add_warning(CLUSTER, format_list(label, out_of_sync, max_names=4))
    under_replicated = [
        plan.name
        for plan in topics
        if plan.replication_factor
        < (parse_topic_configs(plan.configs).min_insync_replicas or defaults.min_insync_replicas)
    ]
    if under_replicated:
        label = "topics with fewer replicas than min.insync.replicas, which reject writes with acks=all"
        source_map.add_warning(CLUSTER, format_list(label, under_replicated, max_names=4))


def warn_about_default_factor(
    document: ScenarioDocument,
    cluster: ResolvedCluster,
    topics: Iterable[str],
    assignors: Sequence[AssignorSpec],
    source_map: SourceMap,
) -> None:
    """Warn about topics with one replica because nothing states their replication factor, where it decides something.

    It decides which failures of brokers stop tasks, and which partitions rack-aware assignors count as cross-rack.

    Args:
        document: the parsed scenario, which is valid.
        cluster: its cluster.
        topics: the topics that the application or the group uses.
        assignors: the assignors to compare.
        source_map: collects the warnings.
    """
    configs = cluster.section.configs
    fails = any(getattr(event, kind) is not None for _, event in valid_entries(document.events) for kind in _FAILURES)
    is_rack_aware = any(spec.configs.rack_aware_assignment_strategy is not RackAwareStrategy.NONE for spec in assignors)
    decides = len(cluster.brokers.known or ()) > 1 and (fails or is_rack_aware)
    if "default_replication_factor" in configs.model_fields_set or not decides:
        return
    stated = {
        entry.name: entry.replication_factor is not None or entry.replicas is not None
        for _, entry in valid_entries(cluster.section.topics)
    }
    of_streams = document.application.configs.replication_factor != -1
    defaulted = [topic for topic in topics if topic not in cluster.imported and not stated.get(topic, of_streams)]
    if defaulted:
        label = "default.replication.factor is not set (Kafka's default: 1), so these topics have one replica"
        names = format_list(label, defaulted, max_names=3)
        source_map.add_warning(
            (*CLUSTER, "configs"),
            f"{names}; any broker's failure stops tasks, and few clients have a replica in their rack",
        )


def warn_about_replication(
    blueprint: Blueprint, seed: int, paths: Mapping[int, ScenarioPath], source_map: SourceMap
) -> None:
    """Warn about replicas that cannot keep up with what is produced, and about restarts that do not wait for replicas.

    Args:
        blueprint: a valid blueprint.
        seed: the seed to check; it places the replicas.
        paths: the paths of the restarts in the scenario, by time.
        source_map: collects the warnings.
    """
    traffic = [event for event in blueprint.events if isinstance(event, TrafficChange)]
    if not any(change.at_ms == 0 for change in traffic):
        traffic.append(TrafficChange(0, 1.0))
    copied = max(change.factor for change in traffic) * sum(
        (topic.replication_factor - 1) * max(map(sum, (topic.bytes_per_s, *topic.hourly_bytes_per_s)))
        for topic in blueprint.topics
    )
    may_lag = copied > min((broker.replication_bytes_per_s for broker in blueprint.brokers), default=0)
    restarts = [event for event in blueprint.events if isinstance(event, BrokerBounce | BrokerUpgradePlan)]
    restarts = [event for event in restarts if len(event.brokers) > 1]
    if not may_lag and not restarts:
        return
    application = blueprint.application
    undisturbed = replace(blueprint, events=())
    world = undisturbed.world(seed, application.assignment_configs, application.group_configs.protocol)
    if lagging := lagging_brokers(world, traffic) if may_lag else ():
        label = "brokers that replicate less than is produced for their replicas, which leave the in-sync set"
        source_map.add_warning((*CLUSTER, "brokers"), format_list(label, lagging, max_names=6))
    for event in restarts:
        if catches_up_within(world, event.down_ms, event.pause_ms):
            continue
        shortest_ms = catch_up_ms(world, event.brokers, event.down_ms, _LONGEST_PAUSE_MS)
        if shortest_ms is not None and shortest_ms <= event.pause_ms:
            continue
        problem = "each broker stops before the replicas of the one before it are in sync again"
        pause = "no pause within a day suffices"
        if shortest_ms is not None:
            pause = f"the shortest pause that suffices is {format_duration(-(-shortest_ms // 1_000) * 1_000)}"
        source_map.add_warning((*paths[event.at_ms], "pause"), f"{problem}; {pause}")
