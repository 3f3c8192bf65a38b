"""Leaders evened out by maximum flow: each claim of the article, and what was wrong with its costs."""

from __future__ import annotations

import numpy as np
import pytest

from assignors.errors import UnknownAssignorError
from assignors.model.columns import IntArray
from assignors.replicas import registry
from assignors.replicas.broker_loads import added_replicas, count_leaders
from assignors.replicas.leader_max_flow import LeaderMaxFlow
from assignors.replicas.phases.residue_flow import Pruning
from assignors.replicas.plan import Plan, PlanRequest, PlanStatus
from assignors.replicas.planning import plan
from assignors.replicas.shuffling import replicas_by_partition, shuffle_state
from assignors.replicas.state import BrokerState, ClusterState
from tests.assignors.replicas.clusters import ids, random_cluster
from tests.assignors.replicas.topics import (
    changes,
    even_sets,
    fewest_changes,
    leader_range,
    loads,
    skewed,
    topic,
)

AS_PUBLISHED = LeaderMaxFlow(costs="published", pruning="component")
SHAPES = [(180, 122), (120, 135)]
SKEWS = [0.3, 0.8]


def evened(state: ClusterState, strategy: LeaderMaxFlow | None = None) -> IntArray:
    answer = plan(strategy or LeaderMaxFlow(), state, PlanRequest())
    assert answer.replicas is not None, answer.reason
    return answer.replicas


def one_chain() -> ClusterState:
    """Brokers 0 to 5 lead 3, 2, 2, 1, 1 and 1: the only way to relieve broker 0 leads over 1 and 2 to 3."""
    return loads((0, 1, 2, 3), alone=[0, 0, 1, 2, 3, 4, 5])


def adjacent(seed: int) -> ClusterState:
    """180 partitions of 122 brokers, each held by three in a row, of which anyone leads."""
    rows = (np.arange(180)[:, None] + np.arange(3)) % 122
    return topic(np.random.default_rng(seed).permuted(rows, axis=1), 122)


def striped(seed: int) -> ClusterState:
    """The same as Kafka lays out a new topic: followers further away from the leader in the second round."""
    draw = np.random.default_rng(seed)
    leader, gap = np.arange(180), draw.integers(121) + np.arange(180) // 122
    rows = np.stack([leader, *(leader + 1 + (gap + j) % 121 for j in range(2))], axis=1) % 122
    return topic(draw.permuted(rows, axis=1), 122)


def test_a_leader_is_handed_on_along_a_chain_and_changes_places_with_who_takes_it() -> None:
    state = loads((1, 2, 4), alone=[1, 1, 2, 3])
    assert ids(state, evened(state)) == [[2, 1], [4, 2], [1], [1], [2], [3]]


def test_of_two_brokers_that_may_both_keep_what_they_have_the_nearer_one_hands_on() -> None:
    state = loads((1, 2, 4), alone=[1, 2, 3])
    assert ids(state, evened(state)) == [[1, 2], [4, 2], [1], [2], [3]]


def test_four_partitions_of_the_comparison_are_led_by_one_broker_each() -> None:
    state = topic([[0, 1, 2], [1, 2, 3], [0, 1, 2], [1, 0, 2]], 4)
    replicas = evened(state)
    assert count_leaders(replicas, 4).tolist() == [1, 1, 1, 1]
    assert changes(state, replicas) == 2
    assert not added_replicas(state.replicas, replicas).any()


def test_without_the_residue_brokers_next_to_their_share_take_nothing() -> None:
    state = topic([[0, 1], [0, 2], [0, 3], [0, 1], [1], [2], [3]], 4)
    assert count_leaders(evened(state, LeaderMaxFlow(residue=False)), 4).tolist() == [4, 1, 1, 1]
    assert sorted(count_leaders(evened(state), 4).tolist()) == [1, 2, 2, 2]


@pytest.mark.parametrize("pruning", ["none", "component", "path"])
def test_published_costs_prefer_a_useless_hop_to_the_chain_that_is_needed(pruning: Pruning) -> None:
    state = one_chain()
    assert count_leaders(state.replicas, 6).tolist() == [3, 2, 2, 1, 1, 1]
    published = evened(state, LeaderMaxFlow(costs="published", pruning=pruning))
    assert published.tolist() == state.replicas.tolist()
    fixed = evened(state)
    assert count_leaders(fixed, 6).tolist() == [2, 2, 2, 2, 1, 1]
    assert changes(state, fixed) == fewest_changes(state) == 3


def test_published_costs_leave_topics_on_adjacent_brokers_uneven_and_fixed_ones_do_not() -> None:
    states = [adjacent(seed) for seed in range(10)]
    assert all(fewest_changes(state) is not None for state in states)
    assert sum(leader_range(evened(state, AS_PUBLISHED), 122) > 1 for state in states) >= 8
    assert all(leader_range(evened(state), 122) <= 1 for state in states)


def test_published_costs_leave_some_topics_uneven_that_kafka_laid_out_and_fixed_ones_do_not() -> None:
    states = [striped(seed) for seed in range(60)]
    assert all(fewest_changes(state) is not None for state in states)
    assert 0 < sum(leader_range(evened(state, AS_PUBLISHED), 122) > 1 for state in states) < 30
    assert all(leader_range(evened(state), 122) <= 1 for state in states)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("skew", SKEWS)
def test_leaders_are_even_at_little_more_than_the_fewest_changes(shape: tuple[int, int], skew: float) -> None:
    done, least = [], []
    for seed in range(15):
        draw = np.random.default_rng(seed)
        state = topic(skewed(draw, even_sets(draw, *shape), skew), shape[1])
        replicas = evened(state)
        assert leader_range(replicas, shape[1]) <= 1
        fewest = fewest_changes(state)
        assert fewest is not None
        assert fewest <= changes(state, replicas) <= 1.4 * fewest
        done.append(changes(state, replicas))
        least.append(fewest)
    assert sum(done) <= 1.2 * sum(least)


