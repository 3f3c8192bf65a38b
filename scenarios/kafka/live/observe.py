"""Looks at a running cluster and at a Kafka Streams application on it.

It only describes and lists: it joins no group, commits nothing and writes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from scenarios.kafka.live.admin_api import AdminApi, AdminResponse
from scenarios.kafka.live.client_properties import client_settings
from scenarios.kafka.live.running_group import RunningGroup, look_at_group
from scenarios.kafka.live.standbys import STANDBYS, count_standbys, with_standbys_level
from scenarios.kafka.live.topics import look_at_topics
from scenarios.kafka.observation.errors import ObservationError
from scenarios.kafka.observation.observation import Observation, ObservedBroker, ObservedTopic
from scenarios.language.broker_configs import BrokerConfigs


def observe_cluster(
    bootstrap: str,
    group: str,
    *,
    properties: Mapping[str, str] = {},
    seconds: float = 5.0,
    topology: str | None = None,
    configs: Mapping[str, str] = {},
    all_topics: bool = False,
) -> Observation:
    """Look at a cluster, and at an application that runs on it.

    Args:
        bootstrap: `host:port` of some brokers, with commas between them.
        group: the application's `application.id`.
        properties: how to connect, as Kafka's tools take it with `--command-config`.
        seconds: how long to measure what is written; no rates if 0.
        topology: what the application's `Topology.describe()` prints, if it is to be had.
        configs: the application's configs that are known; a cluster does not see most of them.
        all_topics: whether to look at all topics, not only at those of the application.

    Raises:
        ObservationError: the cluster cannot be reached or refuses to answer, or the group is not a settled one of
            Kafka Streams, or its changelogs cannot be told apart without a topology. Never with a password in it.
    """
    settings = client_settings(properties)
    try:
        from scenarios.kafka.live.connection import connect
    except ModuleNotFoundError as error:
        raise ObservationError(
            f"a running cluster is read with kafka-python ({error.name} is missing): pip install assignor-sim[kafka]"
        ) from None
    with connect(bootstrap, settings) as cluster:
        seen = observe(cluster, group, seconds=seconds, topology=topology, configs=configs, all_topics=all_topics)
    passed_over = f"Settings of the client that are not known here: {', '.join(settings.passed_over)}."
    return replace(
        seen,
        source=f"the cluster at {bootstrap}, {seen.source}",
        assumptions=(*([passed_over] if settings.passed_over else []), *seen.assumptions),
    )


def observe(
    cluster: AdminApi,
    group: str,
    *,
    seconds: float,
    topology: str | None,
    configs: Mapping[str, str],
    all_topics: bool,
) -> Observation:
    """The same of whatever answers like a cluster."""
    running = look_at_group(cluster, group, topology)
    measured = look_at_topics(cluster, _wanted(running, all_topics), seconds, group)
    brokers, broker_configs, of_brokers = _look_at_brokers(cluster, measured.topics)
    processes, of_copies = with_standbys_level(running, measured.topics)
    app_configs, of_standbys = {**running.configs, **configs}, tuple[str, ...]()
    if STANDBYS not in app_configs:
        app_configs[STANDBYS], of_standbys = count_standbys(running)
    return Observation(
        source=f"looked at on {time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime(running.seen_at_ms / 1000))}",
        brokers=brokers,
        topics=measured.topics,
        application_id=group,
        protocol=running.protocol,
        subtopologies=running.subtopologies,
        processes=processes,
        configs=app_configs,
        broker_configs={**broker_configs, **running.broker_configs},
        listed_members=running.listed_members,
        next_rebalance_ms=running.next_rebalance_ms,
        kafka_version=running.kafka_version,
        assumptions=(*running.assumptions, *measured.assumptions, *of_brokers, *of_copies, *of_standbys),
    )


def _wanted(running: RunningGroup, all_topics: bool) -> list[AdminResponse]:
    """The topics to look at, Kafka's own left out."""
    names = {
        topic
        for each in running.subtopologies
        for topic in (*each.sources, *each.changelogs.values(), *each.writes)
        if topic in running.topics
    }
    wanted = [running.topics[name] for name in (running.topics if all_topics else sorted(names))]
    return [topic for topic in wanted if not topic["is_internal"]]


def _look_at_brokers(
    cluster: AdminApi, topics: Sequence[ObservedTopic]
) -> tuple[tuple[ObservedBroker, ...], dict[str, str], list[str]]:
    """Brokers by id with those that only have replicas, the configs that matter, and what was assumed."""
    answers = cluster.brokers()
    brokers = {int(each["broker_id"]): ObservedBroker(int(each["broker_id"]), each["rack"] or None) for each in answers}
    up = sorted(int(each["broker_id"]) for each in answers if not each.get("is_fenced"))
    configs, assumptions = _broker_configs(cluster, up)
    gone = sorted({id for topic in topics for replicas in topic.replicas for id in replicas} - set(brokers))
    if gone:
        assumptions.append(f"These brokers have replicas but are down, so their racks are not seen: {_listed(gone)}.")
    brokers |= {id: ObservedBroker(id, None) for id in gone}
    return tuple(brokers[id] for id in sorted(brokers)), configs, assumptions


def _broker_configs(cluster: AdminApi, up: Sequence[int]) -> tuple[dict[str, str], list[str]]:
    """The configs of the first broker that is up; said where another has other values."""
    keys = sorted(str(field.alias) for field in BrokerConfigs.model_fields.values())
    told = {id: cluster.broker_configs(id, keys) for id in up}
    if not any(told.values()):
        return {}, [
            "No broker told its configs (that takes DescribeConfigs on the cluster): Kafka's defaults are taken."
        ]
    first, *others = up
    configs = {key: value for key, value in sorted(told[first].items()) if value}
    differing = [id for id in others if told[id] != told[first]]
    if not differing:
        return configs, []
    return configs, [f"Brokers {_listed(differing)} have other configs than broker {first}, whose are taken."]


def _listed(ids: Sequence[int]) -> str:
    return ", ".join(map(str, ids))
