"""The input and the answer of a consumer partition assignor: members, topics, and the partitions that members own.

Groups of the classic protocol and of the consumer protocol (KIP-848) have the same kind of state. The partitions that a
member owns are those that the assignor of its protocol sees: the previous assignment that the member reports (classic),
or its target assignment (consumer).

A partition is a number, its key: `partition_key(row of the topic, partition)`. Keys of a topic are consecutive, and
a key also identifies a partition that does not exist (any more).

Source: `ConsumerPartitionAssignor.GroupSubscription`, `Subscription` and `GroupAssignment` of kafka-clients;
`GroupSpec` and `SubscribedTopicDescriber` in `org.apache.kafka.coordinator.group.api.assignor`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol, runtime_checkable

from assignors.model.ids import TopicId, TopicPartition

NO_GENERATION = -1
"""Generation of a member that reports none (`AbstractStickyAssignor.DEFAULT_GENERATION`)."""

_TOPIC_BITS = 32
_PARTITION_MASK = (1 << _TOPIC_BITS) - 1


class SubscriptionType(StrEnum):
    """Whether all members of a group subscribe to the same topics.

    Source: `org.apache.kafka.coordinator.group.api.assignor.SubscriptionType`.
    """

    HOMOGENEOUS = "homogeneous"
    HETEROGENEOUS = "heterogeneous"


def partition_key(topic: int, partition: int) -> int:
    """Return the key of a partition of the topic in a row of `ConsumerGroupState.topics`."""
    return topic << _TOPIC_BITS | partition


def topic_of(key: int) -> int:
    """Return the row of the topic of a partition."""
    return key >> _TOPIC_BITS


def partition_of(key: int) -> int:
    """Return the number of a partition within its topic."""
    return key & _PARTITION_MASK


@dataclass(frozen=True, slots=True)
class ConsumerTopic:
    """A topic that members subscribe to, or own partitions of.

    Attributes:
        name: name of the topic.
        partitions: number of partitions; 0 if the topic does not exist, or the leader has no metadata of it.
        racks: racks of the replicas of each partition, None for a broker without rack; empty if no rack is known.
        topic_id: the topic id, on whose hash the order of brokers' assignments depends; None derives one from the name.
    """

    name: str
    partitions: int
    racks: tuple[tuple[str | None, ...], ...] = ()
    topic_id: TopicId | None = None

    def id_or_default(self) -> TopicId:
        """Return the topic id, or the one derived from the name."""
        return TopicId.of_name(self.name) if self.topic_id is None else self.topic_id


@dataclass(frozen=True, slots=True)
class ConsumerMember:
    """A member of a consumer group, for `ConsumerGroupState.of`.

    Attributes:
        member_id: member id.
        topics: names of the topics to which it subscribes, in the order in which it lists them.
        instance_id: `group.instance.id`; None for a dynamic member.
        rack: `client.rack`; None if not configured.
        owned: partitions that it owns, in the order in which it reports them (classic), or in that of the record of
            its target assignment (consumer).
        generation: generation of `owned` in its subscription (KIP-792); NO_GENERATION for none, as of a new member.
        user_data_generation: generation in the user data of the sticky assignors; None if the data has none.
    """

    member_id: str
    topics: tuple[str, ...] = ()
    instance_id: str | None = None
    rack: str | None = None
    owned: tuple[TopicPartition, ...] = ()
    generation: int = NO_GENERATION
    user_data_generation: int | None = None


@dataclass(frozen=True, slots=True)
class ConsumerGroupState:
    """The input of a consumer partition assignor, in columns: entry *m* of each column is that of member *m*.

    Members are in the order in which Kafka puts them into a hash map: that of the response of the group coordinator
    (classic), or of its own map of members (consumer). Only members whose ids share a bin of the map depend on it.

    Attributes:
        topics: the topics, in any order, each with an id.
        member_ids: member ids.
        subscriptions: rows of the topics to which each member subscribes, in the order in which it lists them.
        owned: keys of the partitions that each member owns; see `ConsumerMember.owned`.
        instance_ids: `group.instance.id` of each member; None for a dynamic one.
        racks: `client.rack` of each member; None if not configured.
        generations: generation of each member; see `ConsumerMember.generation`.
        user_data_generations: generation in the user data of each member.
        subscription_type: of a group of the consumer protocol, as its coordinator knows it.
        max_generation: highest generation that the leader's assignor saw in earlier rebalances (classic, sticky
            assignors): the leader keeps its instance.
    """

    topics: tuple[ConsumerTopic, ...]
    member_ids: tuple[str, ...]
    subscriptions: tuple[tuple[int, ...], ...]
    owned: tuple[tuple[int, ...], ...]
    instance_ids: tuple[str | None, ...]
    racks: tuple[str | None, ...]
    generations: tuple[int, ...]
    user_data_generations: tuple[int | None, ...]
    subscription_type: SubscriptionType
    max_generation: int = NO_GENERATION

    @classmethod
    def of(
        cls,
        members: Iterable[ConsumerMember],
        topics: Iterable[ConsumerTopic],
        subscription_type: SubscriptionType | None = None,
        max_generation: int = NO_GENERATION,
    ) -> ConsumerGroupState:
        """Build the columns; topics that only members name are added as topics that do not exist.

        Args:
            members: members in the order of the columns.
            topics: topics that exist.
            subscription_type: None derives it from the subscriptions.
            max_generation: see the attribute.

        Returns:
            The state.

        Raises:
            ValueError: two members or topics have the same name, or the racks are not those of all partitions.
        """
        listed = tuple(members)
        known = [topic if topic.topic_id else replace(topic, topic_id=topic.id_or_default()) for topic in topics]
        row = {topic.name: number for number, topic in enumerate(known)}
        _check_names("topic", [topic.name for topic in known])
        _check_names("member", [member.member_id for member in listed])
        for topic in known:
            if topic.partitions < 0 or (topic.racks and len(topic.racks) != topic.partitions):
                raise ValueError(f"topic '{topic.name}': {topic.partitions} partitions, racks of {len(topic.racks)}")

        def row_of(name: str) -> int:
            if name not in row:
                row[name] = len(known)
                known.append(ConsumerTopic(name, 0, topic_id=TopicId.of_name(name)))
            return row[name]

        rows_of = {names: tuple(row_of(name) for name in names) for names in dict.fromkeys(m.topics for m in listed)}
        subscriptions = tuple(rows_of[member.topics] for member in listed)
        return cls(
            member_ids=tuple(member.member_id for member in listed),
            subscriptions=subscriptions,
            owned=tuple(tuple(partition_key(row_of(topic), p) for topic, p in member.owned) for member in listed),
            instance_ids=tuple(member.instance_id for member in listed),
            racks=tuple(member.rack for member in listed),
            generations=tuple(member.generation for member in listed),
            user_data_generations=tuple(member.user_data_generation for member in listed),
            subscription_type=derive_subscription_type(subscriptions)
            if subscription_type is None
            else subscription_type,
            max_generation=max_generation,
            topics=tuple(known),
        )

    def topic_partition(self, key: int) -> TopicPartition:
        """Return the name of a partition."""
        return TopicPartition(self.topics[topic_of(key)].name, partition_of(key))


def derive_subscription_type(subscriptions: Sequence[Sequence[int]]) -> SubscriptionType:
    """Return whether all members subscribe to the same topics, as the coordinator counts subscribers.

    Source: `ModernGroup.subscriptionType`, Kafka 4.0 to 4.4.
    """
    first = frozenset(subscriptions[0]) if subscriptions else frozenset()
    same = all(frozenset(rows) == first for rows in dict.fromkeys(map(tuple, subscriptions)))
    return SubscriptionType.HOMOGENEOUS if same else SubscriptionType.HETEROGENEOUS


def _check_names(kind: str, names: Sequence[str]) -> None:
    if len(set(names)) < len(names):
        twice = next(name for number, name in enumerate(names) if name in names[:number])
        raise ValueError(f"{kind} '{twice}' is listed twice")


@dataclass(frozen=True, slots=True)
class ConsumerAssignment:
    """The answer of a consumer partition assignor.

    Attributes:
        partitions: keys of the partitions of each member of the state, in the order of Kafka's list (classic), or in
            that of its map of sets, which is also that of the record that stores them (consumer).
        withheld: partitions that no member gets yet because another member must revoke them first (cooperative
            assignors), each with its next owner: `(key, row of the member)`, sorted.
    """

    partitions: tuple[tuple[int, ...], ...]
    withheld: tuple[tuple[int, int], ...] = ()

    def by_member(self, state: ConsumerGroupState) -> Mapping[str, tuple[TopicPartition, ...]]:
        """Return the partitions by member id."""
        rows = zip(state.member_ids, self.partitions, strict=True)
        return {member: tuple(map(state.topic_partition, keys)) for member, keys in rows}

    def stored_after(self, state: ConsumerGroupState) -> tuple[tuple[int, ...], ...]:
        """Return the next `owned` of the members of the consumer protocol.

        The coordinator writes no record of a target assignment that did not change, so that the order in which it was
        stored first remains.
        """
        rows = zip(state.owned, self.partitions, strict=True)
        return tuple(before if len(before) == len(now) and set(before) == set(now) else now for before, now in rows)


@runtime_checkable
class ConsumerAssignor(Protocol):
    """A strategy that assigns partitions to the members of a consumer group; typically a frozen dataclass.

    `assign` is pure and deterministic, and does not change its argument.
    """

    def assign(self, state: ConsumerGroupState) -> ConsumerAssignment:
        """Return the partitions of each member.

        Raises:
            KafkaError: Kafka's assignor throws for this state.
        """
        ...
