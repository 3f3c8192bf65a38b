from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assignors.replicas.broker_loads import added_replicas, count_per_rack
from assignors.replicas.capacity_packing import CapacityPacking
from assignors.replicas.plan import Plan, PlanRequest, PlanStatus
from assignors.replicas.planning import plan
from assignors.replicas.shuffling import replicas_by_partition, shuffle_state
from assignors.replicas.state import NO_BROKER, UNKNOWN_RATE, BrokerState, ClusterState, TopicRetention
from tests.assignors.replicas.all_placements import placements
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
    there = [
        BrokerState(i, f"az{i % racks}" if racks else None, capacity_bytes=capacity, capacity_bytes_per_s=network)
        for i, capacity in enumerate(capacities)
    ]
    held = {("t", p): [(p + j) % len(there) for j in range(factor)] for p in range(len(sizes))}
    size_bytes = dict(zip(held, sizes, strict=True))
    return ClusterState.of(
        there, held, size_bytes=size_bytes, bytes_per_s=rates and dict(zip(held, rates, strict=True))
    )


def in_use(answer: Plan) -> set[int]:
    assert answer.replicas is not None
    return set(np.unique(answer.replicas).tolist()) - {NO_BROKER}


def test_partitions_that_fill_two_disks_exactly_are_packed_into_two() -> None:
    state = packing([6, 5, 4, 3, 2], [10] * 5)
    answer = plan(CapacityPacking(), state, PlanRequest())
    assert (answer.status, answer.value, answer.bound) == (PlanStatus.OPTIMAL, 2, 2)
    assert len(in_use(answer)) == 2


def test_where_first_fit_needs_a_broker_more_the_search_saves_it() -> None:
    state = packing([51, 27, 26, 23, 23, 25, 25], [100] * 4)
    answer = plan(CapacityPacking(), state, PlanRequest())
    assert (answer.status, answer.value, answer.bound) == (PlanStatus.OPTIMAL, 2, 2)


def test_a_bound_above_the_total_is_proven_by_search() -> None:
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


def test_an_unknown_rate_is_derived_from_size_and_retention() -> None:
    state = packing([600, 600], [10_000] * 2, network=100)
    assert plan(CapacityPacking(retention_ms=10_000), state, PlanRequest()).value == 2
    assert plan(CapacityPacking(retention_ms=20_000), state, PlanRequest()).value == 1


def test_large_brokers_are_used_rather_than_many_small_ones() -> None:
    answer = plan(CapacityPacking(), packing([5, 5, 5, 5], [5, 5, 20, 5, 5]), PlanRequest())
    assert (answer.status, answer.value) == (PlanStatus.OPTIMAL, 1)
    assert in_use(answer) == {2}


def test_a_rack_aware_packing_uses_different_racks() -> None:
    state = packing([3, 3, 3, 3], [20] * 6, factor=2, racks=2)
    answer = plan(CapacityPacking(), state, PlanRequest())
    assert answer.value == 2
    assert answer.replicas is not None
    assert count_per_rack(answer.replicas, state.rack, 2).max() == 1


def test_racks_ask_for_brokers_of_their_own() -> None:
    state = packing([6, 6, 6], [12] * 6, factor=2, racks=2)
    assert plan(CapacityPacking(), state, PlanRequest()).value == 4
    assert plan(CapacityPacking(), state, PlanRequest(rack_aware=False)).value == 3


def test_a_partition_larger_than_any_disk_is_named() -> None:
    answer = plan(CapacityPacking(), packing([5, 50], [10, 10]), PlanRequest())
    assert answer.status == PlanStatus.INFEASIBLE
    assert answer.reason.startswith("t-1: 1 replicas of 50 bytes fit on 0 brokers only")


def test_more_than_all_disks_take_is_infeasible() -> None:
    answer = plan(CapacityPacking(), packing([9, 9, 9], [10, 10]), PlanRequest())
    assert answer.status == PlanStatus.INFEASIBLE
    assert answer.reason == "all partitions: 27 bytes exceed the capacity of 20 bytes"


