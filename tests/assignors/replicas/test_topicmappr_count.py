from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
import pytest

from assignors.replicas.plan import PlanRequest, PlanStatus
from assignors.replicas.planning import plan
from assignors.replicas.state import BrokerState, ClusterState, added_replicas
from assignors.replicas.topicmappr import TopicmapprCount, order_by_ratio
from tests.assignors.replicas.clusters import brokers, ids, killerwhile, random_cluster

KAFKA_KIT_RACKS = {1001: "a", 1002: "b", 1003: None, 1004: "a"}


def cluster(replicas: Sequence[Sequence[int]], racks: dict[int, str | None]) -> ClusterState:
    held = {("test_topic", number): list(broker_ids) for number, broker_ids in enumerate(replicas)}
    return ClusterState.of([BrokerState(broker, rack) for broker, rack in racks.items()], held)


def proposed_ids(state: ClusterState, request: PlanRequest | None = None, **parameters: int) -> list[list[int]]:
    proposal = TopicmapprCount(**parameters).plan(state, request or PlanRequest())
    assert proposal.replicas is not None, proposal.reason
    return ids(state, proposal.replicas)


def test_removed_broker_is_replaced_as_in_kafka_kit_s_own_test() -> None:
    state = cluster([[1001, 1002], [1002, 1001], [1003, 1004, 1001], [1004, 1003, 1002]], KAFKA_KIT_RACKS)
    without = PlanRequest(brokers=(1001, 1002, 1003))
    assert proposed_ids(state, without) == [[1001, 1002], [1002, 1001], [1003, 1002, 1001], [1001, 1003, 1002]]
    to_two = PlanRequest(brokers=(1001, 1002, 1003), replication_factor=2)
    assert proposed_ids(state, to_two) == [[1001, 1002], [1002, 1001], [1003, 1002], [1001, 1003]]


def test_forced_rebuild_shuffles_as_in_kafka_kit_s_own_test() -> None:
    state = cluster([[1001, 1002], [1002, 1001], [1003, 1004], *[[1004, 1003]] * 4], KAFKA_KIT_RACKS)
    first, second = [[1001, 1003], [1002, 1004], [1003, 1001]], [[1004, 1002], [1001, 1002]]
    assert proposed_ids(state, force_rebuild=True) == [*first, *second, [1002, 1004], [1003, 1001]]


def test_replacing_all_brokers_matches_kafka_kit_s_pull_request_281() -> None:
    state = cluster([[1001, 1002], [1002, 1003], [1003, 1001], [1001, 1003]], dict.fromkeys(range(1001, 1007)))
    proposed = proposed_ids(state, PlanRequest(brokers=(1004, 1005, 1006)))
    assert proposed == [[1004, 1005], [1005, 1006], [1006, 1004], [1004, 1006]]


def test_third_broker_of_issue_38_gets_its_share_only_by_force() -> None:
    state = cluster([[1032, 1062], [1062, 1032]] * 4, {1032: None, 1062: None, 1127: None})
    assert proposed_ids(state) == ids(state, state.replicas)
    forced = TopicmapprCount(force_rebuild=True).plan(state, PlanRequest()).replicas
    assert forced is not None
    assert sorted(Counter(np.ravel(forced).tolist()).values()) == [5, 5, 6]
    assert added_replicas(state.replicas, forced).sum() == 5


def test_broker_shutdown_costs_one_move() -> None:
    state = killerwhile()
    proposed = proposed_ids(state, PlanRequest(brokers=tuple(range(19))))
    assert [(old, new) for old, new in zip(ids(state, state.replicas), proposed, strict=True) if old != new] == [
        ([8, 19], [8, 17])
    ]


def test_mixed_replication_factors_lose_no_replicas() -> None:
    state = cluster([[1], [2], [3], [1, 2, 3, 4], [2, 3, 4, 1]], dict.fromkeys(range(1, 6)))
    assert proposed_ids(state) == ids(state, state.replicas)
    assert [len(row) for row in proposed_ids(state, force_rebuild=True)] == [1, 1, 1, 4, 4]
    assert [len(row) for row in proposed_ids(state, PlanRequest(replication_factor=4))] == [4] * 5


def test_position_without_a_broker_fails_with_its_partition() -> None:
    state = cluster([[1, 3], [1, 4]], {1: "a", 2: "a", 3: "b", 4: "b"})
    proposal = plan(TopicmapprCount(), state, PlanRequest(replication_factor=3))
    assert (proposal.status, proposal.replicas) == (PlanStatus.FAILED, None)
    assert proposal.reason.startswith("test_topic-0: no broker for replica 3: every broker")


