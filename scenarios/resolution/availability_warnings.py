"""Warnings about the availability of topics: out-of-sync replicas, and writes that can never succeed."""

from __future__ import annotations

from collections.abc import Iterable

from scenarios.language.errors import format_list
from scenarios.language.topic_configs import parse_topic_configs
from scenarios.language.validation import SourceMap
from scenarios.resolution.brokers import CLUSTER
from scenarios.sampling.blueprint import TopicBlueprint, TopicDefaults


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
