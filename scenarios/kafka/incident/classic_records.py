"""Rebalances of a classic group, of Kafka Streams or of plain consumers, from its `GroupMetadata` records.

The coordinator writes such a record whenever the leader has assigned, so each record is a generation. It has what each
member sent when it joined, and what the leader assigned. Its members have the order of the coordinator's map, in which
the leader gets them.

Source: `GroupMetadataManager`, `GroupMetadataValue.json`, `ClassicGroup.allMembers`,
`ConsumerCoordinator.onLeaderElected`; of what is withheld until its owner gives it up:
`StreamsPartitionAssignor.populateActiveTaskAndPartitionsLists` and `buildStandbyTaskMap` for tasks, and
`CooperativeStickyAssignor.adjustAssignment` for partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from assignors.consumers.selection import COOPERATIVE_STICKY, STICKY
from assignors.model.consumer_group import NO_GENERATION, ConsumerMember
from assignors.model.ids import TaskId, TopicPartition
from scenarios.kafka.formats.binary_messages import (
    LATEST_OFFSET,
    ClassicMemberAssignment,
    MemberSubscription,
    Message,
    decode_assignment,
    decode_consumer_assignment,
    decode_consumer_subscription,
    decode_cooperative_generation,
    decode_sticky_user_data,
    decode_subscription,
)
from scenarios.kafka.formats.coordinator_records import CoordinatorRecord
from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.incident.recorded import (
    RecordedConsumer,
    RecordedGroup,
    RecordedMember,
    RecordedRebalance,
    check_partitions,
    recorded_consumer,
    with_clients,
    with_partition_counts,
)
from scenarios.kafka.naming import process_client_id
from scenarios.kafka.observation.observation import GroupKind, ObservationError, sort_tasks

CONSUMER_PROTOCOL: Final = "consumer"
"""Protocol type of consumers; other clients, such as workers of Kafka Connect, have others."""


def is_of_plain_consumers(records: Sequence[CoordinatorRecord]) -> bool:
    """Return whether members of a group have another assignor than Kafka Streams.

    `records`: its `GroupMetadata` records.
    """
    return any(
        record.value is not None
        and record.value["members"]
        and record.value["protocol"] not in (None, _STREAMS_PROTOCOL)
        for record in records
    )


def classic_consumer_rebalances(group: str, records: Sequence[CoordinatorRecord]) -> RecordedGroup:
    """Rebuild the rebalances of a group.

    `records`: its `GroupMetadata` records, in the order of the partition. Returns the rebalances; of several records of
    a generation, the first one counts. Raises ObservationError if a record is malformed, or members are no consumers.
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
                at_ms=_time_ms(record, value),
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
    with_withheld = _with_withheld(rebalances, lambda rebalance: map(str, unassigned(rebalance)))
    # A rebalance is stable at once, unless members must revoke partitions first.
    with_stability = [one if unassigned(one) else replace(one, stable_at_ms=one.at_ms) for one in with_withheld]
    return RecordedGroup(
        group=group,
        protocol="classic",
        rebalances=with_clients(with_partition_counts(with_stability)),
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


def _with_withheld(
    rebalances: Sequence[RecordedRebalance], withheld_of: Callable[[RecordedRebalance], Iterable[str]]
) -> list[RecordedRebalance]:
    """Return the rebalances with the clients for which tasks were withheld.

    Their owners give up such tasks and join again. A task belongs to the client that gets it then, if the members are
    the same; otherwise its next client is unknown.
    """
    result = list(rebalances)
    for position in range(len(result) - 2, -1, -1):
        current, following = result[position], result[position + 1]
        has_same_members = [member.id for member in current.members] == [member.id for member in following.members]
        if has_same_members and not following.missing:
            later = following.active()
            withheld = {task: later[task] for task in withheld_of(current) if task in later}
            result[position] = replace(current, withheld=withheld)
    return result


def unassigned(rebalance: RecordedRebalance) -> tuple[TopicPartition, ...]:
    """Return the partitions that members of a cooperative group owned, and that no member got, sorted."""
    if rebalance.assignor != COOPERATIVE_STICKY:
        return ()
    assigned = {name for member in rebalance.members for name in member.active}
    owned = {partition for member in rebalance.members for partition in member.owned}
    return tuple(sorted(partition for partition in owned if str(partition) not in assigned))


_STREAMS_PROTOCOL = "stream"


def classic_rebalances(group: str, records: Sequence[CoordinatorRecord]) -> RecordedGroup:
    """Rebuild the rebalances of a group.

    `records`: its `GroupMetadata` records, in the order of the partition. Returns the rebalances; a later record of the
    same generation replaces an earlier one (a static member returned). Raises ObservationError if a record is not of
    Kafka Streams, or malformed.
    """
    by_generation: dict[int, tuple[CoordinatorRecord, Message]] = {}
    for record in records:
        value = record.value
        if value is None:
            continue
        if value["protocol"] not in (None, _STREAMS_PROTOCOL):
            raise ObservationError(
                f"group '{group}' does not belong to Kafka Streams: its partition assignor is '{value['protocol']}'"
            )
        if value["members"] and value["protocol"] is None:
            raise ObservationError(f"group '{group}', offset {record.offset}: members, but no protocol")
        by_generation.setdefault(value["generation"], (record, value))
    decoded = {
        generation: [_DecodedMember.decode(group, record, entry) for entry in value["members"]]
        for generation, (record, value) in by_generation.items()
    }
    task_of = _tasks_of_partitions([member for members in decoded.values() for member in members])
    rebalances: list[RecordedRebalance] = []
    for generation, (record, value) in sorted(by_generation.items()):
        recorded = (member.recorded(task_of) for member in decoded[generation])
        members = tuple(sorted(recorded, key=lambda member: member.id))
        at_ms = _time_ms(record, value)
        is_stable = all(member.next_rebalance_at_ms is None for member in members)
        rebalances.append(
            RecordedRebalance(
                number=generation,
                at_ms=at_ms,
                members=members,
                leader=value["leader"],
                missing=generation - rebalances[-1].number - 1 if rebalances else 0,
                stable_at_ms=at_ms if is_stable else None,
            )
        )
    ordered = tuple(rebalances)
    return RecordedGroup(
        group=group,
        protocol="classic",
        rebalances=tuple(_with_withheld(ordered, _withheld_tasks)),
        source_topics=_source_topics(task_of),
        stateful=_stateful(ordered),
        has_records=True,
    )


def _withheld_tasks(rebalance: RecordedRebalance) -> Iterable[str]:
    """Return the tasks that the leader withholds until the threads that own them have given them up.

    It then requests a follow-up rebalance, whose assignment has them; until then no member has them in the records.
    """
    if all(member.next_rebalance_at_ms != 0 for member in rebalance.members):
        return ()
    owned = {task for member in rebalance.members for task in member.previous_active}
    return sort_tasks(owned - {task for member in rebalance.members for task in member.active})


class _DecodedMember:
    """A member with its decoded subscription and assignment."""

    def __init__(self, entry: Message, subscription: MemberSubscription, assignment: ClassicMemberAssignment) -> None:
        self.entry = entry
        self.subscription = subscription
        self.assignment = assignment

    @classmethod
    def decode(cls, group: str, record: CoordinatorRecord, entry: Message) -> _DecodedMember:
        """Decode a member.

        Raises ObservationError if its subscription or assignment is malformed or not of Kafka Streams.
        """
        try:
            subscription = decode_subscription(entry["subscription"])
            return cls(entry, subscription, decode_assignment(entry["assignment"]))
        except FormatError as error:
            place = f"group '{group}', offset {record.offset}, member {entry['memberId']}"
            raise ObservationError(f"{place}: {error}") from None

    def recorded(self, task_of: Mapping[TopicPartition, str]) -> RecordedMember:
        """Return the member with its previous tasks: those whose partitions it owned, and those it reported as running.

        Source: `ClientState.initializePrevTasks`.
        """
        sums = self.subscription.streams.offset_sums
        running = {task_of[partition] for partition in self.subscription.owned if partition in task_of}
        running |= {task for task, offset_sum in sums.items() if offset_sum == LATEST_OFFSET}
        standby = self.assignment.streams.standby_tasks
        return RecordedMember(
            id=self.entry["memberId"],
            process_id=self.subscription.streams.process_id,
            client_id=process_client_id(self.entry["clientId"]),
            thread=self.entry["clientId"],
            rack=self.subscription.rack or None,
            tags=dict(self.subscription.streams.client_tags),
            instance_id=self.entry["groupInstanceId"],
            active=sort_tasks(self.assignment.active),
            standby=sort_tasks(standby),
            previous_active=sort_tasks(running),
            previous_standby=sort_tasks(task for task in sums if task not in running),
            offset_sums={task: sums[task] for task in sort_tasks(sums)},
            owned=frozenset(self.subscription.owned),
            topics=self.subscription.topics,
            next_rebalance_at_ms=self.assignment.streams.next_rebalance_at_ms,
            session_timeout_ms=self.entry["sessionTimeout"],
        )


def _tasks_of_partitions(members: Sequence[_DecodedMember]) -> dict[TopicPartition, str]:
    """Return the task that reads each partition that any rebalance assigned."""
    task_of: dict[TopicPartition, str] = {}
    for member in members:
        for tasks in (member.assignment.active, member.assignment.streams.standby_tasks):
            for task, partitions in tasks.items():
                task_of.update(dict.fromkeys(partitions, task))
    return task_of


def _source_topics(task_of: Mapping[TopicPartition, str]) -> dict[int, tuple[str, ...]]:
    topics: dict[int, set[str]] = {}
    for partition, task in task_of.items():
        topics.setdefault(TaskId.parse(task).subtopology, set()).add(partition.topic)
    return {subtopology: tuple(sorted(topics[subtopology])) for subtopology in sorted(topics)}


def _stateful(rebalances: Sequence[RecordedRebalance]) -> frozenset[int]:
    """Return the subtopologies with a standby, or with a copy that is not running: stateless tasks have neither."""
    return frozenset(
        TaskId.parse(task).subtopology
        for rebalance in rebalances
        for member in rebalance.members
        for task in (*member.standby, *member.previous_standby)
    )


def _time_ms(record: CoordinatorRecord, value: Message) -> int:
    """Return the time of the record, which is written when the leader has assigned; else that of the last state."""
    return int(value["currentStateTimestamp"]) if record.at_ms is None else record.at_ms
