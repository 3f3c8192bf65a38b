"""Evaluation of plans by six criteria, independent of the strategy that made them.

Metrics cover the brokers that may hold replicas. A range is the maximum minus the minimum. Determinism is measured on
clusters in random order; plans are compared independently of the order.

Source: Appier's comparison of reassignment tools ("Kafka partition reassignment: a comparison"), which uses these
criteria: storage balance, constraint satisfaction, minimal movement, leadership balance, determinism, leaders if a
broker is down.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any

import numpy as np

from assignors.model.columns import NO_RACK, IntArray, distinct
from assignors.replicas.normalized_problem import CanonicalState
from assignors.replicas.plan import Capabilities, Plan, PlanRequest, ReplicaAssignor
from assignors.replicas.planning import PlanRule, find_violations, leaders_out_of_sync
from assignors.replicas.planning import plan as make_plan
from assignors.replicas.state import (
    NO_BROKER,
    ClusterState,
    added_replicas,
    bytes_per_broker,
    count_leaders,
    count_replicas,
    rows_by_topic,
)


@dataclass(frozen=True, slots=True)
class FailoverMetrics:
    """Leadership while a broker or rack is down: the first remaining replica of each partition leads it.

    Attributes:
        most_leaders: the highest leader count of a remaining broker over all failures.
        leaderless: the highest number of partitions without a remaining replica over all failures.
    """

    worst_range: int
    mean_range: float
    most_leaders: int
    leaderless: int


@dataclass(frozen=True, slots=True)
class PlacementMetrics:
    """The metrics of a placement.

    Attributes:
        bytes_range: the range of bytes per broker; None if sizes are unknown.
        bytes_cv: the coefficient of variation of bytes per broker; None if sizes are unknown or all are 0.
        topic_replicas_range: the highest range of replicas per broker within a topic.
        topic_leaders_range: the highest range of preferred leaders per broker within a topic.
        leaders_out_of_sync: the number of partitions, changed or not, whose preferred leader is a current replica that
            is not in sync.
        violations: the number of violations by rule; None for racks that do not constrain the plan.
        broker_down: metrics if any one broker is down; None for a single broker.
        rack_down: metrics if any one rack is down; None for fewer than two racks.
    """

    bytes_range: int | None
    bytes_cv: float | None
    replicas_range: int
    topic_replicas_range: int
    leaders_range: int
    topic_leaders_range: int
    leaders_out_of_sync: int
    violations: dict[PlanRule, int | None]
    broker_down: FailoverMetrics | None
    rack_down: FailoverMetrics | None


def measure_placement(
    state: ClusterState, request: PlanRequest, replicas: IntArray, topics: Sequence[str] | None = None
) -> PlacementMetrics:
    """Measure a placement.

    `state`: the cluster; its own replicas matter only for whether they are in sync. `request`: the allowed brokers and
    the rules. `replicas`: shape (P, W), as `Plan.replicas`. `topics`: the topics that may change; None for all. The
    replication factors and racks of others are not judged. Returns the metrics.

    Complexity: O(B² + P·W·R); no array is larger than B x B.
    """
    num_brokers = len(state.brokers)
    allowed = np.flatnonzero(request.is_allowed(state))
    bytes_held = None
    if state.size_bytes is not None:
        bytes_held = bytes_per_broker(replicas, state.size_bytes, num_brokers)[allowed]
    racks = [np.flatnonzero(state.rack == rack) for rack in distinct(state.rack[allowed]) if rack != NO_RACK]
    violations: dict[PlanRule, int | None] = dict.fromkeys(PlanRule, 0)
    for violation in find_violations(state, request, replicas):
        is_judged = topics is None or state.topics[state.topic[violation.row]] in topics
        if is_judged or violation.rule not in (PlanRule.REPLICATION_FACTOR, PlanRule.RACK):
            violations[violation.rule] = (violations[violation.rule] or 0) + violation.occurrences
    if not request.is_rack_aware(state):
        violations[PlanRule.RACK] = None
    return PlacementMetrics(
        bytes_range=None if bytes_held is None else _range(bytes_held),
        bytes_cv=None if bytes_held is None or not bytes_held.any() else float(bytes_held.std() / bytes_held.mean()),
        replicas_range=_range(count_replicas(replicas, num_brokers)[allowed]),
        topic_replicas_range=_worst_topic(state, replicas, allowed),
        leaders_range=_range(count_leaders(replicas, num_brokers)[allowed]),
        topic_leaders_range=_worst_topic(state, replicas[:, :1], allowed),
        leaders_out_of_sync=int(leaders_out_of_sync(state, replicas).sum()),
        violations=violations,
        broker_down=_broker_down(replicas, allowed, num_brokers) if len(allowed) > 1 else None,
        rack_down=_rack_down(replicas, allowed, racks, num_brokers) if len(racks) > 1 else None,
    )


def _range(values: IntArray) -> int:
    return int(values.max() - values.min()) if len(values) else 0


def _worst_topic(state: ClusterState, replicas: IntArray, allowed: IntArray) -> int:
    """Return the highest range over all topics; one topic at a time, so that no array has topics x brokers entries."""
    by_topic = (count_replicas(replicas[rows], len(state.brokers)) for _, rows in rows_by_topic(state))
    return max((_range(counts[allowed]) for counts in by_topic), default=0)


def _broker_down(replicas: IntArray, allowed: IntArray, num_brokers: int) -> FailoverMetrics:
    """Return the metrics over all failures of one broker: the second replica of each partition takes over."""
    leaders = count_leaders(replicas, num_brokers)
    second_replica = replicas[:, 1] if replicas.shape[1] > 1 else np.full(len(replicas), NO_BROKER, dtype=np.int64)
    order = np.argsort(replicas[:, 0], kind="stable")
    ends = np.cumsum(np.bincount(replicas[:, 0], minlength=num_brokers))
    second_by_leader = np.split(second_replica[order], ends[:-1])
    loads = []
    for broker in allowed:
        after = leaders + count_replicas(second_by_leader[broker], num_brokers)
        loads.append((after[allowed[allowed != broker]], int((second_by_leader[broker] == NO_BROKER).sum())))
    return _failover(loads)


def _rack_down(replicas: IntArray, allowed: IntArray, racks: list[IntArray], num_brokers: int) -> FailoverMetrics:
    loads = []
    for rack in racks:
        is_up = np.ones(num_brokers + 1, dtype=np.bool_)
        is_up[rack] = False
        is_up[NO_BROKER] = False
        is_live = is_up[replicas]
        leader = np.where(is_live.any(axis=1), replicas[np.arange(len(replicas)), is_live.argmax(axis=1)], NO_BROKER)
        remaining = allowed[is_up[allowed]]
        loads.append((count_replicas(leader[:, None], num_brokers)[remaining], int((leader == NO_BROKER).sum())))
    return _failover(loads)


def _failover(loads: list[tuple[IntArray, int]]) -> FailoverMetrics:
    """Return the metrics for the leader counts and the number of leaderless partitions of each failure."""
    ranges = [_range(load) for load, _ in loads]
    return FailoverMetrics(
        worst_range=max(ranges),
        mean_range=float(np.mean(ranges)),
        most_leaders=max(int(load.max(initial=0)) for load, _ in loads),
        leaderless=max(lost for _, lost in loads),
    )


Transfers = tuple[IntArray, IntArray, IntArray]
"""Partitions (rows of the state), and the source and the target broker of each transfer."""


def pair_moves(state: ClusterState, replicas: IntArray) -> Transfers:
    """Pair each broker that loses a replica with the broker that receives it.

    For several moved replicas of a partition, moves within a rack are paired first, then in replica order. An
    additional replica has the source NO_BROKER. Returns transfers that cover every added replica once.
    """
    rows, sources, targets = (np.concatenate(parts) for parts in zip(*_pair_moves(state, replicas), strict=True))
    return rows, sources, targets


def _pair_moves(state: ClusterState, replicas: IntArray) -> Iterator[Transfers]:
    is_added = added_replicas(state.replicas, replicas)
    is_lost = added_replicas(replicas, state.replicas)
    racks = np.append(state.rack, NO_BROKER)
    for same_rack in (True, False):
        for old in range(state.replicas.shape[1]):
            for new in range(replicas.shape[1]):
                is_pair = is_lost[:, old] & is_added[:, new]
                if same_rack:
                    is_pair &= racks[state.replicas[:, old]] == racks[replicas[:, new]]
                is_lost[is_pair, old] = False
                is_added[is_pair, new] = False
                rows = np.flatnonzero(is_pair)
                yield rows, state.replicas[rows, old], replicas[rows, new]
    rows, positions = np.nonzero(is_added)
    yield rows, np.full(len(rows), NO_BROKER), replicas[rows, positions]


def pair_copies(state: ClusterState, replicas: IntArray) -> Transfers:
    """Pair each added replica with the leader that it fetches from; NO_BROKER if no replica is alive."""
    rows, positions = np.nonzero(added_replicas(state.replicas, replicas))
    return rows, _fetch_sources(state)[rows], replicas[rows, positions]


def count_offline_partitions(state: ClusterState, replicas: IntArray) -> int:
    """Return the number of partitions with added replicas that cannot be copied because no replica is alive."""
    rows, sources, _ = pair_copies(state, replicas)
    return len(distinct(rows[sources == NO_BROKER]))


def sum_transfers(
    transfers: Transfers, broker_ids: IntArray, size_bytes: IntArray | None
) -> tuple[IntArray, IntArray, IntArray | None]:
    """Sum transfers by pair of brokers.

    `broker_ids`, shape (B,): the ids of the brokers. `size_bytes`, shape (P,): the size of a replica; None if unknown.
    Returns pairs of broker ids (source, target), shape (N, 2), NO_BROKER for no source; the number of replicas and
    their size in bytes, shape (N,); None for an unknown size.
    """
    rows, sources, targets = transfers
    ids = np.append(broker_ids, NO_BROKER)
    pairs, index = np.unique(np.stack([ids[sources], ids[targets]], axis=1), axis=0, return_inverse=True)
    counts = np.bincount(index.ravel(), minlength=len(pairs))
    total_bytes = None
    if size_bytes is not None:
        total_bytes = np.zeros(len(pairs), dtype=np.int64)
        np.add.at(total_bytes, index.ravel(), size_bytes[rows])
    return pairs, counts, total_bytes


def _fetch_sources(state: ClusterState) -> IntArray:
    """Return the leader of each partition, or its first replica that is alive, or NO_BROKER, shape (P,)."""
    is_alive = np.append(state.is_alive, False)
    is_live_replica = is_alive[state.replicas]
    rows = np.arange(len(is_live_replica))
    first = state.replicas[rows, is_live_replica.argmax(axis=1)] if is_live_replica.size else state.leader
    fallback = np.where(is_live_replica.any(axis=1), first, NO_BROKER)
    source = np.where(is_alive[state.leader], state.leader, fallback)
    return np.where(state.leader == NO_BROKER, NO_BROKER, source)


ReplicasByPartition = tuple[tuple[str, ...], bytes, bytes, bytes]
"""The replicas of all partitions, by names and ids, independent of the order."""


def replicas_by_partition(state: ClusterState, replicas: IntArray) -> ReplicasByPartition:
    """Return the replicas of every partition: topics, and for each partition its topic, number and broker ids."""
    canonical = CanonicalState.of(state)
    ids = np.append(state.ids, NO_BROKER)[replicas[canonical.rows]]
    ids = ids[:, (ids != NO_BROKER).any(axis=0)]
    ordered = canonical.state
    return ordered.topics, ordered.topic.tobytes(), ordered.partition.tobytes(), ids.tobytes()


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
    distinct_plans: set[ReplicasByPartition | None] = {replicas_by_partition(state, replicas)}
    for number in range(1, num_orders):
        shuffled = shuffle_state(state, generator)
        plan = make_plan(_with_other_seed(assignor, number), shuffled, request, topics)
        distinct_plans.add(None if plan.replicas is None else replicas_by_partition(shuffled, plan.replicas))
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
