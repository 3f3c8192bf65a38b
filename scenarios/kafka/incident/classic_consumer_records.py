"""Rebalances of a classic group of plain consumers from its `GroupMetadata` records: each one is a generation.

A record has what each member sent when it joined, and what the leader assigned. Its members have the order of the
coordinator's map, in which the leader gets them.

Source: `GroupMetadataValue.json`, `ClassicGroup.allMembers`, `ConsumerCoordinator.onLeaderElected`,
`CooperativeStickyAssignor.adjustAssignment` (partitions that are withheld until their owner has revoked them).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from assignors.consumers.selection import COOPERATIVE_STICKY, STICKY
from assignors.model.consumer_group import NO_GENERATION, ConsumerMember
from assignors.model.ids import TopicPartition
from scenarios.kafka.formats.consumer_protocol import decode_consumer_assignment, decode_consumer_subscription
from scenarios.kafka.formats.coordinator_records import CoordinatorRecord
from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.message_schemas import Message
from scenarios.kafka.formats.sticky_user_data import decode_cooperative_generation, decode_sticky_user_data
from scenarios.kafka.incident.consumer_clients import (
    check_partitions,
    recorded_consumer,
    with_clients,
    with_partition_counts,
)
from scenarios.kafka.incident.recorded import RecordedConsumer, RecordedGroup, RecordedMember, RecordedRebalance
from scenarios.kafka.observation.errors import ObservationError
from scenarios.kafka.observation.group_snapshot import GroupKind

CONSUMER_PROTOCOL: Final = "consumer"
"""Protocol type of consumers; other clients, such as workers of Kafka Connect, have others."""

_STREAMS_PROTOCOL: Final = "stream"


def is_of_plain_consumers(records: Sequence[CoordinatorRecord]) -> bool:
    """Return whether members of a group have another assignor than Kafka Streams.

    Args:
        records: Its `GroupMetadata` records.
    """
    return any(
        record.value is not None
        and record.value["members"]
        and record.value["protocol"] not in (None, _STREAMS_PROTOCOL)
        for record in records
    )


def classic_consumer_rebalances(group: str, records: Sequence[CoordinatorRecord]) -> RecordedGroup:
    """Rebuild the rebalances of a group.

    Args:
        group: The group.
        records: Its `GroupMetadata` records, in the order of the partition.

    Returns:
        The rebalances; of several records of a generation, the first one counts.

    Raises:
        ObservationError: A record is malformed, or members are no consumers.
    """
    by_generation: dict[int, tuple[CoordinatorRecord, Message]] = {}
    for record in records:
        if record.value is not None:
            by_generation.setdefault(record.value["generation"], (record, record.value))
    rebalances: list[RecordedRebalance] = []
    seen_by: dict[str, int] = {}
    for generation, (record, value) in sorted(by_generation.items()):
        members = [_member(group, record, entry, value) for entry in value["members"]]
        leader = value["leader"]
        rebalances.append(
            RecordedRebalance(
                number=generation,
                at_ms=int(value["currentStateTimestamp"]) if record.at_ms is None else record.at_ms,
                members=tuple(sorted(members, key=lambda member: member.id)),
                coordinator_order=tuple(member.id for member in members),
                leader=leader,
                missing=generation - rebalances[-1].number - 1 if rebalances else 0,
                assignor=value["protocol"] or "",
                max_generation=seen_by.get(leader or "", NO_GENERATION),
            )
        )
        if leader is not None:
            reported = [_reported_generation(member, value["protocol"]) for member in members]
            seen_by[leader] = max(seen_by.get(leader, NO_GENERATION), *reported, NO_GENERATION)
    with_withheld = _with_withheld_partitions(rebalances)
    return RecordedGroup(
        group=group,
        protocol="classic",
        rebalances=with_clients(with_partition_counts([_with_stability(rebalance) for rebalance in with_withheld])),
        source_topics={},
        stateful=frozenset(),
        has_records=True,
        kind=GroupKind.CONSUMERS,
    )


def _member(group: str, record: CoordinatorRecord, entry: Message, value: Message) -> RecordedMember:
    place = f"group '{group}', offset {record.offset}"
    if value["protocolType"] != CONSUMER_PROTOCOL or value["protocol"] in (None, _STREAMS_PROTOCOL):
        raise ObservationError(
            f"{place}: protocol type '{value['protocolType']}' and assignor '{value['protocol']}' are not those of a "
            "consumer group"
        )
    try:
        subscription = decode_consumer_subscription(entry["subscription"])
        # A leader that fails to assign leaves members without bytes.
        active = decode_consumer_assignment(entry["assignment"]) if entry["assignment"] else ()
    except FormatError as error:
        raise ObservationError(f"{place}, member {entry['memberId']}: {error}") from None
    owned, user_data_generation = subscription.owned, decode_cooperative_generation(subscription.user_data)
    if value["protocol"] == STICKY:  # It is eager, and reads from its own data what members have revoked by then.
        data = decode_sticky_user_data(subscription.user_data)
        owned, user_data_generation = data.partitions, data.generation
    check_partitions(place, (*active, *owned))
    reported = ConsumerMember(
        member_id=entry["memberId"],
        topics=subscription.topics,
        instance_id=entry["groupInstanceId"],
        rack=subscription.rack or None,
        owned=owned,
        generation=subscription.generation,
        user_data_generation=user_data_generation,
    )
    return RecordedMember(
        id=reported.member_id,
        process_id=reported.member_id,
        client_id=entry["clientId"],
        rack=reported.rack,
        instance_id=reported.instance_id,
        active=tuple(map(str, active)),
        previous_active=tuple(map(str, sorted(owned))),
        owned=frozenset(owned),
        topics=tuple(sorted(subscription.topics)),
        session_timeout_ms=entry["sessionTimeout"],
        consumer=RecordedConsumer(
            entry["clientId"], entry["clientHost"].removeprefix("/"), reported, entry["rebalanceTimeout"]
        ),
    )


def _reported_generation(member: RecordedMember, assignor: str) -> int:
    """Return the generation that a sticky assignor reads from the report of a member."""
    reported = recorded_consumer(member).reported
    if assignor == COOPERATIVE_STICKY and reported.generation > NO_GENERATION:
        return reported.generation
    return NO_GENERATION if reported.user_data_generation is None else reported.user_data_generation


def _with_withheld_partitions(rebalances: Sequence[RecordedRebalance]) -> list[RecordedRebalance]:
    """Return the rebalances with the members for which partitions were withheld.

    Members revoke such a partition and join again. It belongs to the member that gets it then, if the members are the
    same; otherwise its next owner is unknown.
    """
    result = list(rebalances)
    for position in range(len(result) - 2, -1, -1):
        current, following = result[position], result[position + 1]
        has_same_members = [member.id for member in current.members] == [member.id for member in following.members]
        if has_same_members and not following.missing:
            later = following.active()
            withheld = {name: later[name] for name in map(str, unassigned(current)) if name in later}
            result[position] = replace(current, withheld=withheld)
    return result


def unassigned(rebalance: RecordedRebalance) -> tuple[TopicPartition, ...]:
    """Return the partitions that members of a cooperative group owned, and that no member got, sorted."""
    if rebalance.assignor != COOPERATIVE_STICKY:
        return ()
    assigned = {name for member in rebalance.members for name in member.active}
    owned = {partition for member in rebalance.members for partition in member.owned}
    return tuple(sorted(partition for partition in owned if str(partition) not in assigned))


def _with_stability(rebalance: RecordedRebalance) -> RecordedRebalance:
    """Return a rebalance that is stable at once, unless members must revoke partitions first."""
    return rebalance if unassigned(rebalance) else replace(rebalance, stable_at_ms=rebalance.at_ms)