def test_a_little_skew_costs_little_more_than_the_fewest_changes() -> None:
    done, least = [], []
    for seed in range(15):
        draw = np.random.default_rng(seed)
        rows = evened(topic(even_sets(draw, 180, 122), 122)).copy()
        handed = draw.choice(180, 25, replace=False)
        rows[handed] = rows[handed][:, [1, 0, 2]]
        state = topic(rows, 122)
        done.append(changes(state, evened(state)))
        least.append(fewest_changes(state) or 0)
    assert all(changed <= 1.4 * fewest for changed, fewest in zip(done, least, strict=True))


def test_each_stage_of_the_article_saves_changes() -> None:
    stages = [
        LeaderMaxFlow(costs="none", pruning="none"),
        LeaderMaxFlow(costs="published", pruning="none"),
        AS_PUBLISHED,
        LeaderMaxFlow(costs="published", pruning="path"),
    ]
    totals = [0] * len(stages)
    for seed in range(10):
        draw = np.random.default_rng(seed)
        state = topic(skewed(draw, even_sets(draw, 180, 122), 0.2), 122)
        for number, stage in enumerate(stages):
            totals[number] += changes(state, evened(state, stage))
    assert totals == sorted(totals, reverse=True)
    assert totals[2] < 0.9 * totals[1]
    assert totals[3] < 0.9 * totals[2]


@pytest.mark.parametrize("seed", range(25))
def test_leaders_are_even_wherever_that_is_possible(seed: int) -> None:
    draw = np.random.default_rng(seed)
    drawn = np.argsort(draw.random((30, 24)), axis=1)[:, : 2 + seed % 2]
    held, rows = np.unique(drawn, return_inverse=True)
    state = topic(rows.reshape(drawn.shape), len(held))
    answer = plan(LeaderMaxFlow(), state, PlanRequest())
    assert answer.replicas is not None
    is_possible = fewest_changes(state) is not None
    assert (leader_range(answer.replicas, len(held)) <= 1) == is_possible
    assert bool(answer.notes) != is_possible


def test_an_even_topic_is_left_alone_beside_one_that_is_not() -> None:
    even = {("even", p): [p % 3, (p + 1) % 3] for p in range(4)}
    uneven = {("uneven", p): [0, 1 + p % 2] for p in range(4)}
    state = ClusterState.of(map(BrokerState, range(3)), even | uneven)
    replicas = evened(state, LeaderMaxFlow(costs="none", pruning="none"))
    assert replicas[:4].tolist() == state.replicas[:4].tolist()
    assert sorted(count_leaders(replicas[4:], 3).tolist()) == [1, 1, 2]


def test_topics_are_evened_out_one_by_one_though_not_all_together() -> None:
    held = {(name, p): [0, 1] for name in ("a", "b", "c") for p in range(3)}
    state = ClusterState.of(map(BrokerState, range(2)), held)
    replicas = evened(state)
    for name in range(3):
        assert leader_range(replicas[state.topic == name], 2) == 1


def test_brokers_without_a_replica_of_the_topic_have_no_share_in_it() -> None:
    state = topic([[0, 1], [0, 1], [0, 1], [0, 1]], 40)
    assert count_leaders(evened(state), 40)[:2].tolist() == [2, 2]


def test_a_topic_that_cannot_be_even_is_named() -> None:
    state = ClusterState.of(map(BrokerState, range(2)), {("stuck", p): [0] for p in range(3)} | {("stuck", 3): [1]})
    assert plan(LeaderMaxFlow(), state, PlanRequest()).notes == ("leaders of stuck stay uneven (range: 2)",)


@pytest.mark.parametrize("strategy", [LeaderMaxFlow(), AS_PUBLISHED, LeaderMaxFlow(costs="none", pruning="none")])
def test_the_same_plan_again_changes_nothing(strategy: LeaderMaxFlow) -> None:
    for seed in range(15):
        state = random_cluster(seed, num_brokers=9, partitions=(20, 7, 3), factor=2 + seed % 2, skew=2.0)
        replicas = evened(state, strategy)
        assert evened(state.with_replicas(replicas), strategy).tolist() == replicas.tolist()


def test_the_order_in_which_a_cluster_is_told_does_not_matter() -> None:
    state = random_cluster(3, num_brokers=9, partitions=(30, 11), skew=2.0)
    expected = replicas_by_partition(state, evened(state))
    for seed in range(20):
        told = shuffle_state(state, np.random.default_rng(seed))
        assert replicas_by_partition(told, evened(told)) == expected


def test_fewer_or_other_replicas_are_not_its_business() -> None:
    state = random_cluster(1, num_brokers=4)
    answers: list[Plan] = [
        plan(LeaderMaxFlow(), state, PlanRequest(replication_factor=2)),
        plan(LeaderMaxFlow(), state, PlanRequest(replication_factor=4)),
        plan(LeaderMaxFlow(), state, PlanRequest(brokers=(0, 1, 2))),
    ]
    assert {answer.status for answer in answers} == {PlanStatus.NOT_APPLICABLE}


@pytest.mark.parametrize("parameters", [{"costs": "cheap"}, {"pruning": "branch"}, {"cost": "fixed"}])
def test_a_parameter_that_is_not_there_is_refused(parameters: dict[str, str]) -> None:
    with pytest.raises(UnknownAssignorError, match="leader_max_flow"):
        registry.make(registry.find_strategy("leader_max_flow"), parameters)
