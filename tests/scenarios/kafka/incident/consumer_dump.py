"""Consumer groups as their coordinators record them, in the output of `kafka-dump-log.sh --offsets-decoder`."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assignors.consumers.registry import ConsumerProtocol, find
from assignors.java.hash_order import TimelineOrder
from assignors.model.consumer_group import (
    ConsumerAssignment,
    ConsumerGroupState,
    ConsumerMember,
    ConsumerTopic,
)
from assignors.model.ids import TopicId, TopicPartition
from scenarios.kafka.formats.coordinator_records import (
    CONSUMER_CURRENT,
    CONSUMER_GROUP,
    CONSUMER_MEMBER,
    CONSUMER_TARGET,
    CONSUMER_TARGET_MEMBER,
    GROUP_METADATA,
    CoordinatorRecord,
    parse_printed_records,
)

GROUP = "billing"
START_MS = 1_764_105_600_000
TOPICS = (ConsumerTopic("orders", 8), ConsumerTopic("payments", 3))
"""Topics of the groups; their ids follow from their names."""

DESCRIBED = "".join(
    f"Topic: {topic.name}\tTopicId: {topic.id_or_default()}\tPartitionCount: {topic.partitions}\tReplicationFactor: 1\t"
    "Configs: \n"
    + "".join(
        f"\tTopic: {topic.name}\tPartition: {number}\tLeader: 1\tReplicas: 1\tIsr: 1\n"
        for number in range(topic.partitions)
    )
    for topic in TOPICS
)
"""Output of `kafka-topics.sh --describe`."""


def member_id(name: str) -> str:
    """Return the member id of a consumer of the consumer protocol."""
    return str(TopicId.of(uuid.uuid5(uuid.NAMESPACE_URL, name)))


@dataclass(slots=True)
class RecordedLines:
    """Printed records.

    Attributes:
        at_ms: Time of the next record.
        lines: The records so far.
    """

    at_ms: int = START_MS
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The output of the tool."""
        return "\n".join(["Dumping 00000000000000000000.log", *self.lines, ""])

    @property
    def records(self) -> list[CoordinatorRecord]:
        """The records."""
        return list(parse_printed_records(self.text))

    def wait(self, seconds: int) -> None:
        """Let time pass until the next record."""
        self.at_ms += 1_000 * seconds

    def write(self, type_: int, value: Mapping[str, Any] | None, **key: str) -> None:
        """Write a record; a value of None is a tombstone."""
        name = "group" if type_ == GROUP_METADATA else "groupId"
        printed_key = json.dumps({"type": str(type_), "data": {name: GROUP, **key}}, separators=(",", ":"))
        payload = "<DELETE>" if value is None else json.dumps({"version": "0", "data": value})
        self.lines.append(
            f"| offset: {len(self.lines)} CreateTime: {self.at_ms} keySize: 1 valueSize: 1 sequence: -1 headerKeys: [] "
            f"key: {printed_key} payload: {payload}"
        )


@dataclass(slots=True)
class CoordinatedGroup(RecordedLines):
    """A group of the consumer protocol (KIP-848), whose coordinator assigns at once.

    Attributes:
        assignor: Name of its assignor.
        topics: Topics of the cluster.
        epoch: Epoch of the group.
        order: Members in the order of the coordinator's map.
        members: Member, by its id.
        target: Target by member id, in the order of its record.
    """

    assignor: str = "uniform"
    topics: tuple[ConsumerTopic, ...] = TOPICS
    epoch: int = 0
    order: TimelineOrder = field(default_factory=TimelineOrder)
    members: dict[str, ConsumerMember] = field(default_factory=dict)
    target: dict[str, tuple[TopicPartition, ...]] = field(default_factory=dict)

    def join(
        self, name: str, topics: Sequence[str] = ("orders",), client: str = "", instance: str | None = None
    ) -> str:
        """Let a consumer join; return its member id."""
        member = ConsumerMember(member_id(name), tuple(topics), instance)
        self.members[member.member_id] = member
        self.write(CONSUMER_MEMBER, self._metadata(member, client or name), memberId=member.member_id)
        self._assign(member.member_id)
        self.order.add(member.member_id)
        return member.member_id

    def leave(self, name: str) -> None:
        """Let a consumer leave, and another one trigger the assignment."""
        left = member_id(name)
        for type_ in (CONSUMER_CURRENT, CONSUMER_TARGET_MEMBER, CONSUMER_MEMBER):
            self.write(type_, None, memberId=left)
        self.members.pop(left)
        self.target.pop(left, None)
        self.order.remove(left)
        if self.members:
            self._assign(next(iter(self.order)))

    def replace(self, name: str, new: str, client: str = "") -> None:
        """Let a static consumer return with another member id, which gets its target without an assignment."""
        before, after = member_id(name), member_id(new)
        member = self.members.pop(before)
        for type_ in (CONSUMER_CURRENT, CONSUMER_TARGET_MEMBER, CONSUMER_MEMBER):
            self.write(type_, None, memberId=before)
        self.members[after] = ConsumerMember(after, member.topics, member.instance_id)
        self.target[after] = self.target.pop(before)
        self.order.remove(before)
        self.order.add(after)
        self.write(CONSUMER_MEMBER, self._metadata(self.members[after], client or new), memberId=after)
        self.write(CONSUMER_TARGET_MEMBER, self._printed(self.target[after]), memberId=after)
        self._current(after)

    def _metadata(self, member: ConsumerMember, client: str) -> dict[str, Any]:
        return {
            "instanceId": member.instance_id,
            "rackId": None,
            "clientId": client,
            "clientHost": "/10.0.0.1",
            "subscribedTopicNames": list(member.topics),
            "subscribedTopicRegex": "",
            "rebalanceTimeoutMs": 300_000,
            "serverAssignor": self.assignor if self.assignor != "uniform" else None,
        }

    def _assign(self, triggering: str) -> None:
        self.epoch += 1
        self.write(CONSUMER_GROUP, {"epoch": self.epoch})
        listed = [*self.order, *(member for member in self.members if member not in set(self.order))]
        state = ConsumerGroupState.of(
            (
                ConsumerMember(name, member.topics, member.instance_id, owned=self.target.get(name, ()))
                for name, member in ((name, self.members[name]) for name in listed)
            ),
            self.topics,
        )
        answer = find(self.assignor, ConsumerProtocol.CONSUMER).make().assign(state)
        for name, keys in zip(state.member_ids, answer.partitions, strict=True):
            new = tuple(map(state.topic_partition, keys))
            if set(new) != set(self.target.get(name, ())):
                self.target[name] = new
                self.write(CONSUMER_TARGET_MEMBER, self._printed(new), memberId=name)
        self.write(CONSUMER_TARGET, {"assignmentEpoch": self.epoch})
        self._current(triggering)
        for name in self.order:
            if name != triggering:
                self._current(name)

    def _current(self, name: str) -> None:
        """Let a member reach its target."""
        value = {
            "memberEpoch": self.epoch,
            "previousMemberEpoch": self.epoch - 1,
            "state": 0,
            "assignedPartitions": self._printed(self.target.get(name, ()))["topicPartitions"],
            "partitionsPendingRevocation": [],
        }
        self.write(CONSUMER_CURRENT, value, memberId=name)

    def _printed(self, partitions: Sequence[TopicPartition]) -> dict[str, Any]:
        ids = {topic.name: str(topic.id_or_default()) for topic in self.topics}
        by_topic: dict[str, list[int]] = {}
        for topic, partition in partitions:
            by_topic.setdefault(ids[topic], []).append(partition)
        return {"topicPartitions": [{"topicId": key, "partitions": numbers} for key, numbers in by_topic.items()]}


