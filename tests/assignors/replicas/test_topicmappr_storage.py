from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from assignors.replicas.plan import Plan, PlanRequest, PlanStatus
from assignors.replicas.planning import plan
from assignors.replicas.state import BrokerState, ClusterState, bytes_per_broker, capacity_per_broker
from assignors.replicas.topicmappr import TopicmapprStorage
from tests.assignors.replicas.clusters import ids, random_cluster

GB = 2**30
KAFKA_KIT_RACKS = {1001: "a", 1002: "b", 1003: None, 1004: "a"}
KAFKA_KIT_REPLICAS = [[1004, 1003], [1003, 1004], [1001, 1002], [1003, 1002], [1001, 1003], [1002, 1001]]
KAFKA_KIT_SIZES = [1000, 1500, 2000, 2500, 2200, 4000]


def cluster(
    replicas: Sequence[Sequence[int]],
    sizes: Sequence[int],
    capacity: int | Mapping[int, int],
    racks: Mapping[int, str | None],
) -> ClusterState:
    broker_states = [
        BrokerState(i, rack, capacity if isinstance(capacity, int) else capacity[i]) for i, rack in racks.items()
    ]
    keys = [("test_topic", number) for number in range(len(replicas))]
    return ClusterState.of(
        broker_states, dict(zip(keys, replicas, strict=True)), size_bytes=dict(zip(keys, sizes, strict=True))
    )


def proposed_ids(state: ClusterState, request: PlanRequest | None = None, **parameters: Any) -> list[list[int]]:
    proposal = plan(TopicmapprStorage(**parameters), state, request or PlanRequest())
    assert proposal.replicas is not None, proposal.reason
    return ids(state, proposal.replicas)


def plan_rebalance(state: ClusterState, **parameters: Any) -> Plan:
    proposal = plan(TopicmapprStorage(mode="rebalance", **parameters), state, PlanRequest())
    assert proposal.replicas is not None, proposal.reason
    return proposal


def free(state: ClusterState) -> list[int]:
    assert state.size_bytes is not None
    held = bytes_per_broker(state.replicas, state.size_bytes, len(state.brokers))
    return [int(free_bytes) for free_bytes in capacity_per_broker(state) - held]


@pytest.mark.parametrize(
    ("optimize", "expected"),
    [
        ("distribution", [[1003, 1001], [1004, 1002], [1004, 1003], [1002, 1003], [1003, 1004], [1001, 1002]]),
        ("storage", [[1002, 1001], [1003, 1004], [1002, 1001], [1004, 1003], [1003, 1004], [1001, 1002]]),
    ],
)
def test_forced_rebuild_matches_kafka_kit_s_own_test(optimize: str, expected: list[list[int]]) -> None:
    # Three times that test's numbers, of which some are fractions.
    state = cluster(KAFKA_KIT_REPLICAS, KAFKA_KIT_SIZES, 18_000, KAFKA_KIT_RACKS)
    assignor = TopicmapprStorage(force_rebuild=True, optimize=optimize)  # type: ignore[arg-type]
    proposal = assignor.plan(state, PlanRequest())
    assert proposal.replicas is not None
    assert ids(state, proposal.replicas) == expected


def test_largest_partition_of_a_removed_broker_takes_the_broker_with_most_free_storage() -> None:
    state = cluster([[1], [1], [2], [3]], [5, 9, 4, 1], 100, dict.fromkeys((1, 2, 3)))
    # 9 goes to broker 3, which has 99 free, then 5 to broker 2, which has 96.
    assert proposed_ids(state, PlanRequest(brokers=(2, 3))) == [[2], [3], [2], [3]]


def test_partition_size_factor_enlarges_arriving_partitions() -> None:
    state = cluster([[1], [2]], [6, 4], 12, dict.fromkeys((1, 2)))
    assert proposed_ids(state, PlanRequest(brokers=(2,))) == [[2], [2]]
    proposal = TopicmapprStorage(size_factor=1.5).plan(state, PlanRequest(brokers=(2,)))
    assert proposal.status == PlanStatus.FAILED
    assert proposal.reason.startswith(
        "test_topic-0: no broker for replica 1: every broker already holds one, has less than 9 bytes free"
    )


def test_broker_in_a_used_rack_is_not_checked_for_storage_if_racks_may_be_crowded() -> None:
    state = cluster([[1, 2, 4]], [10], {1: 10, 2: 10, 3: 1, 4: 10}, {1: "a", 2: "b", 3: "b", 4: "c"})
    request = PlanRequest(brokers=(1, 2, 3))
    assert plan(TopicmapprStorage(), state, request).status == PlanStatus.FAILED
    assert proposed_ids(state, request, min_rack_ids=2) == [[1, 2, 3]]


def test_broker_may_be_filled_to_the_last_byte() -> None:
    state = cluster([[1], [2]], [6, 4], 10, dict.fromkeys((1, 2)))
    assert proposed_ids(state, PlanRequest(brokers=(2,))) == [[2], [2]]


