"""Balance of leaders by max flow: each claim of the article, and the defect of its costs."""

from __future__ import annotations

import numpy as np
import pytest

from assignors.errors import UnknownAssignorError
from assignors.model.columns import IntArray
from assignors.replicas import leader_max_flow, registry
from assignors.replicas.even_shares import BalancingMethod, Pruning
from assignors.replicas.leader_max_flow import LeaderMaxFlow, balance_first_replicas
from assignors.replicas.plan import Plan, PlanRequest, PlanStatus
from assignors.replicas.plan_evaluation import replicas_by_partition, shuffle_state
from assignors.replicas.planning import plan
from assignors.replicas.state import BrokerState, ClusterState, added_replicas, count_leaders
from tests.assignors.replicas.clusters import ids, random_cluster
from tests.assignors.replicas.topics import (
    changes,
    even_sets,
    leader_range,
    loads,
    min_leader_changes_per_topic,
    skewed,
    topic,
)

AS_PUBLISHED = LeaderMaxFlow(costs="published", pruning="component")
SHAPES = [(180, 122), (120, 135)]
SKEWS = [0.3, 0.8]


def balanced(state: ClusterState, strategy: LeaderMaxFlow | None = None) -> IntArray:
    proposal = plan(strategy or LeaderMaxFlow(), state, PlanRequest())
    assert proposal.replicas is not None, proposal.reason
    return proposal.replicas


def one_chain() -> ClusterState:
    """Build a topic with 3, 2, 2, 1, 1 and 1 leaders: only the chain over 1 and 2 to 3 relieves broker 0."""
    return loads((0, 1, 2, 3), alone=[0, 0, 1, 2, 3, 4, 5])


def adjacent(seed: int) -> ClusterState:
    """Build 180 partitions on 122 brokers, each on three neighbors, any of which leads."""
    rows = (np.arange(180)[:, None] + np.arange(3)) % 122
    return topic(np.random.default_rng(seed).permuted(rows, axis=1), 122)


def striped(seed: int) -> ClusterState:
    """Build the same partitions in the layout of a new topic: followers shift in the second round."""
    draw = np.random.default_rng(seed)
    leader, gap = np.arange(180), draw.integers(121) + np.arange(180) // 122
    rows = np.stack([leader, *(leader + 1 + (gap + j) % 121 for j in range(2))], axis=1) % 122
    return topic(draw.permuted(rows, axis=1), 122)


def test_leadership_shifts_along_a_chain_by_swaps() -> None:
    state = loads((1, 2, 4), alone=[1, 1, 2, 3])
    assert ids(state, balanced(state)) == [[2, 1], [4, 2], [1], [1], [2], [3]]


def test_nearer_of_two_even_brokers_gives_a_leader() -> None:
    state = loads((1, 2, 4), alone=[1, 2, 3])
    assert ids(state, balanced(state)) == [[1, 2], [4, 2], [1], [2], [3]]


def test_four_partitions_of_the_comparison_get_a_leader_on_every_broker() -> None:
    state = topic([[0, 1, 2], [1, 2, 3], [0, 1, 2], [1, 0, 2]], 4)
    replicas = balanced(state)
    assert count_leaders(replicas, 4).tolist() == [1, 1, 1, 1]
    assert changes(state, replicas) == 2
    assert not added_replicas(state.replicas, replicas).any()


def test_brokers_next_to_their_share_take_nothing_without_the_residue() -> None:
    state = topic([[0, 1], [0, 2], [0, 3], [0, 1], [1], [2], [3]], 4)
    assert count_leaders(balanced(state, LeaderMaxFlow(residue=False)), 4).tolist() == [4, 1, 1, 1]
    assert sorted(count_leaders(balanced(state), 4).tolist()) == [1, 2, 2, 2]


@pytest.mark.parametrize("pruning", ["none", "component", "path"])
def test_published_costs_prefer_a_useless_hop_to_the_necessary_chain(pruning: Pruning) -> None:
    state = one_chain()
    assert count_leaders(state.replicas, 6).tolist() == [3, 2, 2, 1, 1, 1]
    published = balanced(state, LeaderMaxFlow(costs="published", pruning=pruning))
    assert published.tolist() == state.replicas.tolist()
    fixed = balanced(state)
    assert count_leaders(fixed, 6).tolist() == [2, 2, 2, 2, 1, 1]
    assert changes(state, fixed) == min_leader_changes_per_topic(state) == 3


def test_fixed_costs_balance_topics_on_adjacent_brokers_and_published_costs_do_not() -> None:
    states = [adjacent(seed) for seed in range(10)]
    assert all(min_leader_changes_per_topic(state) is not None for state in states)
    assert sum(leader_range(balanced(state, AS_PUBLISHED), 122) > 1 for state in states) >= 8
    assert all(leader_range(balanced(state), 122) <= 1 for state in states)


def test_fixed_costs_balance_all_topics_of_kafka_placements_and_published_costs_do_not() -> None:
    states = [striped(seed) for seed in range(60)]
    assert all(min_leader_changes_per_topic(state) is not None for state in states)
    assert 0 < sum(leader_range(balanced(state, AS_PUBLISHED), 122) > 1 for state in states) < 30
    assert all(leader_range(balanced(state), 122) <= 1 for state in states)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("skew", SKEWS)
def test_even_leaders_cost_little_more_than_the_fewest_changes(shape: tuple[int, int], skew: float) -> None:
    done, least = [], []
    for seed in range(15):
        draw = np.random.default_rng(seed)
        state = topic(skewed(draw, even_sets(draw, *shape), skew), shape[1])
        replicas = balanced(state)
        assert leader_range(replicas, shape[1]) <= 1
        fewest = min_leader_changes_per_topic(state)
        assert fewest is not None
        assert fewest <= changes(state, replicas) <= 1.4 * fewest
        done.append(changes(state, replicas))
        least.append(fewest)
    assert sum(done) <= 1.2 * sum(least)


