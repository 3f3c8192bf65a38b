"""Rebalances of groups whose coordinator assigns (KIP-848, KIP-1071) from their records: each target assignment.

The coordinator writes the target of each member that changes, and then the epoch of the new target assignment. Its
assignor gets the targets before, and the members in the order of the coordinator's map. A consumer whose first
heartbeat triggers the assignment is not in the map yet, and comes last; the record of its current assignment follows
the target. Assignments of consumers have ids of topics, and subscriptions have names. Only brokers of Kafka 4.0 also
record which id belongs to which name.

Source: `GroupMetadataManager.consumerGroupHeartbeat`, `.replaceMember` and `.maybeUpdateStreamsTargetAssignment`,
`TargetAssignmentBuilder.build`, `ConsumerGroup.computePreferredServerAssignor`, `ConsumerGroup*.json`,
`StreamsGroup*.json`, Kafka 4.0 to 4.4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from assignors.java.hash_order import TimelineOrder
from assignors.model.consumer_group import ConsumerMember
from assignors.model.ids import TopicId, TopicPartition
from scenarios.kafka.formats.binary_messages import Message
from scenarios.kafka.formats.coordinator_records import (
    CONSUMER_CURRENT,
    CONSUMER_MEMBER,
    CONSUMER_PARTITIONS,
    CONSUMER_PATTERN,
    CONSUMER_TARGET,
    CONSUMER_TARGET_MEMBER,
    STREAMS_CURRENT,
    STREAMS_GROUP,
    STREAMS_MEMBER,
    STREAMS_TARGET,
    STREAMS_TARGET_MEMBER,
    STREAMS_TOPOLOGY,
    CoordinatorRecord,
)
from scenarios.kafka.incident.recorded import (
    RecordedConsumer,
    RecordedGroup,
    RecordedMember,
    RecordedRebalance,
    check_partitions,
    with_clients,
    with_partition_counts,
)
from scenarios.kafka.naming import process_client_id
from scenarios.kafka.observation.observation import GroupKind, ObservationError, sort_tasks


@dataclass(slots=True, kw_only=True)
class CoordinatorReplay:
    """Members and targets of a group.

    Attributes:
        order: Member ids in the order of the coordinator's map.
        before: Targets before those of an assignment whose epoch has not been read.
        unknown: Members with targets, but without metadata.
    """

    members: dict[str, Message] = field(default_factory=dict)
    order: TimelineOrder = field(default_factory=TimelineOrder)
    target: dict[str, Message] = field(default_factory=dict)
    current: dict[str, Message] = field(default_factory=dict)
    before: dict[str, Message] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    rebalances: list[RecordedRebalance] = field(default_factory=list)

    def put_member(self, member: str, metadata: Message | None) -> None:
        """Set the metadata of a member; None removes it."""
        _put(self.members, member, metadata)
        (self.order.remove if metadata is None else self.order.add)(member)

    def put_target(self, member: str, target: Message | None) -> None:
        """Set the target of a member; None removes it."""
        _put(self.target, member, target)
        if target is None:
            self.before.pop(member, None)

    def put_current(self, member: str, current: Message | None, at_ms: int | None, stable: int) -> None:
        """Set the current assignment of a member, and note when all have reached the last target.

        `current`: the current assignment; None removes it. `at_ms`: time of the record. `stable`: the state of a member
        that has reached its target.
        """
        _put(self.current, member, current)
        if not self.rebalances or self.rebalances[-1].stable_at_ms is not None or not self.members:
            return
        epoch = self.rebalances[-1].number
        states = [self.current.get(name) for name in self.members]
        if all(state is not None and state["memberEpoch"] >= epoch and state["state"] == stable for state in states):
            self.rebalances[-1] = replace(self.rebalances[-1], stable_at_ms=at_ms)

    def end(self, rebalance: RecordedRebalance) -> None:
        """Add a rebalance whose targets are complete."""
        self.unknown |= self.target.keys() - self.members.keys()
        self.rebalances.append(rebalance)
        self.before = dict(self.target)

    def remarks(self) -> Iterator[str]:
        """Yield which records are missing."""
        if self.unknown:
            yield (
                f"The records of {len(self.unknown)} members are incomplete (compacted, or before the first segment): "
                f"{', '.join(sorted(self.unknown)[:3])}."
            )


def _put(values: dict[str, Message], key: str, value: Message | None) -> None:
    if value is None:
        values.pop(key, None)
    else:
        values[key] = value


_STABLE: Final = 1
"""State of a member with its target assignment (`MemberState.STABLE`)."""


def streams_rebalances(group: str, records: Sequence[CoordinatorRecord], *, passes_owned_tasks: bool) -> RecordedGroup:
    """Rebuild the rebalances of a group.

    `records`: its records, in the order of the partition. `passes_owned_tasks` says whether the brokers pass the tasks
    that members own to the assignor, as from 4.4 on; before, they pass those of the last target. Raises
    ObservationError if the topology is named, or a task id is malformed.
    """
    replay = _StreamsReplay(passes_owned_tasks=passes_owned_tasks)
    for record in records:
        replay.apply(record)
    remarks = list(replay.remarks())
    if not replay.topology:
        remarks.append("The records have no topology: it is older than the segment.")
    return RecordedGroup(
        group=group,
        protocol="streams",
        rebalances=tuple(replay.rebalances),
        source_topics={_number(entry): _sources(entry) for entry in replay.topology},
        stateful=frozenset(_number(entry) for entry in replay.topology if entry["stateChangelogTopics"]),
        has_records=True,
        remarks=tuple(remarks),
    )


@dataclass(slots=True, kw_only=True)
class _StreamsReplay(CoordinatorReplay):
    """The state of the coordinator while its records are read. `passes_owned_tasks`: as in `streams_rebalances`."""

    passes_owned_tasks: bool
    configs: dict[str, str] = field(default_factory=dict)
    topology: list[Message] = field(default_factory=list)

    def apply(self, record: CoordinatorRecord) -> None:
        """Apply a record, which may end a rebalance."""
        value, member = record.value, record.member_id or ""
        if record.type == STREAMS_TARGET and value is not None:
            self.end(self._rebalance(record, value))
        elif record.type == STREAMS_GROUP and value is not None:
            listed = value["lastAssignmentConfigs"] or ()
            self.configs = {entry["key"]: entry["value"] for entry in listed} or self.configs
        elif record.type == STREAMS_TOPOLOGY and value is not None:
            self.topology = value["subtopologies"]
        elif record.type == STREAMS_MEMBER:
            self.put_member(member, value)
        elif record.type == STREAMS_TARGET_MEMBER:
            self.put_target(member, value)
        elif record.type == STREAMS_CURRENT:
            self.put_current(member, value, record.at_ms, _STABLE)

    def _rebalance(self, record: CoordinatorRecord, value: Message) -> RecordedRebalance:
        previous = self.current if self.passes_owned_tasks else self.before
        members = (self._member(name, self.members[name], previous.get(name)) for name in sorted(self.members))
        epoch: int = value["assignmentEpoch"]
        return RecordedRebalance(
            number=epoch,
            at_ms=value["assignmentTimestamp"] or record.at_ms or 0,
            members=tuple(members),
            coordinator_order=tuple(self.order),
            configs=dict(self.configs),
        )

    def _member(self, member_id: str, metadata: Message, previous: Message | None) -> RecordedMember:
        target = self.target.get(member_id)
        return RecordedMember(
            id=member_id,
            process_id=metadata["processId"],
            client_id=process_client_id(metadata["clientId"]),
            thread=metadata["clientId"],
            rack=metadata["rackId"] or None,
            tags={entry["key"]: entry["value"] for entry in metadata["clientTags"]},
            instance_id=metadata["instanceId"],
            active=_tasks(target, "activeTasks"),
            standby=_tasks(target, "standbyTasks", "warmupTasks"),
            previous_active=_tasks(previous, "activeTasks"),
            previous_standby=_tasks(previous, "standbyTasks", "warmupTasks"),
        )


def _tasks(message: Mapping[str, list[Message]] | None, *fields: str) -> tuple[str, ...]:
    return sort_tasks(
        f"{entry['subtopologyId']}_{partition}"
        for name in fields
        for entry in (message or {}).get(name, ())
        for partition in entry["partitions"]
    )


def _number(entry: Message) -> int:
    name = entry["subtopologyId"]
    if not name.isascii() or not name.isdecimal():
        raise ObservationError(f"subtopology id '{name}' is not a number; named topologies cannot be simulated")
    return int(name)


def _sources(entry: Message) -> tuple[str, ...]:
    return tuple(sorted({*entry["sourceTopics"], *(topic["name"] for topic in entry["repartitionSourceTopics"])}))


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

_CONSUMER_STABLE: Final = 0
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
            self.put_current(member, value, record.at_ms, _CONSUMER_STABLE)
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
