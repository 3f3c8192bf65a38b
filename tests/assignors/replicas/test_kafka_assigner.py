"""Plans of kafka-assigner; KafkaAssignmentStrategy gave the expected lists."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from assignors.model.columns import IntArray
from assignors.replicas.kafka_assigner import KafkaAssigner
from assignors.replicas.plan import Plan, PlanRequest, PlanStatus
from assignors.replicas.plan_evaluation import measure_movement
from assignors.replicas.planning import find_violations, plan
from assignors.replicas.state import BrokerState, ClusterState, count_replicas
from tests.assignors.replicas.clusters import brokers, ids, killerwhile, random_cluster


def topic(held: list[list[int]], name: str = "test") -> dict[tuple[str, int], list[int]]:
    return {(name, partition): row for partition, row in enumerate(held)}


def make_plan(state: ClusterState, request: PlanRequest | None = None) -> Plan:
    return plan(KafkaAssigner(), state, request or PlanRequest())


def proposed_ids(state: ClusterState, request: PlanRequest | None = None) -> list[list[int]]:
    proposal = make_plan(state, request)
    assert proposal.status == PlanStatus.FEASIBLE, proposal.reason
    assert proposal.replicas is not None
    return ids(state, proposal.replicas)


def reason(state: ClusterState, request: PlanRequest | None = None) -> str:
    proposal = make_plan(state, request)
    assert proposal.status == PlanStatus.FAILED
    return proposal.reason


def counts(rows: list[list[int]]) -> Counter[int]:
    return Counter(broker for row in rows for broker in row)


USED_BY_THREE = topic([[10, 11], [11, 12], [12, 10], [10, 12]])


def test_fourth_broker_gets_as_many_replicas_as_the_others() -> None:
    proposed = proposed_ids(ClusterState.of(brokers(4, first=10), USED_BY_THREE))
    assert proposed == [[10, 11], [11, 12], [12, 13], [13, 10]]
    assert counts(proposed) == {10: 2, 11: 2, 12: 2, 13: 2}


def test_new_brokers_in_existing_racks_take_replicas_of_their_racks() -> None:
    broker_states = [BrokerState(broker, rack) for broker, rack in zip(range(10, 15), "abcab", strict=True)]
    proposed = proposed_ids(ClusterState.of(broker_states, USED_BY_THREE))
    assert proposed == [[10, 11], [11, 12], [12, 13], [14, 10]]
    assert sorted(counts(proposed).values()) == [1, 1, 2, 2, 2]


def test_replicas_of_a_removed_broker_are_spread_evenly() -> None:
    state = ClusterState.of(brokers(4, first=10), topic([[10, 11], [11, 12], [12, 13], [13, 10]]))
    proposed = proposed_ids(state, PlanRequest(brokers=(10, 11, 13)))
    assert proposed == [[10, 11], [11, 13], [13, 10], [10, 13]]
    assert sorted(counts(proposed).values()) == [2, 3, 3]


def test_replacing_a_broker_changes_only_its_partitions() -> None:
    state = ClusterState.of(brokers(4, first=10), USED_BY_THREE)
    assert proposed_ids(state, PlanRequest(brokers=(10, 11, 13))) == [[10, 11], [11, 13], [13, 10], [10, 13]]


def test_leader_and_follower_counts_continue_across_topics() -> None:
    broker_states = [BrokerState(broker, rack) for broker, rack in zip(range(1, 7), "abcabc", strict=True)]
    held = topic([[1, 2, 3], [2, 3, 1], [3, 1, 2], [1, 3, 2]], "orders")
    more = topic([[3, 2, 1], [1, 2, 3], [2, 1, 3]], "payments")
    orders = [[1, 6, 2], [2, 4, 3], [3, 5, 4], [5, 1, 6]]
    assert proposed_ids(ClusterState.of(broker_states, held | more)) == [*orders, [4, 3, 2], [3, 5, 1], [6, 2, 1]]
    assert proposed_ids(ClusterState.of(broker_states, more | held))[3:] != orders


def test_removing_a_broker_moves_one_replica_but_reorders_nearly_every_list() -> None:
    state = killerwhile()
    proposal = make_plan(state, PlanRequest(brokers=tuple(range(19))))
    assert proposal.replicas is not None
    done = measure_movement(state, proposal.replicas)
    assert (done.replicas, done.leaders_by_order) == (1, 9)


def cases() -> Iterator[tuple[ClusterState, PlanRequest]]:
    for seed in range(90):
        draw = np.random.default_rng(seed)
        factor, racks = int(draw.integers(1, 4)), int(draw.choice([0, 3, 4]))
        state = random_cluster(seed, num_brokers=9, partitions=(20, 9), factor=factor, racks=racks, skew=0.2)
        some = tuple(draw.permutation(9)[: draw.integers(4, 10)].tolist())
        yield state, PlanRequest(some if seed % 3 else None, factor + 1 if seed % 2 and factor < 3 else None)


def solved() -> Iterator[tuple[ClusterState, PlanRequest, IntArray]]:
    for state, request in cases():
        proposal = make_plan(state, request)
        if proposal.replicas is None:
            assert proposal.status == PlanStatus.FAILED
            assert re.match(r"topic-[ab]-\d+: no broker for \d of \d replicas", proposal.reason)
        else:
            yield state, request, proposal.replicas


def test_broker_share_of_a_topic_and_rack_limits_hold() -> None:
    number = 0
    for state, request, replicas in solved():
        assert not find_violations(state, request, replicas)
        brokers_left = int(request.is_allowed(state).sum())
        for number_of_topic in range(2):
            held = replicas[state.topic == number_of_topic]
            assert count_replicas(held, 9).max() <= -(-held.size // brokers_left)
        number += 1
    assert 30 < number < 90


def test_second_run_changes_nothing() -> None:
    for state, request, replicas in solved():
        rerun = make_plan(state.with_replicas(replicas), request)
        assert rerun.replicas is not None
        assert np.array_equal(rerun.replicas, replicas)


def test_order_of_brokers_and_partitions_does_not_matter() -> None:
    state = ClusterState.of(brokers(4, first=10), USED_BY_THREE)
    turned = ClusterState.of(reversed(brokers(4, first=10)), dict(reversed(USED_BY_THREE.items())))
    assert proposed_ids(turned) == proposed_ids(state)[::-1]


def test_problem_that_needs_backtracking_fails() -> None:
    state = ClusterState.of(brokers(3), topic([[0, 1], [0, 1], [0, 1]]))
    assert reason(state).startswith("test-2: no broker for 1 of 2 replicas: every broker holds its share")


def test_fewer_racks_than_replicas_fail_unless_racks_are_ignored() -> None:
    state = ClusterState.of(brokers(4, racks=2), topic([[0, 1, 2]]))
    assert reason(state).startswith("test-0: no broker for 1 of 3 replicas")
    assert len(proposed_ids(state, PlanRequest(rack_aware=False))[0]) == 3


def test_broker_without_a_rack_is_a_rack_by_itself() -> None:
    state = ClusterState.of(
        [BrokerState(0, "a"), BrokerState(1, "a"), BrokerState(2), BrokerState(3)], topic([[0, 1], [3, 2]])
    )
    proposal = KafkaAssigner().plan(state.take(np.array([0])), PlanRequest())
    assert proposal.replicas is not None
    assert counts(ids(state, proposal.replicas)).keys() in ({0, 2}, {0, 3})
    assert KafkaAssigner().plan(state.take(np.array([1])), PlanRequest()).status == PlanStatus.FEASIBLE


def test_mixed_factors_fail_unless_a_factor_is_requested() -> None:
    state = ClusterState.of(brokers(4), topic([[0, 1], [1, 2, 3]]))
    assert (
        reason(state) == "test-1: replication factor 3 differs from 2 of test-0; the tool requires one factor per topic"
    )
    assert [len(row) for row in proposed_ids(state, PlanRequest(replication_factor=3))] == [3, 3]


def test_lower_factor_is_not_applicable() -> None:
    state = ClusterState.of(brokers(4), topic([[0, 1, 2]]))
    assert make_plan(state, PlanRequest(replication_factor=2)).status == PlanStatus.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("num_brokers", "factor", "is_fine"), [(1, 1, True), (4, 2, True), (3, 1, False), (4, 3, False)]
)
def test_topic_name_with_minimum_hash_code_fails(num_brokers: int, factor: int, is_fine: bool) -> None:
    state = ClusterState.of(brokers(num_brokers), topic([list(range(factor))], "polygenelubricants"))
    if is_fine:
        assert proposed_ids(state) == [list(range(factor))]
    else:
        assert reason(state).startswith("polygenelubricants-0: the hash code")
