"""Both objectives of `capacity_packing` against exhaustive search on random small clusters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assignors.replicas.capacity_packing import CapacityPacking
from assignors.replicas.plan import PlanRequest, PlanStatus
from assignors.replicas.planning import plan
from assignors.replicas.state import NO_BROKER, UNKNOWN_RATE, BrokerState, ClusterState, TopicRetention
from tests.assignors.replicas.all_placements import placements

pytestmark = pytest.mark.answers


@st.composite
def small_clusters(draw: st.DrawFn) -> ClusterState:
    """Draw up to four partitions on up to three brokers, with given rates or rates derived from retention."""
    num_brokers, racks = draw(st.integers(2, 3)), draw(st.sampled_from([0, 2]))
    broker_states = [
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
    return ClusterState.of(broker_states, held, size_bytes=sizes, bytes_per_s=rates, retention=retention)


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
            broker_state = state.brokers[broker]
            disk[broker] += Fraction(size, broker_state.capacity_bytes or 1)
            if broker_state.capacity_bytes_per_s is not None:
                network[broker] += Fraction(rate, broker_state.capacity_bytes_per_s)
    return [disk, network]


@settings(max_examples=150, deadline=None)
@given(small_clusters(), st.sampled_from([0.0, 0.25]))
def test_both_objectives_match_exhaustive_search(state: ClusterState, headroom: float) -> None:
    request = PlanRequest()
    loads_of_placements = [(sets, utilizations(state, sets)) for sets in placements(state, request)]
    fitting = [
        (sets, max(map(max, used)), used) for sets, used in loads_of_placements if max(map(max, used)) <= 1 - headroom
    ]
    fewest_brokers = plan(CapacityPacking(headroom=headroom), state, request)
    balanced = plan(CapacityPacking(headroom=headroom, objective="balance"), state, request)
    if not fitting:
        assert fewest_brokers.status == balanced.status == PlanStatus.INFEASIBLE
        return
    assert fewest_brokers.status == balanced.status == PlanStatus.OPTIMAL
    assert fewest_brokers.value == min(
        len({broker for brokers in sets for broker in brokers}) for sets, _, _ in fitting
    )
    peak = min(math.ceil(highest * 1_000) for _, highest, _ in fitting)
    assert balanced.value == balanced.bound == peak / 10
    assert balanced.replicas is not None
    loads = utilizations(
        state, [[broker for broker in row if broker != NO_BROKER] for row in balanced.replicas.tolist()]
    )
    assert math.ceil(max(map(max, loads)) * 1_000) <= peak
