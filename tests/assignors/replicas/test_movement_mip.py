from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assignors.replicas.movement_mip import MovementMip
from assignors.replicas.plan import Plan, PlanRequest, PlanStatus
from assignors.replicas.plan_evaluation import replicas_by_partition, shuffle_state
from assignors.replicas.planning import plan
from assignors.replicas.state import BrokerState, ClusterState, added_replicas, count_replicas
from tests.assignors.replicas.all_placements import placements
from tests.assignors.replicas.clusters import ids, random_cluster


def message(replicas: Sequence[Sequence[int]], num_brokers: int, sizes: Sequence[int] | None = None) -> ClusterState:
    """Build the topic of kafka-reassign-optimizer's tests; its brokers count from 1."""
    broker_states = [BrokerState(i) for i in range(1, num_brokers + 1)]
    held = {("message", p): row for p, row in enumerate(replicas)}
    return ClusterState.of(
        broker_states, held, size_bytes=sizes and {("message", p): size for p, size in enumerate(sizes)}
    )


def loads(state: ClusterState, answer: Plan) -> dict[int, int]:
    assert answer.replicas is not None
    counts = count_replicas(answer.replicas, len(state.brokers))
    return dict(zip(state.ids.tolist(), counts.tolist(), strict=True))


def heads(state: ClusterState, answer: Plan) -> list[int]:
    assert answer.replicas is not None
    return [row[0] for row in ids(state, answer.replicas)]


def test_growing_from_three_brokers_to_six_moves_three_replicas_and_no_leader() -> None:
    state = message([[1, 2, 3], [2, 3, 1]], 6)
    proposal = plan(MovementMip(), state, PlanRequest())
    assert (proposal.status, proposal.value, proposal.bound) == (PlanStatus.OPTIMAL, 3, 3)
    assert loads(state, proposal) == dict.fromkeys(range(1, 7), 1)
    assert heads(state, proposal) == [1, 2]


def test_shrinking_to_brokers_that_lead_moves_two_replicas_and_no_leader() -> None:
    state = message([[2, 5, 4], [3, 1, 2]], 5)
    proposal = plan(MovementMip(), state, PlanRequest(brokers=(1, 2, 3)))
    assert (proposal.status, proposal.value) == (PlanStatus.OPTIMAL, 2)
    assert loads(state, proposal) == {1: 2, 2: 2, 3: 2, 4: 0, 5: 0}
    assert heads(state, proposal) == [2, 3]


def test_shrinking_to_brokers_that_do_not_lead_moves_three_replicas() -> None:
    state = message([[2, 5, 4], [3, 1, 2]], 5)
    proposal = plan(MovementMip(), state, PlanRequest(brokers=(1, 4, 5)))
    assert (proposal.status, proposal.value) == (PlanStatus.OPTIMAL, 3)
    assert loads(state, proposal) == {1: 2, 2: 0, 3: 0, 4: 2, 5: 2}


def test_fewer_brokers_than_replicas_are_infeasible() -> None:
    state = message([[1, 2, 3], [2, 3, 1]], 3)
    proposal = MovementMip().plan(state, PlanRequest(brokers=(1, 2)))
    assert proposal.status == PlanStatus.INFEASIBLE
    assert proposal.reason == "message-0 cannot have 3 replicas within the other limits"


def test_growing_as_in_the_readme_moves_two_replicas() -> None:
    state = message([[3, 1, 2], [1, 2, 3]], 5)
    proposal = plan(MovementMip(), state, PlanRequest())
    assert (proposal.status, proposal.value) == (PlanStatus.OPTIMAL, 2)
    assert heads(state, proposal) == [3, 1]


def test_shrinking_as_in_the_readme_moves_three_replicas() -> None:
    state = message([[3, 5, 4], [1, 3, 2]], 5)
    proposal = plan(MovementMip(), state, PlanRequest(brokers=(1, 4, 5)))
    assert (proposal.status, proposal.value) == (PlanStatus.OPTIMAL, 3)


