from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from assignors.replicas.capacity_packing import CapacityPacking
from assignors.replicas.plan import Plan, PlanRequest, PlanStatus
from assignors.replicas.plan_evaluation import replicas_by_partition, shuffle_state
from assignors.replicas.planning import plan
from assignors.replicas.state import (
    NO_BROKER,
    BrokerState,
    ClusterState,
    TopicRetention,
    added_replicas,
    count_per_rack,
)
from tests.assignors.replicas.clusters import random_cluster


def packing(
    sizes: Sequence[int],
    capacities: Sequence[int],
    *,
    factor: int = 1,
    racks: int = 0,
    network: int | None = None,
    rates: Sequence[int] | None = None,
) -> ClusterState:
    """Build partitions of the given sizes, spread round-robin over brokers of the given capacities."""
    broker_states = [
        BrokerState(i, f"az{i % racks}" if racks else None, capacity_bytes=capacity, capacity_bytes_per_s=network)
        for i, capacity in enumerate(capacities)
    ]
    held = {("t", p): [(p + j) % len(broker_states) for j in range(factor)] for p in range(len(sizes))}
    size_bytes = dict(zip(held, sizes, strict=True))
    return ClusterState.of(
        broker_states, held, size_bytes=size_bytes, bytes_per_s=rates and dict(zip(held, rates, strict=True))
    )


def in_use(answer: Plan) -> set[int]:
    assert answer.replicas is not None
    return set(np.unique(answer.replicas).tolist()) - {NO_BROKER}


def test_partitions_that_fill_two_disks_exactly_are_packed_into_two() -> None:
    state = packing([6, 5, 4, 3, 2], [10] * 5)
    proposal = plan(CapacityPacking(), state, PlanRequest())
    assert (proposal.status, proposal.value, proposal.bound) == (PlanStatus.OPTIMAL, 2, 2)
    assert len(in_use(proposal)) == 2


def test_search_saves_a_broker_over_first_fit() -> None:
    state = packing([51, 27, 26, 23, 23, 25, 25], [100] * 4)
    proposal = plan(CapacityPacking(), state, PlanRequest())
    assert (proposal.status, proposal.value, proposal.bound) == (PlanStatus.OPTIMAL, 2, 2)


def test_bound_above_the_total_is_proven_by_search() -> None:
    proposal = plan(CapacityPacking(), packing([6, 6, 6], [10] * 4), PlanRequest())
    assert (proposal.status, proposal.value, proposal.bound) == (PlanStatus.OPTIMAL, 3, 3)


def test_replicas_of_a_partition_share_no_broker() -> None:
    proposal = plan(CapacityPacking(), packing([1], [10] * 4, factor=3), PlanRequest())
    assert proposal.value == 3
    assert len(in_use(proposal)) == 3


def test_network_capacity_limits_the_packing() -> None:
    state = packing([1, 1, 1], [10] * 3, network=100, rates=[60, 60, 60])
    proposal = plan(CapacityPacking(), state, PlanRequest())
    assert (proposal.status, proposal.value) == (PlanStatus.OPTIMAL, 3)


def test_unknown_rate_is_derived_from_size_and_retention() -> None:
    state = packing([600, 600], [10_000] * 2, network=100)
    assert plan(CapacityPacking(retention_ms=10_000), state, PlanRequest()).value == 2
    assert plan(CapacityPacking(retention_ms=20_000), state, PlanRequest()).value == 1


def test_large_brokers_are_preferred_to_many_small_ones() -> None:
    proposal = plan(CapacityPacking(), packing([5, 5, 5, 5], [5, 5, 20, 5, 5]), PlanRequest())
    assert (proposal.status, proposal.value) == (PlanStatus.OPTIMAL, 1)
    assert in_use(proposal) == {2}


def test_rack_aware_packing_uses_different_racks() -> None:
    state = packing([3, 3, 3, 3], [20] * 6, factor=2, racks=2)
    proposal = plan(CapacityPacking(), state, PlanRequest())
    assert proposal.value == 2
    assert proposal.replicas is not None
    assert count_per_rack(proposal.replicas, state.rack, 2).max() == 1


def test_rack_constraints_can_require_additional_brokers() -> None:
    state = packing([6, 6, 6], [12] * 6, factor=2, racks=2)
    assert plan(CapacityPacking(), state, PlanRequest()).value == 4
    assert plan(CapacityPacking(), state, PlanRequest(rack_aware=False)).value == 3


def test_partition_larger_than_any_disk_is_named() -> None:
    proposal = plan(CapacityPacking(), packing([5, 50], [10, 10]), PlanRequest())
    assert proposal.status == PlanStatus.INFEASIBLE
    assert proposal.reason.startswith("t-1: 1 replicas of 50 bytes fit on 0 brokers only")


def test_total_above_all_disks_is_infeasible() -> None:
    proposal = plan(CapacityPacking(), packing([9, 9, 9], [10, 10]), PlanRequest())
    assert proposal.status == PlanStatus.INFEASIBLE
    assert proposal.reason == "all partitions: 27 bytes exceed the capacity of 20 bytes"


