from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assignors.model.columns import IntArray
from assignors.replicas.exact_flow import ExactFlow, choose_first_followers
from assignors.replicas.normalized_problem import NormalizedProblem
from assignors.replicas.plan import Plan, PlanRequest, PlanStatus
from assignors.replicas.plan_evaluation import evaluate_plan, measure_movement, measure_placement
from assignors.replicas.planning import find_violations, plan
from assignors.replicas.replica_flow import min_replica_moves
from assignors.replicas.state import NO_BROKER, BrokerState, ClusterState, count_leaders, count_replicas
from tests.assignors.replicas.all_placements import min_failover_unevenness
from tests.assignors.replicas.clusters import brokers, ids, killerwhile, random_cluster
from tests.assignors.replicas.movement_bounds import min_bytes_moved, min_leader_changes

PLAIN = PlanRequest()


def replicas_of(answer: Plan) -> IntArray:
    assert answer.replicas is not None, answer.reason
    return answer.replicas


@st.composite
def requests(draw: st.DrawFn) -> tuple[ClusterState, PlanRequest]:
    num_brokers = draw(st.integers(4, 9))
    state = random_cluster(
        draw(st.integers(0, 10_000)),
        num_brokers=num_brokers,
        partitions=tuple(draw(st.lists(st.integers(1, 20), min_size=1, max_size=3))),
        factor=draw(st.integers(1, 3)),
        racks=draw(st.integers(0, 4)),
        skew=draw(st.sampled_from([0.0, 1.0, 3.0])),
    )
    used = draw(st.sampled_from([None, tuple(range(num_brokers - 1)), tuple(range(1, num_brokers))]))
    factor = draw(st.sampled_from([None, None, 1, 2, 3]))
    return state, PlanRequest(brokers=used, replication_factor=factor, rack_aware=draw(st.booleans()))


strategies = st.builds(
    ExactFlow, per_topic_leaders=st.booleans(), spreads_failover=st.booleans(), weighs_bytes=st.booleans()
)


@settings(max_examples=60, deadline=None)
@given(problem=requests(), assignor=strategies)
def test_plan_meets_every_rule_and_its_bound(problem: tuple[ClusterState, PlanRequest], assignor: ExactFlow) -> None:
    state, request = problem
    proposal = plan(assignor, state, request)
    replicas = replicas_of(proposal)
    assert not find_violations(state, request, replicas)
    assert proposal.status == PlanStatus.OPTIMAL
    moved = measure_movement(state, replicas)
    assert proposal.value == proposal.bound == (moved.bytes if assignor.weighs_bytes else moved.replicas)
    changed = min_leader_changes(state, request, replicas, per_topic=assignor.per_topic_leaders)
    assert changed == moved.leaders_by_order + moved.leaders_by_copy
    rerun = plan(assignor, state.with_replicas(replicas), request)
    assert np.array_equal(replicas_of(rerun), replicas)


@pytest.mark.parametrize("options", [{}, {"per_topic_leaders": True}, {"weighs_bytes": True}, {"keeps_replicas": True}])
def test_twenty_input_orders_give_one_plan(options: dict[str, bool]) -> None:
    state = random_cluster(7, num_brokers=9, partitions=(20, 7, 3), skew=2.0)
    assignor = ExactFlow(**options)
    steady = evaluate_plan(assignor, state, PLAIN, plan(assignor, state, PLAIN), num_orders=20).stability
    assert steady is not None
    assert steady.distinct_plans == 1
    assert steady.rerun is not None
    assert steady.rerun == replace(steady.rerun, replicas=0, bytes=0, leaders_by_order=0, leaders_by_copy=0)


