from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assignors.replicas.broker_loads import added_replicas, count_replicas
from assignors.replicas.movement_mip import MovementMip
from assignors.replicas.plan import Plan, PlanRequest, PlanStatus
from assignors.replicas.planning import plan
from assignors.replicas.shuffling import replicas_by_partition, shuffle_state
from assignors.replicas.state import BrokerState, ClusterState
from tests.assignors.replicas.all_placements import placements
from tests.assignors.replicas.clusters import ids, random_cluster


def message(replicas: Sequence[Sequence[int]], num_brokers: int, sizes: Sequence[int] | None = None) -> ClusterState:
    """The topic of kafka-reassign-optimizer's tests; its brokers count from one."""
    there = [BrokerState(i) for i in range(1, num_brokers + 1)]
    held = {("message", p): row for p, row in enumerate(replicas)}
    return ClusterState.of(there, held, size_bytes=sizes and {("message", p): size for p, size in enumerate(sizes)})


def loads(state: ClusterState, answer: Plan) -> dict[int, int]:
    assert answer.replicas is not None
    counts = count_replicas(answer.replicas, len(state.brokers))
    return dict(zip(state.ids.tolist(), counts.tolist(), strict=True))


def heads(state: ClusterState, answer: Plan) -> list[int]:
    assert answer.replicas is not None
    return [row[0] for row in ids(state, answer.replicas)]


def test_growing_from_three_brokers_to_six_moves_three_replicas_and_no_leader() -> None:
    state = message([[1, 2, 3], [2, 3, 1]], 6)
    answer = plan(MovementMip(), state, PlanRequest())
    assert (answer.status, answer.value, answer.bound) == (PlanStatus.OPTIMAL, 3, 3)
    assert loads(state, answer) == dict.fromkeys(range(1, 7), 1)
    assert heads(state, answer) == [1, 2]


def test_shrinking_to_brokers_that_lead_moves_two_replicas_and_no_leader() -> None:
    state = message([[2, 5, 4], [3, 1, 2]], 5)
    answer = plan(MovementMip(), state, PlanRequest(brokers=(1, 2, 3)))
    assert (answer.status, answer.value) == (PlanStatus.OPTIMAL, 2)
    assert loads(state, answer) == {1: 2, 2: 2, 3: 2, 4: 0, 5: 0}
    assert heads(state, answer) == [2, 3]


def test_shrinking_to_brokers_that_do_not_lead_moves_three_replicas() -> None:
    state = message([[2, 5, 4], [3, 1, 2]], 5)
    answer = plan(MovementMip(), state, PlanRequest(brokers=(1, 4, 5)))
    assert (answer.status, answer.value) == (PlanStatus.OPTIMAL, 3)
    assert loads(state, answer) == {1: 2, 2: 0, 3: 0, 4: 2, 5: 2}


def test_fewer_brokers_than_replicas_are_infeasible() -> None:
    state = message([[1, 2, 3], [2, 3, 1]], 3)
    answer = MovementMip().plan(state, PlanRequest(brokers=(1, 2)))
    assert answer.status == PlanStatus.INFEASIBLE
    assert answer.reason == "message-0 cannot have 3 replicas within the other limits"


def test_growing_as_in_the_readme_moves_two_replicas() -> None:
    state = message([[3, 1, 2], [1, 2, 3]], 5)
    answer = plan(MovementMip(), state, PlanRequest())
    assert (answer.status, answer.value) == (PlanStatus.OPTIMAL, 2)
    assert heads(state, answer) == [3, 1]


def test_shrinking_as_in_the_readme_moves_three_replicas() -> None:
    state = message([[3, 5, 4], [1, 3, 2]], 5)
    answer = plan(MovementMip(), state, PlanRequest(brokers=(1, 4, 5)))
    assert (answer.status, answer.value) == (PlanStatus.OPTIMAL, 3)


def test_weighed_as_in_the_readme_it_moves_58() -> None:
    state = message([[3, 1, 2], [1, 2, 3], [2, 1, 3]], 5, [20, 19, 19])
    weighed = MovementMip(balanced_factor_min=0.6, balanced_factor_max=1.2, weights="bytes")
    answer = plan(weighed, state, PlanRequest())
    assert (answer.status, answer.value, answer.bound) == (PlanStatus.OPTIMAL, 58, 58)
    assert answer.objective == "bytes moved"


