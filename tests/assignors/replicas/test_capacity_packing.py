from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from assignors.replicas.capacity_packing import CapacityPacking
from assignors.replicas.counts import added, crowding
from assignors.replicas.plan import Plan, PlanRequest, PlanStatus
from assignors.replicas.planning import plan
from assignors.replicas.shuffling import placement, shuffled
from assignors.replicas.state import NOBODY, Broker, ClusterState
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
    """Partitions of these sizes, spread round robin over brokers that take so much."""
    there = [
        Broker(i, f"az{i % racks}" if racks else None, capacity_bytes=capacity, capacity_bytes_per_s=network)
        for i, capacity in enumerate(capacities)
    ]
    held = {("t", p): [(p + j) % len(there) for j in range(factor)] for p in range(len(sizes))}
    size_bytes = dict(zip(held, sizes, strict=True))
    return ClusterState.of(
        there, held, size_bytes=size_bytes, bytes_per_s=rates and dict(zip(held, rates, strict=True))
    )


def in_use(answer: Plan) -> set[int]:
    assert answer.replicas is not None
    return set(np.unique(answer.replicas).tolist()) - {NOBODY}


def test_partitions_that_fill_two_disks_exactly_are_packed_into_two() -> None:
    state = packing([6, 5, 4, 3, 2], [10] * 5)
    answer = plan(CapacityPacking(), state, PlanRequest())
    assert (answer.status, answer.value, answer.bound) == (PlanStatus.OPTIMAL, 2, 2)
    assert len(in_use(answer)) == 2


def test_where_first_fit_needs_a_broker_more_the_search_saves_it() -> None:
    state = packing([51, 27, 26, 23, 23, 25, 25], [100] * 4)
    answer = plan(CapacityPacking(), state, PlanRequest())
    assert (answer.status, answer.value, answer.bound) == (PlanStatus.OPTIMAL, 2, 2)


def test_what_no_search_can_pack_tighter_is_proven_though_the_total_would_fit() -> None:
    answer = plan(CapacityPacking(), packing([6, 6, 6], [10] * 4), PlanRequest())
    assert (answer.status, answer.value, answer.bound) == (PlanStatus.OPTIMAL, 3, 3)


def test_replicas_of_a_partition_share_no_broker() -> None:
    answer = plan(CapacityPacking(), packing([1], [10] * 4, factor=3), PlanRequest())
    assert answer.value == 3
    assert len(in_use(answer)) == 3


def test_the_network_is_a_limit_too() -> None:
    state = packing([1, 1, 1], [10] * 3, network=100, rates=[60, 60, 60])
    answer = plan(CapacityPacking(), state, PlanRequest())
    assert (answer.status, answer.value) == (PlanStatus.OPTIMAL, 3)


def test_a_rate_that_nobody_knows_follows_from_size_and_retention() -> None:
    state = packing([600, 600], [10_000] * 2, network=100)
    assert plan(CapacityPacking(retention_ms=10_000), state, PlanRequest()).value == 2
    assert plan(CapacityPacking(retention_ms=20_000), state, PlanRequest()).value == 1


def test_large_brokers_are_used_rather_than_many_small_ones() -> None:
    answer = plan(CapacityPacking(), packing([5, 5, 5, 5], [5, 5, 20, 5, 5]), PlanRequest())
    assert (answer.status, answer.value) == (PlanStatus.OPTIMAL, 1)
    assert in_use(answer) == {2}


def test_replicas_are_in_different_racks_if_racks_are_to_be_heeded() -> None:
    state = packing([3, 3, 3, 3], [20] * 6, factor=2, racks=2)
    answer = plan(CapacityPacking(), state, PlanRequest())
    assert answer.value == 2
    assert answer.replicas is not None
    assert crowding(answer.replicas, state.rack, 2).max() == 1


def test_racks_ask_for_brokers_of_their_own() -> None:
    state = packing([6, 6, 6], [12] * 6, factor=2, racks=2)
    assert plan(CapacityPacking(), state, PlanRequest()).value == 4
    assert plan(CapacityPacking(), state, PlanRequest(rack_aware=False)).value == 3


