from __future__ import annotations

import re

import numpy as np
import pytest

from assignors.replicas.broker_loads import added_replicas, count_leaders, count_per_rack, count_replicas
from assignors.replicas.plan import PlanRequest, PlanStatus
from assignors.replicas.planning import plan
from assignors.replicas.preferred_leader_ilp import PreferredLeaderIlp
from assignors.replicas.shuffling import replicas_by_partition, shuffle_state
from assignors.replicas.state import BrokerState, ClusterState
from tests.assignors.replicas.clusters import brokers, ids, killerwhile, random_cluster

WITHOUT_19 = PlanRequest(brokers=tuple(range(19)))


def tweets() -> ClusterState:
    """Four brokers on two switches, as in the first version of kafka-assignment-optimizer's README."""
    pairs = [[3, 0], [0, 1], [1, 2], [2, 3], [3, 1], [0, 2], [1, 3], [2, 0], [3, 2], [0, 3]]
    held = {("public.tweets", p): pair for p, pair in enumerate(pairs)} | {("trumpet", 0): [1, 3, 0]}
    return ClusterState.of([BrokerState(i, "tor1" if i % 2 else "tor2") for i in range(4)], held)


def test_removing_the_20th_broker_moves_its_one_replica_to_the_same_zone() -> None:
    state = killerwhile()
    answer = plan(PreferredLeaderIlp(), state, WITHOUT_19)
    assert (answer.status, answer.value, answer.bound) == (PlanStatus.OPTIMAL, 58, 58)
    assert answer.replicas is not None
    assert added_replicas(state.replicas, answer.replicas).sum() == 1
    leader, follower = ids(state, answer.replicas)[1]
    assert leader == 8
    assert follower % 2 == 1


def test_replicas_on_one_switch_are_set_apart_with_four_moves_and_no_leader_changes() -> None:
    state = tweets()
    answer = plan(PreferredLeaderIlp(), state, PlanRequest(), topics=["public.tweets"])
    assert (answer.status, answer.value) == (PlanStatus.OPTIMAL, 52)
    assert answer.replicas is not None
    assert added_replicas(state.replicas, answer.replicas).sum() == 4
    assert (answer.replicas[:, 0] == state.replicas[:, 0]).all()


def test_three_replicas_on_two_switches_are_two_and_one() -> None:
    state = tweets()
    answer = plan(PreferredLeaderIlp(), state, PlanRequest())
    assert (answer.status, answer.value) == (PlanStatus.OPTIMAL, 60)
    assert answer.replicas is not None
    assert added_replicas(state.replicas, answer.replicas).sum() == 4


def test_what_is_within_its_limits_stays_as_it_is() -> None:
    state = killerwhile()
    answer = plan(PreferredLeaderIlp(), state, PlanRequest())
    assert answer.value == 60
    assert answer.replicas is not None
    assert (answer.replicas == state.replicas).all()


def test_a_follower_takes_over_where_a_leader_goes_rather_than_a_newcomer() -> None:
    state = ClusterState.of(brokers(3), {("t", 0): [0, 1]})
    answer = plan(PreferredLeaderIlp(), state, PlanRequest(brokers=(1, 2)))
    assert answer.replicas is not None
    assert ids(state, answer.replicas) == [[1, 2]]
    assert answer.value == 2


def test_worths_of_its_user_decide_what_stays() -> None:
    state = ClusterState.of(brokers(2), {("t", 0): [0, 1], ("t", 1): [0, 1]})
    answer = plan(PreferredLeaderIlp(leader_kept=0, leader_from_follower=9), state, PlanRequest())
    assert answer.status == PlanStatus.OPTIMAL
    assert answer.value == 2 + 9 + 1


def test_uneven_racks_widen_the_limits_instead_of_leaving_no_plan() -> None:
    there = [BrokerState(i, "large" if i < 4 else f"small-{i}") for i in range(6)]
    state = ClusterState.of(there, {("t", p): [p % 4, 4, 5] for p in range(12)})
    answer = plan(PreferredLeaderIlp(), state, PlanRequest())
    assert answer.status == PlanStatus.OPTIMAL
    assert answer.replicas is not None
    assert count_replicas(answer.replicas, 6).tolist() == [3, 3, 3, 3, 12, 12]
    assert count_leaders(answer.replicas, 6).tolist() == [2] * 6


