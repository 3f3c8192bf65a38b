"""Observation of a running cluster, and of a Kafka Streams application or a consumer group on it.

The observation only describes and lists: it joins no group, commits no offsets and writes nothing.

The offsets and the number of standbys of a group are inferred.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from assignors.model.ids import TaskId
from scenarios.kafka.live.admin_api import AdminApi, AdminResponse
from scenarios.kafka.live.client_properties import client_settings
from scenarios.kafka.live.consumer_group import is_consumer_group, observe_consumer_group
from scenarios.kafka.live.opening import open_cluster
from scenarios.kafka.live.running_group import RunningGroup, observe_group
from scenarios.kafka.live.topics import measure_topics
from scenarios.kafka.observation.observation import (
    BROKER_CONFIGS_NOT_VISIBLE,
    Observation,
    ObservationError,
    ObservedBroker,
    ObservedProcess,
    ObservedSubtopology,
    ObservedTopic,
    parse_task_id,
    sort_tasks,
)
from scenarios.kafka.observation.stated_racks import (
    StatedRacks,
    check_stated_racks,
    with_stated_consumer_racks,
    with_stated_racks,
)
from scenarios.language.broker_configs import BrokerConfigs
from scenarios.language.section import config_keys
from scenarios.language.unmodeled_configs import BROKER_CONFIGS_OUTSIDE_THE_MODEL

STANDBYS: Final = "num.standby.replicas"


def with_caught_up_standbys(
    group: RunningGroup, topics: Sequence[ObservedTopic]
) -> tuple[tuple[ObservedProcess, ...], tuple[str, ...]]:
    """Return the processes with current offset sums of standbys, and assumptions.

    Members of a classic group report offsets when they join, possibly days ago, while the end offsets of changelogs are
    current. If no follow-up rebalance is scheduled, the leader found all task copies caught up, and standbys have kept
    up since. Members of a streams group report offsets continuously.
    """
    is_streams, is_warming_up = group.protocol == "streams", group.next_rebalance_ms is not None
    if is_streams or is_warming_up or all(process.offset_sums is None for process in group.processes):
        return group.processes, ()
    end_offset_sums = _end_offset_sums(group.subtopologies, topics)
    processes = []
    for process in group.processes:
        standbys = {task for thread in process.threads for task in thread.standby if task in end_offset_sums}
        offset_sums = {**(process.offset_sums or {}), **{task: end_offset_sums[task] for task in standbys}}
        processes.append(replace(process, offset_sums={task: offset_sums[task] for task in sort_tasks(offset_sums)}))
    return tuple(processes), ("No probing rebalance is scheduled: all standbys are assumed to be caught up.",)


def infer_num_standbys(group: RunningGroup) -> tuple[str, tuple[str, ...]]:
    """Return the number of standbys that most stateful tasks have, and the assumption that this is the config."""
    threads = [thread for process in group.processes for thread in process.threads]
    standbys = Counter(task for thread in threads for task in thread.standby)
    stateful = {subtopology.id for subtopology in group.subtopologies if subtopology.changelogs}
    active = {task for thread in threads for task in thread.active}
    frequency = Counter(standbys[task] for task in active if parse_task_id(task).subtopology in stateful)
    number = max(sorted(frequency), key=lambda count: frequency[count], default=0)
    sentence = f"{STANDBYS} is assumed to be {number}, the number of standbys of most stateful tasks."
    return str(number), (sentence,)


def _end_offset_sums(subtopologies: Sequence[ObservedSubtopology], topics: Sequence[ObservedTopic]) -> dict[str, int]:
    """Return the sum of the end offsets of each task's changelogs."""
    end_offsets = {topic.name: topic.end_offsets for topic in topics if topic.end_offsets is not None}
    sums: dict[str, int] = {}
    for subtopology in subtopologies:
        changelogs = [end_offsets[topic] for topic in subtopology.changelogs.values() if topic in end_offsets]
        for partition in range(max(map(len, changelogs), default=0)):
            task = str(TaskId(subtopology.id, partition))
            sums[task] = sum(offsets[partition] for offsets in changelogs if partition < len(offsets))
    return sums


def observe_cluster(
    bootstrap: str,
    group: str,
    *,
    properties: Mapping[str, str] = {},
    seconds: float = 5.0,
    topology: str | None = None,
    configs: Mapping[str, str] = {},
    racks: StatedRacks = (),
    all_topics: bool = False,
) -> Observation:
    """Observe a cluster, and an application or a consumer group that runs on it.

    Returns the observed state. Raises ObservationError if the cluster cannot be reached or denies a request; the group
    does not become stable; a topology is given for a consumer group; or the owners of changelogs are ambiguous without
    a topology. The message never contains a password.

    Args:
        bootstrap: `host:port` of some brokers, separated by commas.
        group: `application.id` or `group.id`.
        properties: Connection properties, as Kafka's tools take them with `--command-config`.
        seconds: Time over which rates are measured; 0 for no rates.
        topology: Output of the application's `Topology.describe()`, if available.
        configs: Known configs of the application; a cluster exposes few of them.
        racks: Racks of clients that do not report `client.rack`.
        all_topics: Whether to include topics that the application does not use.
    """
    settings = client_settings(properties)
    with open_cluster(bootstrap, settings) as cluster:
        if is_consumer_group(cluster, group):
            if topology is not None:
                raise ObservationError(f"group '{group}' is a consumer group, and has no topology")
            observation = observe_consumers(cluster, group, seconds=seconds, configs=configs, racks=racks)
        else:
            observation = observe(
                cluster, group, seconds=seconds, topology=topology, configs=configs, racks=racks, all_topics=all_topics
            )
    check_stated_racks(observation, racks)
    ignored = f"Unsupported client properties are ignored: {', '.join(settings.ignored)}."
    return replace(
        observation,
        source=f"cluster {bootstrap}, {observation.source}",
        assumptions=(*([ignored] if settings.ignored else []), *observation.assumptions),
    )