def test_killerwhile_example_moves_one_replica_and_no_leader() -> None:
    state, request = killerwhile(), PlanRequest(brokers=tuple(range(19)))
    proposal = plan(ExactFlow(), state, request)
    assert (proposal.value, proposal.bound, proposal.objective) == (1, 1, "replicas moved")
    moved = measure_movement(state, replicas_of(proposal))
    assert (moved.replicas, moved.leaders_by_order, moved.leaders_by_copy) == (1, 0, 0)
    assert ids(state, replicas_of(proposal))[1][0] == 8
    assert ids(state, replicas_of(proposal))[1][1] % 2 == 1, "in the other zone"


def test_new_brokers_get_their_share_and_nothing_else_moves() -> None:
    rows = {("a", p): [p % 4, (p + 1) % 4, (p + 2) % 4] for p in range(24)}
    state = ClusterState.of(brokers(6), rows)
    replicas = replicas_of(plan(ExactFlow(), state, PLAIN))
    assert count_replicas(replicas, 6).tolist() == [12] * 6
    assert count_leaders(replicas, 6).tolist() == [4] * 6
    moved = measure_movement(state, replicas)
    assert moved.replicas == 24
    copies = (replicas[:, :, None] != state.replicas[:, None, :]).all(axis=2)
    assert set(replicas[copies].tolist()) == {4, 5}


def test_missing_broker_is_replaced_at_its_position() -> None:
    rows = {("a", p): [p % 4, (p + 1) % 4] for p in range(4)}
    state = ClusterState.of([*brokers(3), BrokerState(3, is_alive=False), BrokerState(4)], rows)
    proposed = replicas_of(plan(ExactFlow(), state, PLAIN))
    assert ids(state, proposed) == [[0, 1], [1, 2], [2, 4], [4, 0]]


def test_uneven_racks_get_the_most_even_counts_and_a_note() -> None:
    state = random_cluster(1, num_brokers=13, partitions=(240,), racks=3, skew=0.0)
    proposal = plan(ExactFlow(), state, PLAIN)
    assert proposal.status == PlanStatus.OPTIMAL
    counts = count_replicas(replicas_of(proposal), 13)
    assert (counts.min(), counts.max()) == (48, 60)
    assert "48 to 60 replicas per broker, the most even counts that racks allow" in proposal.notes
    after = measure_placement(state, PLAIN, replicas_of(proposal))
    assert after.leaders_range <= 1


def test_uneven_leaders_are_balanced_without_copies() -> None:
    state = random_cluster(2, num_brokers=8, partitions=(40, 9), racks=0, skew=0.5)
    proposal = plan(ExactFlow(keeps_replicas=True), state, PLAIN)
    moved = measure_movement(state, replicas_of(proposal))
    assert (moved.replicas, moved.leaders_by_copy) == (0, 0)
    assert proposal.objective == "leaders changed"
    assert proposal.value == proposal.bound == moved.leaders_by_order
    assert measure_placement(state, PLAIN, replicas_of(proposal)).leaders_range <= 1


def test_per_topic_leaders_are_balanced_first_if_requested() -> None:
    rows = {(topic, p): [(p + j) % 3 for j in range(3)] for topic in ("a", "b") for p in range(4)}
    state = ClusterState.of(brokers(3), {key: sorted(held) for key, held in rows.items()})
    replicas = replicas_of(plan(ExactFlow(per_topic_leaders=True, keeps_replicas=True), state, PLAIN))
    after = measure_placement(state, PLAIN, replicas)
    assert (after.topic_leaders_range, after.leaders_range) == (1, 1)


def test_leaders_per_topic_precede_leaders_over_all_topics() -> None:
    rows = {("a", 0): [0, 1], ("a", 1): [0, 1], **{("b", p): [0] for p in range(4)}}
    state = ClusterState.of(brokers(2), rows)
    together = ExactFlow(keeps_replicas=True)
    assert ids(state, replicas_of(plan(together, state, PLAIN)))[:2] == [[1, 0], [1, 0]]
    [first, second, *_] = ids(state, replicas_of(plan(replace(together, per_topic_leaders=True), state, PLAIN)))
    assert {first[0], second[0]} == {0, 1}