def test_additional_replicas_may_share_racks_if_enough_racks_are_used() -> None:
    state = cluster([[1, 3], [1, 4]], {1: "a", 2: "a", 3: "b", 4: "b"})
    proposed = proposed_ids(state, PlanRequest(replication_factor=3), min_rack_ids=2)
    assert [len(set(row)) for row in proposed] == [3, 3]
    assert proposed[0][:2] == [1, 3]
    assert not TopicmapprCount(min_rack_ids=2).capabilities.is_rack_aware
    assert TopicmapprCount().capabilities.is_rack_aware


def test_ignored_racks_are_no_constraint() -> None:
    state = cluster([[1, 3]], {1: "a", 2: "a", 3: "b"})
    assert proposed_ids(state, PlanRequest(replication_factor=3, rack_aware=False)) == [[1, 3, 2]]


def test_broker_with_a_high_leader_ratio_moves_to_the_end() -> None:
    lists = [[0, 1, 2], [0, 2, 1], [0, 1, 2], [1, 0, 2]]
    order_by_ratio(lists, num_brokers=3)
    # By hand: [2 1 0] [2 1 0] [0 1 2] [1 0 2] after the first round, [1 0 2] [2 0 1] [0 2 1] [0 2 1] after the second.
    assert lists == [[1, 2, 0], [2, 1, 0], [2, 1, 0], [0, 1, 2]]


def test_broker_without_followers_sorts_last() -> None:
    lists = [[1], [1], [0, 1]]
    # Broker 0 leads one and follows none, broker 1 leads two for one that it follows.
    order_by_ratio(lists, num_brokers=2)
    assert lists == [[1], [1], [1, 0]]


def test_leader_ratio_can_make_even_leaders_uneven() -> None:
    state = random_cluster(1, num_brokers=10, partitions=(200,), skew=0.6, racks=0)
    leaders = np.arange(200) % 10
    held = {
        ("t", p): [int(leader), *[b for b in row if b != leader][:2]]
        for p, (row, leader) in enumerate(zip(ids(state, state.replicas), leaders, strict=True))
    }
    even = ClusterState.of(brokers(10), held)
    counts = Counter(replicas[0] for replicas in proposed_ids(even, optimize_leadership=True))
    assert max(counts.values()) - min(counts.values()) > 5


def test_input_order_does_not_matter() -> None:
    state = random_cluster(3)
    turned = ClusterState.of(
        reversed(state.brokers),
        {state.partition_id(row): ids(state, state.replicas)[row] for row in reversed(range(state.num_partitions))},
    )
    without = PlanRequest(brokers=(0, 1, 2, 4, 5))
    for parameters in ({}, {"force_rebuild": True}, {"optimize_leadership": True}):
        actual = dict(
            zip(
                map(turned.partition_id, range(len(turned.topic))),
                proposed_ids(turned, without, **parameters),
                strict=True,
            )
        )
        expected = dict(
            zip(
                map(state.partition_id, range(len(state.topic))),
                proposed_ids(state, without, **parameters),
                strict=True,
            )
        )
        assert actual == expected


@pytest.mark.parametrize("seed", range(20))
def test_only_replicas_of_removed_brokers_move_and_only_to_unused_racks(seed: int) -> None:
    state = random_cluster(seed, num_brokers=9, factor=2)
    request = PlanRequest(brokers=(0, 1, 3, 4, 5, 6, 8))
    proposal = plan(TopicmapprCount(), state, request)
    assert proposal.replicas is not None, proposal.reason
    was_removed = np.isin(state.ids[state.replicas], (2, 7))
    assert (proposal.replicas[~was_removed] == state.replicas[~was_removed]).all()
    assert (np.isin(state.ids[proposal.replicas], request.brokers)).all()
    moved = was_removed.any(axis=1)
    assert (state.rack[proposal.replicas][moved, 0] != state.rack[proposal.replicas][moved, 1]).all()


@pytest.mark.parametrize("seed", range(5))
def test_forced_rebuild_is_even_and_repeatable(seed: int) -> None:
    state = random_cluster(seed, partitions=(30,), racks=0)
    assignor = TopicmapprCount(force_rebuild=True)
    proposed = assignor.plan(state, PlanRequest()).replicas
    assert proposed is not None
    assert set(Counter(np.ravel(proposed).tolist()).values()) == {15}
    rerun = assignor.plan(state.with_replicas(proposed), PlanRequest()).replicas
    assert rerun is not None
    assert rerun.tolist() == proposed.tolist()


def test_capabilities_depend_on_parameters() -> None:
    plain, led = TopicmapprCount().capabilities, TopicmapprCount(optimize_leadership=True).capabilities
    assert {name for name, value in asdict(led).items() if value != asdict(plain)[name]} == {
        "balances_leaders",
        "is_idempotent",
    }
    with pytest.raises(ValueError, match="min_rack_ids -1"):
        TopicmapprCount(min_rack_ids=-1)
