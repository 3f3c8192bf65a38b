"""The actions that goals accept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from assignors.replicas.goal_model import Action, ActionKind, ClusterModel, Goal, GoalActions
from assignors.replicas.goals import (
    DiskCapacityGoal,
    DiskUsageDistributionGoal,
    LeaderReplicaDistributionGoal,
    RackAwareDistributionGoal,
    RackAwareGoal,
    ReplicaDistributionGoal,
)
from assignors.replicas.plan import PlanRequest
from assignors.replicas.state import BrokerState, ClusterState


def model(
    replicas: Sequence[Sequence[int]],
    racks: Mapping[int, str | None] | int,
    sizes: Sequence[int] = (),
    *,
    without: Sequence[int] = (),
) -> ClusterModel:
    """Build a model of brokers from 0, whose rows are their ids, with disks of 100 bytes."""
    rack_of = dict.fromkeys(range(racks)) if isinstance(racks, int) else racks
    held = {("t", number): list(brokers) for number, brokers in enumerate(replicas)}
    state = ClusterState.of(
        [BrokerState(broker, rack, 100) for broker, rack in rack_of.items()],
        held,
        size_bytes=dict(zip(held, sizes or [1] * len(held), strict=True)),
    )
    request = PlanRequest(brokers=tuple(broker for broker in rack_of if broker not in without))
    return ClusterModel(state, request, only_new_receive=True)


def move(row: int, source: int, destination: int) -> Action:
    return Action(ActionKind.MOVE, row, source, destination)


def swap(row: int, source: int, destination: int, other: int) -> Action:
    return Action(ActionKind.SWAP, row, source, destination, other)


def lead(row: int, source: int, destination: int) -> Action:
    return Action(ActionKind.LEADERSHIP, row, source, destination)


def accepts(goal: Goal, cluster: ClusterModel, action: Action) -> bool:
    goal.prepare(cluster)
    return goal.accepts(cluster, action)


RACKS = {0: "a", 1: "a", 2: "b", 3: "b", 4: "c"}


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (move(0, 0, 1), True),
        (move(0, 0, 3), False),
        (move(0, 0, 4), True),
        (lead(0, 0, 2), True),
        (swap(0, 0, 4, 1), True),
        (swap(0, 2, 1, 2), False),
        (swap(2, 1, 2, 0), False),
    ],
)
def test_rack_accepts_one_replica_of_a_partition_by_any_action(action: Action, expected: bool) -> None:
    assert accepts(RackAwareGoal(), model([[0, 2], [4, 3], [1]], RACKS), action) is expected


@pytest.mark.parametrize(
    ("action", "expected"),
    [(move(0, 0, 4), True), (move(0, 2, 3), True), (move(0, 2, 5), False), (move(1, 0, 3), False)],
)
def test_even_spread_allows_moves_within_a_rack_and_to_racks_with_fewer_replicas(
    action: Action, expected: bool
) -> None:
    racks = {0: "a", 1: "a", 2: "b", 3: "b", 4: "b", 5: "a"}
    cluster = model([[0, 1, 2], [0, 2]], racks)
    assert accepts(RackAwareDistributionGoal(), cluster, action) is expected


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (swap(1, 1, 2, 3), True),
        (swap(1, 3, 0, 2), True),
        (swap(2, 0, 3, 1), True),
        (swap(0, 3, 2, 3), False),
        (swap(3, 2, 3, 0), False),
        (lead(0, 0, 3), True),
        (lead(3, 2, 0), False),
        (move(0, 3, 1), True),
        (move(1, 1, 2), False),
    ],
)
def test_leaders_can_be_swapped_or_moved_within_the_limits_of_both_brokers(action: Action, expected: bool) -> None:
    # Brokers lead 2, 1, 1 and 0 partitions; with no margin all should lead 1.
    cluster = model([[0, 3], [1, 3], [0, 2], [2, 0]], 4)
    assert accepts(LeaderReplicaDistributionGoal(0.0), cluster, action) is expected


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (swap(0, 0, 1, 2), False),
        (swap(1, 0, 1, 3), False),
        (swap(1, 0, 1, 2), True),
        (move(2, 1, 0), False),
        (lead(0, 0, 1), True),
    ],
)
def test_disk_is_never_filled_beyond_its_limit_by_either_side(action: Action, expected: bool) -> None:
    # They hold 70 and 60 bytes and must stay below 80.
    cluster = model([[0], [0], [1], [1]], 2, [40, 30, 20, 40])
    assert accepts(DiskCapacityGoal(0.8), cluster, action) is expected


@pytest.mark.parametrize(
    ("action", "expected"),
    [(move(3, 1, 2), True), (move(3, 1, 0), False), (move(1, 0, 2), False), (swap(2, 1, 2, 4), True)],
)
def test_brokers_within_disk_limits_must_stay_within(action: Action, expected: bool) -> None:
    # They hold 22, 22 and 20 bytes and may hold from 19.4 to 23.25.
    cluster = model([[0], [0], [1], [1], [2]], 3, [19, 3, 20, 2, 20])
    assert accepts(DiskUsageDistributionGoal(0.09), cluster, action) is expected


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (move(1, 0, 1), True),
        (move(0, 0, 1), False),
        (move(3, 2, 1), False),
        (swap(0, 0, 1, 2), True),
        (swap(1, 0, 1, 2), False),
        (lead(3, 2, 1), True),
    ],
)
def test_brokers_outside_disk_limits_must_become_more_alike(action: Action, expected: bool) -> None:
    # They hold 70, 40 and 1 bytes; with no margin all should hold 37.
    cluster = model([[0], [0], [1], [2]], 3, [50, 20, 40, 1])
    assert accepts(DiskUsageDistributionGoal(0.0), cluster, action) is expected


def test_only_new_brokers_are_balanced_by_disk_use() -> None:
    assert DiskUsageDistributionGoal(0.1).brokers_in_turn(model([[0], [1]], 4)) == [2, 3]
    assert DiskUsageDistributionGoal(0.1).brokers_in_turn(model([[0], [1]], 2)) == [0, 1]


def test_immigrant_on_a_new_broker_may_only_return_to_its_origin() -> None:
    cluster = model([[0], [0], [1]], 3)
    assert cluster.may_receive(0, 0, [1, 2]) == [2]
    cluster.apply(move(0, 0, 2))
    assert cluster.may_receive(0, 2, [0, 1]) == [0]
    assert cluster.is_immigrant(0, 2)
    cluster.apply(move(0, 2, 0))
    assert not cluster.is_immigrant(0, 0)


def test_old_brokers_only_swap_back_their_own_replicas_if_brokers_are_new() -> None:
    cluster = model([[0], [0], [1], [1], [1]], 3, [5, 1, 9, 4, 3])
    board = GoalActions(cluster, ReplicaDistributionGoal(9.0), [])
    cluster.apply(move(2, 1, 2))
    cluster.apply(move(0, 0, 2))
    assert not board.swap(1, 0, [3], 1)
    assert not board.swap(1, 0, [2], 2)
    assert board.swap(1, 0, [2, 0], 2)
    assert cluster.held == [{0}, {3, 4}, {1, 2}]
    assert board.swap(2, 2, [3], 1)


def test_swap_that_duplicates_a_partition_on_a_broker_is_skipped() -> None:
    cluster = model([[0, 1], [0], [1]], 2)
    board = GoalActions(cluster, ReplicaDistributionGoal(9.0), [])
    assert not board.swap(0, 0, [2], 1)
    assert board.swap(1, 0, [0, 2], 1)
    assert cluster.held == [{0, 2}, {0, 1}]


def test_drained_broker_may_go_below_the_lower_limit() -> None:
    cluster = model([[0], [0], [1], [2]], 3, without=[0])
    goal = ReplicaDistributionGoal(0.0)
    assert accepts(goal, cluster, move(0, 0, 1))
    assert not accepts(goal, cluster, move(2, 1, 2))
    assert not accepts(goal, cluster, move(2, 1, 0))