def test_replicas_that_fit_only_in_total_are_infeasible() -> None:
    answer = plan(CapacityPacking(), packing([6, 6, 6], [10, 10]), PlanRequest())
    assert answer.status == PlanStatus.INFEASIBLE
    assert "t-0 (the largest)" in answer.reason


@pytest.mark.parametrize("missing", ["sizes", "capacities"])
def test_without_sizes_or_capacities_it_does_not_apply(missing: str) -> None:
    there = [BrokerState(i, capacity_bytes=None if missing == "capacities" else 10) for i in range(2)]
    state = ClusterState.of(there, {("t", 0): [0]}, size_bytes=None if missing == "sizes" else {("t", 0): 1})
    answer = plan(CapacityPacking(), state, PlanRequest())
    assert answer.status == PlanStatus.NOT_APPLICABLE
    assert missing in answer.reason


def test_a_packed_placement_does_not_change() -> None:
    state = packing([6, 5, 4, 3, 2], [10] * 5)
    answer = plan(CapacityPacking(), state, PlanRequest())
    assert answer.replicas is not None
    again = plan(CapacityPacking(), state.with_replicas(answer.replicas), PlanRequest())
    assert again.replicas is not None
    assert (again.replicas == answer.replicas).all()


def test_as_few_replicas_as_possible_move_into_the_brokers_in_use() -> None:
    there = [BrokerState(i, capacity_bytes=10) for i in range(4)]
    held = {("t", 0): [0], ("t", 1): [0], ("t", 2): [1], ("t", 3): [1], ("t", 4): [2]}
    state = ClusterState.of(there, held, size_bytes=dict.fromkeys(held, 3))
    answer = plan(CapacityPacking(), state, PlanRequest())
    assert answer.value == 2
    assert answer.replicas is not None
    assert added_replicas(state.replicas, answer.replicas).sum() == 1


@pytest.mark.parametrize("seed", range(3))
def test_no_disk_is_overfull_and_no_rack_crowded(seed: int) -> None:
    state = random_cluster(seed, num_brokers=8, partitions=(20,), factor=2, racks=2)
    request = PlanRequest(replication_factor=3)
    answer = plan(CapacityPacking(time_limit_s=2), state, request)
    assert answer.replicas is not None
    assert state.size_bytes is not None
    filled = [int(state.size_bytes[(answer.replicas == broker).any(axis=1)].sum()) for broker in range(8)]
    assert max(filled) <= 200_000_000_000
    assert count_per_rack(answer.replicas, state.rack, 2).max() <= 2


def test_the_order_of_the_input_does_not_matter() -> None:
    state = packing([6, 5, 4, 3, 2, 2, 1], [10, 8, 10, 8, 10], factor=1)
    answer = plan(CapacityPacking(), state, PlanRequest())
    assert answer.replicas is not None
    for seed in range(5):
        shuffled = shuffle_state(state, np.random.default_rng(seed))
        other = plan(CapacityPacking(), shuffled, PlanRequest())
        assert other.replicas is not None
        assert replicas_by_partition(shuffled, other.replicas) == replicas_by_partition(state, answer.replicas)


def test_too_many_cells_are_packed_without_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assignors.replicas.capacity_packing._SOLVER_CELLS", 0)
    state = packing([6, 6, 6], [10] * 4)
    answer = plan(CapacityPacking(), state, PlanRequest())
    assert (answer.status, answer.value, answer.bound) == (PlanStatus.FEASIBLE, 3, 2)
    assert "too many to search" in answer.notes[0]
    assert len(in_use(answer)) == 3


