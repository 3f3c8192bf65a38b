from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from assignors.flow.min_cost import Arcs, min_cost_flow
from assignors.model.columns import IntArray
from assignors.replicas import replica_flow
from assignors.replicas.exact_flow import assign_leaders
from assignors.replicas.normalized_problem import NormalizedProblem
from assignors.replicas.plan import PlanRequest
from assignors.replicas.planning import PlanRule, find_violations
from assignors.replicas.replica_flow import (
    all_candidates,
    min_added_replicas,
    min_replica_moves,
    place,
    sample_candidates,
)
from assignors.replicas.state import BrokerState, ClusterState, added_replicas, count_leaders, count_replicas
from tests.assignors.replicas import all_placements
from tests.assignors.replicas.clusters import brokers, killerwhile, random_cluster
from tests.assignors.replicas.movement_bounds import (
    leader_changes_by_counts,
    min_bytes_moved,
    min_leader_changes,
    min_leader_range,
    min_replica_range,
    replica_moves_by_counts,
    replica_moves_by_rules,
)
from tests.benchmarks.clusters import even_cluster

PLAIN = PlanRequest()


def small_problem(seed: int) -> tuple[ClusterState, PlanRequest]:
    """Draw up to four partitions on four or five brokers, with all kinds of requests."""
    draw = np.random.default_rng(seed)
    racks = int(draw.choice([0, 2, 3]))
    state = random_cluster(
        seed,
        num_brokers=int(draw.integers(4, 6)),
        partitions=(2, int(draw.integers(1, 3))),
        factor=int(draw.integers(1, 4)),
        racks=racks,
        skew=float(draw.choice([0.0, 2.0])),
    )
    used = None if draw.random() < 0.5 else tuple(state.ids[:-1].tolist())
    factor = [None, None, 1, 2, 3][draw.integers(5)]
    return state, PlanRequest(brokers=used, replication_factor=factor, rack_aware=bool(draw.random() < 0.8))


@pytest.mark.parametrize("seed", range(40))
def test_min_replica_moves_match_exhaustive_search(seed: int) -> None:
    state, request = small_problem(seed)
    assert min_replica_moves(state, request) == all_placements.min_moves(state, request)[0]


@pytest.mark.parametrize("weighs", [False, True])
@pytest.mark.parametrize("seed", range(25))
def test_fewest_moves_and_topic_evenness_match_exhaustive_search(seed: int, weighs: bool) -> None:
    state, request = small_problem(seed)
    problem = NormalizedProblem.of(state, request)
    assert state.size_bytes is not None
    placed = place(problem, problem.canonical.state.size_bytes if weighs else None)
    sets = np.split(placed.pairs % problem.num_brokers, np.cumsum(problem.factors)[:-1])
    actual = all_placements.topic_squares(problem.canonical.state, [brokers_of.tolist() for brokers_of in sets])
    weights = state.size_bytes.tolist() if weighs else None
    assert (placed.value, actual) == all_placements.min_moves(state, request, weights)


@pytest.mark.parametrize("seed", range(10))
def test_min_bytes_moved_match_exhaustive_search(seed: int) -> None:
    state, request = small_problem(seed)
    assert state.size_bytes is not None
    assert min_bytes_moved(state, request) == all_placements.min_moves(state, request, state.size_bytes.tolist())[0]


@pytest.mark.parametrize("per_topic", [False, True])
@pytest.mark.parametrize("seed", range(25))
def test_min_leader_changes_match_exhaustive_search(seed: int, per_topic: bool) -> None:
    state = random_cluster(seed, num_brokers=4 + seed % 3, partitions=(3, 4), skew=2.0)
    actual = min_leader_changes(state, PLAIN, state.replicas, per_topic=per_topic)
    assert actual == all_placements.min_changes(state, per_topic)


@pytest.mark.parametrize("seed", range(30))
def test_sampled_candidates_reach_the_optimum_of_all_candidates(seed: int) -> None:
    state = random_cluster(seed, num_brokers=6 + seed % 7, partitions=(30, 9), racks=seed % 4, skew=seed % 3)
    request = PlanRequest(brokers=tuple(state.ids[: 5 + seed % 7].tolist()), replication_factor=(None, 2, 4)[seed % 3])
    problem = NormalizedProblem.of(state, request)
    weights = None if seed % 2 else problem.canonical.state.size_bytes
    dense = place(problem, weights)
    sparse = place(problem, weights, max_dense_pairs=0, sample_size=1)
    assert dense.value == dense.bound == sparse.value == sparse.bound
    assert squares(problem, sparse.pairs) == squares(problem, dense.pairs)


def squares(problem: NormalizedProblem, pairs: IntArray) -> int:
    """Return the sum of squared replica counts of brokers."""
    return int((np.bincount(pairs % problem.num_brokers) ** 2).sum())


