"""What kafka-reassign-partitions.sh --generate proposes."""

from __future__ import annotations

import numpy as np
import pytest

from assignors.model.columns import IntArray
from assignors.replicas.admin_utils import assign_replicas_to_brokers
from assignors.replicas.broker_loads import count_leaders, count_replicas
from assignors.replicas.kafka_generate import KafkaGenerate, Placer
from assignors.replicas.plan import Plan, PlanRequest, PlanStatus
from assignors.replicas.plan_evaluation import measure_movement
from assignors.replicas.planning import plan
from assignors.replicas.shuffling import replicas_by_partition, shuffle_state
from assignors.replicas.state import BrokerState, ClusterState
from assignors.replicas.violations import PlanRule, find_violations
from tests.assignors.replicas.clusters import brokers, ids, killerwhile, random_cluster

BOTH = pytest.mark.parametrize("placer", list(Placer))

# What the tool printed when it was asked to take broker 19 out of use.
PRINTED = [[14, 17], [15, 18], [16, 0], [17, 1], [18, 2], [0, 3], [1, 4], [2, 5], [3, 6], [4, 7]]
WITHOUT_19 = PlanRequest(brokers=tuple(range(19)), rack_aware=False)


def replicas_of(answer: Plan) -> IntArray:
    assert answer.status == PlanStatus.FEASIBLE, answer.reason
    assert answer.replicas is not None
    return answer.replicas


def test_one_broker_less_moves_all_twenty_replicas() -> None:
    state = killerwhile()
    assert [
        list(held) for held in assign_replicas_to_brokers(dict.fromkeys(range(19)), 10, 2, start=14, shift=2)
    ] == PRINTED
    proposed = replicas_of(plan(KafkaGenerate(seed=416), state, WITHOUT_19))  # a seed that draws 14 and 2
    assert ids(state, proposed) == PRINTED
    assert measure_movement(state, proposed).replicas == 20


@BOTH
def test_replicas_are_even_in_every_topic_and_break_no_rule(placer: str) -> None:
    for seed in range(20):
        state = random_cluster(seed, num_brokers=6, partitions=(12, 18), factor=3, racks=3)
        request = PlanRequest()
        proposed = replicas_of(plan(KafkaGenerate(placer, seed), state, request))
        assert not find_violations(state, request, proposed)
        for topic in range(2):
            held = proposed[state.topic == topic]
            assert count_replicas(held, 6).tolist() == [len(held) // 2] * 6
            assert np.ptp(count_leaders(held, 6)) == 0


@BOTH
@pytest.mark.parametrize("factor", [1, 2, 3, 4])
def test_every_partition_gets_the_factor_that_is_asked_for_on_brokers_that_are_named(placer: str, factor: int) -> None:
    state = random_cluster(3, num_brokers=8, racks=4)
    request = PlanRequest(brokers=(0, 1, 2, 3, 5), replication_factor=factor)
    proposed = replicas_of(plan(KafkaGenerate(placer), state, request))
    assert not find_violations(state, request, proposed)
    assert {len(held) for held in ids(state, proposed)} == {factor}


@BOTH
def test_what_is_where_makes_no_difference(placer: str) -> None:
    state = random_cluster(1)
    proposed = replicas_of(plan(KafkaGenerate(placer), state, PlanRequest()))
    other = replicas_of(plan(KafkaGenerate(placer), random_cluster(2), PlanRequest()))
    assert replicas_by_partition(state, proposed) == replicas_by_partition(state, other)
    assert measure_movement(state, proposed).replicas > 0


@BOTH
def test_a_seed_gives_the_same_proposal_in_whatever_order_the_cluster_is_told(placer: str) -> None:
    state = random_cluster(1)
    proposed = replicas_by_partition(state, replicas_of(plan(KafkaGenerate(placer, 5), state, PlanRequest())))
    for seed in range(5):
        told = shuffle_state(state, np.random.default_rng(seed))
        assert replicas_by_partition(told, replicas_of(plan(KafkaGenerate(placer, 5), told, PlanRequest()))) == proposed


@BOTH
def test_another_seed_gives_another_proposal(placer: str) -> None:
    state = random_cluster(1)
    proposals = {
        replicas_by_partition(state, replicas_of(plan(KafkaGenerate(placer, seed), state, PlanRequest())))
        for seed in range(10)
    }
    assert len(proposals) >= 8


@BOTH
def test_a_topic_is_placed_the_same_whatever_other_topics_there_are(placer: str) -> None:
    state = random_cluster(1)
    alone = replicas_of(plan(KafkaGenerate(placer), state, PlanRequest(), topics=["topic-b"]))
    together = replicas_of(plan(KafkaGenerate(placer), state, PlanRequest()))
    is_b = state.topic == state.topics.index("topic-b")
    assert np.array_equal(alone[is_b], together[is_b])
    assert np.array_equal(alone[~is_b], state.replicas[~is_b])


def test_racks_that_are_left_out_make_no_difference() -> None:
    state, bare = random_cluster(1, racks=3), random_cluster(1, racks=0)
    unaware = replicas_of(plan(KafkaGenerate(), state, PlanRequest(rack_aware=False)))
    assert np.array_equal(unaware, replicas_of(plan(KafkaGenerate(), bare, PlanRequest())))


def test_racks_that_only_some_brokers_have_are_refused() -> None:
    state = ClusterState.of([BrokerState(0, "a"), BrokerState(1)], {("t", 0): [0]})
    assert plan(KafkaGenerate(), state, PlanRequest()).status == PlanStatus.NOT_APPLICABLE
    assert plan(KafkaGenerate(), state, PlanRequest(rack_aware=False)).status == PlanStatus.FEASIBLE


def test_a_topic_whose_partitions_differ_in_their_factors_fails_unless_one_is_asked_for() -> None:
    state = ClusterState.of(brokers(4), {("t", 1): [0, 1, 2], ("t", 0): [0, 1], ("u", 0): [3]})
    answer = plan(KafkaGenerate(), state, PlanRequest())
    assert answer.status == PlanStatus.FAILED
    assert answer.reason == "t-1: replication factor 3 differs from 2 of t-0; the tool uses one factor per topic"
    proposed = replicas_of(plan(KafkaGenerate(), state, PlanRequest(replication_factor=2)))
    assert [len(held) for held in ids(state, proposed)] == [2, 2, 2]


def test_a_proposal_that_crowds_a_rack_is_given_as_it_is_and_counted_against_it() -> None:
    there = [BrokerState(0, "a"), *(BrokerState(i, "b") for i in range(1, 4)), BrokerState(4, "a"), BrokerState(5, "b")]
    state = ClusterState.of(there, {("t", p): [0, 1, 2, 4] for p in range(12)})
    for placer, is_crowded in (("admin_utils", True), ("striped", False)):
        found = find_violations(state, PlanRequest(), replicas_of(plan(KafkaGenerate(placer), state, PlanRequest())))
        assert {each.rule for each in found} == ({PlanRule.RACK} if is_crowded else set())


def test_a_placer_that_is_not_there_is_named() -> None:
    with pytest.raises(ValueError, match=r"unknown placer 'random' \(placers: admin_utils, striped\)"):
        KafkaGenerate(placer="random")
