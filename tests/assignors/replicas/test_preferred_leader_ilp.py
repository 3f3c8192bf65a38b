from __future__ import annotations

import re

import numpy as np
import pytest

from assignors.integer_program import solve_integer
from assignors.replicas.normalized_problem import NormalizedProblem
from assignors.replicas.plan import PlanRequest, PlanStatus
from assignors.replicas.plan_evaluation import replicas_by_partition, shuffle_state
from assignors.replicas.planning import plan
from assignors.replicas.preferred_leader_ilp import PreferredLeaderIlp
from assignors.replicas.program_solver import build_pooled_program
from assignors.replicas.state import (
    BrokerState,
    ClusterState,
    added_replicas,
    count_leaders,
    count_per_rack,
    count_replicas,
)
from tests.assignors.replicas.clusters import brokers, ids, killerwhile, random_cluster

WITHOUT_19 = PlanRequest(brokers=tuple(range(19)))


def tweets() -> ClusterState:
    """Build the cluster of the first version of kafka-assignment-optimizer's README: four brokers on two switches."""
    pairs = [[3, 0], [0, 1], [1, 2], [2, 3], [3, 1], [0, 2], [1, 3], [2, 0], [3, 2], [0, 3]]
    held = {("public.tweets", p): pair for p, pair in enumerate(pairs)} | {("trumpet", 0): [1, 3, 0]}
    return ClusterState.of([BrokerState(i, "tor1" if i % 2 else "tor2") for i in range(4)], held)


def test_removing_the_20th_broker_moves_its_one_replica_to_the_same_zone() -> None:
    state = killerwhile()
    proposal = plan(PreferredLeaderIlp(), state, WITHOUT_19)
    assert (proposal.status, proposal.value, proposal.bound) == (PlanStatus.OPTIMAL, 58, 58)
    assert proposal.replicas is not None
    assert added_replicas(state.replicas, proposal.replicas).sum() == 1
    leader, follower = ids(state, proposal.replicas)[1]
    assert leader == 8
    assert follower % 2 == 1


def test_replicas_on_one_switch_are_separated_with_four_moves_and_no_leader_changes() -> None:
    state = tweets()
    proposal = plan(PreferredLeaderIlp(), state, PlanRequest(), topics=["public.tweets"])
    assert (proposal.status, proposal.value) == (PlanStatus.OPTIMAL, 52)
    assert proposal.replicas is not None
    assert added_replicas(state.replicas, proposal.replicas).sum() == 4
    assert (proposal.replicas[:, 0] == state.replicas[:, 0]).all()


def test_three_replicas_on_two_switches_are_split_two_to_one() -> None:
    state = tweets()
    proposal = plan(PreferredLeaderIlp(), state, PlanRequest())
    assert (proposal.status, proposal.value) == (PlanStatus.OPTIMAL, 60)
    assert proposal.replicas is not None
    assert added_replicas(state.replicas, proposal.replicas).sum() == 4


def test_placement_within_limits_does_not_change() -> None:
    state = killerwhile()
    proposal = plan(PreferredLeaderIlp(), state, PlanRequest())
    assert proposal.value == 60
    assert proposal.replicas is not None
    assert (proposal.replicas == state.replicas).all()


def test_follower_is_promoted_if_the_leader_is_removed() -> None:
    state = ClusterState.of(brokers(3), {("t", 0): [0, 1]})
    proposal = plan(PreferredLeaderIlp(), state, PlanRequest(brokers=(1, 2)))
    assert proposal.replicas is not None
    assert ids(state, proposal.replicas) == [[1, 2]]
    assert proposal.value == 2


def test_weights_decide_which_replicas_stay() -> None:
    state = ClusterState.of(brokers(2), {("t", 0): [0, 1], ("t", 1): [0, 1]})
    proposal = plan(PreferredLeaderIlp(leader_kept=0, leader_from_follower=9), state, PlanRequest())
    assert proposal.status == PlanStatus.OPTIMAL
    assert proposal.value == 2 + 9 + 1


def test_uneven_racks_extend_the_limits() -> None:
    broker_states = [BrokerState(i, "large" if i < 4 else f"small-{i}") for i in range(6)]
    state = ClusterState.of(broker_states, {("t", p): [p % 4, 4, 5] for p in range(12)})
    proposal = plan(PreferredLeaderIlp(), state, PlanRequest())
    assert proposal.status == PlanStatus.OPTIMAL
    assert proposal.replicas is not None
    assert count_replicas(proposal.replicas, 6).tolist() == [3, 3, 3, 3, 12, 12]
    assert count_leaders(proposal.replicas, 6).tolist() == [2] * 6


def test_given_limits_hold_or_are_named() -> None:
    state = killerwhile()
    proposal = plan(PreferredLeaderIlp(max_leaders=2, min_replicas=0), state, PlanRequest())
    assert proposal.status == PlanStatus.OPTIMAL
    proposal = plan(PreferredLeaderIlp(max_replicas=0), state, PlanRequest())
    assert proposal.status == PlanStatus.INFEASIBLE
    assert re.match(r"(x\.y\.z\.t-\d|broker \d+|rack [ab]) cannot have \d+ replicas", proposal.reason)