def test_weights_of_the_readme_move_58() -> None:
    state = message([[3, 1, 2], [1, 2, 3], [2, 1, 3]], 5, [20, 19, 19])
    weighed = MovementMip(balanced_factor_min=0.6, balanced_factor_max=1.2, weights="bytes")
    proposal = plan(weighed, state, PlanRequest())
    assert (proposal.status, proposal.value, proposal.bound) == (PlanStatus.OPTIMAL, 58, 58)
    assert proposal.objective == "bytes moved"


def test_weights_without_equal_loads_are_infeasible() -> None:
    state = message([[3, 1, 2], [1, 2, 3], [2, 1, 3]], 5, [20, 19, 19])
    proposal = plan(MovementMip(weights="bytes"), state, PlanRequest())
    assert proposal.status == PlanStatus.INFEASIBLE
    assert "relax the limits" in proposal.reason


def test_sizes_in_terabytes_are_weighted_as_exactly_as_small_ones() -> None:
    weighed = MovementMip(balanced_factor_min=0.5, balanced_factor_max=1.2, weights="bytes")
    moved = []
    for unit in (1, 10**12):
        state = message([[3, 1, 2], [1, 2, 3], [2, 1, 3]], 5, [20 * unit, 19 * unit, 19 * unit])
        proposal = plan(weighed, state, PlanRequest())
        assert proposal.status == PlanStatus.OPTIMAL
        moved.append(proposal.value)
    assert moved == [57, 57 * 10**12]


def test_weighting_by_unknown_sizes_is_not_applicable() -> None:
    state = message([[1, 2]], 2)
    proposal = plan(MovementMip(weights="bytes"), state, PlanRequest())
    assert proposal.status == PlanStatus.NOT_APPLICABLE


def test_partition_led_by_another_replica_is_rejected_unless_allowed() -> None:
    broker_states = [BrokerState(i) for i in range(1, 4)]
    state = ClusterState.of(
        broker_states, {("message", 0): [1, 2], ("message", 1): [2, 3]}, leaders={("message", 1): 3}
    )
    proposal = plan(MovementMip(), state, PlanRequest())
    assert proposal.status == PlanStatus.FAILED
    assert proposal.reason == "message-1: broker 3 leads it, not its preferred leader 2; elect 2 first"
    allowing = plan(MovementMip(refuses_other_leaders=False), state, PlanRequest())
    assert heads(state, allowing) == [1, 2]


def test_orphaned_replicas_are_sorted_or_drawn_by_a_seed() -> None:
    state = message([[1, 5, 4, 3]] * 8, 5)
    request = PlanRequest(brokers=(2, 3, 4, 5))
    assert heads(state, plan(MovementMip(), state, request)) == [2] * 8
    drawn = plan(MovementMip(seed=1), state, request)
    rerun = plan(MovementMip(seed=1), state, request)
    assert len(set(heads(state, drawn))) > 1
    assert drawn.replicas is not None
    assert rerun.replicas is not None
    assert (drawn.replicas == rerun.replicas).all()


def test_replication_factors_cannot_change() -> None:
    proposal = plan(MovementMip(), message([[1, 2]], 3), PlanRequest(replication_factor=3))
    assert proposal.status == PlanStatus.NOT_APPLICABLE


@pytest.mark.parametrize("seed", range(4))
def test_loads_are_within_limits_and_leaders_stay(seed: int) -> None:
    state = random_cluster(seed, num_brokers=7, partitions=(20, 9))
    proposal = plan(MovementMip(), state, PlanRequest())
    assert proposal.replicas is not None
    mean = 29 * 3 / 7
    counts = count_replicas(proposal.replicas, 7)
    assert np.floor(0.9 * mean) <= counts.min()
    assert counts.max() <= np.ceil(mean)
    assert (proposal.replicas[:, 0] == state.replicas[:, 0]).all()
    assert added_replicas(state.replicas, proposal.replicas).sum() == proposal.value == proposal.bound


