from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from assignors.replicas.permutation_matching import PermutationMatching
from assignors.replicas.plan import PlanRequest, PlanStatus
from assignors.replicas.plan_evaluation import measure_placement, replicas_by_partition, shuffle_state
from assignors.replicas.planning import plan
from assignors.replicas.state import NO_BROKER, ClusterState, added_replicas, count_leaders, count_replicas
from tests.assignors.replicas.clusters import brokers, ids, random_cluster


def place_by_choices(assignor: PermutationMatching, num_brokers: int, num_partitions: int, factor: int) -> ClusterState:
    """Build a cluster as the strategy places it, with one additional empty broker."""
    empty = ClusterState.of(brokers(num_brokers), {("t", p): range(factor) for p in range(num_partitions)})
    proposal = plan(assignor, empty, PlanRequest())
    assert proposal.replicas is not None
    held = {("t", p): row for p, row in enumerate(ids(empty, proposal.replicas))}
    return ClusterState.of(brokers(num_brokers + 1), held)


def worst_range(assignor: PermutationMatching, state: ClusterState) -> int:
    proposal = plan(assignor, state, PlanRequest())
    assert proposal.replicas is not None
    failover = measure_placement(state, PlanRequest(), proposal.replicas).broker_down
    assert failover is not None
    return failover.worst_range


def test_four_brokers_and_two_replicas_give_the_twelve_pairs_of_the_source() -> None:
    empty = ClusterState.of(brokers(4), {("t", p): (0, 1) for p in range(12)})
    proposal = plan(PermutationMatching(), empty, PlanRequest())
    assert proposal.replicas is not None
    pairs = {tuple(row) for row in ids(empty, proposal.replicas)}
    assert pairs == {(i, (i + shift) % 4) for shift in (1, 2, 3) for i in range(4)}


def test_three_partitions_get_the_first_three_choices() -> None:
    empty = ClusterState.of(brokers(4, first=1), {("t", p): (1, 2) for p in range(3)})
    proposal = plan(PermutationMatching(), empty, PlanRequest())
    assert proposal.replicas is not None
    assert sorted(ids(empty, proposal.replicas)) == [[1, 2], [2, 3], [3, 4]]


@pytest.mark.parametrize(("num_brokers", "num_partitions"), [(4, 12), (5, 40), (10, 90), (12, 120)])
def test_new_broker_moves_only_its_share_with_two_replicas(num_brokers: int, num_partitions: int) -> None:
    state = place_by_choices(PermutationMatching(), num_brokers, num_partitions, 2)
    proposal = plan(PermutationMatching(), state, PlanRequest())
    assert proposal.replicas is not None
    assert proposal.value == count_replicas(proposal.replicas, num_brokers + 1)[-1]


def test_growing_from_23_to_24_brokers_moves_77_replicas_instead_of_60() -> None:
    state = place_by_choices(PermutationMatching(), 23, 480, 3)
    proposal = plan(PermutationMatching(), state, PlanRequest())
    assert (proposal.status, proposal.value, proposal.bound) == (PlanStatus.OPTIMAL, 77, 77)
    assert proposal.replicas is not None
    assert added_replicas(state.replicas, proposal.replicas).sum() == 77
    assert set(count_replicas(proposal.replicas, 24).tolist()) == {60}


def test_order_of_shifts_decides_the_leaders_after_a_failure() -> None:
    good, poor = PermutationMatching(), PermutationMatching(shifts="lexicographic")
    assert worst_range(good, place_by_choices(good, 23, 480, 3)) == 1
    assert worst_range(poor, place_by_choices(poor, 23, 480, 3)) == 20


def test_leaders_are_even_for_all_replication_factors() -> None:
    held = {("a", p): (0, 1, 2) for p in range(5)} | {("b", p): (3, 4) for p in range(4)} | {("c", 0): (1,)}
    state = ClusterState.of(brokers(5), held)
    proposal = plan(PermutationMatching(), state, PlanRequest())
    assert proposal.replicas is not None
    assert count_leaders(proposal.replicas, 5).tolist() == [2] * 5


def matchings(costs: list[list[int]]) -> Iterator[int]:
    """Return the cost of every matching, row by row."""
    if not costs:
        yield 0
    for column in range(len(costs)):
        rest = [row[:column] + row[column + 1 :] for row in costs[1:]]
        yield from (costs[0][column] + cost for cost in matchings(rest))


@pytest.mark.parametrize("seed", range(5))
def test_matching_has_the_minimum_movement(seed: int) -> None:
    state = random_cluster(seed, num_brokers=5, partitions=(6,), factor=2)
    proposal = plan(PermutationMatching(), state, PlanRequest())
    assert proposal.replicas is not None
    choices = ids(state, proposal.replicas)
    costs = [[len({*new} - {*old}) for new in choices] for old in ids(state, state.replicas)]
    assert proposal.value == min(matchings(costs))


def test_own_plan_changes_nothing_and_input_order_does_not_matter() -> None:
    state = random_cluster(4)
    proposal = plan(PermutationMatching(), state, PlanRequest())
    assert proposal.replicas is not None
    rerun = plan(PermutationMatching(), state.with_replicas(proposal.replicas), PlanRequest())
    assert rerun.replicas is not None
    assert (rerun.replicas == proposal.replicas).all()
    for seed in range(5):
        shuffled = shuffle_state(state, np.random.default_rng(seed))
        other = plan(PermutationMatching(), shuffled, PlanRequest())
        assert other.replicas is not None
        assert replicas_by_partition(shuffled, other.replicas) == replicas_by_partition(state, proposal.replicas)


@pytest.mark.parametrize("factor", [1, 2, 4])
def test_replication_factors_can_change_and_brokers_can_be_removed(factor: int) -> None:
    state = random_cluster(2, num_brokers=6)
    proposal = plan(PermutationMatching(), state, PlanRequest(brokers=(0, 1, 2, 4), replication_factor=factor))
    assert proposal.replicas is not None
    assert {len(row) for row in ids(state, proposal.replicas)} == {factor}
    assert set(np.unique(proposal.replicas).tolist()) - {NO_BROKER} == {0, 1, 2, 4}


def test_too_many_partitions_are_rejected_with_the_reason() -> None:
    proposal = plan(PermutationMatching(most_partitions=10), random_cluster(1), PlanRequest())
    assert proposal.status == PlanStatus.FAILED
    assert proposal.reason.startswith("17 partitions exceed most_partitions (10)")


def test_fewer_brokers_than_replicas_are_infeasible() -> None:
    proposal = plan(PermutationMatching(), random_cluster(1), PlanRequest(brokers=(0, 1)))
    assert proposal.status == PlanStatus.INFEASIBLE
    assert "topic-a-0: replication factor 3 exceeds 2 allowed brokers" in proposal.reason


def test_unknown_order_of_shifts_is_rejected() -> None:
    with pytest.raises(ValueError, match="random"):
        PermutationMatching(shifts="random")  # type: ignore[arg-type]