@dataclass(slots=True)
class ClassicConsumers(RecordedLines):
    """A classic group of plain consumers, whose members join at once.

    Attributes:
        assignor: Name of its assignor.
        generation: Its generation.
        members: Members by name, in the order of the coordinator's map.
        clients: `client.id` by name.
        owned: Partitions of each member after the last generation.
    """

    assignor: str = "range"
    generation: int = 0
    members: dict[str, ConsumerMember] = field(default_factory=dict)
    clients: dict[str, str] = field(default_factory=dict)
    owned: dict[str, tuple[TopicPartition, ...]] = field(default_factory=dict)

    def add(
        self, name: str, topics: Sequence[str] = ("orders",), client: str = "", instance: str | None = None
    ) -> None:
        """Add a consumer that joins the next rebalance."""
        self.clients[name] = client or name
        own = f"{instance or client or name}-{uuid.uuid5(uuid.NAMESPACE_URL, name)}"
        self.members[name] = ConsumerMember(own, tuple(topics), instance)

    def remove(self, name: str) -> None:
        """Remove a consumer before the next rebalance."""
        del self.members[name]
        self.owned.pop(name, None)

    def rebalance(self) -> ConsumerAssignment:
        """Write the record of the next generation; return its assignment."""
        self.generation += 1
        reports = self.assignor == "cooperative-sticky"
        joined = [
            ConsumerMember(
                member.member_id,
                member.topics,
                member.instance_id,
                owned=self.owned.get(name, ()) if reports else (),
                generation=self.generation - 1 if name in self.owned else -1,
            )
            for name, member in self.members.items()
        ]
        state = ConsumerGroupState.of(joined, TOPICS)
        answer = find(self.assignor, ConsumerProtocol.CLASSIC).make().assign(state)
        assigned = answer.by_member(state)
        self.owned = {name: assigned[member.member_id] for name, member in self.members.items()}
        self.write(
            GROUP_METADATA,
            {
                "protocolType": "consumer",
                "generation": self.generation,
                "protocol": self.assignor,
                "leader": joined[0].member_id,
                "currentStateTimestamp": self.at_ms,
                "members": [
                    {
                        "memberId": member.member_id,
                        "groupInstanceId": member.instance_id,
                        "clientId": self.clients[name],
                        "clientHost": "/10.0.0.1",
                        "rebalanceTimeout": 300_000,
                        "sessionTimeout": 45_000,
                        "subscription": {
                            "topics": list(member.topics),
                            "userData": None,
                            "ownedPartitions": _grouped(member.owned),
                            "generationId": member.generation,
                            "rackId": None,
                        },
                        "assignment": {"assignedPartitions": _grouped(self.owned[name]), "userData": None},
                    }
                    for name, member in zip(self.members, joined, strict=True)
                ],
            },
        )
        return answer


def _grouped(partitions: Sequence[TopicPartition]) -> list[dict[str, Any]]:
    by_topic: dict[str, list[int]] = {}
    for topic, partition in partitions:
        by_topic.setdefault(topic, []).append(partition)
    return [{"topic": topic, "partitions": numbers} for topic, numbers in by_topic.items()]