def test_slightly_skewed_leaders_cost_little_more_than_the_fewest_changes() -> None:
    done, least = [], []
    for seed in range(15):
        draw = np.random.default_rng(seed)
        rows = balanced(topic(even_sets(draw, 180, 122), 122)).copy()
        handed = draw.choice(180, 25, replace=False)
        rows[handed] = rows[handed][:, [1, 0, 2]]
        state = topic(rows, 122)
        done.append(changes(state, balanced(state)))
        least.append(min_leader_changes_per_topic(state) or 0)
    assert all(changed <= 1.4 * fewest for changed, fewest in zip(done, least, strict=True))


def test_every_stage_of_the_article_saves_changes() -> None:
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
            totals[number] += changes(state, balanced(state, stage))
    assert totals == sorted(totals, reverse=True)
    assert totals[2] < 0.9 * totals[1]
    assert totals[3] < 0.9 * totals[2]


@pytest.mark.parametrize("seed", range(25))
def test_leaders_are_even_if_possible(seed: int) -> None:
    draw = np.random.default_rng(seed)
    drawn = np.argsort(draw.random((30, 24)), axis=1)[:, : 2 + seed % 2]
    held, rows = np.unique(drawn, return_inverse=True)
    state = topic(rows.reshape(drawn.shape), len(held))
    proposal = plan(LeaderMaxFlow(), state, PlanRequest())
    assert proposal.replicas is not None
    is_possible = min_leader_changes_per_topic(state) is not None
    assert (leader_range(proposal.replicas, len(held)) <= 1) == is_possible
    assert bool(proposal.notes) != is_possible


def test_flow_in_parts_has_as_many_hops_as_that_of_all_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    once = BalancingMethod(pruning="none", checks=False)
    for seed in range(20):
        state = random_cluster(seed, num_brokers=9, partitions=(30, 7, 21, 1, 16), skew=1.5)
        results = set()
        for maximum in (10_000, 20):
            monkeypatch.setattr(leader_max_flow, "MAX_PARTITIONS", maximum)
            column, shares = balance_first_replicas(state.replicas, state.topic, len(state.topics), once)
            results.add((int((column > 0).sum()), shares.distance))
        assert len(results) == 1, seed


def test_even_topic_is_unchanged_beside_an_uneven_one() -> None:
    even = {("even", p): [p % 3, (p + 1) % 3] for p in range(4)}
    uneven = {("uneven", p): [0, 1 + p % 2] for p in range(4)}
    state = ClusterState.of(map(BrokerState, range(3)), even | uneven)
    replicas = balanced(state, LeaderMaxFlow(costs="none", pruning="none"))
    assert replicas[:4].tolist() == state.replicas[:4].tolist()
    assert sorted(count_leaders(replicas[4:], 3).tolist()) == [1, 1, 2]


def test_topics_are_balanced_separately_but_not_in_total() -> None:
    held = {(name, p): [0, 1] for name in ("a", "b", "c") for p in range(3)}
    state = ClusterState.of(map(BrokerState, range(2)), held)
    replicas = balanced(state)
    for name in range(3):
        assert leader_range(replicas[state.topic == name], 2) == 1


def test_brokers_without_a_replica_of_the_topic_have_no_share_in_it() -> None:
    state = topic([[0, 1], [0, 1], [0, 1], [0, 1]], 40)
    assert count_leaders(balanced(state), 40)[:2].tolist() == [2, 2]


def test_topic_that_cannot_be_even_is_named() -> None:
    state = ClusterState.of(map(BrokerState, range(2)), {("stuck", p): [0] for p in range(3)} | {("stuck", 3): [1]})
    assert plan(LeaderMaxFlow(), state, PlanRequest()).notes == ("leaders of stuck stay uneven (range: 2)",)


@pytest.mark.parametrize("strategy", [LeaderMaxFlow(), AS_PUBLISHED, LeaderMaxFlow(costs="none", pruning="none")])
def test_own_plan_changes_nothing(strategy: LeaderMaxFlow) -> None:
    for seed in range(15):
        state = random_cluster(seed, num_brokers=9, partitions=(20, 7, 3), factor=2 + seed % 2, skew=2.0)
        replicas = balanced(state, strategy)
        assert balanced(state.with_replicas(replicas), strategy).tolist() == replicas.tolist()


def test_input_order_does_not_matter() -> None:
    state = random_cluster(3, num_brokers=9, partitions=(30, 11), skew=2.0)
    expected = replicas_by_partition(state, balanced(state))
    for seed in range(20):
        shuffled = shuffle_state(state, np.random.default_rng(seed))
        assert replicas_by_partition(shuffled, balanced(shuffled)) == expected


def test_other_factors_and_removed_brokers_are_not_supported() -> None:
    state = random_cluster(1, num_brokers=4)
    answers: list[Plan] = [
        plan(LeaderMaxFlow(), state, PlanRequest(replication_factor=2)),
        plan(LeaderMaxFlow(), state, PlanRequest(replication_factor=4)),
        plan(LeaderMaxFlow(), state, PlanRequest(brokers=(0, 1, 2))),
    ]
    assert {answer.status for answer in answers} == {PlanStatus.NOT_APPLICABLE}


@pytest.mark.parametrize("parameters", [{"costs": "cheap"}, {"pruning": "branch"}, {"cost": "fixed"}])
def test_unknown_parameter_value_is_rejected(parameters: dict[str, str]) -> None:
    with pytest.raises(UnknownAssignorError, match="leader_max_flow"):
        registry.make(registry.find_strategy("leader_max_flow"), parameters)
