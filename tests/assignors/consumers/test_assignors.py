"""Answers that follow from Kafka's documentation of its consumer assignors."""

from __future__ import annotations

import pytest

from assignors.consumers import registry
from assignors.consumers.previous_owners import owned_after
from assignors.errors import EndlessLoopError, IllegalStateError
from assignors.model.consumer_group import ConsumerGroupState, ConsumerMember, ConsumerTopic
from assignors.model.ids import TopicPartition

TWO_TOPICS = (ConsumerTopic("t0", 3), ConsumerTopic("t1", 3))


def answer(name: str, protocol: str, state: ConsumerGroupState) -> dict[str, set[str]]:
    assignment = registry.find(name, protocol).make().assign(state)
    return {member: set(map(str, keys)) for member, keys in assignment.by_member(state).items()}


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_range_gives_the_first_members_the_larger_ranges_of_all_topics(protocol: str) -> None:
    members = [ConsumerMember(name, ("t0", "t1")) for name in ("C1", "C0")]
    assert answer("range", protocol, ConsumerGroupState.of(members, TWO_TOPICS)) == {
        "C0": {"t0-0", "t0-1", "t1-0", "t1-1"},
        "C1": {"t0-2", "t1-2"},
    }


@pytest.mark.parametrize(("name", "protocol"), [("range", "classic"), ("range", "consumer"), ("roundrobin", "classic")])
def test_static_members_come_first_by_instance_id(name: str, protocol: str) -> None:
    topics = [ConsumerTopic("t", 4)]
    members = [ConsumerMember("a", ("t",)), ConsumerMember("z", ("t",), "i1"), ConsumerMember("y", ("t",), "i2")]
    assert [len(answer(name, protocol, ConsumerGroupState.of(members, topics))[m]) for m in "zya"] == [2, 1, 1]


def test_round_robin_skips_members_that_do_not_subscribe() -> None:
    topics = [ConsumerTopic("t0", 1), ConsumerTopic("t1", 2), ConsumerTopic("t2", 3)]
    members = [
        ConsumerMember("C0", ("t0",)),
        ConsumerMember("C1", ("t0", "t1")),
        ConsumerMember("C2", ("t0", "t1", "t2")),
    ]
    assert answer("roundrobin", "classic", ConsumerGroupState.of(members, topics)) == {
        "C0": {"t0-0"},
        "C1": {"t1-0"},
        "C2": {"t1-1", "t2-0", "t2-1", "t2-2"},
    }


def test_range_of_clients_matches_racks_and_that_of_brokers_does_not() -> None:
    topics = [ConsumerTopic("t", 2, (("az2",), ("az1",)))]
    members = [ConsumerMember("a", ("t",), rack="az1"), ConsumerMember("b", ("t",), rack="az2")]
    state = ConsumerGroupState.of(members, topics)
    assert answer("range", "classic", state) == {"a": {"t-1"}, "b": {"t-0"}}
    assert answer("range", "consumer", state) == {"a": {"t-0"}, "b": {"t-1"}}


@pytest.mark.parametrize("name", ["sticky", "cooperative-sticky"])
def test_newer_generation_wins_a_partition_that_two_members_claim(name: str) -> None:
    claim = (TopicPartition("t", 0),)
    members = [
        ConsumerMember("a", ("t",), owned=claim, generation=4, user_data_generation=4),
        ConsumerMember("b", ("t",), owned=claim, generation=5, user_data_generation=5),
    ]
    assert "t-0" in answer(name, "classic", ConsumerGroupState.of(members, [ConsumerTopic("t", 2)]))["b"]


