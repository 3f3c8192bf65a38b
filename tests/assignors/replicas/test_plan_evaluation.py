"""Criteria against a direct count, partition by partition."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from statistics import fmean, pstdev
from typing import ClassVar

import numpy as np
import pytest

from assignors.replicas.plan import Capabilities, Plan, PlanRequest, PlanStatus
from assignors.replicas.plan_evaluation import (
    Criterion,
    PlanMovement,
    changed_rows,
    evaluate_plan,
    measure_movement,
    measure_placement,
    replicas_by_partition,
    shuffle_state,
)
from assignors.replicas.planning import PlanRule, plan
from assignors.replicas.state import ClusterState
from tests.assignors.replicas.clusters import brokers, ids, random_cluster


def _range(counts: Counter[int], among: list[int]) -> int:
    values = [counts[broker] for broker in among]
    return max(values) - min(values)


@pytest.mark.parametrize("seed", range(8))
def test_metrics_match_a_direct_count(seed: int) -> None:
    state = random_cluster(seed, num_brokers=7, partitions=(9, 4, 1), racks=3, factor=2 + seed % 3)
    request = PlanRequest(brokers=(0, 1, 2, 3, 4, 5))
    held, allowed = ids(state, state.replicas), [0, 1, 2, 3, 4, 5]
    assert state.size_bytes is not None
    stored: Counter[int] = Counter()
    for row, replicas in enumerate(held):
        for broker in replicas:
            stored[broker] += int(state.size_bytes[row])
    metrics = measure_placement(state, request, state.replicas)
    assert metrics.bytes_range == _range(stored, allowed)
    loads = [float(stored[broker]) for broker in allowed]
    assert metrics.bytes_cv == pytest.approx(pstdev(loads) / fmean(loads))
    assert metrics.replicas_range == _range(Counter(b for replicas in held for b in replicas), allowed)
    assert metrics.leaders_range == _range(Counter(replicas[0] for replicas in held), allowed)
    by_topic = [[held[row] for row in np.flatnonzero(state.topic == topic)] for topic in range(3)]
    assert metrics.topic_replicas_range == max(
        _range(Counter(b for replicas in topic for b in replicas), allowed) for topic in by_topic
    )
    assert metrics.topic_leaders_range == max(_range(Counter(r[0] for r in topic), allowed) for topic in by_topic)
    most = -(-held[0].__len__() // 3)
    crowded = sum(
        max(0, count - most)
        for replicas in held
        for count in Counter(state.brokers[broker].rack for broker in replicas).values()
    )
    assert metrics.violations[PlanRule.RACK] == crowded
    assert metrics.violations[PlanRule.FORBIDDEN_BROKER] == sum(broker == 6 for replicas in held for broker in replicas)
    downs = [_after_loss(held, {broker}, allowed) for broker in allowed]
    assert metrics.broker_down is not None
    assert metrics.broker_down.worst_range == max(spread for spread, _, _ in downs)
    assert metrics.broker_down.mean_range == pytest.approx(fmean(spread for spread, _, _ in downs))
    assert metrics.broker_down.most_leaders == max(most for _, most, _ in downs)
    racks = [{b.id for b in state.brokers if b.rack == rack} for rack in state.racks]
    rack_downs = [_after_loss(held, rack, allowed) for rack in racks]
    assert metrics.rack_down is not None
    assert metrics.rack_down.worst_range == max(spread for spread, _, _ in rack_downs)
    assert metrics.rack_down.leaderless == max(lost for _, _, lost in rack_downs)


def _after_loss(held: list[list[int]], lost: set[int], allowed: list[int]) -> tuple[int, int, int]:
    live = [next((broker for broker in replicas if broker not in lost), None) for replicas in held]
    counts = Counter(broker for broker in live if broker is not None)
    left = [broker for broker in allowed if broker not in lost]
    return _range(counts, left), max(counts[broker] for broker in left), sum(broker is None for broker in live)


def test_metrics_of_unknown_sizes_or_racks_are_none() -> None:
    state = random_cluster(1, racks=0, sizes=False)
    metrics = measure_placement(state, PlanRequest(), state.replicas)
    assert metrics.bytes_range is None
    assert metrics.bytes_cv is None
    assert metrics.rack_down is None
    assert metrics.violations[PlanRule.RACK] is None


def test_new_leader_is_a_reordering_or_a_copy() -> None:
    state = ClusterState.of(
        brokers(4),
        {("a", 0): [0, 1], ("a", 1): [0, 1], ("a", 2): [0, 1]},
        size_bytes={("a", 0): 5, ("a", 1): 7, ("a", 2): 9},
    )
    new = np.array([[1, 0], [2, 0], [0, 3]])
    assert measure_movement(state, new) == PlanMovement(replicas=2, bytes=16, leaders_by_order=1, leaders_by_copy=1)
    assert changed_rows(state, new).tolist() == [0, 1, 2]
    assert changed_rows(state, state.replicas).tolist() == []


@dataclass(frozen=True)
class Swapping:
    """Swaps the first two replicas of every partition in every run, except for the first partition of the input."""

    in_order: bool = True
    seed: int = 0
    draws: bool = False
    capabilities: ClassVar[Capabilities] = Capabilities(balances_leaders=True, is_order_independent=True)

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        new = state.replicas.copy()
        new[:, :2] = new[:, [1, 0]]
        if not self.in_order:
            new[0] = state.replicas[0]
        if self.draws:
            row = self.seed % len(new)
            new[row] = state.replicas[row]
        return Plan(PlanStatus.FEASIBLE, new)


@pytest.mark.parametrize(
    ("strategy", "is_steady"), [(Swapping(), True), (Swapping(in_order=False), False), (Swapping(draws=True), False)]
)
def test_unstable_strategies_are_detected(strategy: Swapping, is_steady: bool) -> None:
    state, request = random_cluster(5), PlanRequest(rack_aware=False)
    evaluation = evaluate_plan(strategy, state, request, plan(strategy, state, request))
    assert evaluation.stability is not None
    assert evaluation.stability.rerun is not None
    assert evaluation.stability.rerun.leaders_by_order >= state.num_partitions - 1
    assert (evaluation.stability.distinct_plans == 1) == is_steady
    assert evaluation.stability.distinct_plans <= evaluation.stability.num_orders == 20
    assert evaluation.objectives == {Criterion.LEADERSHIP, Criterion.DETERMINISM}


def test_missing_plan_cannot_be_evaluated() -> None:
    state = random_cluster(5)
    with pytest.raises(ValueError, match="no plan to evaluate"):
        evaluate_plan(Swapping(), state, PlanRequest(), Plan.without_replicas(PlanStatus.FAILED, "because"))


def test_shuffled_cluster_is_equivalent() -> None:
    state = random_cluster(2)
    shuffled = shuffle_state(state, np.random.default_rng(1))
    assert shuffled.ids.tolist() != state.ids.tolist()
    assert replicas_by_partition(shuffled, shuffled.replicas) == replicas_by_partition(state, state.replicas)
    assert shuffled.size_bytes is not None
    assert state.size_bytes is not None
    sizes = {state.partition_id(row): int(state.size_bytes[row]) for row in range(state.num_partitions)}
    assert sizes == {
        shuffled.partition_id(row): int(shuffled.size_bytes[row]) for row in range(shuffled.num_partitions)
    }
    before, after = (
        measure_placement(state, PlanRequest(), state.replicas),
        measure_placement(shuffled, PlanRequest(), shuffled.replicas),
    )
    assert before == after


@pytest.mark.parametrize("seed", range(5))
def test_out_of_sync_leaders_are_counted_by_partition(seed: int) -> None:
    draw = np.random.default_rng(seed)
    whole = random_cluster(seed)
    in_sync = draw.random(whole.replicas.shape) < 0.6
    state = replace(whole, in_sync=in_sync)
    others = draw.permuted(whole.replicas, axis=1)
    others[0, 0] = next(broker for broker in range(6) if broker not in whole.replicas[0])
    rows = zip(ids(state, state.replicas), in_sync.tolist(), ids(state, others), strict=True)
    expected = sum(
        any(broker == new[0] and not is_in_sync for broker, is_in_sync in zip(old, flags, strict=True))
        for old, flags, new in rows
    )
    assert expected > 0
    assert measure_placement(state, PlanRequest(), others).leaders_out_of_sync == expected
    assert measure_placement(whole, PlanRequest(), others).leaders_out_of_sync == 0
    assert measure_placement(state.with_replicas(others), PlanRequest(), others).leaders_out_of_sync == 0