def test_known_rates_count_beside_unknown_ones_and_each_topic_has_its_own_retention() -> None:
    there = [BrokerState(i, capacity_bytes=10**12, capacity_bytes_per_s=100) for i in range(4)]
    held = {("known", 0): [0], ("short", 0): [1], ("long", 0): [2], ("empty", 0): [3]}
    state = ClusterState.of(
        there,
        held,
        size_bytes={("known", 0): 10, ("short", 0): 600, ("long", 0): 600, ("empty", 0): 0},
        bytes_per_s={("known", 0): 50, ("short", 0): None, ("long", 0): None, ("empty", 0): None},
        retention={"short": TopicRetention(ms=10_000), "long": TopicRetention(ms=20_000)},
    )
    answer = plan(CapacityPacking(), state, PlanRequest())
    assert (answer.status, answer.value) == (PlanStatus.OPTIMAL, 2)
    assert "2 partitions" in answer.notes[0]


def test_topics_whose_rates_do_not_follow_from_anything_are_named_with_the_reason() -> None:
    there = [BrokerState(i, capacity_bytes=10**12, capacity_bytes_per_s=100) for i in range(4)]
    retention = {
        "compacted": TopicRetention(is_compacted=True),
        "forever": TopicRetention(ms=None),
        "full": TopicRetention(bytes=500),
        "young": TopicRetention(bytes=601),
    }
    held = {(topic, 0): [0] for topic in (*retention, "unheard")}
    state = ClusterState.of(there, held, size_bytes=dict.fromkeys(held, 600), retention=retention)
    answer = plan(CapacityPacking(), state, PlanRequest())
    assert answer.status == PlanStatus.NOT_APPLICABLE
    assert "compacted (compacted), forever (retention.ms=-1), full (limited by retention.bytes)" in answer.reason
    assert "unheard (unknown retention)" in answer.reason
    assert "young" not in answer.reason
    assert "unheard" not in plan(CapacityPacking(retention_ms=10_000), state, PlanRequest()).reason


def test_rates_do_not_matter_where_no_broker_has_a_throughput() -> None:
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
    answer = plan(CapacityPacking(objective="balance"), state, PlanRequest())
    assert (answer.status, answer.value, answer.bound) == (PlanStatus.OPTIMAL, 40.0, 40.0)
    assert answer.replicas is not None
    assert (answer.replicas == 0).sum() == 4


def test_the_objective_names_the_resources_that_are_limited() -> None:
    disk = plan(CapacityPacking(objective="balance"), packing([1, 1], [10] * 2), PlanRequest())
    assert disk.objective == "peak utilization of disk in percent"
    both = plan(CapacityPacking(objective="balance"), packing([1, 1], [10] * 2, network=9, rates=[1, 1]), PlanRequest())
    assert both.objective == "peak utilization of disk and network in percent"


def test_only_balance_aims_at_even_bytes() -> None:
    assert CapacityPacking(objective="balance").capabilities.balances_bytes
    assert not CapacityPacking().capabilities.balances_bytes


def test_balance_levels_the_others_where_one_partition_alone_is_the_peak() -> None:
    state = packing([80, 20, 20, 20], [100] * 4)
    packed = state.with_replicas(np.array([[0], [1], [1], [1]]))
    answer = plan(CapacityPacking(objective="balance"), packed, PlanRequest())
    assert answer.value == 80.0
    assert answer.replicas is not None
    assert sorted(answer.replicas[:, 0].tolist()) == [0, 1, 2, 3]
    assert added_replicas(packed.replicas, answer.replicas).sum() == 2


@st.composite
def tiny_clusters(draw: st.DrawFn) -> ClusterState:
    """Draw up to four partitions on up to three brokers, with given rates or rates derived from retention."""
    num_brokers, racks = draw(st.integers(2, 3)), draw(st.sampled_from([0, 2]))
    there = [
        BrokerState(
            i,
            f"az{i % racks}" if racks else None,
            capacity_bytes=draw(st.integers(8, 30)),
            capacity_bytes_per_s=draw(st.sampled_from([None, *range(4, 16)])),
        )
        for i in range(num_brokers)
    ]
    factor = draw(st.integers(1, 2))
    held = {(f"t{p}", 0): draw(st.permutations(range(num_brokers)))[:factor] for p in range(draw(st.integers(1, 4)))}
    rates = {key: draw(st.sampled_from([None, None, 0, 1, 3, 5])) for key in held}
    retention = {topic: TopicRetention(ms=draw(st.sampled_from([1_000, 2_500, 7_000]))) for topic, _ in held}
    sizes = {key: draw(st.integers(0, 9)) for key in held}
    return ClusterState.of(there, held, size_bytes=sizes, bytes_per_s=rates, retention=retention)


