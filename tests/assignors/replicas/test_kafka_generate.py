"""Proposals of `kafka-reassign-partitions.sh --generate`."""

from __future__ import annotations

import numpy as np
import pytest

from assignors.model.columns import IntArray
from assignors.replicas.admin_utils import assign_replicas_to_brokers
from assignors.replicas.kafka_generate import KafkaGenerate, Placer
from assignors.replicas.plan import Plan, PlanRequest, PlanStatus
from assignors.replicas.plan_evaluation import measure_movement, replicas_by_partition, shuffle_state
from assignors.replicas.planning import PlanRule, find_violations, plan
from assignors.replicas.state import BrokerState, ClusterState, count_leaders, count_replicas
from tests.assignors.replicas.clusters import brokers, ids, killerwhile, random_cluster

BOTH = pytest.mark.parametrize("placer", list(Placer))

# The output of the tool for decommissioning broker 19.
PRINTED = [[14, 17], [15, 18], [16, 0], [17, 1], [18, 2], [0, 3], [1, 4], [2, 5], [3, 6], [4, 7]]
WITHOUT_19 = PlanRequest(brokers=tuple(range(19)), rack_aware=False)


def replicas_of(answer: Plan) -> IntArray:
    assert answer.status == PlanStatus.FEASIBLE, answer.reason
    assert answer.replicas is not None
    return answer.replicas


def test_removing_a_broker_moves_all_twenty_replicas() -> None:
    state = killerwhile()
    assert [
        list(held) for held in assign_replicas_to_brokers(dict.fromkeys(range(19)), 10, 2, start=14, shift=2)
    ] == PRINTED
    proposed = replicas_of(plan(KafkaGenerate(seed=416), state, WITHOUT_19))  # a seed that draws 14 and 2
    assert ids(state, proposed) == PRINTED
    assert measure_movement(state, proposed).replicas == 20


@BOTH
def test_replicas_are_even_in_every_topic_and_meet_every_rule(placer: str) -> None:
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
def test_every_partition_gets_the_requested_factor_on_allowed_brokers(placer: str, factor: int) -> None:
    state = random_cluster(3, num_brokers=8, racks=4)
    request = PlanRequest(brokers=(0, 1, 2, 3, 5), replication_factor=factor)
    proposed = replicas_of(plan(KafkaGenerate(placer), state, request))
    assert not find_violations(state, request, proposed)
    assert {len(held) for held in ids(state, proposed)} == {factor}


@BOTH
def test_current_replicas_have_no_effect(placer: str) -> None:
    state = random_cluster(1)
    proposed = replicas_of(plan(KafkaGenerate(placer), state, PlanRequest()))
    other = replicas_of(plan(KafkaGenerate(placer), random_cluster(2), PlanRequest()))
    assert replicas_by_partition(state, proposed) == replicas_by_partition(state, other)
    assert measure_movement(state, proposed).replicas > 0


@BOTH
def test_seed_gives_the_same_proposal_for_every_input_order(placer: str) -> None:
    state = random_cluster(1)
    proposed = replicas_by_partition(state, replicas_of(plan(KafkaGenerate(placer, 5), state, PlanRequest())))
    for seed in range(5):
        shuffled = shuffle_state(state, np.random.default_rng(seed))
        assert (
            replicas_by_partition(shuffled, replicas_of(plan(KafkaGenerate(placer, 5), shuffled, PlanRequest())))
            == proposed
        )


@BOTH
def test_another_seed_gives_another_proposal(placer: str) -> None:
    state = random_cluster(1)
    proposals = {
        replicas_by_partition(state, replicas_of(plan(KafkaGenerate(placer, seed), state, PlanRequest())))
        for seed in range(10)
    }
    assert len(proposals) >= 8


@BOTH
def test_topic_is_placed_independently_of_others(placer: str) -> None:
    state = random_cluster(1)
    alone = replicas_of(plan(KafkaGenerate(placer), state, PlanRequest(), topics=["topic-b"]))
    together = replicas_of(plan(KafkaGenerate(placer), state, PlanRequest()))
    is_b = state.topic == state.topics.index("topic-b")
    assert np.array_equal(alone[is_b], together[is_b])
    assert np.array_equal(alone[~is_b], state.replicas[~is_b])


def test_ignored_racks_have_no_effect() -> None:
    state, bare = random_cluster(1, racks=3), random_cluster(1, racks=0)
    unaware = replicas_of(plan(KafkaGenerate(), state, PlanRequest(rack_aware=False)))
    assert np.array_equal(unaware, replicas_of(plan(KafkaGenerate(), bare, PlanRequest())))


def test_partially_known_racks_are_rejected() -> None:
    state = ClusterState.of([BrokerState(0, "a"), BrokerState(1)], {("t", 0): [0]})
    assert plan(KafkaGenerate(), state, PlanRequest()).status == PlanStatus.NOT_APPLICABLE
    assert plan(KafkaGenerate(), state, PlanRequest(rack_aware=False)).status == PlanStatus.FEASIBLE


def test_mixed_factors_fail_unless_a_factor_is_requested() -> None:
    state = ClusterState.of(brokers(4), {("t", 1): [0, 1, 2], ("t", 0): [0, 1], ("u", 0): [3]})
    proposal = plan(KafkaGenerate(), state, PlanRequest())
    assert proposal.status == PlanStatus.FAILED
    assert proposal.reason == "t-1: replication factor 3 differs from 2 of t-0; the tool uses one factor per topic"
    proposed = replicas_of(plan(KafkaGenerate(), state, PlanRequest(replication_factor=2)))
    assert [len(held) for held in ids(state, proposed)] == [2, 2, 2]


def test_proposal_that_crowds_a_rack_is_returned_with_its_violations() -> None:
    broker_states = [
        BrokerState(0, "a"),
        *(BrokerState(i, "b") for i in range(1, 4)),
        BrokerState(4, "a"),
        BrokerState(5, "b"),
    ]
    state = ClusterState.of(broker_states, {("t", p): [0, 1, 2, 4] for p in range(12)})
    for placer, is_crowded in (("admin_utils", True), ("striped", False)):
        violations = find_violations(
            state, PlanRequest(), replicas_of(plan(KafkaGenerate(placer), state, PlanRequest()))
        )
        assert {violation.rule for violation in violations} == ({PlanRule.RACK} if is_crowded else set())


def test_unknown_placer_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"unknown placer 'random' \(placers: admin_utils, striped\)"):
        KafkaGenerate(placer="random")
