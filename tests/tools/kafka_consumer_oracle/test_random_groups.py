"""Random consumer groups are repeatable and cover what the assignors distinguish."""

from __future__ import annotations

from assignors.model.consumer_group import NO_GENERATION, ConsumerGroupState, SubscriptionType
from tools.kafka_consumer_oracle.lives import RandomConsumerGroup


def life(seed: int, *, is_classic: bool, rounds: int = 4) -> list[ConsumerGroupState]:
    group = RandomConsumerGroup.from_seed(seed, is_classic=is_classic)
    states = []
    for _ in range(rounds):
        states.append(group.state())
        group.adopt({})
    return states


def test_equal_seeds_give_equal_lives() -> None:
    for seed in range(10):
        assert life(seed, is_classic=True) == life(seed, is_classic=True)
    assert life(1, is_classic=True) != life(2, is_classic=True)


def test_lives_cover_all_kinds_of_groups() -> None:
    states = [state for seed in range(150) for state in life(seed, is_classic=True)]
    assert {state.subscription_type for state in states} == set(SubscriptionType)
    assert any(topic.partitions == 0 for state in states for topic in state.topics)
    assert any(None in racks for state in states for topic in state.topics for racks in topic.racks)
    assert any(state.max_generation > NO_GENERATION for state in states)
    claimed = [[key for keys in state.owned for key in keys] for state in states]
    assert any(len(set(keys)) < len(keys) for keys in claimed)
    assert any(len(set(state.generations)) > 2 for state in states)


def test_brokers_know_consistent_assignments_only() -> None:
    for seed in range(100):
        for state in life(seed, is_classic=False):
            claimed = [key for keys in state.owned for key in keys]
            assert len(set(claimed)) == len(claimed)
            assert set(state.generations) == {NO_GENERATION}
            assert state.max_generation == NO_GENERATION