def test_cooperative_sticky_withholds_what_another_member_must_revoke() -> None:
    owned = tuple(TopicPartition("t", partition) for partition in range(4))
    old = ConsumerMember("a", ("t",), owned=owned, generation=1, user_data_generation=1)
    info = registry.find("cooperative-sticky")
    state = ConsumerGroupState.of([old, ConsumerMember("b", ("t",))], [ConsumerTopic("t", 4)])
    first = info.make().assign(state)
    assert [len(keys) for keys in first.partitions] == [2, 0]
    assert {member for _, member in first.withheld} == {1}
    names = [tuple(map(state.topic_partition, keys)) for keys in owned_after(info, state, first)]
    members = [
        ConsumerMember(member, ("t",), owned=partitions, generation=2)
        for member, partitions in zip("ab", names, strict=True)
    ]
    second = info.make().assign(ConsumerGroupState.of(members, [ConsumerTopic("t", 4)]))
    assert [len(keys) for keys in second.partitions] == [2, 2]
    assert not second.withheld


def test_uniform_of_the_first_release_moves_partitions_without_need() -> None:
    owned = (TopicPartition("t", 0), TopicPartition("t", 1))
    members = [ConsumerMember("a", ("t",)), ConsumerMember("b", ("t",), owned=owned)]
    state = ConsumerGroupState.of(members, [ConsumerTopic("t", 3)])
    assert answer("uniform@4.0.0", "consumer", state) == {"a": {"t-1", "t-2"}, "b": {"t-0"}}
    for release in ("4.0", "4.4"):
        assert answer(f"uniform@{release}", "consumer", state) == {"a": {"t-2"}, "b": {"t-0", "t-1"}}


def test_members_that_own_partitions_of_a_deleted_topic_lose_them() -> None:
    owned = (TopicPartition("gone", 0), TopicPartition("t", 0))
    members = [ConsumerMember("a", ("gone", "t"), owned=owned, generation=1, user_data_generation=1)]
    state = ConsumerGroupState.of(members, [ConsumerTopic("t", 2)])
    for info in registry.built_in():
        assert answer(info.name, str(info.protocol), state) == {"a": {"t-0", "t-1"}}


def test_kafkas_exceptions_are_raised() -> None:
    owned = {
        "a": (TopicPartition("t", 9), TopicPartition("u", 0)),
        "b": (TopicPartition("t", 0), TopicPartition("u", 1)),
    }
    members = [
        ConsumerMember(name, ("t", "u"), owned=partitions, generation=1, user_data_generation=1)
        for name, partitions in owned.items()
    ]
    state = ConsumerGroupState.of(members, [ConsumerTopic("t", 2), ConsumerTopic("u", 2)])
    with pytest.raises(IllegalStateError, match=r"java\.lang\.IllegalStateException: No more unfilled consumers"):
        registry.find("sticky").make().assign(state)


def test_group_for_which_kafka_never_returns_is_reported() -> None:
    # StickyAssignor of Kafka 4.3.1 does not return within 40 s. The third member owned a partition without a generation
    # and does not subscribe to its topic any more: Kafka moves the partition to it and away from it for ever.
    def owned(topic: str, *partitions: int) -> tuple[TopicPartition, ...]:
        return tuple(TopicPartition(topic, partition) for partition in partitions)

    both = ("topic31", "AaAa")
    members = [
        ConsumerMember("consumer-6-dd7c0257-7935-d569-0280-604d9351d4f8", both, owned=owned("AaAa", *range(0, 21, 3))),
        ConsumerMember("consumer-3-a72e59b3-5b79-907e-ae9a-5a470e7f1495", ("topic29",), owned=owned("topic29", 17)),
        ConsumerMember("consumer-1-21cf62c7-91dd-2384-c209-fadcae2d049d", ("AaAa",), owned=owned("topic29", 15)),
        ConsumerMember("consumer-7-6fc2320a-a6c4-fa0f-e392-acea4a287d01", both, owned=owned("AaAa", *range(4, 17, 3))),
        ConsumerMember("consumer-2-59589d3d-2bee-7b55-c67e-a5ae2ef6f8bc", ("topic29",), owned=owned("topic29", 16)),
    ]
    topics = [ConsumerTopic("topic29", 19), ConsumerTopic("topic31", 12), ConsumerTopic("AaAa", 19)]
    with pytest.raises(EndlessLoopError, match="endless loop: Kafka's assignor moves partitions"):
        registry.find("sticky").make().assign(ConsumerGroupState.of(members, topics, max_generation=1))