@pytest.mark.parametrize("seed", range(20))
def test_first_followers_match_exhaustive_search(seed: int) -> None:
    state = random_cluster(seed, num_brokers=5, partitions=(4, 4), factor=3, racks=0, skew=2.0)
    problem = NormalizedProblem.of(state, PLAIN)
    rows = problem.held.tolist()
    chosen = choose_first_followers(problem, problem.held).tolist()
    planned = [[row[0], heir, *sorted(set(row[1:]) - {heir})] for row, heir in zip(rows, chosen, strict=True)]
    uneven, changes = min_failover_unevenness(rows)
    assert min_failover_unevenness([row[:2] for row in planned])[0] == uneven
    assert sum(heir != row[1] for row, heir in zip(rows, chosen, strict=True)) == changes


def test_first_followers_halve_the_worst_spread_after_a_broker_failure() -> None:
    state = random_cluster(3, num_brokers=12, partitions=(240,), racks=0, skew=0.0)
    spreads = []
    for spreads_failover in (False, True):
        replicas = replicas_of(plan(ExactFlow(spreads_failover=spreads_failover), state, PLAIN))
        down = measure_placement(state, PLAIN, replicas).broker_down
        assert down is not None
        spreads.append(down.worst_range)
    assert spreads[1] <= 4 < 2 * spreads[1] <= spreads[0]


def test_partition_with_two_replicas_has_one_possible_first_follower() -> None:
    rows = {("a", p): [0, 1, 2] for p in range(3)} | {("b", 0): [2, 1]}
    problem = NormalizedProblem.of(ClusterState.of(brokers(3), rows), PLAIN)
    chosen = choose_first_followers(problem, problem.held)
    assert chosen[3] == NO_BROKER
    assert sorted(chosen[:3].tolist()) == [1, 2, 2] or sorted(chosen[:3].tolist()) == [1, 1, 2]


def test_lower_replication_factor_keeps_leaders_if_possible() -> None:
    state = ClusterState.of(brokers(3), {("a", p): [p % 3, (p + 1) % 3, (p + 2) % 3] for p in range(9)})
    replicas = replicas_of(plan(ExactFlow(), state, PlanRequest(replication_factor=2)))
    assert (replicas[:, 2] == NO_BROKER).all()
    assert (replicas[:, 0] == state.replicas[:, 0]).all()
    assert count_replicas(replicas, 3).tolist() == [6, 6, 6]


def test_bytes_are_weighted_if_requested() -> None:
    state = random_cluster(11, num_brokers=6, partitions=(30,), skew=2.0)
    by_count, by_bytes = (plan(ExactFlow(weighs_bytes=weighs), state, PLAIN) for weighs in (False, True))
    assert by_bytes.objective == "bytes moved"
    assert by_bytes.value == by_bytes.bound == min_bytes_moved(state, PLAIN)
    assert by_count.value == by_count.bound == min_replica_moves(state, PLAIN)
    moved = measure_movement(state, replicas_of(by_count))
    assert moved.bytes is not None
    assert moved.bytes >= by_bytes.value


def test_bytes_of_unknown_sizes_are_not_applicable() -> None:
    proposal = plan(ExactFlow(weighs_bytes=True), ClusterState.of(brokers(2), {("a", 0): [0]}), PLAIN)
    assert proposal.status == PlanStatus.NOT_APPLICABLE
    assert "sizes" in proposal.reason


@pytest.mark.parametrize("request_", [PlanRequest(brokers=(1, 2)), PlanRequest(replication_factor=1)])
def test_kept_replicas_that_break_a_rule_are_infeasible(request_: PlanRequest) -> None:
    state = ClusterState.of(brokers(3), {("a", 0): [1, 2], ("a", 1): [0, 1]})
    proposal = plan(ExactFlow(keeps_replicas=True), state, request_)
    assert proposal.status == PlanStatus.INFEASIBLE
    assert proposal.reason.startswith("a-0" if request_.replication_factor else "a-1")
