"""Cluster states."""

from __future__ import annotations

import numpy as np
import pytest

from assignors.replicas.plan import PlanRequest
from assignors.replicas.state import NO_BROKER, BrokerState, ClusterState, broker_membership
from tests.assignors.replicas.clusters import brokers, ids


def test_rows_are_in_input_order() -> None:
    state = ClusterState.of([BrokerState(7), BrokerState(3)], {("b", 1): [3, 7], ("a", 0): [7], ("b", 0): [3, 7]})
    assert state.topics == ("b", "a")
    assert state.ids.tolist() == [7, 3]
    assert [state.name(row) for row in range(3)] == ["b-1", "a-0", "b-0"]
    assert state.replicas.tolist() == [[1, 0], [0, NO_BROKER], [1, 0]]
    assert state.leader.tolist() == [1, 0, 1]
    assert state.replication_factor.tolist() == [2, 1, 2]


def test_unlisted_broker_with_replicas_is_not_alive() -> None:
    state = ClusterState.of(brokers(2), {("a", 0): [1, 9]}, leaders={("a", 0): NO_BROKER})
    assert [broker.is_alive for broker in state.brokers] == [True, True, False]
    assert state.leader.tolist() == [NO_BROKER]
    assert PlanRequest().is_allowed(state).tolist() == [True, True, False]


@pytest.mark.parametrize("held", [[], [1, 1]])
def test_partition_without_replicas_or_with_duplicates_is_rejected(held: list[int]) -> None:
    with pytest.raises(ValueError, match=r"a-0: replicas"):
        ClusterState.of(brokers(2), {("a", 0): held})


def test_duplicate_broker_ids_are_rejected() -> None:
    good = ClusterState.of(brokers(2), {("a", 0): [0]})
    with pytest.raises(ValueError, match="the same id"):
        ClusterState(
            (BrokerState(1), BrokerState(1)), good.topics, good.topic, good.partition, good.replicas, good.leader
        )


def test_arrays_are_read_only() -> None:
    state = ClusterState.of(brokers(2), {("a", 0): [0]})
    with pytest.raises(ValueError, match="read-only"):
        state.replicas[0, 0] = 1


def test_selecting_partitions_keeps_all_brokers() -> None:
    state = ClusterState.of(brokers(3), {("a", 0): [0, 1], ("a", 1): [1, 2]}, size_bytes={("a", 0): 5, ("a", 1): 6})
    part = state.take(np.array([1]))
    assert ids(part, part.replicas) == [[1, 2]]
    assert part.size_bytes is not None
    assert part.size_bytes.tolist() == [6]
    assert broker_membership(part.replicas, 3).tolist() == [[False, True, True]]


@pytest.mark.parametrize(
    ("racks", "factor", "most"),
    [
        ("aabbcc", 3, 1),  # one each
        ("aabb", 3, 2),  # more replicas than racks
        ("abbbbb", 4, 3),  # a small rack cannot take its share
        ("aabbc-", 3, 3),  # racks do not constrain the plan if one is unknown
        ("----", 3, 3),
    ],
)
def test_rack_limit_is_the_share_of_a_partition(racks: str, factor: int, most: int) -> None:
    broker_states = [BrokerState(i, None if rack == "-" else rack) for i, rack in enumerate(racks)]
    state = ClusterState.of(broker_states, {("a", 0): list(range(factor))})
    assert PlanRequest().rack_limits(state).tolist() == [most]
    assert PlanRequest(rack_aware=False).rack_limits(state).tolist() == [factor]
