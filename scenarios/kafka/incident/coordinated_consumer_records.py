"""Rebalances of a group of the consumer protocol (KIP-848) from its records: each target of the coordinator.

The coordinator writes the target of each member that changes, and then the epoch of the new target assignment. Its
assignor gets the targets before, and the members in the order of the coordinator's map. A member whose first heartbeat
triggers the assignment is not in the map yet, and comes last; the record of its current assignment follows the target.

Source: `GroupMetadataManager.consumerGroupHeartbeat` and `.replaceMember`, `TargetAssignmentBuilder.build`,
`ConsumerGroup.computePreferredServerAssignor`, `ConsumerGroup*.json`, Kafka 4.0 to 4.4.

Assignments have ids of topics, and subscriptions have names. Only brokers of Kafka 4.0 also record which id belongs to
which name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from assignors.model.consumer_group import ConsumerMember
from assignors.model.ids import TopicId, TopicPartition
from scenarios.kafka.formats.coordinator_records import (
    CONSUMER_CURRENT,
    CONSUMER_MEMBER,
    CONSUMER_PARTITIONS,
    CONSUMER_PATTERN,
    CONSUMER_TARGET,
    CONSUMER_TARGET_MEMBER,
    CoordinatorRecord,
)
from scenarios.kafka.formats.message_schemas import Message
from scenarios.kafka.incident.consumer_clients import check_partitions, with_clients, with_partition_counts
from scenarios.kafka.incident.coordinator_replay import CoordinatorReplay
from scenarios.kafka.incident.recorded import RecordedConsumer, RecordedGroup, RecordedMember, RecordedRebalance
from scenarios.kafka.observation.group_snapshot import GroupKind
from scenarios.kafka.observation.observation import ObservationError

_MAX_NAMED = 5


def topic_names(group: str, records: Sequence[CoordinatorRecord], described: Mapping[str, str]) -> dict[str, str]:
    """Return the name of each topic that the records assign, by its id.

    A topic that is neither described nor recorded with its name is one to which all its owners subscribe; it is known
    if there is only one such name. `described`: names of the topics of the cluster by id, if they are known. Raises
    ObservationError if several names are possible.
    """
    names = dict(described)
    for record in records:
        if record.type == CONSUMER_PARTITIONS and record.value is not None:
            names.update({entry["topicId"]: entry["topicName"] for entry in record.value["topics"]})
    candidates = _candidates(records)
    while unnamed := [topic_id for topic_id in candidates if topic_id not in names]:
        taken = set(names.values())
        possible = {topic_id: candidates[topic_id] - taken for topic_id in unnamed}
        certain = {topic_id: left for topic_id, left in possible.items() if len(left) == 1}
        if not certain:
            listed = ", ".join(sorted(set().union(*possible.values()))[:_MAX_NAMED]) or "none that the records name"
            raise ObservationError(
                f"group '{group}' reads several topics ({listed}), and its records have their ids only: add the output "
                "of kafka-topics.sh --describe to the folder"
            )
        topic_id, [name] = next(iter(certain.items()))
        names[topic_id] = name
    return {topic_id: names[topic_id] for topic_id in candidates}


def _candidates(records: Sequence[CoordinatorRecord]) -> dict[str, set[str]]:
    """Return the topics to which all owners of each topic subscribed, by its id."""
    subscribed: dict[str, set[str]] = {}
    owners: dict[str, set[str]] = {}
    resolved = [record for record in records if record.type == CONSUMER_PATTERN and record.value is not None]
    patterns: dict[str, set[str]] = {}
    for record in resolved:
        patterns.setdefault(record.pattern or "", set()).update((record.value or {})["topics"])
    for record in records:
        value, member = record.value, record.member_id or ""
        if value is None:
            continue
        if record.type == CONSUMER_MEMBER:
            matching = patterns.get(value["subscribedTopicRegex"] or "", set())
            subscribed.setdefault(member, set()).update(value["subscribedTopicNames"], matching)
        for topic_id in _topic_ids(record.type, value):
            owners.setdefault(topic_id, set()).add(member)
    every: set[str] = set().union(*subscribed.values())
    return {
        topic_id: set.intersection(*(subscribed.get(member, every) for member in members))
        for topic_id, members in owners.items()
    }


def _topic_ids(type_: int, value: Message) -> Iterator[str]:
    fields = {
        CONSUMER_TARGET_MEMBER: ("topicPartitions",),
        CONSUMER_CURRENT: ("assignedPartitions", "partitionsPendingRevocation"),
    }
    for name in fields.get(type_, ()):
        yield from (entry["topicId"] for entry in value[name])


DEFAULT_ASSIGNOR: Final = "uniform"
"""The first of `group.consumer.assignors` by default, which assigns if no member names one."""

_STABLE: Final = 0
"""State of a member with its target (`modern.MemberState.STABLE`); members of streams groups have other numbers."""


def coordinated_consumer_rebalances(
    group: str, records: Sequence[CoordinatorRecord], described: Mapping[str, str]
) -> RecordedGroup:
    """Rebuild the rebalances of a group.

    `records`: its records of the consumer protocol, in the order of the partition; `described`: names of the topics of
    the cluster by id, if they are known. Raises ObservationError if topics of the records have no known names.
    """
    names = topic_names(group, records, described)
    replay = _ConsumerReplay(names=names)
    for record in records:
        replay.apply(record)
    return RecordedGroup(
        group=group,
        protocol="consumer",
        rebalances=with_clients(with_partition_counts(replay.rebalances)),
        source_topics={},
        stateful=frozenset(),
        has_records=True,
        remarks=tuple(replay.remarks()),
        kind=GroupKind.CONSUMERS,
        topic_ids={name: TopicId.parse(topic_id) for topic_id, name in names.items()},
    )


@dataclass(slots=True, kw_only=True)
class _ConsumerReplay(CoordinatorReplay):
    """The state of the coordinator while its records are read.

    Attributes:
        names: Name of each topic by id.
        patterns: Topics that match each pattern.
    """

    names: Mapping[str, str]
    patterns: dict[str, list[str]] = field(default_factory=dict)

    def apply(self, record: CoordinatorRecord) -> None:
        """Apply a record, which may end a rebalance."""
        value, member = record.value, record.member_id or ""
        if record.type == CONSUMER_TARGET and value is not None:
            self.end(self._rebalance(record, value))
        elif record.type == CONSUMER_PATTERN:
            self.patterns[record.pattern or ""] = [] if value is None else value["topics"]
        elif record.type == CONSUMER_MEMBER:
            self.put_member(member, value)
        elif record.type == CONSUMER_TARGET_MEMBER:
            self.put_target(member, value)
        elif record.type == CONSUMER_CURRENT:
            self.put_current(member, value, record.at_ms, _STABLE)
            # A static member that returns gets the target of its old member id without an assignment.
            self.before = dict(self.target)

    def _rebalance(self, record: CoordinatorRecord, value: Message) -> RecordedRebalance:
        listed = sorted(self.order, key=lambda member: member not in self.current)
        return RecordedRebalance(
            number=value["assignmentEpoch"],
            at_ms=record.at_ms or value["assignmentTimestamp"],
            members=tuple(self._member(name, self.members[name]) for name in sorted(self.members)),
            coordinator_order=tuple(listed),
            assignor=self._assignor(),
        )

    def _assignor(self) -> str:
        """Return the assignor that most members name."""
        votes = Counter(self.members[member]["serverAssignor"] or "" for member in self.order)
        del votes[""]
        return max(votes, key=votes.__getitem__, default=DEFAULT_ASSIGNOR)

    def _member(self, member_id: str, metadata: Message) -> RecordedMember:
        active = sorted(self._partitions(self.target.get(member_id)))
        owned = tuple(self._partitions(self.before.get(member_id)))
        matching = self.patterns.get(metadata["subscribedTopicRegex"] or "", [])
        topics = tuple(dict.fromkeys((*metadata["subscribedTopicNames"], *matching)))
        reported = ConsumerMember(member_id, topics, metadata["instanceId"], metadata["rackId"] or None, owned)
        return RecordedMember(
            id=member_id,
            process_id=member_id,
            client_id=metadata["clientId"],
            rack=reported.rack,
            instance_id=reported.instance_id,
            active=tuple(map(str, active)),
            previous_active=tuple(map(str, sorted(owned))),
            owned=frozenset(owned),
            topics=tuple(sorted(topics)),
            consumer=RecordedConsumer(
                metadata["clientId"],
                metadata["clientHost"].removeprefix("/"),
                reported,
                metadata["rebalanceTimeoutMs"],
            ),
        )

    def _partitions(self, assignment: Message | None) -> list[TopicPartition]:
        """Return the partitions of a target in the order of its record."""
        entries = [] if assignment is None else assignment["topicPartitions"]
        partitions = [
            TopicPartition(self.names[entry["topicId"]], partition)
            for entry in entries
            for partition in entry["partitions"]
        ]
        check_partitions("the record of a target assignment", partitions)
        return partitions
