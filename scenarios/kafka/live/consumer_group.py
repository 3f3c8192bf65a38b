"""Consumer groups without Kafka Streams, from the responses of DescribeGroups and ConsumerGroupDescribe.

Source: `ConsumerGroupDescribeResponse.json`; `org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup` and
`TopicRegexResolver` (patterns).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from assignors.model.ids import TopicPartition
from scenarios.kafka.formats.consumer_protocol import decode_consumer_assignment, decode_consumer_subscription
from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.topic_patterns import compile_pattern
from scenarios.kafka.live.admin_api import AdminApi, AdminResponse
from scenarios.kafka.live.classic_group import empty_group_message
from scenarios.kafka.live.running_group import find_group_type, poll_until_stable
from scenarios.kafka.observation.consumer_assignor import migration_warnings
from scenarios.kafka.observation.observation import ObservationError, ObservedConsumer, ObservedConsumers
from scenarios.language.errors import format_list

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
        consumers: Members.
        topics: Metadata of the topics to which members subscribe, by name.
        broker_configs: Broker configs that the group overrides.
        assumptions: Sentences on what was not observed.
        warnings: Sentences on a state of the group that is not simulated.
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
    response = poll_until_stable(cluster, group, describe, _if_stable)
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
        broker_configs={} if is_classic else _broker_configs(cluster.group_configs(group)),
        assumptions=tuple(remarks),
        warnings=(*warnings, *migration_warnings(_count_classic(listed), len(listed))),
    )


def _if_stable(response: AdminResponse) -> AdminResponse | None:
    if response["group_state"] in ("Empty", "Dead"):
        raise ObservationError(empty_group_message(response["group_id"]))
    return response if response["group_state"] == _STABLE else None


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
    owned = {partition.topic for entry in listed for partition in _partitions(entry["assignment"])}
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
            partitions=tuple(sorted(_partitions(entry["assignment"]))),
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


def _partitions(assignment: AdminResponse) -> Iterator[TopicPartition]:
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


def _broker_configs(group_configs: Mapping[str, str | None]) -> dict[str, str]:
    return {key: value for own, key in _BROKER_KEYS.items() if (value := group_configs.get(own)) is not None}


def _count_classic(members: Sequence[AdminResponse]) -> int:
    """Return how many members of a group of the consumer protocol use the classic one; 0 for a classic group."""
    return sum(member.get("member_type") == 0 for member in members)
