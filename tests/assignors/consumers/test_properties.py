"""Relations that the answers of all consumer assignors satisfy on random groups."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assignors.consumers import registry
from assignors.consumers.registry import ConsumerAssignorInfo
from assignors.model.consumer_group import ConsumerGroupState, ConsumerTopic, SubscriptionType, partition_of, topic_of
from tests.assignors.consumers.random_groups import expected_keys, owns_only_what_exists, rebalances, subscribers
from tests.counts import few_or

SEEDS = range(9000, 9000 + few_or(60, 20))
ALL = {f"{info.name} ({info.protocol})": info for info in registry.built_in()}
BALANCED = [ALL[name] for name in ("roundrobin (classic)", "sticky (classic)", "uniform (consumer)")]


def ids(info: ConsumerAssignorInfo) -> str:
    return f"{info.name}-{info.protocol}"


@pytest.mark.parametrize("info", ALL.values(), ids=ids)
def test_each_partition_has_one_owner(info: ConsumerAssignorInfo) -> None:
    for state, assignment in rebalances(info, SEEDS):
        if owns_only_what_exists(state):
            assigned = [key for keys in assignment.partitions for key in keys]
            withheld = [key for key, _ in assignment.withheld]
            assert sorted([*assigned, *withheld]) == sorted(expected_keys(state))


@pytest.mark.parametrize("info", [info for info in ALL.values() if not info.is_sticky], ids=ids)
def test_owners_subscribe(info: ConsumerAssignorInfo) -> None:
    for state, assignment in rebalances(info, SEEDS):
        members_of = subscribers(state)
        for member, keys in enumerate(assignment.partitions):
            assert all(member in members_of[topic_of(key)] for key in keys)


@pytest.mark.parametrize("info", BALANCED, ids=ids)
def test_shares_are_even_if_all_members_subscribe_to_the_same_topics(info: ConsumerAssignorInfo) -> None:
    tested = 0
    for state, assignment in rebalances(info, SEEDS):
        if state.subscription_type is SubscriptionType.HOMOGENEOUS and owns_only_what_exists(state):
            sizes = [len(keys) for keys in assignment.partitions]
            assert max(sizes) - min(sizes) <= 1
            tested += 1
    assert tested > few_or(20, 6)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_ranges_of_a_topic_are_even(protocol: str) -> None:
    for state, assignment in rebalances(registry.find("range", protocol), SEEDS):
        for topic, members in subscribers(state).items():
            sizes = [sum(topic_of(key) == topic for key in assignment.partitions[member]) for member in members]
            assert not sizes or max(sizes) - min(sizes) <= 1


def test_ranges_of_brokers_are_contiguous() -> None:
    for _, assignment in rebalances(registry.find("range", "consumer"), SEEDS):
        for keys in assignment.partitions:
            for topic in {topic_of(key) for key in keys}:
                numbers = [partition_of(key) for key in keys if topic_of(key) == topic]
                assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


@pytest.mark.parametrize("name", ["sticky", "uniform"])
def test_balanced_assignment_of_an_unchanged_group_without_racks_stays(name: str) -> None:
    info = registry.find(name)
    for with_racks, _ in rebalances(info, SEEDS, rounds=1):
        state = replace(with_racks, racks=(None,) * len(with_racks.racks))
        if state.subscription_type is SubscriptionType.HOMOGENEOUS and owns_only_what_exists(state):
            first = info.make().assign(state)
            generations = (5,) * len(state.member_ids)
            again = replace(state, owned=first.partitions, generations=generations, user_data_generations=generations)
            assert list(map(set, info.make().assign(again).partitions)) == list(map(set, first.partitions))


def test_no_partition_is_assigned_while_another_member_owns_it() -> None:
    withheld = 0
    for state, assignment in rebalances(registry.find("cooperative-sticky"), SEEDS):
        if owns_only_what_exists(state):
            owner = {key: member for member, keys in enumerate(state.owned) for key in keys}
            for member, keys in enumerate(assignment.partitions):
                assert all(owner.get(key, member) == member for key in keys)
            withheld += len(assignment.withheld)
            assert all(owner[key] != member for key, member in assignment.withheld)
    assert withheld > 50


@pytest.mark.parametrize("info", ALL.values(), ids=ids)
def test_answers_are_repeatable_and_leave_the_state_unchanged(info: ConsumerAssignorInfo) -> None:
    for state, assignment in rebalances(info, range(9000, 9010)):
        before = repr(state)
        assert info.make().assign(state) == assignment
        assert repr(state) == before


@pytest.mark.parametrize("info", ALL.values(), ids=ids)
def test_group_without_members_gets_nothing(info: ConsumerAssignorInfo) -> None:
    assert info.make().assign(ConsumerGroupState.of([], [ConsumerTopic("t", 3)])).partitions == ()