def test_a_partition_larger_than_any_disk_is_named() -> None:
    answer = plan(CapacityPacking(), packing([5, 50], [10, 10]), PlanRequest())
    assert answer.status == PlanStatus.INFEASIBLE
    assert answer.reason.startswith("t-1: 1 replicas of 50 bytes at 1 bytes/s need as many brokers")


def test_more_than_all_disks_take_is_infeasible() -> None:
    answer = plan(CapacityPacking(), packing([9, 9, 9], [10, 10]), PlanRequest())
    assert answer.status == PlanStatus.INFEASIBLE
    assert answer.reason == "all partitions: they come to 27 bytes, brokers take 20"


def test_what_fits_in_total_and_not_in_pieces_is_infeasible() -> None:
    answer = plan(CapacityPacking(), packing([6, 6, 6], [10, 10]), PlanRequest())
    assert answer.status == PlanStatus.INFEASIBLE
    assert "t-0, the largest" in answer.reason


@pytest.mark.parametrize("missing", ["sizes", "capacities"])
def test_without_sizes_or_capacities_it_does_not_apply(missing: str) -> None:
    there = [Broker(i, capacity_bytes=None if missing == "capacities" else 10) for i in range(2)]
    state = ClusterState.of(there, {("t", 0): [0]}, size_bytes=None if missing == "sizes" else {("t", 0): 1})
    answer = plan(CapacityPacking(), state, PlanRequest())
    assert answer.status == PlanStatus.NOT_APPLICABLE
    assert missing in answer.reason


def test_what_is_packed_already_stays() -> None:
    state = packing([6, 5, 4, 3, 2], [10] * 5)
    answer = plan(CapacityPacking(), state, PlanRequest())
    assert answer.replicas is not None
    again = plan(CapacityPacking(), state.with_replicas(answer.replicas), PlanRequest())
    assert again.replicas is not None
    assert (again.replicas == answer.replicas).all()


def test_as_few_replicas_as_possible_move_into_the_brokers_in_use() -> None:
    there = [Broker(i, capacity_bytes=10) for i in range(4)]
    held = {("t", 0): [0], ("t", 1): [0], ("t", 2): [1], ("t", 3): [1], ("t", 4): [2]}
    state = ClusterState.of(there, held, size_bytes=dict.fromkeys(held, 3))
    answer = plan(CapacityPacking(), state, PlanRequest())
    assert answer.value == 2
    assert answer.replicas is not None
    assert added(state.replicas, answer.replicas).sum() == 1


@pytest.mark.parametrize("seed", range(3))
def test_no_disk_is_overfull_and_no_rack_crowded(seed: int) -> None:
    state = random_cluster(seed, num_brokers=8, partitions=(20,), factor=2, racks=2)
    request = PlanRequest(replication_factor=3)
    answer = plan(CapacityPacking(time_limit_s=2), state, request)
    assert answer.replicas is not None
    assert state.size_bytes is not None
    filled = [int(state.size_bytes[(answer.replicas == broker).any(axis=1)].sum()) for broker in range(8)]
    assert max(filled) <= 200_000_000_000
    assert crowding(answer.replicas, state.rack, 2).max() <= 2


def test_the_order_of_the_input_does_not_matter() -> None:
    state = packing([6, 5, 4, 3, 2, 2, 1], [10, 8, 10, 8, 10], factor=1)
    answer = plan(CapacityPacking(), state, PlanRequest())
    assert answer.replicas is not None
    for seed in range(5):
        told = shuffled(state, np.random.default_rng(seed))
        other = plan(CapacityPacking(), told, PlanRequest())
        assert other.replicas is not None
        assert placement(told, other.replicas) == placement(state, answer.replicas)


def test_too_many_cells_are_packed_without_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assignors.replicas.capacity_packing._SOLVER_CELLS", 0)
    state = packing([6, 6, 6], [10] * 4)
    answer = plan(CapacityPacking(), state, PlanRequest())
    assert (answer.status, answer.value, answer.bound) == (PlanStatus.FEASIBLE, 3, 2)
    assert "too many to search" in answer.notes[0]
    assert len(in_use(answer)) == 3


def test_a_retention_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="retention_ms 0"):
        CapacityPacking(retention_ms=0)