def test_limits_that_its_user_gives_hold_or_are_named() -> None:
    state = killerwhile()
    answer = plan(PreferredLeaderIlp(max_leaders=2, min_replicas=0), state, PlanRequest())
    assert answer.status == PlanStatus.OPTIMAL
    answer = plan(PreferredLeaderIlp(max_replicas=0), state, PlanRequest())
    assert answer.status == PlanStatus.INFEASIBLE
    assert re.match(r"(x\.y\.z\.t-\d|broker \d+|rack [ab]) cannot have \d+ replicas", answer.reason)


@pytest.mark.parametrize("factor", [1, 2, 3, 4])
def test_loads_leaders_and_racks_are_even_for_every_replication_factor(factor: int) -> None:
    state = random_cluster(factor, num_brokers=6, partitions=(11, 5))
    answer = plan(PreferredLeaderIlp(), state, PlanRequest(replication_factor=factor))
    assert answer.status == PlanStatus.OPTIMAL
    assert answer.replicas is not None
    assert np.ptp(count_replicas(answer.replicas, 6)) <= 1
    assert np.ptp(count_leaders(answer.replicas, 6)) <= 1
    assert count_per_rack(answer.replicas, state.rack, 3).max() <= -(-factor // 3)


def test_its_own_plan_changes_nothing_and_the_order_of_the_input_does_not_matter() -> None:
    state = random_cluster(7)
    answer = plan(PreferredLeaderIlp(), state, PlanRequest())
    assert answer.replicas is not None
    again = plan(PreferredLeaderIlp(), state.with_replicas(answer.replicas), PlanRequest())
    assert again.replicas is not None
    assert (again.replicas == answer.replicas).all()
    for seed in range(5):
        told = shuffle_state(state, np.random.default_rng(seed))
        other = plan(PreferredLeaderIlp(), told, PlanRequest())
        assert other.replicas is not None
        assert replicas_by_partition(told, other.replicas) == replicas_by_partition(state, answer.replicas)


def test_without_time_there_is_a_plan_within_all_limits_and_a_bound() -> None:
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
def test_pools_give_what_a_variable_for_every_cell_gives(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    state = random_cluster(seed, num_brokers=5, partitions=(9,), racks=seed % 3)
    in_pools = plan(PreferredLeaderIlp(), state, PlanRequest())
    monkeypatch.setattr("assignors.replicas.programs.solve.disaggregate", lambda programme, values: None)
    monkeypatch.setattr("assignors.replicas.programs.flow_heuristic.place_by_flow", lambda programme, carried: None)
    cell_by_cell = plan(PreferredLeaderIlp(), state, PlanRequest())
    assert in_pools.status == cell_by_cell.status == PlanStatus.OPTIMAL
    assert in_pools.value == cell_by_cell.value


def test_the_programme_is_written_as_the_readme_shows_it() -> None:
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


def test_a_row_of_one_variable_has_a_label_so_that_it_is_no_bound() -> None:
    state = ClusterState.of(brokers(1), {("t", 0): [0]})
    lines = PreferredLeaderIlp().lp_text(state, PlanRequest()).splitlines()
    assert any(re.fullmatch(r"most\d+: t1b0p0_l = 1;", line) for line in lines)


@pytest.mark.parametrize("what", ["replicas", "leaders", "rack_replicas"])
def test_limits_that_leave_nothing_between_them_are_refused(what: str) -> None:
    with pytest.raises(ValueError, match=f"min_{what} 3 is more than max_{what} 2"):
        PreferredLeaderIlp(**{f"min_{what}": 3, f"max_{what}": 2})


@pytest.mark.parametrize("seed", range(6))
def test_what_is_bound_without_a_search_holds_for_the_best_plan(seed: int) -> None:
    state = random_cluster(seed, num_brokers=7, partitions=(15, 6), racks=seed % 4)
    best = plan(PreferredLeaderIlp(), state, PlanRequest())
    hurried = plan(PreferredLeaderIlp(time_limit_s=0), state, PlanRequest())
    assert best.status == PlanStatus.OPTIMAL
    assert best.value is not None
    assert hurried.value is not None
    assert hurried.bound is not None
    assert hurried.value <= best.value <= hurried.bound