@pytest.mark.parametrize("factor", [1, 2, 3, 4])
def test_loads_leaders_and_racks_are_even_for_every_replication_factor(factor: int) -> None:
    state = random_cluster(factor, num_brokers=6, partitions=(11, 5))
    proposal = plan(PreferredLeaderIlp(), state, PlanRequest(replication_factor=factor))
    assert proposal.status == PlanStatus.OPTIMAL
    assert proposal.replicas is not None
    assert np.ptp(count_replicas(proposal.replicas, 6)) <= 1
    assert np.ptp(count_leaders(proposal.replicas, 6)) <= 1
    assert count_per_rack(proposal.replicas, state.rack, 3).max() <= -(-factor // 3)


def test_own_plan_changes_nothing_and_input_order_does_not_matter() -> None:
    state = random_cluster(7)
    proposal = plan(PreferredLeaderIlp(), state, PlanRequest())
    assert proposal.replicas is not None
    rerun = plan(PreferredLeaderIlp(), state.with_replicas(proposal.replicas), PlanRequest())
    assert rerun.replicas is not None
    assert (rerun.replicas == proposal.replicas).all()
    for seed in range(5):
        shuffled = shuffle_state(state, np.random.default_rng(seed))
        other = plan(PreferredLeaderIlp(), shuffled, PlanRequest())
        assert other.replicas is not None
        assert replicas_by_partition(shuffled, other.replicas) == replicas_by_partition(state, proposal.replicas)


def test_time_limit_of_zero_gives_a_plan_within_all_limits_and_a_bound() -> None:
    state = random_cluster(3, num_brokers=30, partitions=(300,))
    hurried = plan(PreferredLeaderIlp(time_limit_s=0), state, PlanRequest())
    assert hurried.status == PlanStatus.FEASIBLE
    assert hurried.replicas is not None
    assert hurried.value is not None
    assert hurried.bound is not None
    assert np.ptp(count_replicas(hurried.replicas, 30)) <= 1
    assert np.ptp(count_leaders(hurried.replicas, 30)) <= 1
    assert hurried.value < hurried.bound
    assert any("not proven" in note for note in hurried.notes)


@pytest.mark.parametrize("seed", range(4))
def test_pooled_program_has_the_optimum_of_the_program_over_all_cells(seed: int) -> None:
    state = random_cluster(seed, num_brokers=5, partitions=(9,), racks=seed % 3)
    problem = NormalizedProblem.of(state, PlanRequest())
    program = PreferredLeaderIlp().build_program(problem, PlanRequest())
    pooled = solve_integer(build_pooled_program(program), 60.0)
    all_cells = solve_integer(program.linear_program(program.all_cells()), 60.0)
    assert pooled.values is not None
    assert all_cells.values is not None
    proposal = plan(PreferredLeaderIlp(), state, PlanRequest())
    assert proposal.status == PlanStatus.OPTIMAL
    assert proposal.value == pytest.approx(pooled.bound) == pytest.approx(all_cells.bound)


def test_lp_text_matches_the_readme() -> None:
    text = PreferredLeaderIlp().lp_text(killerwhile(), WITHOUT_19)
    lines = text.splitlines()
    assert lines[0] == "// t1 is x.y.z.t"
    objective = next(line for line in lines if line.startswith("max: "))
    assert "4 t1b8p1_l" in objective
    assert "1 t1b8p1 " in f"{objective} "
    assert "b19p1" not in text
    assert "2 t1b18p0" in objective
    all_of_p0 = [f"t1b{b}p0{suffix}" for suffix in ("_l", "") for b in range(19)]
    assert f"{' + '.join(all_of_p0)} = 2;" in lines
    assert f"{' + '.join(all_of_p0[:19])} = 1;" in lines
    assert lines[-2] == "bin"
    assert lines[-1].count(",") == 2 * 19 * 10 - 1


def test_limits_are_written_with_both_ends() -> None:
    lines = PreferredLeaderIlp().lp_text(killerwhile(), WITHOUT_19).splitlines()
    of_broker_0 = " + ".join([*(f"t1b0p{p}_l" for p in range(10)), *(f"t1b0p{p}" for p in range(10))])
    assert {f"{of_broker_0} <= 2;", f"{of_broker_0} >= 1;"} <= set(lines)
    rack_b = [f"t1b{b}p0" for b in range(1, 19, 2)]
    in_rack_b = " + ".join([*(f"{name}_l" for name in rack_b), *rack_b])
    assert f"{in_rack_b} <= 1;" in lines
    assert "// Replicas per rack" in lines


def test_row_with_one_variable_has_a_label_so_that_it_is_no_bound() -> None:
    state = ClusterState.of(brokers(1), {("t", 0): [0]})
    lines = PreferredLeaderIlp().lp_text(state, PlanRequest()).splitlines()
    assert any(re.fullmatch(r"most\d+: t1b0p0_l = 1;", line) for line in lines)


@pytest.mark.parametrize("what", ["replicas", "leaders", "rack_replicas"])
def test_contradicting_limits_are_rejected(what: str) -> None:
    with pytest.raises(ValueError, match=f"min_{what} 3 is more than max_{what} 2"):
        PreferredLeaderIlp(**{f"min_{what}": 3, f"max_{what}": 2})


@pytest.mark.parametrize("seed", range(6))
def test_bound_without_a_search_holds_for_the_optimum(seed: int) -> None:
    state = random_cluster(seed, num_brokers=7, partitions=(15, 6), racks=seed % 4)
    best = plan(PreferredLeaderIlp(), state, PlanRequest())
    hurried = plan(PreferredLeaderIlp(time_limit_s=0), state, PlanRequest())
    assert best.status == PlanStatus.OPTIMAL
    assert best.value is not None
    assert hurried.value is not None
    assert hurried.bound is not None
    assert hurried.value <= best.value <= hurried.bound
