"""Warnings of topics before a run: replicas that are out of sync, writes that can never succeed."""

from __future__ import annotations

from collections.abc import Iterable

from scenarios.language.errors import format_list
from scenarios.language.topic_configs import parse_topic_configs
from scenarios.language.validation import SourceMap
from scenarios.resolution.brokers import CLUSTER
from scenarios.sampling.blueprint import TopicBlueprint, TopicDefaults


def warn_about_availability(topics: Iterable[TopicBlueprint], defaults: TopicDefaults, source_map: SourceMap) -> None:
    """Warn of partitions with replicas out of sync, and of topics with too few replicas to be written."""
    known = list(topics)
    behind = [
        f"{plan.name}-{number} (broker {', '.join(str(broker) for broker in replicas if broker not in in_sync)})"
        for plan in known
        for number, (replicas, in_sync) in enumerate(zip(plan.replicas or (), plan.in_sync or (), strict=False))
        if set(replicas) - set(in_sync)
    ]
    if behind:
        what = "replicas out of sync at the start, until a broker comes back during the run"
        source_map.add_warning(CLUSTER, format_list(what, behind, most=4))
    short = [
        plan.name
        for plan in known
        if plan.replication_factor
        < (parse_topic_configs(plan.configs).min_insync_replicas or defaults.min_insync_replicas)
    ]
    if short:
        what = "topics with fewer replicas than min.insync.replicas, which refuse writes with acks=all"
        source_map.add_warning(CLUSTER, format_list(what, short, most=4))