def test_weights_that_fit_no_equal_loads_are_infeasible() -> None:
    state = message([[3, 1, 2], [1, 2, 3], [2, 1, 3]], 5, [20, 19, 19])
    answer = plan(MovementMip(weights="bytes"), state, PlanRequest())
    assert answer.status == PlanStatus.INFEASIBLE
    assert "relax the limits" in answer.reason


def test_sizes_in_terabytes_are_weighed_as_well_as_small_ones() -> None:
    weighed = MovementMip(balanced_factor_min=0.5, balanced_factor_max=1.2, weights="bytes")
    moved = []
    for unit in (1, 10**12):
        state = message([[3, 1, 2], [1, 2, 3], [2, 1, 3]], 5, [20 * unit, 19 * unit, 19 * unit])
        answer = plan(weighed, state, PlanRequest())
        assert answer.status == PlanStatus.OPTIMAL
        moved.append(answer.value)
    assert moved == [57, 57 * 10**12]


def test_without_sizes_bytes_cannot_be_weighed() -> None:
    state = message([[1, 2]], 2)
    answer = plan(MovementMip(weights="bytes"), state, PlanRequest())
    assert answer.status == PlanStatus.NOT_APPLICABLE


def test_a_partition_that_another_replica_leads_is_refused_unless_that_is_allowed() -> None:
    there = [BrokerState(i) for i in range(1, 4)]
    state = ClusterState.of(there, {("message", 0): [1, 2], ("message", 1): [2, 3]}, leaders={("message", 1): 3})
    answer = plan(MovementMip(), state, PlanRequest())
    assert answer.status == PlanStatus.FAILED
    assert answer.reason == "message-1: broker 3 leads it, not its preferred leader 2; elect 2 first"
    allowing = plan(MovementMip(refuses_other_leaders=False), state, PlanRequest())
    assert heads(state, allowing) == [1, 2]


def test_replicas_whose_leader_leaves_are_sorted_or_drawn_by_a_seed() -> None:
    state = message([[1, 5, 4, 3]] * 8, 5)
    request = PlanRequest(brokers=(2, 3, 4, 5))
    assert heads(state, plan(MovementMip(), state, request)) == [2] * 8
    drawn = plan(MovementMip(seed=1), state, request)
    again = plan(MovementMip(seed=1), state, request)
    assert len(set(heads(state, drawn))) > 1
    assert drawn.replicas is not None
    assert again.replicas is not None
    assert (drawn.replicas == again.replicas).all()


def test_it_cannot_change_replication_factors() -> None:
    answer = plan(MovementMip(), message([[1, 2]], 3), PlanRequest(replication_factor=3))
    assert answer.status == PlanStatus.NOT_APPLICABLE


@pytest.mark.parametrize("seed", range(4))
def test_loads_end_within_their_limits_and_leaders_stay(seed: int) -> None:
    state = random_cluster(seed, num_brokers=7, partitions=(20, 9))
    answer = plan(MovementMip(), state, PlanRequest())
    assert answer.replicas is not None
    mean = 29 * 3 / 7
    counts = count_replicas(answer.replicas, 7)
    assert np.floor(0.9 * mean) <= counts.min()
    assert counts.max() <= np.ceil(mean)
    assert (answer.replicas[:, 0] == state.replicas[:, 0]).all()
    assert added_replicas(state.replicas, answer.replicas).sum() == answer.value == answer.bound


def test_its_own_plan_moves_nothing_and_the_order_of_the_input_does_not_matter() -> None:
    state = random_cluster(5)
    answer = plan(MovementMip(), state, PlanRequest())
    assert answer.replicas is not None
    again = plan(MovementMip(), state.with_replicas(answer.replicas), PlanRequest())
    assert again.replicas is not None
    assert (again.replicas == answer.replicas).all()
    for seed in range(5):
        told = shuffle_state(state, np.random.default_rng(seed))
        other = plan(MovementMip(), told, PlanRequest())
        assert other.replicas is not None
        assert replicas_by_partition(told, other.replicas) == replicas_by_partition(state, answer.replicas)


