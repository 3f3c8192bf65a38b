"""Balance and rule violations of a placement, before or after a plan.

Metrics cover the brokers that may hold replicas. A range is the maximum minus the minimum.

Source: the six criteria of Appier's comparison of reassignment tools ("Kafka partition reassignment: a comparison").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assignors.model.columns import NO_RACK, IntArray
from assignors.replicas.broker_loads import bytes_per_broker, count_leaders, count_replicas
from assignors.replicas.in_sync import leaders_out_of_sync
from assignors.replicas.plan import PlanRequest
from assignors.replicas.state import NO_BROKER, ClusterState
from assignors.replicas.violations import PlanRule, find_violations


@dataclass(frozen=True, slots=True)
class FailoverMetrics:
    """Leadership while a broker or rack is down: the first remaining replica of each partition leads it.

    Attributes:
        worst_range: the highest range of leader counts over all failures.
        mean_range: the mean range of leader counts over all failures.
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
        replicas_range: the range of replicas per broker.
        topic_replicas_range: the highest range of replicas per broker within a topic.
        leaders_range: the range of preferred leaders per broker.
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

    Args:
        state: the cluster; its own replicas matter only for whether they are in sync.
        request: the allowed brokers and the rules.
        replicas: shape (P, W), as `Plan.replicas`.
        topics: the topics that may change; None for all. The replication factors and racks of others are not judged.

    Returns:
        The metrics.

    Complexity: O(B² + P·W·R); no array is larger than B x B.
    """
    num_brokers = len(state.brokers)
    allowed = np.flatnonzero(request.is_allowed(state))
    bytes_held = None
    if state.size_bytes is not None:
        bytes_held = bytes_per_broker(replicas, state.size_bytes, num_brokers)[allowed]
    racks = [np.flatnonzero(state.rack == rack) for rack in np.unique(state.rack[allowed]) if rack != NO_RACK]
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
    order = np.argsort(state.topic, kind="stable")
    ends = np.cumsum(np.bincount(state.topic, minlength=len(state.topics)))
    worst = 0
    for rows in np.split(order, ends[:-1]):
        if len(rows):
            worst = max(worst, _range(count_replicas(replicas[rows], len(state.brokers))[allowed]))
    return worst


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
