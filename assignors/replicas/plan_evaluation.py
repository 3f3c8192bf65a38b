"""Evaluation of plans by six criteria, independent of the strategy that made them.

Source: Appier's comparison of reassignment tools, which uses these criteria: storage balance, constraint satisfaction,
minimal movement, leadership balance, determinism, leaders if a broker is down.

Determinism is measured on clusters in random order; plans are compared independently of the order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any

import numpy as np

from assignors.model.columns import IntArray
from assignors.model.ids import TopicPartition
from assignors.replicas.broker_loads import added_replicas
from assignors.replicas.placement_metrics import PlacementMetrics, measure_placement
from assignors.replicas.plan import Capabilities, Plan, PlanRequest, ReplicaAssignor
from assignors.replicas.planning import plan as make_plan
from assignors.replicas.state import NO_BROKER, ClusterState

ReplicasByPartition = frozenset[tuple[TopicPartition, tuple[int, ...]]]
"""The replicas of all partitions, by names and ids, independent of the order."""


def replicas_by_partition(state: ClusterState, replicas: IntArray) -> ReplicasByPartition:
    """Return the replicas of every partition as broker ids."""
    ids = np.append(state.ids, NO_BROKER)[replicas]
    return frozenset(
        (state.partition_id(row), tuple(broker for broker in held if broker != NO_BROKER))
        for row, held in enumerate(ids.tolist())
    )


def shuffle_state(state: ClusterState, generator: np.random.Generator) -> ClusterState:
    """Return the same cluster with its brokers, topics and partitions in random order."""
    brokers, topics = generator.permutation(len(state.brokers)), generator.permutation(len(state.topics))
    rows = generator.permutation(state.num_partitions)
    return state.reordered(rows, brokers, topics)


NUM_ORDERS = 20
"""The default number of input orders for the stability of a strategy."""


class Criterion(StrEnum):
    """A criterion for plans."""

    STORAGE = "storage"
    CONSTRAINTS = "constraints"
    MOVEMENT = "movement"
    LEADERSHIP = "leadership"
    DETERMINISM = "determinism"
    FAILOVER = "failover"


@dataclass(frozen=True, slots=True)
class PlanMovement:
    """The changes that a plan requires.

    Attributes:
        replicas: the number of copied replicas.
        bytes: the size of the copied replicas; None if sizes are unknown.
        leaders_by_order: the number of partitions whose new preferred leader is a current replica.
        leaders_by_copy: the number of partitions whose new preferred leader is a copied replica.
    """

    replicas: int
    bytes: int | None
    leaders_by_order: int
    leaders_by_copy: int


@dataclass(frozen=True, slots=True)
class Stability:
    """Whether a strategy repeats its plan.

    Attributes:
        rerun: the movement if the strategy runs again after its plan is executed, with another seed if it is
            randomized; None if it then finds no plan.
        distinct_plans: the number of different plans for the same cluster in `num_orders` orders, the first as given; a
            randomized strategy gets another seed for each.
    """

    rerun: PlanMovement | None
    distinct_plans: int
    num_orders: int


@dataclass(frozen=True, slots=True)
class PlanEvaluation:
    """The evaluation of a plan.

    Attributes:
        before: the metrics of the current placement.
        after: the metrics after the plan is executed and preferred leaders are elected.
        movement: the changes that the plan requires.
        stability: whether the strategy repeats the plan; None if not measured.
        objectives: the criteria that the strategy optimizes.
    """

    before: PlacementMetrics
    after: PlacementMetrics
    movement: PlanMovement
    stability: Stability | None
    objectives: frozenset[Criterion]


def evaluate_plan(
    assignor: ReplicaAssignor,
    state: ClusterState,
    request: PlanRequest,
    plan: Plan,
    topics: Sequence[str] | None = None,
    *,
    num_orders: int = NUM_ORDERS,
    seed: int = 1,
) -> PlanEvaluation:
    """Evaluate a plan by all criteria.

    `assignor`: the strategy; it runs again to measure its stability. `plan`: the plan from `planning.plan`, with
    replicas. `topics`: the topics that may change, as given to `planning.plan`. `num_orders`: the number of input
    orders for the stability; 0 to skip it. `seed`: the random seed of the orders. Raises ValueError if the plan has no
    replicas.
    """
    if plan.replicas is None:
        raise ValueError(f"no plan to evaluate ({plan.status}: {plan.reason})")
    return PlanEvaluation(
        before=measure_placement(state, request, state.replicas, topics),
        after=measure_placement(state, request, plan.replicas, topics),
        movement=measure_movement(state, plan.replicas),
        stability=_measure_stability(assignor, state, request, plan.replicas, topics, num_orders, seed)
        if num_orders
        else None,
        objectives=objectives(assignor.capabilities),
    )


def objectives(capabilities: Capabilities) -> frozenset[Criterion]:
    """Return the criteria that a strategy with these capabilities optimizes."""
    is_objective = {
        Criterion.STORAGE: capabilities.balances_replicas or capabilities.balances_bytes,
        Criterion.CONSTRAINTS: capabilities.is_rack_aware,
        Criterion.MOVEMENT: capabilities.is_idempotent,
        Criterion.LEADERSHIP: capabilities.balances_leaders,
        Criterion.DETERMINISM: capabilities.is_order_independent,
        Criterion.FAILOVER: capabilities.spreads_failover,
    }
    return frozenset(criterion for criterion, is_optimized in is_objective.items() if is_optimized)


def measure_movement(state: ClusterState, replicas: IntArray) -> PlanMovement:
    """Return the changes from a cluster's replicas to others, row by row."""
    is_copied = added_replicas(state.replicas, replicas)
    changes_leader = replicas[:, 0] != state.replicas[:, 0]
    by_copy = changes_leader & is_copied[:, 0]
    return PlanMovement(
        replicas=int(is_copied.sum()),
        bytes=None if state.size_bytes is None else int((is_copied * state.size_bytes[:, None]).sum()),
        leaders_by_order=int((changes_leader & ~by_copy).sum()),
        leaders_by_copy=int(by_copy.sum()),
    )