def test_own_plan_moves_nothing_and_input_order_does_not_matter() -> None:
    state = random_cluster(5)
    proposal = plan(MovementMip(), state, PlanRequest())
    assert proposal.replicas is not None
    rerun = plan(MovementMip(), state.with_replicas(proposal.replicas), PlanRequest())
    assert rerun.replicas is not None
    assert (rerun.replicas == proposal.replicas).all()
    for seed in range(5):
        shuffled = shuffle_state(state, np.random.default_rng(seed))
        other = plan(MovementMip(), shuffled, PlanRequest())
        assert other.replicas is not None
        assert replicas_by_partition(shuffled, other.replicas) == replicas_by_partition(state, proposal.replicas)


@pytest.mark.parametrize(
    "wrong", [{"balanced_factor_min": 1.1}, {"balanced_factor_max": 0.9}, {"weights": "offset"}], ids=str
)
def test_invalid_parameters_are_rejected(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"1\.1|0\.9|offset"):
        MovementMip(**wrong)  # type: ignore[arg-type]


def test_out_of_sync_partition_is_rejected_unless_allowed() -> None:
    broker_states = [BrokerState(i) for i in range(1, 4)]
    held = {("message", 0): [1, 2], ("message", 1): [2, 3]}
    state = ClusterState.of(broker_states, held, in_sync={("message", 1): [2]})
    proposal = plan(MovementMip(), state, PlanRequest())
    assert proposal.status == PlanStatus.FAILED
    assert proposal.reason == "message-1: broker 3 is not in sync; wait until it has caught up"
    allowing = plan(MovementMip(refuses_out_of_sync=False), state, PlanRequest())
    assert heads(state, allowing) == [1, 2]


def test_leaders_above_the_load_limit_of_a_broker_are_named() -> None:
    broker_states = [BrokerState(i) for i in range(1, 4)]
    held = {("t", 0): [1], ("t", 1): [1], ("t", 2): [2], ("t", 3): [3]}
    state = ClusterState.of(broker_states, held, size_bytes=dict(zip(held, [100, 90, 5, 5], strict=True)))
    proposal = plan(MovementMip(weights="bytes", balanced_factor_max=1.2), state, PlanRequest())
    assert proposal.status == PlanStatus.INFEASIBLE
    assert proposal.reason == (
        "broker 1: leaders pinned to it (t-0, t-1) hold 190 bytes, and balanced_factor_max 1.2 allows "
        "80; a factor of 2.85 fits"
    )
    fitting = MovementMip(weights="bytes", balanced_factor_max=2.85, balanced_factor_min=0.0)
    assert plan(fitting, state, PlanRequest()).status == PlanStatus.OPTIMAL


def test_broker_below_the_lower_limit_is_named() -> None:
    broker_states = [BrokerState(i) for i in range(1, 5)]
    held = {("t", 0): [1], ("t", 1): [2], ("t", 2): [3], ("two", 0): [1, 2]}
    state = ClusterState.of(broker_states, held, size_bytes=dict(zip(held, [50, 60, 70, 10], strict=True)))
    proposal = plan(MovementMip(weights="bytes", balanced_factor_max=2), state, PlanRequest())
    assert proposal.status == PlanStatus.INFEASIBLE
    assert proposal.reason == (
        "broker 4: with leaders pinned to their brokers, it can hold 10 bytes, and balanced_factor_min 0.9 requires "
        "45; a factor of 0.2 fits"
    )
    fitting = MovementMip(weights="bytes", balanced_factor_min=0.2, balanced_factor_max=2)
    assert plan(fitting, state, PlanRequest()).status == PlanStatus.OPTIMAL


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["count", "bytes"]), st.integers(1, 2))
def test_reported_capacity_conflict_is_infeasible(seed: int, weights: str, factor: int) -> None:
    state = random_cluster(seed, num_brokers=4, partitions=(4,), factor=factor, racks=0, skew=2.0)
    tight = MovementMip(weights=weights, balanced_factor_min=0.6, balanced_factor_max=1.4)  # type: ignore[arg-type]
    proposal = plan(tight, state, PlanRequest())
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
    assert (proposal.status == PlanStatus.OPTIMAL) is bool(fits)
    assert (proposal.status == PlanStatus.INFEASIBLE) is not bool(fits)
