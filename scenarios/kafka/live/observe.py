"""Observation of a running cluster, and of a Kafka Streams application or a consumer group on it.

The observation only describes and lists: it joins no group, commits no offsets and writes nothing. The offsets and the
number of standbys of an application are inferred.

Source: `ConsumerGroupDescribeResponse.json`; `org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup` and
`TopicRegexResolver` (patterns).
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from assignors.model.ids import TaskId, TopicPartition
from scenarios.kafka.formats.binary_messages import decode_consumer_assignment, decode_consumer_subscription
from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.topology import compile_pattern
from scenarios.kafka.live.admin_api import AdminApi, AdminResponse, open_cluster
from scenarios.kafka.live.client_properties import client_settings
from scenarios.kafka.live.running_group import (
    RunningGroup,
    find_group_type,
    if_stable,
    observe_group,
    poll_until_stable,
    renamed_configs,
)
from scenarios.kafka.live.topics import measure_topics
from scenarios.kafka.observation.consumer_scenario_writer import migration_warnings
from scenarios.kafka.observation.observation import (
    BROKER_CONFIGS_NOT_VISIBLE,
    Observation,
    ObservationError,
    ObservedBroker,
    ObservedConsumer,
    ObservedConsumers,
    ObservedProcess,
    ObservedSubtopology,
    ObservedTopic,
    StatedRacks,
    check_stated_racks,
    parse_task_id,
    sort_tasks,
    with_stated_racks,
)
from scenarios.language.cluster_entries import BrokerConfigs
from scenarios.language.errors import format_list
from scenarios.language.fields import config_keys
from scenarios.language.unmodeled_configs import BROKER_CONFIGS_OUTSIDE_THE_MODEL

_STREAMS_PROTOCOL: Final = "stream"
_STABLE: Final = "Stable"
_RACK_VERSION: Final = 3
_BROKER_KEYS: Final = {
    "consumer.heartbeat.interval.ms": "group.consumer.heartbeat.interval.ms",
    "consumer.assignment.interval.ms": "group.consumer.assignment.interval.ms",
    "consumer.session.timeout.ms": "group.consumer.session.timeout.ms",
}
"""Broker config that each group config overrides."""


@dataclass(frozen=True, slots=True)
class RunningConsumers:
    """A stable consumer group.

    Attributes:
        protocol: `classic` or `consumer`.
        topics: Metadata of the topics to which members subscribe, by name.
        broker_configs: Broker configs that the group overrides.
    """

    protocol: str
    consumers: ObservedConsumers
    topics: Mapping[str, AdminResponse]
    broker_configs: Mapping[str, str]
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]


def is_consumer_group(cluster: AdminApi, group: str) -> bool:
    """Return whether a group is a consumer group without Kafka Streams; wait until it is stable."""
    group_type = find_group_type(cluster.groups(), group)
    if group_type != "classic":
        return group_type == "consumer"

    def assignor(response: AdminResponse) -> str | None:
        if response["protocol_type"] != "consumer" or response["group_state"] in ("Empty", "Dead"):
            return ""
        return str(response["protocol_data"]) if response["group_state"] == _STABLE else None

    name = poll_until_stable(cluster, group, cluster.classic_group, assignor)
    return name not in ("", _STREAMS_PROTOCOL)


def observe_consumer_group(cluster: AdminApi, group: str) -> RunningConsumers:
    """Wait until a consumer group is stable, and read its state.

    Raises ObservationError if the group has no members or does not become stable, or its topics are not visible.
    """
    is_classic = find_group_type(cluster.groups(), group) == "classic"
    describe = cluster.classic_group if is_classic else cluster.consumer_group
    response = poll_until_stable(cluster, group, describe, if_stable)
    all_topics = {str(topic["name"]): topic for topic in cluster.topics() if not topic["error_code"]}
    listed = sorted(response["members"], key=lambda member: str(member["member_id"]))
    if is_classic:
        members, remarks = [_classic_member(member) for member in listed], list(_rack_assumptions(listed))
    else:
        members, remarks = _members_of_coordinator(listed, all_topics)
    members, warnings = _with_existing_topics(group, members, all_topics)
    subscribed = {topic for member in members for topic in member.topics}
    return RunningConsumers(
        protocol="classic" if is_classic else "consumer",
        consumers=ObservedConsumers(str(response["protocol_data" if is_classic else "assignor_name"]), tuple(members)),
        topics={name: all_topics[name] for name in sorted(subscribed)},
        broker_configs={} if is_classic else renamed_configs(cluster.group_configs(group), _BROKER_KEYS),
        assumptions=tuple(remarks),
        # Only members of the consumer protocol have a type, which is 0 for those that still use the classic one.
        warnings=(*warnings, *migration_warnings(sum(one.get("member_type") == 0 for one in listed), len(listed))),
    )


def _classic_member(entry: AdminResponse) -> ObservedConsumer:
    try:
        subscription = decode_consumer_subscription(bytes(entry["member_metadata"]))
        partitions = decode_consumer_assignment(bytes(entry["member_assignment"]))
    except FormatError as error:
        raise ObservationError(f"member {entry['member_id']}: {error}") from None
    return ObservedConsumer(
        member_id=str(entry["member_id"]),
        client_id=str(entry["client_id"]),
        host=str(entry["client_host"]).removeprefix("/"),
        instance_id=entry.get("group_instance_id"),
        rack=subscription.rack or None,
        topics=tuple(sorted(set(subscription.topics))),
        partitions=partitions,
    )


def _rack_assumptions(members: Sequence[AdminResponse]) -> Iterator[str]:
    versions = [decode_consumer_subscription(bytes(member["member_metadata"])).version for member in members]
    if min(versions) < _RACK_VERSION:
        yield "Members before release 3.5, and of some other clients, do not report their rack: assumed to have none."


def _members_of_coordinator(
    listed: Sequence[AdminResponse], topics: Mapping[str, AdminResponse]
) -> tuple[list[ObservedConsumer], list[str]]:
    patterns = sorted({str(member["subscribed_topic_regex"]) for member in listed if member["subscribed_topic_regex"]})
    compiled = {pattern: compile_pattern(pattern) for pattern in patterns}
    owned = {partition.topic for entry in listed for partition in listed_partitions(entry["assignment"])}
    # The coordinator also assigns internal topics that match, but only if their members may describe them.
    candidates = owned | {name for name, topic in topics.items() if not topic["is_internal"]}
    matching = {
        pattern: owned if found is None else set(filter(found.fullmatch, candidates))
        for pattern, found in compiled.items()
    }
    members = [
        ObservedConsumer(
            member_id=str(entry["member_id"]),
            client_id=str(entry["client_id"]),
            host=str(entry["client_host"]).removeprefix("/"),
            instance_id=entry["instance_id"],
            rack=entry["rack_id"] or None,
            topics=tuple(
                sorted({*entry["subscribed_topic_names"], *matching.get(entry["subscribed_topic_regex"], ())})
            ),
            partitions=tuple(sorted(listed_partitions(entry["assignment"]))),
        )
        for entry in listed
    ]
    return members, list(_pattern_assumptions(compiled))


def _pattern_assumptions(compiled: Mapping[str, re.Pattern[str] | None]) -> Iterator[str]:
    """Yield what is assumed about the topics of patterns."""
    if matched := [pattern for pattern, found in compiled.items() if found is not None]:
        yield f"Subscriptions by pattern are those to the topics that match now: {', '.join(matched)}."
    if unsupported := [pattern for pattern, found in compiled.items() if found is None]:
        yield (
            "Subscriptions by a pattern that is too complex to match are those to the topics that the group reads: "
            f"{', '.join(unsupported)}."
        )


def listed_partitions(assignment: AdminResponse) -> Iterator[TopicPartition]:
    """Yield the partitions of an assignment in the order of the coordinator."""
    for topic in assignment["topic_partitions"]:
        yield from (TopicPartition(str(topic["topic_name"]), int(partition)) for partition in topic["partitions"])


def _with_existing_topics(
    group: str, members: Sequence[ObservedConsumer], topics: Collection[str]
) -> tuple[list[ObservedConsumer], list[str]]:
    """Return the members without topics that do not exist, without those that have no others, and warnings.

    Raises ObservationError if a member owns partitions of a topic that is not visible, or no topic exists.
    """
    owned = {partition.topic for member in members for partition in member.partitions}
    if hidden := sorted(owned - set(topics)):
        names = format_list("topics of the group that are not visible", hidden)
        raise ObservationError(f"{names}; they require the operation Describe")
    missing = sorted({topic for member in members for topic in member.topics} - set(topics))
    existing = [
        replace(member, topics=tuple(topic for topic in member.topics if topic in topics)) for member in members
    ]
    kept = [member for member in existing if member.topics]
    if not kept:
        raise ObservationError(f"group '{group}' subscribes to no topic that exists or is visible")
    idle = [member.client_id for member in existing if not member.topics]
    warnings = []
    if missing:
        warnings.append(f"Subscribed topics that do not exist or are not visible are omitted: {', '.join(missing)}.")
    if idle:
        warnings.append(f"Members that subscribe to no existing topic are omitted: {', '.join(idle)}.")
    return kept, warnings


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
    topics, topic_assumptions = measure_topics(cluster, _select_topics(running, all_topics), seconds, group)
    brokers, broker_configs, broker_assumptions = _observe_brokers(cluster, topics)
    processes, offset_assumptions = with_caught_up_standbys(running, topics)
    processes, rack_assumptions = with_stated_racks(processes, racks)
    application_configs, standby_assumptions = {**running.configs, **configs}, tuple[str, ...]()
    if STANDBYS not in application_configs:
        application_configs[STANDBYS], standby_assumptions = infer_num_standbys(running)
    return Observation(
        source=_observed_at(running.observed_at_ms),
        brokers=brokers,
        topics=topics,
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
            *topic_assumptions,
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
    topics, topic_assumptions = measure_topics(cluster, list(running.topics.values()), seconds, group)
    brokers, broker_configs, broker_assumptions = _observe_brokers(cluster, topics)
    members, rack_assumptions = with_stated_racks(running.consumers.members, racks)
    return Observation(
        source=_observed_at(observed_at_ms),
        brokers=brokers,
        topics=topics,
        application_id=group,
        protocol=running.protocol,
        subtopologies=(),
        processes=(),
        configs=configs,
        broker_configs={**broker_configs, **running.broker_configs},
        broker_release=cluster.coordinator_release(group),
        warnings=running.warnings,
        assumptions=(*running.assumptions, *topic_assumptions, *broker_assumptions, *rack_assumptions),
        consumers=replace(running.consumers, members=members),
    )


def _observed_at(at_ms: int) -> str:
    return f"observed on {time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime(at_ms / 1000))}"


def _select_topics(running: RunningGroup, all_topics: bool) -> list[AdminResponse]:
    """Return the metadata of the topics to measure, without Kafka's internal ones."""
    names = {topic for subtopology in running.subtopologies for topic in subtopology.topics if topic in running.topics}
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
