"""Proven bounds of a plan, independent of the strategy, for tests.

They hold for plans that meet every `PlanRule` and whose counts are as even as racks, or replicas, allow. A plan with
less even counts may move less.
"""

from __future__ import annotations

import numpy as np

from assignors.model.columns import IntArray
from assignors.replicas.exact_flow import assign_leaders
from assignors.replicas.normalized_problem import NormalizedProblem
from assignors.replicas.plan import PlanRequest
from assignors.replicas.replica_flow import min_added_replicas, place, replica_copy_costs, replica_count_range
from assignors.replicas.state import ClusterState, count_replicas


def replica_moves_by_counts(state: ClusterState, request: PlanRequest) -> int:
    """Return the number of replicas that brokers have above or below an even share, ignoring racks.

    It bounds only plans after which the replica counts of allowed brokers differ by at most 1.
    """
    return _changes_by_counts(state, request, state.replicas, int(request.factors(state).sum()))


def leader_changes_by_counts(state: ClusterState, request: PlanRequest) -> int:
    """Return the number of preferred leaders above or below an even share, ignoring which brokers hold replicas.

    It bounds only plans after which the leader counts of allowed brokers differ by at most 1.
    """
    return _changes_by_counts(state, request, state.replicas[:, :1], state.num_partitions)


def _changes_by_counts(state: ClusterState, request: PlanRequest, replicas: IntArray, total: int) -> int:
    """Return the fewest changes after which the counts of allowed brokers sum to `total` and differ by at most 1."""
    counts = count_replicas(replicas, len(state.brokers))[request.is_allowed(state)]
    least, remainder = divmod(total, len(counts))
    most = least + (remainder > 0)
    added = total - int(counts.sum())
    return max(int(np.maximum(least - counts, 0).sum()), int(np.maximum(counts - most, 0).sum()) + added)


def replica_moves_by_rules(state: ClusterState, request: PlanRequest) -> int:
    """Return the number of replicas that must be added to meet the rules, however uneven the counts are."""
    return int(min_added_replicas(NormalizedProblem.of(state, request)).sum())


def min_bytes_moved(state: ClusterState, request: PlanRequest, time_limit_s: float = 60.0) -> int:
    """Return the fewest bytes to copy for counts as even as racks allow; see `min_replica_moves`.

    Raises ValueError if partition sizes are unknown.
    """
    if state.size_bytes is None:
        raise ValueError("partition sizes are unknown")
    problem = NormalizedProblem.of(state, request)
    weight, unit = replica_copy_costs(problem, by_bytes=True)
    return place(problem, weight, time_limit_s).bound * unit


def min_leader_changes(
    state: ClusterState, request: PlanRequest, replicas: IntArray, *, per_topic: bool = False
) -> int:
    """Return the fewest changes of preferred leaders for leader counts as even as the replicas allow.

    `state`: the cluster with the current preferred leaders. `request`: the brokers that may lead. `replicas` has shape
    (P, W), as `Plan.replicas`; their order does not matter. `per_topic` says whether the leaders of each topic must be
    even before those of all topics.
    """
    problem = NormalizedProblem.of(state, request)
    return assign_leaders(problem, problem.to_normalized(replicas), per_topic).changed


def min_leader_range(state: ClusterState, request: PlanRequest, replicas: IntArray) -> int:
    """Return the smallest possible range of leader counts over allowed brokers, given the replicas.

    Args and raises as in `min_leader_changes`.
    """
    problem = NormalizedProblem.of(state, request)
    counts = np.bincount(assign_leaders(problem, problem.to_normalized(replicas)).broker, minlength=problem.num_brokers)
    return int(counts.max() - counts.min())


def min_replica_range(state: ClusterState, request: PlanRequest) -> int:
    """Return the smallest possible range of replica counts over allowed brokers, given racks and factors."""
    count_range = replica_count_range(NormalizedProblem.of(state, request))
    return count_range.most - count_range.least