def utilizations(state: ClusterState, sets: Sequence[Sequence[int]]) -> list[list[Fraction]]:
    """Return the disk and network utilization of every broker, computed independently."""
    assert state.size_bytes is not None
    assert state.bytes_per_s is not None
    assert state.retention is not None
    disk, network = [Fraction(0)] * len(state.brokers), [Fraction(0)] * len(state.brokers)
    for row, brokers in enumerate(sets):
        size, rate = int(state.size_bytes[row]), int(state.bytes_per_s[row])
        retention = state.retention[state.topic[row]]
        if rate == UNKNOWN_RATE:
            assert retention is not None
            assert retention.ms is not None
            rate = math.ceil(Fraction(size * 1_000, retention.ms))
        for broker in brokers:
            there = state.brokers[broker]
            disk[broker] += Fraction(size, there.capacity_bytes or 1)
            if there.capacity_bytes_per_s is not None:
                network[broker] += Fraction(rate, there.capacity_bytes_per_s)
    return [disk, network]


@pytest.mark.parametrize("network", [None, 4])
def test_a_broker_of_unknown_throughput_bounds_no_peak(network: int | None) -> None:
    brokers = [BrokerState(row, None, 8, network if row == 2 else None) for row in range(3)]
    state = ClusterState.of(brokers, {("t", 0): [0]}, size_bytes={("t", 0): 0}, bytes_per_s={("t", 0): 1})
    answer = plan(CapacityPacking(objective="balance"), state, PlanRequest())
    assert (answer.status, answer.value, answer.bound) == (PlanStatus.OPTIMAL, 0, 0)


@settings(max_examples=150, deadline=None)
@given(tiny_clusters(), st.sampled_from([0.0, 0.25]))
def test_both_objectives_are_those_of_trying_every_placement(state: ClusterState, headroom: float) -> None:
    request = PlanRequest()
    judged = [(sets, utilizations(state, sets)) for sets in placements(state, request)]
    fitting = [(sets, max(map(max, used)), used) for sets, used in judged if max(map(max, used)) <= 1 - headroom]
    fewest = plan(CapacityPacking(headroom=headroom), state, request)
    level = plan(CapacityPacking(headroom=headroom, objective="balance"), state, request)
    if not fitting:
        assert fewest.status == level.status == PlanStatus.INFEASIBLE
        return
    assert fewest.status == level.status == PlanStatus.OPTIMAL
    assert fewest.value == min(len({broker for brokers in sets for broker in brokers}) for sets, _, _ in fitting)
    peak = min(math.ceil(highest * 1_000) for _, highest, _ in fitting)
    assert level.value == level.bound == peak / 10
    assert level.replicas is not None
    found = utilizations(state, [[broker for broker in row if broker != NO_BROKER] for row in level.replicas.tolist()])
    assert math.ceil(max(map(max, found)) * 1_000) <= peak


@pytest.mark.parametrize("seed", range(3))
def test_without_a_search_balance_still_levels(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr("assignors.replicas.capacity_packing._SOLVER_CELLS", 0)
    state = random_cluster(seed, num_brokers=8, partitions=(60, 20), factor=2, racks=2)
    answer = plan(CapacityPacking(objective="balance"), state, PlanRequest())
    assert answer.value is not None
    assert answer.bound is not None
    assert answer.value <= answer.bound * 1.1
    again = plan(CapacityPacking(objective="balance"), state.with_replicas(answer.replicas), PlanRequest())  # type: ignore[arg-type]
    assert again.replicas is not None
    assert added_replicas(answer.replicas, again.replicas).sum() == 0  # type: ignore[arg-type]


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