def test_replicas_that_fit_only_in_total_are_infeasible() -> None:
    proposal = plan(CapacityPacking(), packing([6, 6, 6], [10, 10]), PlanRequest())
    assert proposal.status == PlanStatus.INFEASIBLE
    assert "t-0 (the largest)" in proposal.reason


@pytest.mark.parametrize("missing", ["sizes", "capacities"])
def test_unknown_sizes_or_capacities_are_not_applicable(missing: str) -> None:
    broker_states = [BrokerState(i, capacity_bytes=None if missing == "capacities" else 10) for i in range(2)]
    state = ClusterState.of(broker_states, {("t", 0): [0]}, size_bytes=None if missing == "sizes" else {("t", 0): 1})
    proposal = plan(CapacityPacking(), state, PlanRequest())
    assert proposal.status == PlanStatus.NOT_APPLICABLE
    assert missing in proposal.reason


def test_packed_placement_does_not_change() -> None:
    state = packing([6, 5, 4, 3, 2], [10] * 5)
    proposal = plan(CapacityPacking(), state, PlanRequest())
    assert proposal.replicas is not None
    rerun = plan(CapacityPacking(), state.with_replicas(proposal.replicas), PlanRequest())
    assert rerun.replicas is not None
    assert (rerun.replicas == proposal.replicas).all()


def test_fewest_replicas_move_into_the_brokers_in_use() -> None:
    broker_states = [BrokerState(i, capacity_bytes=10) for i in range(4)]
    held = {("t", 0): [0], ("t", 1): [0], ("t", 2): [1], ("t", 3): [1], ("t", 4): [2]}
    state = ClusterState.of(broker_states, held, size_bytes=dict.fromkeys(held, 3))
    proposal = plan(CapacityPacking(), state, PlanRequest())
    assert proposal.value == 2
    assert proposal.replicas is not None
    assert added_replicas(state.replicas, proposal.replicas).sum() == 1


@pytest.mark.parametrize("seed", range(3))
def test_no_disk_is_overfull_and_no_rack_crowded(seed: int) -> None:
    state = random_cluster(seed, num_brokers=8, partitions=(20,), factor=2, racks=2)
    request = PlanRequest(replication_factor=3)
    proposal = plan(CapacityPacking(time_limit_s=2), state, request)
    assert proposal.replicas is not None
    assert state.size_bytes is not None
    filled = [int(state.size_bytes[(proposal.replicas == broker).any(axis=1)].sum()) for broker in range(8)]
    assert max(filled) <= 200_000_000_000
    assert count_per_rack(proposal.replicas, state.rack, 2).max() <= 2


def test_input_order_does_not_matter() -> None:
    state = packing([6, 5, 4, 3, 2, 2, 1], [10, 8, 10, 8, 10], factor=1)
    proposal = plan(CapacityPacking(), state, PlanRequest())
    assert proposal.replicas is not None
    for seed in range(5):
        shuffled = shuffle_state(state, np.random.default_rng(seed))
        other = plan(CapacityPacking(), shuffled, PlanRequest())
        assert other.replicas is not None
        assert replicas_by_partition(shuffled, other.replicas) == replicas_by_partition(state, proposal.replicas)


def test_problem_above_max_search_cells_uses_first_fit() -> None:
    state = packing([6, 6, 6], [10] * 4)
    proposal = plan(CapacityPacking(max_search_cells=0), state, PlanRequest())
    assert (proposal.status, proposal.value, proposal.bound) == (PlanStatus.FEASIBLE, 3, 2)
    assert "too many to search" in proposal.notes[0]
    assert len(in_use(proposal)) == 3


def test_known_rates_are_combined_with_rates_derived_per_topic() -> None:
    broker_states = [BrokerState(i, capacity_bytes=10**12, capacity_bytes_per_s=100) for i in range(4)]
    held = {("known", 0): [0], ("short", 0): [1], ("long", 0): [2], ("empty", 0): [3]}
    state = ClusterState.of(
        broker_states,
        held,
        size_bytes={("known", 0): 10, ("short", 0): 600, ("long", 0): 600, ("empty", 0): 0},
        bytes_per_s={("known", 0): 50, ("short", 0): None, ("long", 0): None, ("empty", 0): None},
        retention={"short": TopicRetention(ms=10_000), "long": TopicRetention(ms=20_000)},
    )
    proposal = plan(CapacityPacking(), state, PlanRequest())
    assert (proposal.status, proposal.value) == (PlanStatus.OPTIMAL, 2)
    assert "2 partitions" in proposal.notes[0]


