"""The columns of a consumer group, and its answers by name."""

from __future__ import annotations

import uuid

import pytest

from assignors.model.consumer_group import (
    ConsumerAssignment,
    ConsumerGroupState,
    ConsumerMember,
    ConsumerTopic,
    SubscriptionType,
    partition_key,
    partition_of,
    topic_of,
)
from assignors.model.ids import TopicId, TopicPartition


def test_keys_of_partitions_are_in_the_order_of_topics_and_partitions() -> None:
    keys = [partition_key(topic, partition) for topic in (0, 1, 7) for partition in (0, 1, 2**31 - 1)]
    assert keys == sorted(keys)
    assert [(topic_of(key), partition_of(key)) for key in keys[-2:]] == [(7, 1), (7, 2**31 - 1)]


def test_topics_that_only_members_name_do_not_exist() -> None:
    member = ConsumerMember("a", ("orders", "gone"), owned=(TopicPartition("older", 3),))
    state = ConsumerGroupState.of([member], [ConsumerTopic("orders", 2)])
    assert [(topic.name, topic.partitions) for topic in state.topics] == [("orders", 2), ("gone", 0), ("older", 0)]
    assert state.subscriptions == ((0, 1),)
    assert list(map(state.topic_partition, state.owned[0])) == [TopicPartition("older", 3)]


@pytest.mark.parametrize(
    ("subscriptions", "expected"),
    [
        ([], SubscriptionType.HOMOGENEOUS),
        ([("t", "u"), ("u", "t")], SubscriptionType.HOMOGENEOUS),
        ([("t",), ("t", "u")], SubscriptionType.HETEROGENEOUS),
        ([("t",), ()], SubscriptionType.HETEROGENEOUS),
        ([(), ()], SubscriptionType.HOMOGENEOUS),
    ],
)
def test_subscription_type_is_derived(subscriptions: list[tuple[str, ...]], expected: SubscriptionType) -> None:
    members = [ConsumerMember(str(number), topics) for number, topics in enumerate(subscriptions)]
    assert ConsumerGroupState.of(members, [ConsumerTopic("t", 1)]).subscription_type is expected


@pytest.mark.parametrize(
    ("members", "topics", "message"),
    [
        ([ConsumerMember("a"), ConsumerMember("a")], [], "member 'a' is listed twice"),
        ([], [ConsumerTopic("t", 1), ConsumerTopic("t", 2)], "topic 't' is listed twice"),
        ([], [ConsumerTopic("t", 2, (("az1",),))], "topic 't': 2 partitions, racks of 1"),
        ([], [ConsumerTopic("t", -1)], "topic 't': -1 partitions"),
    ],
)
def test_contradictions_are_rejected(members: list[ConsumerMember], topics: list[ConsumerTopic], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ConsumerGroupState.of(members, topics)


def test_assignment_is_given_by_member_id() -> None:
    state = ConsumerGroupState.of([ConsumerMember("a"), ConsumerMember("b")], [ConsumerTopic("t", 2)])
    assignment = ConsumerAssignment(((), (partition_key(0, 1), partition_key(0, 0))))
    assert assignment.by_member(state) == {"a": (), "b": (TopicPartition("t", 1), TopicPartition("t", 0))}


def test_unchanged_target_assignment_keeps_the_order_of_its_record() -> None:
    owned = (TopicPartition("t", 1), TopicPartition("t", 0))
    state = ConsumerGroupState.of([ConsumerMember("a", ("t",), owned=owned)], [ConsumerTopic("t", 3)])
    keys = [partition_key(0, partition) for partition in range(3)]
    assert ConsumerAssignment((tuple(keys[:2]),)).stored_after(state) == ((keys[1], keys[0]),)
    assert ConsumerAssignment((tuple(keys),)).stored_after(state) == (tuple(keys),)


def test_topic_ids_are_those_of_kafka() -> None:
    # jshell> new org.apache.kafka.common.Uuid(0x0123456789abcdefL, -2L).toString()
    topic_id = TopicId.of(uuid.UUID("01234567-89ab-cdef-ffff-fffffffffffe"))
    assert str(topic_id) == "ASNFZ4mrze___________g"
    assert TopicId.parse(str(topic_id)) == topic_id
    assert topic_id.least_significant_bits == -2
    assert TopicId.of(uuid.UUID(int=2**127)) < TopicId.of(uuid.UUID(int=0))


def test_damaged_topic_id_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"'AAA' is not a topic id \(expected 22 characters of URL-safe base64\)"):
        TopicId.parse("AAA")


def test_topic_without_id_gets_one_from_its_name() -> None:
    state = ConsumerGroupState.of([], [ConsumerTopic("t", 1), ConsumerTopic("\ud800", 1)])
    assert state.topics[0].topic_id == TopicId.of_name("t") != state.topics[1].topic_id