@pytest.mark.parametrize("weighs", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_removal_of_brokers_from_an_even_cluster_copies_least(seed: int, weighs: bool) -> None:
    racks = seed % 4
    state = random_cluster(seed, num_brokers=9 + seed % 5, partitions=(40, 17), racks=racks, skew=0.0)
    gone = np.random.default_rng(seed).choice(state.ids, 1 + seed % 3, replace=False)
    request = PlanRequest(brokers=tuple(np.setdiff1d(state.ids, gone).tolist()))
    problem = NormalizedProblem.of(state, request)
    weights = problem.canonical.state.size_bytes if weighs else None
    dense, sparse = place(problem, weights), place(problem, weights, max_dense_pairs=0)
    assert sparse.value == sparse.bound == dense.value
    assert squares(problem, sparse.pairs) == squares(problem, dense.pairs)
    assert is_valid(problem, sparse.pairs)


def is_valid(problem: NormalizedProblem, pairs: IntArray) -> bool:
    """Return whether every partition has its number of replicas, within the limit of each rack."""
    partition, broker = np.divmod(pairs, problem.num_brokers)
    cells = np.bincount(partition * len(problem.rack_sizes) + problem.rack[broker], minlength=problem.num_partitions)
    per_rack = np.resize(cells, (problem.num_partitions, len(problem.rack_sizes)))
    has_factor = np.bincount(partition, minlength=problem.num_partitions) == problem.factors
    return bool(has_factor.all() and (per_rack <= problem.rack_limits[:, None]).all() and len(set(pairs)) == len(pairs))


@pytest.mark.parametrize("partitions", [3_000, 3_010])
@pytest.mark.parametrize("racks", [0, 3])
@pytest.mark.parametrize("removed", [0, 1])
def test_few_moves_need_no_flow_of_partitions_that_keep_their_replicas(
    removed: int, racks: int, partitions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = even_cluster(30, partitions, racks=racks)
    problem = NormalizedProblem.of(state, PlanRequest(brokers=tuple(range(30 - removed))))
    dense = place(problem)
    arcs: list[int] = []
    monkeypatch.setattr(replica_flow, "min_cost_flow", counting(arcs))
    sparse = place(problem, max_dense_pairs=0)
    assert sparse.value == sparse.bound == dense.value
    assert squares(problem, sparse.pairs) == squares(problem, dense.pairs)
    assert is_valid(problem, sparse.pairs)
    assert sparse.value >= removed * (state.replicas == 29).sum()
    assert max(arcs) < problem.num_partitions * 5


def counting(arcs: list[int]) -> Callable[[Arcs, IntArray], IntArray | None]:
    """Return the solver, which also notes the number of arcs of each flow."""

    def solve(graph: Arcs, supply: IntArray) -> IntArray | None:
        arcs.append(len(graph.tail))
        return min_cost_flow(graph, supply)

    return solve


def test_candidates_are_unique_and_do_not_hold_the_partition() -> None:
    problem = NormalizedProblem.of(random_cluster(1, num_brokers=9, skew=2.0), PLAIN)
    pairs = sample_candidates(problem, np.ones(problem.num_brokers, np.int64), min_added_replicas(problem), 3)
    assert len(pairs)
    assert (np.diff(pairs) > 0).all()
    assert not np.isin(pairs, problem.held_pairs).any()
    assert np.isin(pairs, all_candidates(problem)).all()


def test_time_limit_of_zero_still_returns_placement_and_bound() -> None:
    state = random_cluster(3, num_brokers=12, partitions=(60, 20), racks=3, skew=2.0)
    problem = NormalizedProblem.of(state, PLAIN)
    best = place(problem).value
    hasty = place(problem, time_limit_s=0, max_dense_pairs=0, sample_size=1)
    assert 0 < hasty.bound <= best <= hasty.value


def test_twenty_brokers_of_the_killerwhile_example_need_one_move() -> None:
    state = killerwhile()
    assert min_replica_moves(state, PlanRequest(brokers=tuple(range(19)))) == 1
    assert min_replica_moves(state, PLAIN) == 0


def test_thirteen_brokers_in_three_racks_have_a_range_of_at_least_twelve() -> None:
    state = random_cluster(1, num_brokers=13, partitions=(240,), racks=3, skew=0.0)
    assert min_replica_range(state, PLAIN) == 12
    assert min_replica_range(state, PlanRequest(rack_aware=False)) == 1


def test_rack_violations_count_in_the_exact_bound_only() -> None:
    state = random_cluster(1, num_brokers=13, partitions=(240,), racks=3, skew=0.0)
    broken = sum(
        violation.occurrences
        for violation in find_violations(state, PLAIN, state.replicas)
        if violation.rule == PlanRule.RACK
    )
    assert replica_moves_by_rules(state, PLAIN) == broken > 150
    assert replica_moves_by_counts(state, PLAIN) < broken <= min_replica_moves(state, PLAIN)


@pytest.mark.parametrize(("num_partitions", "num_brokers"), [(180, 122), (120, 135)])
@pytest.mark.parametrize("skew", [0.0, 0.7])
def test_leaders_of_a_topic_on_many_brokers_reach_nearly_the_simple_bound(
    num_partitions: int, num_brokers: int, skew: float
) -> None:
    for seed in range(5):
        state = random_cluster(seed, num_brokers=num_brokers, partitions=(num_partitions,), racks=0, skew=skew)
        held = np.bincount(state.replicas.ravel(), minlength=num_brokers)
        changes, simple = min_leader_changes(state, PLAIN, state.replicas), leader_changes_by_counts(state, PLAIN)
        apart = min_leader_range(state, PLAIN, state.replicas)
        if held.min() and apart <= 1:
            assert simple <= changes <= 2 * simple
        problem = NormalizedProblem.of(state, PLAIN)
        counts = np.bincount(assign_leaders(problem, problem.held).broker, minlength=num_brokers)
        assert counts.max() - counts.min() == apart


def test_simple_bounds_of_a_new_broker_are_its_share() -> None:
    rows = {("a", p): [p % 3, (p + 1) % 3] for p in range(12)}
    state = ClusterState.of(brokers(4), rows)
    assert count_replicas(state.replicas, 4).tolist() == [8, 8, 8, 0]
    assert replica_moves_by_counts(state, PLAIN) == min_replica_moves(state, PLAIN) == 6
    assert leader_changes_by_counts(state, PLAIN) == 3
    assert min_leader_changes(state, PLAIN, state.replicas) == 0, "the new broker holds nothing that it could lead"
    assert min_leader_range(state, PLAIN, state.replicas) == 4
    assert count_leaders(state.replicas, 4).tolist() == [4, 4, 4, 0]


def test_lower_replication_factor_copies_nothing_if_counts_become_even() -> None:
    state = ClusterState.of(brokers(3), {("a", p): [p % 3, (p + 1) % 3, (p + 2) % 3] for p in range(6)})
    lower = PlanRequest(replication_factor=2)
    assert min_replica_moves(state, lower) == replica_moves_by_counts(state, lower) == 0
    assert min_replica_moves(state, PlanRequest(replication_factor=1, brokers=(0, 1))) == 0


def test_higher_replication_factor_copies_only_new_replicas() -> None:
    state = ClusterState.of(brokers(3), {("a", p): [p % 3] for p in range(6)})
    higher = PlanRequest(replication_factor=2)
    assert min_replica_moves(state, higher) == replica_moves_by_counts(state, higher) == 6


def test_small_partitions_move_instead_of_large_ones() -> None:
    sizes = {("a", 0): 10**12, ("a", 1): 7, ("a", 2): 10**9, ("a", 3): 5}
    state = ClusterState.of(brokers(2), {key: [0] for key in sizes}, size_bytes=sizes)
    assert min_bytes_moved(state, PLAIN) == 12
    assert min_replica_moves(state, PLAIN) == 2


def test_bytes_too_diverse_to_count_exactly_give_a_bound_just_below() -> None:
    draw = np.random.default_rng(5)
    sizes = {("a", p): int(draw.integers(10**14, 10**15)) for p in range(2_000)}
    held = {key: [int(draw.integers(8))] for key in sizes}
    state = ClusterState.of(brokers(8), held, size_bytes=sizes)
    problem = NormalizedProblem.of(state, PLAIN)
    assert problem.canonical.state.size_bytes is not None
    pairs = place(problem, problem.canonical.state.size_bytes // 10**9).pairs
    moved = np.setdiff1d(pairs, problem.held_pairs) // 8
    near = int(problem.canonical.state.size_bytes[moved].sum())
    bound = min_bytes_moved(state, PLAIN)
    assert bound <= near
    assert bound == pytest.approx(near, rel=1e-3)


def test_bytes_of_unknown_sizes_are_rejected() -> None:
    state = ClusterState.of(brokers(2), {("a", 0): [0]})
    with pytest.raises(ValueError, match="partition sizes are unknown"):
        min_bytes_moved(state, PLAIN)


def test_leaders_are_not_counted_on_brokers_that_are_not_allowed() -> None:
    state = ClusterState.of(brokers(3), {("a", 0): [0], ("a", 1): [1]})
    with pytest.raises(ValueError, match="no replica on an allowed broker"):
        min_leader_changes(state, PlanRequest(brokers=(1, 2)), state.replicas)


def test_leaders_come_from_given_replicas_and_changes_are_counted_from_the_state() -> None:
    state = ClusterState.of([BrokerState(7), BrokerState(3), BrokerState(5)], {("a", p): [3, 5] for p in range(4)})
    moved = state.replicas.copy()
    moved[:2] = [0, 2]
    assert added_replicas(state.replicas, moved).sum() == 2
    assert min_leader_changes(state, PLAIN, moved) == 2
    assert min_leader_range(state, PLAIN, moved) == 1
