"""Rebalances of a classic group from its `GroupMetadata` records.

The coordinator writes such a record with the subscriptions and assignments of all members whenever the leader has
assigned, so each record is a generation.

Source: `GroupMetadataManager`, `GroupMetadataValue.json`;
`StreamsPartitionAssignor.populateActiveTaskAndPartitionsLists` and `buildStandbyTaskMap` (tasks that are withheld until
their owner gives them up).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from assignors.model.ids import TaskId, TopicPartition
from scenarios.kafka.formats.consumer_protocol import (
    LATEST_OFFSET,
    ClassicMemberAssignment,
    MemberSubscription,
    decode_assignment,
    decode_subscription,
)
from scenarios.kafka.formats.coordinator_records import CoordinatorRecord
from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.message_schemas import Message
from scenarios.kafka.incident.recorded import RecordedGroup, RecordedMember, RecordedRebalance
from scenarios.kafka.naming import process_client_id
from scenarios.kafka.observation.errors import ObservationError
from scenarios.kafka.observation.tasks import sort_tasks

_STREAMS_PROTOCOL = "stream"


def classic_rebalances(group: str, records: Sequence[CoordinatorRecord]) -> RecordedGroup:
    """Rebuild the rebalances of a group.

    Args:
        group: The group.
        records: Its `GroupMetadata` records, in the order of the partition.

    Returns:
        The rebalances; a later record of the same generation replaces an earlier one (a static member returned).

    Raises:
        ObservationError: A record is not of Kafka Streams, or malformed.
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
        rebalances=with_withheld_tasks(ordered),
        source_topics=_source_topics(task_of),
        stateful=_stateful(ordered),
        has_records=True,
    )


def with_withheld_tasks(rebalances: Sequence[RecordedRebalance]) -> tuple[RecordedRebalance, ...]:
    """Return the rebalances with the clients for which tasks were withheld.

    The leader withholds a task from its new client until the thread that owns it has given it up, and then requests a
    follow-up rebalance, whose assignment has it. Until then no member has the task in the records; the client of the
    follow-up rebalance is the one for which it was withheld, if its assignment is that of this rebalance otherwise.
    """

    result = list(rebalances)
    for position in range(len(result) - 2, -1, -1):
        current, following = result[position], result[position + 1]
        if not any(member.next_rebalance_at_ms == 0 for member in current.members):
            continue
        has_same_members = [member.id for member in current.members] == [member.id for member in following.members]
        if not has_same_members or following.missing:
            continue
        owned = {task for member in current.members for task in member.previous_active}
        assigned = {task for member in current.members for task in member.active}
        later = following.active()
        withheld = {task: later[task] for task in sort_tasks(owned - assigned) if task in later}
        result[position] = replace(current, withheld=withheld)
    return tuple(result)


class _DecodedMember:
    """A member with its decoded subscription and assignment."""

    def __init__(self, entry: Message, subscription: MemberSubscription, assignment: ClassicMemberAssignment) -> None:
        self.entry = entry
        self.subscription = subscription
        self.assignment = assignment

    @classmethod
    def decode(cls, group: str, record: CoordinatorRecord, entry: Message) -> _DecodedMember:
        """Decode a member.

        Returns:
            The member.

        Raises:
            ObservationError: Its subscription or assignment is malformed or not of Kafka Streams.
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
