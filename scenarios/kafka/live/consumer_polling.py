"""Snapshots of consumer groups without Kafka Streams, from DescribeGroups and ConsumerGroupDescribe.

Members keep the order in which the coordinator lists them, and partitions that of the coordinator or of the member:
assignors break ties by these orders.

Source: `ClassicGroup.describe`, `ConsumerGroup.asDescribedGroup` and
`ConsumerGroupMember.asConsumerGroupDescribeMember` of `org.apache.kafka.coordinator.group`, Kafka 4.0 to 4.3.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

from assignors.model.ids import TopicPartition
from scenarios.kafka.formats.consumer_protocol import decode_consumer_assignment, decode_consumer_subscription
from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.sticky_user_data import decode_cooperative_generation, decode_sticky_user_data
from scenarios.kafka.live.admin_api import AdminResponse
from scenarios.kafka.naming import trailing_uuid
from scenarios.kafka.observation.errors import ObservationError
from scenarios.kafka.observation.group_snapshot import GroupKind, GroupPhase, GroupSnapshot, SnapshotMember

_PHASES: Final = {"Stable": GroupPhase.STABLE, "Empty": GroupPhase.EMPTY, "Dead": GroupPhase.GONE}
_STICKY: Final = "sticky"
_ID_DIGITS: Final = 8


def coordinated_phase(state: str) -> GroupPhase:
    """Return the phase of a group whose coordinator assigns; in other states, members have not reached their target."""
    return _PHASES.get(state, GroupPhase.REBALANCING)


def classic_consumers(response: AdminResponse, at_ms: int) -> GroupSnapshot:
    """Return a stable consumer group of the classic protocol.

    Raises:
        ObservationError: The metadata or the assignment of a member is malformed.
    """
    members = tuple(_classic_member(entry, str(response["protocol_data"])) for entry in response["members"])
    generation = max((member.generation for member in members), default=-1)
    return GroupSnapshot(
        at_ms,
        str(response["group_id"]),
        "classic",
        str(response["group_state"]),
        GroupPhase.STABLE,
        epoch=generation + 1 if generation >= 0 else None,
        members=members,
        member_ids=tuple(sorted(member.id for member in members)),
        kind=GroupKind.CONSUMERS,
    )


def coordinated_consumers(response: AdminResponse, at_ms: int) -> GroupSnapshot:
    """Return a consumer group of the consumer protocol (KIP-848), in any state."""
    members = tuple(_coordinated_member(entry) for entry in response["members"])
    return GroupSnapshot(
        at_ms,
        str(response["group_id"]),
        "consumer",
        str(response["group_state"]),
        coordinated_phase(str(response["group_state"])),
        epoch=int(response["assignment_epoch"]),
        members=members,
        member_ids=tuple(sorted(member.id for member in members)),
        kind=GroupKind.CONSUMERS,
    )


def _classic_member(entry: AdminResponse, assignor: str) -> SnapshotMember:
    """Decode a member; it reports the generation in which it owned its partitions, the one before the current."""
    member_id, instance_id = str(entry["member_id"]), entry.get("group_instance_id")
    metadata, assignment = bytes(entry["member_metadata"]), bytes(entry["member_assignment"])
    try:
        subscription, partitions = decode_consumer_subscription(metadata), decode_consumer_assignment(assignment)
    except FormatError as error:
        raise ObservationError(f"member {member_id}: {error}") from None
    owned, user_data_generation = subscription.owned, decode_cooperative_generation(subscription.user_data)
    if assignor == _STICKY:  # It is eager, and reads from its own data what members have revoked by then.
        reported = decode_sticky_user_data(subscription.user_data)
        owned, user_data_generation = reported.partitions, reported.generation
    active = _names(partitions)
    return SnapshotMember(
        id=member_id,
        client_id=_distinct_name(member_id, instance_id, str(entry["client_id"])),
        process_id=instance_id or member_id,
        rack=subscription.rack or None,
        tags={},
        instance_id=instance_id,
        active=active,
        standby=(),
        target_active=active,
        target_standby=(),
        owned=owned,
        joined=hashlib.sha256(metadata + assignment).hexdigest()[:16],
        topics=subscription.topics,
        generation=subscription.generation,
        user_data_generation=user_data_generation,
    )


def _coordinated_member(entry: AdminResponse) -> SnapshotMember:
    member_id, instance_id = str(entry["member_id"]), entry["instance_id"]
    target = _partitions(entry["target_assignment"])
    return SnapshotMember(
        id=member_id,
        client_id=_distinct_name(member_id, instance_id, str(entry["client_id"])),
        process_id=instance_id or member_id,
        rack=entry["rack_id"] or None,
        tags={},
        instance_id=instance_id,
        active=_names(_partitions(entry["assignment"])),
        standby=(),
        target_active=_names(target),
        target_standby=(),
        owned=target,
        topics=tuple(map(str, entry["subscribed_topic_names"])),
        pattern=entry["subscribed_topic_regex"] or None,
    )


def _partitions(assignment: AdminResponse) -> tuple[TopicPartition, ...]:
    return tuple(
        TopicPartition(str(topic["topic_name"]), int(partition))
        for topic in assignment["topic_partitions"]
        for partition in topic["partitions"]
    )


def _names(partitions: Iterable[TopicPartition]) -> tuple[str, ...]:
    return tuple(map(str, sorted(partitions)))


def _distinct_name(member_id: str, instance_id: str | None, client_id: str) -> str:
    """Return the instance id, or the client id with the first digits of the random part of the member id."""
    own = trailing_uuid(member_id) or member_id
    return instance_id or f"{client_id.strip()}-{own[:_ID_DIGITS]}"