def observe(
    cluster: AdminApi,
    group: str,
    *,
    seconds: float,
    topology: str | None,
    configs: Mapping[str, str],
    all_topics: bool,
    racks: StatedRacks = (),
) -> Observation:
    """Observe an application through an `AdminApi`; arguments, result and errors as in `observe_cluster`."""
    running = observe_group(cluster, group, topology)
    measured = measure_topics(cluster, _select_topics(running, all_topics), seconds, group)
    brokers, broker_configs, broker_assumptions = _observe_brokers(cluster, measured.topics)
    processes, offset_assumptions = with_caught_up_standbys(running, measured.topics)
    processes, rack_assumptions = with_stated_racks(processes, racks)
    application_configs, standby_assumptions = {**running.configs, **configs}, tuple[str, ...]()
    if STANDBYS not in application_configs:
        application_configs[STANDBYS], standby_assumptions = infer_num_standbys(running)
    return Observation(
        source=_observed_at(running.observed_at_ms),
        brokers=brokers,
        topics=measured.topics,
        application_id=group,
        protocol=running.protocol,
        subtopologies=running.subtopologies,
        processes=processes,
        configs=application_configs,
        broker_configs={**broker_configs, **running.broker_configs},
        listed_members=running.listed_members,
        next_rebalance_ms=running.next_rebalance_ms,
        broker_release=running.broker_release,
        warnings=running.warnings,
        assumptions=(
            *running.assumptions,
            *measured.assumptions,
            *broker_assumptions,
            *offset_assumptions,
            *rack_assumptions,
            *standby_assumptions,
        ),
    )


def observe_consumers(
    cluster: AdminApi, group: str, *, seconds: float, configs: Mapping[str, str], racks: StatedRacks = ()
) -> Observation:
    """Observe a consumer group through an `AdminApi`; arguments, result and errors as in `observe_cluster`."""
    running = observe_consumer_group(cluster, group)
    observed_at_ms = cluster.now_ms()
    measured = measure_topics(cluster, list(running.topics.values()), seconds, group)
    brokers, broker_configs, broker_assumptions = _observe_brokers(cluster, measured.topics)
    members, rack_assumptions = with_stated_consumer_racks(running.consumers.members, racks)
    return Observation(
        source=_observed_at(observed_at_ms),
        brokers=brokers,
        topics=measured.topics,
        application_id=group,
        protocol=running.protocol,
        subtopologies=(),
        processes=(),
        configs=configs,
        broker_configs={**broker_configs, **running.broker_configs},
        broker_release=cluster.coordinator_release(group),
        warnings=running.warnings,
        assumptions=(*running.assumptions, *measured.assumptions, *broker_assumptions, *rack_assumptions),
        consumers=replace(running.consumers, members=members),
    )


def _observed_at(at_ms: int) -> str:
    return f"observed on {time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime(at_ms / 1000))}"


def _select_topics(running: RunningGroup, all_topics: bool) -> list[AdminResponse]:
    """Return the metadata of the topics to measure, without Kafka's internal ones."""
    names = {
        topic
        for subtopology in running.subtopologies
        for topic in (*subtopology.sources, *subtopology.changelogs.values(), *subtopology.writes)
        if topic in running.topics
    }
    selected = [running.topics[name] for name in (running.topics if all_topics else sorted(names))]
    return [topic for topic in selected if not topic["is_internal"]]


def _observe_brokers(
    cluster: AdminApi, topics: Sequence[ObservedTopic]
) -> tuple[tuple[ObservedBroker, ...], dict[str, str], list[str]]:
    """Return the brokers by id, including those that are down but have replicas, their configs, and assumptions."""
    responses = cluster.brokers()
    brokers = {
        int(response["broker_id"]): ObservedBroker(int(response["broker_id"]), response["rack"] or None)
        for response in responses
    }
    available = sorted(int(response["broker_id"]) for response in responses if not response.get("is_fenced"))
    configs, assumptions = _broker_configs(cluster, available, of_topics=any(not topic.configs for topic in topics))
    down = sorted({id for topic in topics for replicas in topic.replicas for id in replicas} - set(brokers))
    if down:
        assumptions.append(f"Brokers {_join(down)} have replicas but are down: assumed to have no rack.")
    brokers |= {id: ObservedBroker(id, None) for id in down}
    return tuple(brokers[id] for id in sorted(brokers)), configs, assumptions


def _broker_configs(
    cluster: AdminApi, available: Sequence[int], *, of_topics: bool
) -> tuple[dict[str, str], list[str]]:
    """Return the configs of the first available broker, and an assumption if other brokers differ.

    Retention and cleanup of topics (`log.…`) are among them only if asked: configs of topics include them.
    """
    known = config_keys(BrokerConfigs) | set(BROKER_CONFIGS_OUTSIDE_THE_MODEL.unmodeled)
    keys = sorted(key for key in known if of_topics or not key.startswith("log."))
    configs_of = {id: cluster.broker_configs(id, keys) for id in available}
    if not any(configs_of.values()):
        return {}, [BROKER_CONFIGS_NOT_VISIBLE]
    first, *others = available
    configs = {key: value for key, value in sorted(configs_of[first].items()) if value}
    different = [id for id in others if configs_of[id] != configs_of[first]]
    if not different:
        return configs, []
    return configs, [f"Configs of brokers {_join(different)} differ from those of broker {first}, which are used."]


def _join(ids: Sequence[int]) -> str:
    return ", ".join(map(str, ids))
