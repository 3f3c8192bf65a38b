from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from assignors.replicas.broker_loads import added_replicas, count_leaders, count_replicas
from assignors.replicas.permutation_matching import PermutationMatching
from assignors.replicas.placement_metrics import measure_placement
from assignors.replicas.plan import PlanRequest, PlanStatus
from assignors.replicas.planning import plan
from assignors.replicas.shuffling import replicas_by_partition, shuffle_state
from assignors.replicas.state import NO_BROKER, ClusterState
from tests.assignors.replicas.clusters import brokers, ids, random_cluster


def dealt(assignor: PermutationMatching, num_brokers: int, num_partitions: int, factor: int) -> ClusterState:
    """A cluster as the strategy lays it out itself, and one broker more that holds nothing yet."""
    empty = ClusterState.of(brokers(num_brokers), {("t", p): range(factor) for p in range(num_partitions)})
    answer = plan(assignor, empty, PlanRequest())
    assert answer.replicas is not None
    held = {("t", p): row for p, row in enumerate(ids(empty, answer.replicas))}
    return ClusterState.of(brokers(num_brokers + 1), held)


def worst_range(assignor: PermutationMatching, state: ClusterState) -> int:
    answer = plan(assignor, state, PlanRequest())
    assert answer.replicas is not None
    found = measure_placement(state, PlanRequest(), answer.replicas).broker_down
    assert found is not None
    return found.worst_range


def test_four_brokers_and_two_replicas_give_the_twelve_pairs_of_the_source() -> None:
    empty = ClusterState.of(brokers(4), {("t", p): (0, 1) for p in range(12)})
    answer = plan(PermutationMatching(), empty, PlanRequest())
    assert answer.replicas is not None
    pairs = {tuple(row) for row in ids(empty, answer.replicas)}
    assert pairs == {(i, (i + shift) % 4) for shift in (1, 2, 3) for i in range(4)}


def test_three_partitions_get_the_first_three_choices() -> None:
    empty = ClusterState.of(brokers(4, first=1), {("t", p): (1, 2) for p in range(3)})
    answer = plan(PermutationMatching(), empty, PlanRequest())
    assert answer.replicas is not None
    assert sorted(ids(empty, answer.replicas)) == [[1, 2], [2, 3], [3, 4]]


@pytest.mark.parametrize(("num_brokers", "num_partitions"), [(4, 12), (5, 40), (10, 90), (12, 120)])
def test_with_two_replicas_a_new_broker_moves_only_what_it_gets(num_brokers: int, num_partitions: int) -> None:
    state = dealt(PermutationMatching(), num_brokers, num_partitions, 2)
    answer = plan(PermutationMatching(), state, PlanRequest())
    assert answer.replicas is not None
    assert answer.value == count_replicas(answer.replicas, num_brokers + 1)[-1]


def test_from_23_brokers_to_24_moves_77_replicas_where_60_would_do() -> None:
    state = dealt(PermutationMatching(), 23, 480, 3)
    answer = plan(PermutationMatching(), state, PlanRequest())
    assert (answer.status, answer.value, answer.bound) == (PlanStatus.OPTIMAL, 77, 77)
    assert answer.replicas is not None
    assert added_replicas(state.replicas, answer.replicas).sum() == 77
    assert set(count_replicas(answer.replicas, 24).tolist()) == {60}


def test_the_order_of_shifts_decides_what_a_broker_that_is_down_leaves() -> None:
    good, poor = PermutationMatching(), PermutationMatching(shifts="lexicographic")
    assert worst_range(good, dealt(good, 23, 480, 3)) == 1
    assert worst_range(poor, dealt(poor, 23, 480, 3)) == 20


def test_leaders_are_even_whatever_the_replication_factors_are() -> None:
    held = {("a", p): (0, 1, 2) for p in range(5)} | {("b", p): (3, 4) for p in range(4)} | {("c", 0): (1,)}
    state = ClusterState.of(brokers(5), held)
    answer = plan(PermutationMatching(), state, PlanRequest())
    assert answer.replicas is not None
    assert count_leaders(answer.replicas, 5).tolist() == [2] * 5


def matchings(costs: list[list[int]]) -> Iterator[int]:
    """What every matching costs, one row after the other."""
    if not costs:
        yield 0
    for column in range(len(costs)):
        rest = [row[:column] + row[column + 1 :] for row in costs[1:]]
        yield from (costs[0][column] + cost for cost in matchings(rest))


@pytest.mark.parametrize("seed", range(5))
def test_no_other_way_to_deal_out_the_choices_moves_less(seed: int) -> None:
    state = random_cluster(seed, num_brokers=5, partitions=(6,), factor=2)
    answer = plan(PermutationMatching(), state, PlanRequest())
    assert answer.replicas is not None
    choices = ids(state, answer.replicas)
    costs = [[len({*new} - {*old}) for new in choices] for old in ids(state, state.replicas)]
    assert answer.value == min(matchings(costs))


def test_its_own_plan_changes_nothing_and_the_order_of_the_input_does_not_matter() -> None:
    state = random_cluster(4)
    answer = plan(PermutationMatching(), state, PlanRequest())
    assert answer.replicas is not None
    again = plan(PermutationMatching(), state.with_replicas(answer.replicas), PlanRequest())
    assert again.replicas is not None
    assert (again.replicas == answer.replicas).all()
    for seed in range(5):
        told = shuffle_state(state, np.random.default_rng(seed))
        other = plan(PermutationMatching(), told, PlanRequest())
        assert other.replicas is not None
        assert replicas_by_partition(told, other.replicas) == replicas_by_partition(state, answer.replicas)


@pytest.mark.parametrize("factor", [1, 2, 4])
def test_replication_factors_can_change_and_brokers_can_go(factor: int) -> None:
    state = random_cluster(2, num_brokers=6)
    answer = plan(PermutationMatching(), state, PlanRequest(brokers=(0, 1, 2, 4), replication_factor=factor))
    assert answer.replicas is not None
    assert {len(row) for row in ids(state, answer.replicas)} == {factor}
    assert set(np.unique(answer.replicas).tolist()) - {NO_BROKER} == {0, 1, 2, 4}


def test_too_many_partitions_are_refused_with_the_reason() -> None:
    answer = plan(PermutationMatching(most_partitions=10), random_cluster(1), PlanRequest())
    assert answer.status == PlanStatus.FAILED
    assert answer.reason.startswith("17 partitions exceed most_partitions (10)")


def test_fewer_brokers_than_replicas_are_infeasible() -> None:
    answer = PermutationMatching().plan(random_cluster(1), PlanRequest(brokers=(0, 1)))
    assert answer.status == PlanStatus.INFEASIBLE
    assert "topic-a-0: replication factor 3 exceeds 2 allowed brokers" in answer.reason


def test_an_order_of_shifts_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="random"):
        PermutationMatching(shifts="random")  # type: ignore[arg-type]