def test_topics_with_unknown_rates_are_named_with_the_reason() -> None:
    broker_states = [BrokerState(i, capacity_bytes=10**12, capacity_bytes_per_s=100) for i in range(4)]
    retention = {
        "compacted": TopicRetention(is_compacted=True),
        "forever": TopicRetention(ms=None),
        "full": TopicRetention(bytes=500),
        "young": TopicRetention(bytes=601),
    }
    held = {(topic, 0): [0] for topic in (*retention, "unheard")}
    state = ClusterState.of(broker_states, held, size_bytes=dict.fromkeys(held, 600), retention=retention)
    proposal = plan(CapacityPacking(), state, PlanRequest())
    assert proposal.status == PlanStatus.NOT_APPLICABLE
    assert "compacted (compacted), forever (retention.ms=-1), full (limited by retention.bytes)" in proposal.reason
    assert "unheard (unknown retention)" in proposal.reason
    assert "young" not in proposal.reason
    assert "unheard" not in plan(CapacityPacking(retention_ms=10_000), state, PlanRequest()).reason


def test_rates_do_not_matter_if_no_broker_has_a_throughput() -> None:
    state = packing([6, 5, 4, 3, 2], [10] * 5)
    assert plan(CapacityPacking(), state, PlanRequest()).status == PlanStatus.OPTIMAL


def test_headroom_is_kept_free_on_disk_and_network() -> None:
    assert plan(CapacityPacking(), packing([5, 5], [10] * 2), PlanRequest()).value == 1
    assert plan(CapacityPacking(headroom=0.1), packing([5, 5], [10] * 2), PlanRequest()).value == 2
    state = packing([1, 1], [10] * 2, network=100, rates=[50, 50])
    assert plan(CapacityPacking(), state, PlanRequest()).value == 1
    assert plan(CapacityPacking(headroom=0.2), state, PlanRequest()).value == 2


def test_balance_levels_disks_of_different_sizes_in_proportion() -> None:
    state = packing([4, 4, 4, 4, 4, 4], [40, 20])
    proposal = plan(CapacityPacking(objective="balance"), state, PlanRequest())
    assert (proposal.status, proposal.value, proposal.bound) == (PlanStatus.OPTIMAL, 40.0, 40.0)
    assert proposal.replicas is not None
    assert (proposal.replicas == 0).sum() == 4


def test_objective_names_the_limited_resources() -> None:
    disk = plan(CapacityPacking(objective="balance"), packing([1, 1], [10] * 2), PlanRequest())
    assert disk.objective == "peak utilization of disk in percent"
    both = plan(CapacityPacking(objective="balance"), packing([1, 1], [10] * 2, network=9, rates=[1, 1]), PlanRequest())
    assert both.objective == "peak utilization of disk and network in percent"


def test_only_balance_declares_to_balance_bytes() -> None:
    assert CapacityPacking(objective="balance").capabilities.balances_bytes
    assert not CapacityPacking().capabilities.balances_bytes


def test_balance_levels_other_brokers_if_one_partition_is_the_peak() -> None:
    state = packing([80, 20, 20, 20], [100] * 4)
    packed = state.with_replicas(np.array([[0], [1], [1], [1]]))
    proposal = plan(CapacityPacking(objective="balance"), packed, PlanRequest())
    assert proposal.value == 80.0
    assert proposal.replicas is not None
    assert sorted(proposal.replicas[:, 0].tolist()) == [0, 1, 2, 3]
    assert added_replicas(packed.replicas, proposal.replicas).sum() == 2


@pytest.mark.parametrize("network", [None, 4])
def test_broker_of_unknown_throughput_bounds_no_peak(network: int | None) -> None:
    brokers = [BrokerState(row, None, 8, network if row == 2 else None) for row in range(3)]
    state = ClusterState.of(brokers, {("t", 0): [0]}, size_bytes={("t", 0): 0}, bytes_per_s={("t", 0): 1})
    proposal = plan(CapacityPacking(objective="balance"), state, PlanRequest())
    assert (proposal.status, proposal.value, proposal.bound) == (PlanStatus.OPTIMAL, 0, 0)


@pytest.mark.parametrize("seed", range(3))
def test_balance_levels_without_search(seed: int) -> None:
    state = random_cluster(seed, num_brokers=8, partitions=(60, 20), factor=2, racks=2)
    strategy = CapacityPacking(objective="balance", max_search_cells=0)
    proposal = plan(strategy, state, PlanRequest())
    assert proposal.value is not None
    assert proposal.bound is not None
    assert proposal.value <= proposal.bound * 1.1
    rerun = plan(strategy, state.with_replicas(proposal.replicas), PlanRequest())  # type: ignore[arg-type]
    assert rerun.replicas is not None
    assert added_replicas(proposal.replicas, rerun.replicas).sum() == 0  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("parameters", "complaint"),
    [
        ({"retention_ms": 0}, "retention_ms 0"),
        ({"retention_ms": "7d"}, "retention_ms"),
        ({"headroom": 1.0}, "headroom 1.0"),
        ({"headroom": -0.1}, "headroom -0.1"),
        ({"objective": "most"}, "objective 'most'"),
    ],
)
def test_invalid_parameters_are_rejected(parameters: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        CapacityPacking(**parameters)