@pytest.mark.parametrize(
    "wrong", [{"balanced_factor_min": 1.1}, {"balanced_factor_max": 0.9}, {"weights": "offset"}], ids=str
)
def test_parameters_that_make_no_sense_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"1\.1|0\.9|offset"):
        MovementMip(**wrong)  # type: ignore[arg-type]


def test_a_partition_that_is_not_fully_in_sync_is_refused_unless_that_is_allowed() -> None:
    there = [BrokerState(i) for i in range(1, 4)]
    held = {("message", 0): [1, 2], ("message", 1): [2, 3]}
    state = ClusterState.of(there, held, in_sync={("message", 1): [2]})
    answer = plan(MovementMip(), state, PlanRequest())
    assert answer.status == PlanStatus.FAILED
    assert answer.reason == "message-1: broker 3 is not in sync; wait until it has caught up"
    allowing = plan(MovementMip(refuses_out_of_sync=False), state, PlanRequest())
    assert heads(state, allowing) == [1, 2]


def test_leaders_that_stay_and_weigh_more_than_a_broker_may_hold_are_named() -> None:
    there = [BrokerState(i) for i in range(1, 4)]
    held = {("t", 0): [1], ("t", 1): [1], ("t", 2): [2], ("t", 3): [3]}
    state = ClusterState.of(there, held, size_bytes=dict(zip(held, [100, 90, 5, 5], strict=True)))
    answer = plan(MovementMip(weights="bytes", balanced_factor_max=1.2), state, PlanRequest())
    assert answer.status == PlanStatus.INFEASIBLE
    assert answer.reason == (
        "broker 1: leaders pinned to it (t-0, t-1) hold 190 bytes, and balanced_factor_max 1.2 lets a broker hold "
        "80; a factor of 2.85 fits them"
    )
    fitting = MovementMip(weights="bytes", balanced_factor_max=2.85, balanced_factor_min=0.0)
    assert plan(fitting, state, PlanRequest()).status == PlanStatus.OPTIMAL


def test_a_broker_that_leaders_cannot_come_to_is_named() -> None:
    there = [BrokerState(i) for i in range(1, 5)]
    held = {("t", 0): [1], ("t", 1): [2], ("t", 2): [3], ("two", 0): [1, 2]}
    state = ClusterState.of(there, held, size_bytes=dict(zip(held, [50, 60, 70, 10], strict=True)))
    answer = plan(MovementMip(weights="bytes", balanced_factor_max=2), state, PlanRequest())
    assert answer.status == PlanStatus.INFEASIBLE
    assert answer.reason == (
        "broker 4: with leaders pinned to their brokers, it can hold 10 bytes, and balanced_factor_min 0.9 requires "
        "45; a factor of 0.2 fits"
    )
    fitting = MovementMip(weights="bytes", balanced_factor_min=0.2, balanced_factor_max=2)
    assert plan(fitting, state, PlanRequest()).status == PlanStatus.OPTIMAL


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["count", "bytes"]), st.integers(1, 2))
def test_what_is_named_as_misfit_really_fits_nothing(seed: int, weights: str, factor: int) -> None:
    state = random_cluster(seed, num_brokers=4, partitions=(4,), factor=factor, racks=0, skew=2.0)
    tight = MovementMip(weights=weights, balanced_factor_min=0.6, balanced_factor_max=1.4)  # type: ignore[arg-type]
    answer = plan(tight, state, PlanRequest())
    assert state.size_bytes is not None
    weight = state.size_bytes.tolist() if weights == "bytes" else [1] * 4
    mean = sum(weight) * factor / 4
    low, high = math.floor(mean * 0.6), math.ceil(mean * 1.4)
    leaders = state.replicas[:, 0].tolist()
    fits = [
        sets
        for sets in placements(state, PlanRequest(rack_aware=False))
        if all(leader in brokers for leader, brokers in zip(leaders, sets, strict=True))
        and all(
            low <= sum(w for w, brokers in zip(weight, sets, strict=True) if broker in brokers) <= high
            for broker in range(4)
        )
    ]
    assert (answer.status == PlanStatus.OPTIMAL) is bool(fits)
    assert (answer.status == PlanStatus.INFEASIBLE) is not bool(fits)