def _measure_stability(
    assignor: ReplicaAssignor,
    state: ClusterState,
    request: PlanRequest,
    replicas: IntArray,
    topics: Sequence[str] | None,
    num_orders: int,
    seed: int,
) -> Stability:
    after = state.with_replicas(replicas)
    rerun = make_plan(_with_other_seed(assignor, num_orders), after, request, topics)
    generator = np.random.default_rng(seed)
    distinct_plans = {replicas_by_partition(state, replicas)}
    for number in range(1, num_orders):
        shuffled = shuffle_state(state, generator)
        plan = make_plan(_with_other_seed(assignor, number), shuffled, request, topics)
        distinct_plans.add(frozenset() if plan.replicas is None else replicas_by_partition(shuffled, plan.replicas))
    rerun_movement = None if rerun.replicas is None else measure_movement(after, rerun.replicas)
    return Stability(rerun_movement, len(distinct_plans), num_orders)


def _with_other_seed(assignor: ReplicaAssignor, number: int) -> ReplicaAssignor:
    """Return the same strategy, with another seed if it is randomized."""
    strategy: Any = assignor
    if not any(field.name == "seed" for field in fields(strategy)) or strategy.seed is None:
        return assignor
    reseeded: ReplicaAssignor = replace(strategy, seed=strategy.seed + number)
    return reseeded


def changed_rows(state: ClusterState, replicas: IntArray) -> IntArray:
    """Return the partitions whose replicas, or their order, a plan changes."""
    width = max(state.replicas.shape[1], replicas.shape[1])
    old, new = (np.full((state.num_partitions, width), NO_BROKER, dtype=np.int64) for _ in range(2))
    old[:, : state.replicas.shape[1]] = state.replicas
    new[:, : replicas.shape[1]] = replicas
    return np.flatnonzero((old != new).any(axis=1))
