"""How a cluster stands: what is even about it and what is not, before a plan or after it.

Evenness is over the brokers that may hold replicas. A range is the most less the least.

Source: the six criteria of Appier's comparison of reassignment tools ("Kafka partition reassignment: a comparison").
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assignors.model.columns import NO_RACK, IntArray
from assignors.replicas.broker_loads import count_leaders, count_replicas
from assignors.replicas.in_sync import leaders_out_of_sync
from assignors.replicas.plan import PlanRequest
from assignors.replicas.state import NO_BROKER, ClusterState
from assignors.replicas.violations import PlanRule, find_violations


@dataclass(frozen=True, slots=True)
class FailoverMetrics:
    """Who leads while something is down, and every partition that it led is led by its first replica that is left.

    Attributes:
        worst_range: of the leaders that those left have, after the loss that is worst for it.
        mean_range: the same, in the mean over all losses.
        most_leaders: the most that one of those left has to lead, after the loss that is worst for it.
        leaderless: partitions of which all replicas are down, after the loss that is worst for it.
    """

    worst_range: int
    mean_range: float
    most_leaders: int
    leaderless: int


@dataclass(frozen=True, slots=True)
class PlacementMetrics:
    """How a cluster stands.

    Attributes:
        bytes_range: of what brokers hold; None where sizes are not known, or a replica has yet to be.
        bytes_cv: the standard deviation of what brokers hold, by its mean.
        replicas_range: of how many replicas brokers hold.
        topic_replicas_range: the same within a topic, in the topic where it is largest.
        leaders_range: of how many partitions brokers are the preferred leader of.
        topic_leaders_range: the same within a topic, in the topic where it is largest.
        leaders_out_of_sync: partitions whose preferred leader is a replica of today that is not in sync.
        broken: by rule, how often it is broken; racks are None where they do not constrain.
        broker_down: if any one broker is down; None where there is only one.
        rack_down: if any one rack is down; None where there are not at least two.
    """

    bytes_range: int | None
    bytes_cv: float | None
    replicas_range: int
    topic_replicas_range: int
    leaders_range: int
    topic_leaders_range: int
    leaders_out_of_sync: int
    broken: dict[PlanRule, int | None]
    broker_down: FailoverMetrics | None
    rack_down: FailoverMetrics | None


def measure_placement(state: ClusterState, request: PlanRequest, replicas: IntArray) -> PlacementMetrics:
    """Measure a placement.

    Args:
        state: the cluster; its own replicas count only as being in sync or not.
        request: says which brokers there are to be, and what rules there are.
        replicas: shape (P, W), as `Plan.replicas`.

    Complexity: O(B² + P·W·R); no table is larger than B x B.
    """
    num_brokers = len(state.brokers)
    chosen = np.flatnonzero(request.allowed(state))
    held = None if state.size_bytes is None else _bytes(state.size_bytes, replicas, num_brokers)[chosen]
    racks = [np.flatnonzero(state.rack == rack) for rack in np.unique(state.rack[chosen]) if rack != NO_RACK]
    broken: dict[PlanRule, int | None] = dict.fromkeys(PlanRule, 0)
    for found in find_violations(state, request, replicas):
        broken[found.rule] = (broken[found.rule] or 0) + found.times
    if not request.is_rack_aware(state):
        broken[PlanRule.RACK] = None
    return PlacementMetrics(
        bytes_range=None if held is None else _range(held),
        bytes_cv=None if held is None or not held.any() else float(held.std() / held.mean()),
        replicas_range=_range(count_replicas(replicas, num_brokers)[chosen]),
        topic_replicas_range=_worst_topic(state, replicas, chosen),
        leaders_range=_range(count_leaders(replicas, num_brokers)[chosen]),
        topic_leaders_range=_worst_topic(state, replicas[:, :1], chosen),
        leaders_out_of_sync=int(leaders_out_of_sync(state, replicas).sum()),
        broken=broken,
        broker_down=_broker_down(replicas, chosen, num_brokers) if len(chosen) > 1 else None,
        rack_down=_rack_down(replicas, chosen, racks, num_brokers) if len(racks) > 1 else None,
    )


def _range(values: IntArray) -> int:
    return int(values.max() - values.min()) if len(values) else 0


def _bytes(size_bytes: IntArray, replicas: IntArray, num_brokers: int) -> IntArray:
    held = np.zeros(num_brokers + 1, dtype=np.int64)
    np.add.at(held, replicas, size_bytes[:, None])
    return held[:-1]


def _worst_topic(state: ClusterState, replicas: IntArray, chosen: IntArray) -> int:
    """The range of the topic where it is largest; topic by topic, so that no table has topics and brokers."""
    order = np.argsort(state.topic, kind="stable")
    ends = np.cumsum(np.bincount(state.topic, minlength=len(state.topics)))
    worst = 0
    for rows in np.split(order, ends[:-1]):
        if len(rows):
            worst = max(worst, _range(count_replicas(replicas[rows], len(state.brokers))[chosen]))
    return worst


def _broker_down(replicas: IntArray, chosen: IntArray, num_brokers: int) -> FailoverMetrics:
    """One broker after the other: what it led goes to each partition's second replica."""
    leaders = count_leaders(replicas, num_brokers)
    second = replicas[:, 1] if replicas.shape[1] > 1 else np.full(len(replicas), NO_BROKER, dtype=np.int64)
    order = np.argsort(replicas[:, 0], kind="stable")
    ends = np.cumsum(np.bincount(replicas[:, 0], minlength=num_brokers))
    heirs = np.split(second[order], ends[:-1])
    loads = []
    for broker in chosen:
        after = leaders + count_replicas(heirs[broker], num_brokers)
        loads.append((after[chosen[chosen != broker]], int((heirs[broker] == NO_BROKER).sum())))
    return _failover(loads)


def _rack_down(replicas: IntArray, chosen: IntArray, racks: list[IntArray], num_brokers: int) -> FailoverMetrics:
    loads = []
    for rack in racks:
        is_up = np.ones(num_brokers + 1, dtype=np.bool_)
        is_up[rack] = False
        is_up[NO_BROKER] = False
        live = is_up[replicas]
        leader = np.where(live.any(axis=1), replicas[np.arange(len(replicas)), live.argmax(axis=1)], NO_BROKER)
        left = chosen[is_up[chosen]]
        loads.append((count_replicas(leader[:, None], num_brokers)[left], int((leader == NO_BROKER).sum())))
    return _failover(loads)


def _failover(loads: list[tuple[IntArray, int]]) -> FailoverMetrics:
    """From the leaders of those left, and the partitions without any, by loss."""
    ranges = [_range(load) for load, _ in loads]
    return FailoverMetrics(
        worst_range=max(ranges),
        mean_range=float(np.mean(ranges)),
        most_leaders=max(int(load.max(initial=0)) for load, _ in loads),
        leaderless=max(lost for _, lost in loads),
    )