def test_storage_placement_before_distribution_also_shuffles_unchanged_lists() -> None:
    state = cluster([[1, 2]] * 8, [1] * 8, 100, dict.fromkeys((1, 2)))
    proposed = proposed_ids(state, optimize="storage")
    assert {tuple(row) for row in proposed} == {(1, 2), (2, 1)}
    assert proposed_ids(state) == [[1, 2]] * 8
    assert not TopicmapprStorage(optimize="storage").capabilities.is_idempotent


def test_equal_partitions_are_ordered_by_topic() -> None:
    broker_states = [BrokerState(i, capacity_bytes=100) for i in (1, 2, 3)]
    held = {("a", 0): [1], ("b", 0): [1], ("c", 0): [1]}
    sizes = dict.fromkeys(held, 7)
    request = PlanRequest(brokers=(2, 3))
    state = ClusterState.of(broker_states, held, size_bytes=sizes)
    turned = ClusterState.of(reversed(broker_states), dict(reversed(held.items())), size_bytes=sizes)
    assert proposed_ids(state, request) == [[2], [3], [2]] == list(reversed(proposed_ids(turned, request)))


@pytest.mark.parametrize("seed", range(10))
def test_rebuild_never_exceeds_the_free_storage(seed: int) -> None:
    state = random_cluster(seed, num_brokers=9, factor=2)
    request = PlanRequest(brokers=(0, 1, 3, 4, 5, 6, 8))
    for optimize in ("distribution", "storage"):
        proposal = plan(TopicmapprStorage(optimize=optimize), state, request)  # type: ignore[arg-type]
        assert proposal.replicas is not None, proposal.reason
        assert min(free(state.with_replicas(proposal.replicas))) >= 0


def test_broker_short_of_storage_sheds_where_the_range_becomes_lowest() -> None:
    state = cluster(
        [[1], [1], [1], [2], [3]], [4 * GB, 3 * GB, 2 * GB, 3 * GB, 2 * GB], 20 * GB, dict.fromkeys((1, 2, 3))
    )
    proposal = plan_rebalance(state)
    assert proposal.replicas is not None
    # Free are 11, 17 and 18; 11 is more than 20 % below their harmonic mean. 3 go to the third broker, 2 to the second.
    assert ids(state, proposal.replicas) == [[1], [3], [2], [2], [3]]
    assert free(state.with_replicas(proposal.replicas)) == [16 * GB, 15 * GB, 15 * GB]
    assert (proposal.objective, proposal.value) == ("range of free bytes", GB)


def test_small_partitions_and_those_beyond_the_limit_stay() -> None:
    state = cluster(
        [[1], [1], [1], [2], [3]], [4 * GB, 3 * GB, 2 * GB, 3 * GB, 2 * GB], 20 * GB, dict.fromkeys((1, 2, 3))
    )
    unmoved = ids(state, state.replicas)
    assert ids(state, plan_rebalance(state, min_partition_bytes=5 * GB).replicas) == unmoved  # type: ignore[arg-type]
    assert ids(state, plan_rebalance(state, partition_limit=0).replicas) == unmoved  # type: ignore[arg-type]
    only_largest = plan_rebalance(state, min_partition_bytes=4 * GB)
    assert ids(state, only_largest.replicas)[1:3] == [[1], [1]]  # type: ignore[arg-type]


def test_balanced_cluster_does_not_change_and_gets_a_note() -> None:
    state = cluster([[1], [2]], [GB, GB], 10 * GB, dict.fromkeys((1, 2)))
    proposal = plan_rebalance(state)
    assert proposal.replicas is not None
    assert ids(state, proposal.replicas) == [[1], [2]]
    assert proposal.notes == ("no broker is short of storage",)


def test_scaling_out_moves_replicas_only_to_new_brokers() -> None:
    state = cluster([[1]] * 4 + [[2]] * 4, [GB] * 8, 10 * GB, dict.fromkeys((1, 2, 3, 4)))
    proposal = plan_rebalance(state, storage_threshold=0)
    assert proposal.replicas is not None
    assert free(state.with_replicas(proposal.replicas)) == [8 * GB] * 4
    assert plan_rebalance(state, storage_threshold=0, tolerance=0.3).notes == ("tolerance 0.30",)


def test_brokers_can_be_selected_by_a_free_storage_threshold() -> None:
    state = cluster([[1]] * 4 + [[2]] * 3, [GB] * 7, 10 * GB, dict.fromkeys((1, 2, 3)))
    proposal = plan_rebalance(state, storage_threshold_bytes=7 * GB)
    assert proposal.replicas is not None
    assert (proposal.replicas[4:] == state.replicas[4:]).all()
    assert (proposal.replicas[:4] != state.replicas[:4]).any()


