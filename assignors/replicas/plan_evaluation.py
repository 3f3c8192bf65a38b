"""Six criteria by which plans are judged; a strategy never judges itself.

Source: Appier's comparison of reassignment tools, whose criteria these are: storage balance, constraint satisfaction,
minimal movement, leadership balance, determinism, leaders if a broker is down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any

import numpy as np

from assignors.model.columns import IntArray
from assignors.replicas.broker_loads import added_replicas
from assignors.replicas.placement_metrics import PlacementMetrics, measure_placement
from assignors.replicas.plan import Capabilities, Plan, PlanRequest, ReplicaAssignor
from assignors.replicas.planning import plan as make_plan
from assignors.replicas.shuffling import replicas_by_partition, shuffle_state
from assignors.replicas.state import NO_BROKER, ClusterState

SHUFFLES = 20


class Criterion(StrEnum):
    """What a plan is judged by."""

    STORAGE = "storage"
    CONSTRAINTS = "constraints"
    MOVEMENT = "movement"
    LEADERSHIP = "leadership"
    DETERMINISM = "determinism"
    FAILOVER = "failover"


@dataclass(frozen=True, slots=True)
class PlanMovement:
    """What has to be done to come to a plan.

    Attributes:
        replicas: how many have to be copied.
        bytes: what they hold; None where sizes are not known.
        leaders_by_order: partitions whose preferred leader is another of the replicas that were there.
        leaders_by_copy: partitions whose preferred leader is a new replica.
    """

    replicas: int
    bytes: int | None
    leaders_by_order: int
    leaders_by_copy: int


@dataclass(frozen=True, slots=True)
class Stability:
    """Whether a strategy comes to the same answer again.

    Attributes:
        second_run: what has to be done if the strategy is asked again once its plan is carried out, drawing anew if it
            draws; None if it then finds no plan.
        distinct: how many different plans it made of the same cluster, told in `shuffles` orders (the first as it is);
            one that draws draws anew for each.
        shuffles: in how many orders.
    """

    second_run: PlanMovement | None
    distinct: int
    shuffles: int


@dataclass(frozen=True, slots=True)
class PlanEvaluation:
    """What a plan comes to.

    Attributes:
        before: how the cluster stands.
        after: how it stands once the plan is carried out and preferred leaders are elected.
        movement: what that takes.
        steadiness: whether the plan would be the same again; None if nobody asked.
        aims: the criteria that the strategy was made for.
    """

    before: PlacementMetrics
    after: PlacementMetrics
    movement: PlanMovement
    steadiness: Stability | None
    aims: frozenset[Criterion]


def evaluate_plan(
    assignor: ReplicaAssignor,
    state: ClusterState,
    request: PlanRequest,
    plan: Plan,
    topics: Sequence[str] | None = None,
    *,
    shuffles: int = SHUFFLES,
    seed: int = 1,
) -> PlanEvaluation:
    """Judge a plan.

    Args:
        assignor: whose plan it is; it is asked again to see whether it is steady.
        state: the cluster.
        request: what was asked.
        plan: the answer of `planning.plan`, with replicas.
        topics: the topics that might change, as they were given to `planning.plan`.
        shuffles: in how many orders the cluster is told; 0 leaves steadiness out.
        seed: draws the orders.

    Raises:
        ValueError: the plan has no replicas.
    """
    if plan.replicas is None:
        raise ValueError(f"there is no plan to judge ({plan.status}: {plan.reason})")
    return PlanEvaluation(
        before=measure_placement(state, request, state.replicas),
        after=measure_placement(state, request, plan.replicas),
        movement=movement(state, plan.replicas),
        steadiness=_steadiness(assignor, state, request, plan.replicas, topics, shuffles, seed) if shuffles else None,
        aims=aims(assignor.capabilities),
    )


def aims(capabilities: Capabilities) -> frozenset[Criterion]:
    """The criteria that a strategy with these abilities was made for."""
    said = {
        Criterion.STORAGE: capabilities.balances_replicas or capabilities.balances_bytes,
        Criterion.CONSTRAINTS: capabilities.is_rack_aware,
        Criterion.MOVEMENT: capabilities.is_idempotent,
        Criterion.LEADERSHIP: capabilities.balances_leaders,
        Criterion.DETERMINISM: capabilities.is_order_independent,
        Criterion.FAILOVER: capabilities.spreads_failover,
    }
    return frozenset(criterion for criterion, is_aim in said.items() if is_aim)


def movement(state: ClusterState, replicas: IntArray) -> PlanMovement:
    """What it takes to come from a cluster's replicas to others; rows of `replicas` are those of the state."""
    copied = added_replicas(state.replicas, replicas)
    led = replicas[:, 0] != state.replicas[:, 0]
    by_copy = led & copied[:, 0]
    return PlanMovement(
        replicas=int(copied.sum()),
        bytes=None if state.size_bytes is None else int((copied * state.size_bytes[:, None]).sum()),
        leaders_by_order=int((led & ~by_copy).sum()),
        leaders_by_copy=int(by_copy.sum()),
    )


def _steadiness(
    assignor: ReplicaAssignor,
    state: ClusterState,
    request: PlanRequest,
    replicas: IntArray,
    topics: Sequence[str] | None,
    shuffles: int,
    seed: int,
) -> Stability:
    after = state.with_replicas(replicas)
    again = make_plan(_drawing(assignor, shuffles), after, request, topics)
    generator = np.random.default_rng(seed)
    seen = {replicas_by_partition(state, replicas)}
    for number in range(1, shuffles):
        told = shuffle_state(state, generator)
        answer = make_plan(_drawing(assignor, number), told, request, topics)
        seen.add(frozenset() if answer.replicas is None else replicas_by_partition(told, answer.replicas))
    second = None if again.replicas is None else movement(after, again.replicas)
    return Stability(second, len(seen), shuffles)


def _drawing(assignor: ReplicaAssignor, number: int) -> ReplicaAssignor:
    """The same strategy; if it draws, with another seed."""
    drawn: Any = assignor
    if not any(field.name == "seed" for field in fields(drawn)) or drawn.seed is None:
        return assignor
    drawing: ReplicaAssignor = replace(drawn, seed=drawn.seed + number)
    return drawing


def changed_rows(state: ClusterState, replicas: IntArray) -> IntArray:
    """The partitions whose replicas, or their order, a plan changes."""
    width = max(state.replicas.shape[1], replicas.shape[1])
    old, new = (np.full((state.num_partitions, width), NO_BROKER, dtype=np.int64) for _ in range(2))
    old[:, : state.replicas.shape[1]] = state.replicas
    new[:, : replicas.shape[1]] = replicas
    return np.flatnonzero((old != new).any(axis=1))
