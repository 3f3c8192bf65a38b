"""Balance of replicas, then leaders, then first followers."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assignors.errors import UnknownAssignorError
from assignors.model.columns import IntArray
from assignors.replicas import registry, three_phase_flow
from assignors.replicas.even_shares import BalancingFlow, BalancingMethod, Costs, Pruning, balance_bins
from assignors.replicas.plan import PlanRequest, PlanStatus
from assignors.replicas.plan_evaluation import (
    PlacementMetrics,
    measure_movement,
    measure_placement,
    replicas_by_partition,
    shuffle_state,
)
from assignors.replicas.planning import find_violations, plan
from assignors.replicas.state import NO_BROKER, BrokerState, ClusterState, count_replicas
from assignors.replicas.three_phase_flow import (
    CHOICE,
    PlacementRules,
    ThreePhaseFlow,
    _move_by_flow,
    fill_missing_replicas,
    keep_allowed_replicas,
)
from tests.assignors.replicas.clusters import brokers, ids, killerwhile, random_cluster
from tests.assignors.replicas.topics import topic

ANYWHERE = PlanRequest()


def balanced(state: ClusterState, request: PlanRequest = ANYWHERE, strategy: ThreePhaseFlow | None = None) -> IntArray:
    proposal = plan(strategy or ThreePhaseFlow(), state, request)
    assert proposal.replicas is not None, proposal.reason
    return proposal.replicas


def after(
    state: ClusterState, request: PlanRequest = ANYWHERE, strategy: ThreePhaseFlow | None = None
) -> PlacementMetrics:
    return measure_placement(state, request, balanced(state, request, strategy))


def random_replicas(
    seed: int, count: int, num_brokers: int, *, factor: int = 3, racks: int = 0, spare: int = 0
) -> ClusterState:
    """Build random replicas on all brokers but the last `spare`."""
    rows = np.argsort(np.random.default_rng(seed).random((count, num_brokers - spare)), axis=1)[:, :factor]
    return ClusterState.of(brokers(num_brokers, racks), {("t", p): row for p, row in enumerate(rows.tolist())})


def test_replicas_of_the_comparison_move_from_brokers_with_four_to_those_with_two() -> None:
    state = topic([[0, 1, 2], [1, 0, 3], [0, 1, 3], [1, 0, 2]], 4)
    replicas = balanced(state)
    assert count_replicas(replicas, 4).tolist() == [3, 3, 3, 3]
    assert count_replicas(replicas[:, :1], 4).tolist() == [1, 1, 1, 1]
    assert measure_movement(state, replicas).replicas == 2


def test_example_of_kafka_assignment_optimizer_needs_one_move() -> None:
    state = killerwhile()
    without = PlanRequest(brokers=tuple(range(19)))
    assert measure_movement(state, balanced(state, without)).replicas == 1
    assert measure_movement(state, balanced(state)).replicas == 0


@pytest.mark.parametrize(("spare", "racks"), [(1, 0), (2, 0), (3, 3)])
def test_new_brokers_get_their_shares_with_the_fewest_moves(spare: int, racks: int) -> None:
    state = random_replicas(1, 120, 12, racks=racks, spare=spare)
    even = balanced(state, PlanRequest(brokers=tuple(range(12 - spare))))
    start = state.with_replicas(even)
    replicas = balanced(start, strategy=ThreePhaseFlow(pruning="path"))
    assert measure_placement(start, ANYWHERE, replicas).replicas_range <= 1
    assert measure_movement(start, replicas).replicas == spare * (360 // 12)


@pytest.mark.parametrize("racks", [0, 3])
def test_replicas_and_leaders_are_even_in_separate_racks(racks: int) -> None:
    for seed in range(6):
        state = random_replicas(seed, 100, 12, racks=racks)
        metrics = after(state)
        assert metrics.replicas_range <= 1
        assert metrics.leaders_range <= 1
        assert not any(metrics.violations.values())


def test_every_phase_keeps_the_balance_of_the_previous_one() -> None:
    state = random_replicas(4, 240, 12)
    replicas = balanced(state)
    metrics = measure_placement(state, ANYWHERE, replicas)
    assert (metrics.replicas_range, metrics.leaders_range) == (0, 0)
    before, down = measure_placement(state, ANYWHERE, state.replicas).broker_down, metrics.broker_down
    assert before is not None
    assert down is not None
    assert down.worst_range < before.worst_range / 2


def test_first_followers_are_even_with_three_replicas_and_unchanged_with_two() -> None:
    worst = {}
    for factor in (2, 3):
        downs = [after(random_replicas(seed, 240, 12, factor=factor)).broker_down for seed in range(5)]
        worst[factor] = sum(down.worst_range for down in downs if down is not None)
    assert worst[3] < 0.8 * worst[2]


def test_only_follower_order_changes_if_only_it_is_uneven() -> None:
    state = topic([[0, 1, 2], [0, 1, 2], [1, 2, 0], [1, 2, 0], [2, 0, 1], [2, 0, 1]], 3)
    replicas = balanced(state)
    assert replicas[:, 0].tolist() == state.replicas[:, 0].tolist()
    assert sorted(map(tuple, replicas.tolist())) == [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]


def test_even_cluster_changes_unless_it_is_checked_first() -> None:
    state = random_replicas(3, 180, 122)
    even = state.with_replicas(balanced(state))
    assert measure_movement(even, balanced(even, strategy=ThreePhaseFlow(checks_first=False))).replicas > 10
    assert balanced(even).tolist() == even.replicas.tolist()
    pruned = ThreePhaseFlow(checks_first=False, pruning="path")
    assert balanced(even, strategy=pruned).tolist() == even.replicas.tolist()


def test_pruning_saves_moves() -> None:
    unpruned, pruned = 0, 0
    for seed in range(5):
        state = random_replicas(seed, 180, 122)
        for_all, for_few = balanced(state), balanced(state, strategy=ThreePhaseFlow(pruning="path"))
        assert measure_placement(state, ANYWHERE, for_few).replicas_range <= 1
        unpruned += measure_movement(state, for_all).replicas
        pruned += measure_movement(state, for_few).replicas
    assert pruned < 0.9 * unpruned


@pytest.mark.parametrize("factor", [3, 4, 6])
def test_additional_replicas_go_to_the_brokers_with_fewest(factor: int) -> None:
    state = random_replicas(2, 60, 12, factor=2, racks=3)
    request = PlanRequest(replication_factor=factor)
    replicas = balanced(state, request)
    assert (replicas != NO_BROKER).sum(axis=1).tolist() == [factor] * 60
    metrics = measure_placement(state, request, replicas)
    assert metrics.replicas_range == 0
    assert not any(metrics.violations.values())


def test_partitions_with_different_factors_keep_them_or_grow_to_one() -> None:
    held = {("t", p): [p % 5, (p + 1) % 5, (p + 2) % 5][: 1 + p % 3] for p in range(9)}
    state = ClusterState.of(brokers(5), held)
    assert (balanced(state) != NO_BROKER).sum(axis=1).tolist() == [1, 2, 3] * 3
    assert (balanced(state, PlanRequest(replication_factor=3)) != NO_BROKER).sum(axis=1).tolist() == [3] * 9


def test_replication_factor_cannot_be_lowered() -> None:
    proposal = plan(ThreePhaseFlow(), random_replicas(1, 10, 5), PlanRequest(replication_factor=2))
    assert (proposal.status, proposal.reason) == (PlanStatus.NOT_APPLICABLE, "cannot lower the replication factor")


def test_only_replicas_of_removed_brokers_are_copied_in_an_even_cluster() -> None:
    state = random_replicas(1, 120, 12)
    start = state.with_replicas(balanced(state))
    request = PlanRequest(brokers=tuple(range(10)))
    replicas = balanced(start, request, ThreePhaseFlow(pruning="path"))
    assert count_replicas(replicas, 12).tolist() == [36] * 10 + [0, 0]
    assert measure_movement(start, replicas).replicas == 60


def test_replicas_on_missing_brokers_are_replaced() -> None:
    held = {("t", p): [9, p % 4, (p + 1) % 4] for p in range(8)}
    state = ClusterState.of([*brokers(6), BrokerState(9, is_alive=False)], held)
    assert all(9 not in held for held in ids(state, balanced(state)))
    assert after(state).replicas_range == 0


def test_brokers_are_as_even_as_racks_of_different_sizes_allow() -> None:
    state = random_replicas(3, 240, 13, racks=3)
    replicas = balanced(state)
    assert not find_violations(state, ANYWHERE, replicas)
    held = count_replicas(replicas, 13)
    assert {rack: set(held[state.rack == rack].tolist()) for rack in range(3)} == {0: {48}, 1: {60}, 2: {60}}
    assert plan(ThreePhaseFlow(), state, ANYWHERE).notes == ("replicas per broker stay uneven (range: 12)",)


def test_crowded_racks_are_relieved_with_few_moves() -> None:
    state = random_replicas(5, 90, 9, racks=3)
    crowded = sum(violation.occurrences for violation in find_violations(state, ANYWHERE, state.replicas))
    replicas = balanced(state)
    assert not find_violations(state, ANYWHERE, replicas)
    assert crowded <= measure_movement(state, replicas).replicas <= 1.1 * crowded


def test_broker_far_above_its_share_still_takes_the_replica_of_a_crowded_rack() -> None:
    held = {**{("single", p): (1,) for p in range(3)}, ("crowded", 0): (3, 2, 0)}
    state = ClusterState.of(brokers(4, 3), held)
    replicas = balanced(state)
    assert not find_violations(state, ANYWHERE, replicas)
    assert max(count_replicas(replicas, 4)) == 2


def test_more_replicas_than_racks_are_spread_over_them_evenly() -> None:
    state = random_replicas(6, 40, 8, factor=5, racks=2)
    replicas = balanced(state)
    assert set(np.sort((state.rack[replicas] == 0).sum(axis=1)).tolist()) <= {2, 3}
    assert after(state).replicas_range == 0


@pytest.mark.parametrize("racks", [0, 3])
@pytest.mark.parametrize("factor", [None, 4])
def test_large_clusters_become_even_with_sampled_brokers(racks: int, factor: int | None) -> None:
    request = PlanRequest(replication_factor=factor, brokers=tuple(range(60)))
    state = random_replicas(7, 300, 63, racks=racks)
    metrics = after(state, request, ThreePhaseFlow(max_dense_pairs=0))
    assert metrics.replicas_range <= 1
    assert metrics.leaders_range <= 1
    assert not any(metrics.violations.values())


@pytest.mark.parametrize("racks", [0, 3])
def test_flow_of_a_sample_is_as_good_as_that_of_all_replicas(racks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    method, tried = BalancingMethod(pruning="none"), list[bool]()

    def balance(*arguments: Any) -> BalancingFlow:
        tried.append((flow := balance_bins(*arguments)).is_direct)
        return flow

    monkeypatch.setattr(three_phase_flow, "balance_bins", balance)
    for seed in range(60):
        generator = np.random.default_rng(seed)
        state = random_replicas(seed, int(generator.integers(5, 400)), int(generator.integers(5, 30)), racks=racks)
        rules = PlacementRules.of(state, ANYWHERE, max_dense_pairs=0)
        kept = keep_allowed_replicas(rules, state.replicas, len(state.brokers))
        held = fill_missing_replicas(rules, kept)
        if not rules.shares(held).distance:
            continue
        moved = []
        for choice in (CHOICE, 0):
            monkeypatch.setattr(three_phase_flow, "CHOICE", choice)
            replicas = _move_by_flow(rules, held, rules.shares(held), method)
            moved.append((int((replicas != held).sum()), rules.shares(replicas).distance))
        assert moved[0] == moved[1], seed
    assert sum(tried) > 5  # So often, all replicas were not tried.


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_every_plan_meets_the_rules_and_is_idempotent(data: st.DataObject) -> None:
    num_brokers, racks = data.draw(st.integers(3, 9)), data.draw(st.sampled_from([0, 2, 3]))
    factor = data.draw(st.integers(1, min(3, num_brokers - 1)))
    state = random_cluster(
        data.draw(st.integers(0, 999)), num_brokers=num_brokers, partitions=(9, 4), factor=factor, racks=racks, skew=2.0
    )
    request = PlanRequest(
        brokers=data.draw(st.sampled_from([None, tuple(range(num_brokers - 1))])),
        replication_factor=data.draw(st.integers(factor, num_brokers - 1)),
        rack_aware=data.draw(st.booleans()),
    )
    strategy = ThreePhaseFlow(
        costs=data.draw(st.sampled_from(get_args(Costs))), pruning=data.draw(st.sampled_from(get_args(Pruning)))
    )
    replicas = balanced(state, request, strategy)
    assert not find_violations(state, request, replicas)
    assert balanced(state.with_replicas(replicas), request, strategy).tolist() == replicas.tolist()


def test_input_order_does_not_matter() -> None:
    state = random_cluster(8, num_brokers=9, partitions=(30, 11), skew=1.5)
    request = PlanRequest(brokers=tuple(range(8)))
    expected = replicas_by_partition(state, balanced(state, request))
    for seed in range(20):
        shuffled = shuffle_state(state, np.random.default_rng(seed))
        assert replicas_by_partition(shuffled, balanced(shuffled, request)) == expected


@pytest.mark.parametrize("parameters", [{"costs": "cheap"}, {"pruning": "branch"}, {"phases": 2}])
def test_unknown_parameter_value_is_rejected(parameters: dict[str, object]) -> None:
    with pytest.raises(UnknownAssignorError, match="three_phase_flow"):
        registry.make(registry.find_strategy("three_phase_flow"), parameters)