def test_move_stays_in_its_rack_or_goes_to_an_unused_rack() -> None:
    racks = {1: "a", 2: "b", 3: "a", 4: "b", 5: "c"}
    state = cluster([[1, 2]] * 4, [GB] * 4, {1: 5 * GB, 2: 50 * GB, 3: 40 * GB, 4: 50 * GB, 5: 50 * GB}, racks)
    freely = plan_rebalance(state).replicas
    within = plan_rebalance(state, locality_scoped=True).replicas
    assert freely is not None
    assert within is not None
    assert {broker for row in ids(state, freely) for broker in row} <= {1, 2, 3, 5}
    assert 5 in {broker for row in ids(state, freely) for broker in row}
    assert {broker for row in ids(state, within) for broker in row} == {2, 3}


def test_move_within_a_rack_never_duplicates_a_partition() -> None:
    state = cluster([[1, 2], [1, 2], [1, 3]], [GB] * 3, {1: 4 * GB, 2: 30 * GB, 3: 20 * GB}, dict.fromkeys((1, 2, 3)))
    proposal = plan_rebalance(state, locality_scoped=True, tolerance=0.99)
    assert proposal.replicas is not None
    assert (proposal.replicas != state.replicas).any()
    assert [len(set(row)) for row in ids(state, proposal.replicas)] == [2, 2, 2]


@pytest.mark.parametrize("seed", range(8))
def test_rebalance_never_widens_the_range_of_free_storage(seed: int) -> None:
    state = random_cluster(seed, num_brokers=8, partitions=(25, 9), skew=1.5)
    after = free(state.with_replicas(plan_rebalance(state).replicas))  # type: ignore[arg-type]
    assert max(after) - min(after) <= max(free(state)) - min(free(state))


@pytest.mark.parametrize(
    ("seed", "parameters", "changed"),
    [
        (0, {}, "1:2,6 8:3,5 11:5,3 13:7,5 20:3,2 27:1,5 28:2,7 29:5,3 30:1,6 31:7,8 33:2,7"),
        (1, {}, "3:3,2 15:3,7 16:4,5 19:2,7 24:7,6 26:7,5 27:3,7 29:1,5 33:7,8"),
        (
            1,
            {"tolerance": 0.2, "storage_threshold": 0.05},
            "3:3,2 6:1,3 9:5,1 15:3,7 16:4,5 18:1,3 19:2,7 24:7,6 26:7,5 29:1,5 33:7,8",
        ),
        (
            0,
            {"storage_threshold_bytes": 20 * GB, "partition_limit": 4, "min_partition_bytes": GB // 4},
            "0:2,1 8:3,5 9:2,3 11:5,3 13:7,5 27:1,5 28:2,7 29:5,3 30:1,6 31:7,8",
        ),
        (2, {"locality_scoped": True}, "3:6,1 9:3,1 13:5,3 14:3,7 31:3,2"),
    ],
)
def test_rebalance_matches_recorded_topicmappr_output(seed: int, parameters: dict[str, Any], changed: str) -> None:
    """The tool (commit e8eb36f) ran on these clusters; `changed` is its result, by row."""
    drawn = random_cluster(seed, num_brokers=9, partitions=(25, 9), skew=0.5, factor=2)
    capacities = [60_000_000_000 if broker.id % 2 else 45_000_000_000 for broker in drawn.brokers]
    with_capacities = zip(drawn.brokers, capacities, strict=True)
    state = replace(
        drawn, brokers=tuple(replace(broker, capacity_bytes=capacity) for broker, capacity in with_capacities)
    )
    proposed = plan_rebalance(state, **parameters).replicas
    assert proposed is not None
    rows = np.flatnonzero((proposed != state.replicas).any(axis=1))
    assert " ".join(f"{row}:{proposed[row, 0]},{proposed[row, 1]}" for row in rows) == changed


def test_rebalance_neither_drains_nor_changes_replication_factors() -> None:
    state = random_cluster(1)
    assignor = TopicmapprStorage(mode="rebalance")
    for request in (PlanRequest(brokers=(1, 2, 3, 4, 5)), PlanRequest(replication_factor=2)):
        assert plan(assignor, state, request).status == PlanStatus.NOT_APPLICABLE


def test_unknown_sizes_are_not_applicable() -> None:
    proposal = TopicmapprStorage().plan(random_cluster(1, sizes=False), PlanRequest())
    assert (proposal.status, proposal.reason) == (PlanStatus.NOT_APPLICABLE, "requires partition sizes")


@pytest.mark.parametrize(
    ("parameters", "complaint"),
    [
        ({"mode": "scale"}, "mode 'scale' is neither rebuild nor rebalance"),
        ({"optimize": "speed"}, "optimize 'speed' is neither distribution nor storage"),
        ({"size_factor": -1.0}, "size_factor -1.0 is less than 0"),
        ({"tolerance": -0.1}, "tolerance -0.1 is less than 0"),
    ],
)
def test_invalid_parameters_are_rejected(parameters: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        TopicmapprStorage(**parameters)
