"""What nothing can do with less: proven bounds on what a plan has to move, whichever strategy makes it.

They hold for plans that keep every rule of `violations` and make counts as even as racks, or replicas, admit. A plan
that leaves counts less even may move less.
"""

from __future__ import annotations

import numpy as np

from assignors.model.columns import IntArray
from assignors.replicas.broker_loads import count_replicas
from assignors.replicas.exact.copy_costs import replica_copy_costs
from assignors.replicas.exact.even_counts import replica_count_range
from assignors.replicas.exact.leader_flow import assign_leaders
from assignors.replicas.exact.replica_flow import min_added_replicas, place
from assignors.replicas.normalized_problem import NormalizedProblem
from assignors.replicas.plan import PlanRequest
from assignors.replicas.state import ClusterState


def replica_moves_by_counts(state: ClusterState, request: PlanRequest) -> int:
    """The replicas that brokers have too many or too few of, by counting alone: racks do not count.

    It bounds only plans after which the counts of the brokers allowed differ by one at most.
    """
    allowed = request.allowed(state)
    counts = count_replicas(state.replicas, len(state.brokers))[allowed]
    total = int(request.factors(state).sum())
    least, remainder = divmod(total, len(counts))
    most = least + (remainder > 0)
    grown = total - int(counts.sum())
    return max(int(np.maximum(least - counts, 0).sum()), int(np.maximum(counts - most, 0).sum()) + grown, 0)


def leader_changes_by_counts(state: ClusterState, request: PlanRequest) -> int:
    """The preferred leaders that brokers have too many or too few of, by counting alone: who holds what does not count.

    It bounds only plans after which the leaders of the brokers allowed differ by one at most.
    """
    first = state.replicas[:, :1]
    counts = count_replicas(first, len(state.brokers))[request.allowed(state)]
    least, remainder = divmod(state.num_partitions, len(counts))
    most = least + (remainder > 0)
    gone = state.num_partitions - int(counts.sum())
    return max(int(np.maximum(least - counts, 0).sum()), int(np.maximum(counts - most, 0).sum()) + gone)


def replica_moves_by_rules(state: ClusterState, request: PlanRequest) -> int:
    """The replicas that have to be added for rules alone, however uneven counts may be."""
    return int(min_added_replicas(NormalizedProblem.of(state, request)).sum())


def min_replica_moves(state: ClusterState, request: PlanRequest, time_limit_s: float = 60.0) -> int:
    """The fewest replicas that have to be copied for counts as even as racks admit: exact, unless time runs out.

    It is what plans of `ExactFlow` copy; see there for the time limit, after which it is a lower bound still.
    """
    return place(NormalizedProblem.of(state, request), None, time_limit_s).bound


def min_bytes_moved(state: ClusterState, request: PlanRequest, time_limit_s: float = 60.0) -> int:
    """The fewest bytes, likewise.

    Raises:
        ValueError: the sizes of partitions are not known.
    """
    if state.size_bytes is None:
        raise ValueError("the sizes of partitions are not known")
    question = NormalizedProblem.of(state, request)
    weight, unit = replica_copy_costs(question, by_bytes=True)
    return place(question, weight, time_limit_s).bound * unit


def min_leader_changes(
    state: ClusterState, request: PlanRequest, replicas: IntArray, *, per_topic: bool = False
) -> int:
    """The fewest preferred leaders that have to change for leaders as even as replicas admit.

    Args:
        state: the cluster; its preferred leaders are those that change.
        request: says who may lead.
        replicas: shape (P, W), as `Plan.replicas`; their order does not count.
        per_topic: whether each topic's leaders have to be even, before those of all are.

    Raises:
        ValueError: a partition has no replica on a broker allowed.
    """
    question = NormalizedProblem.of(state, request)
    return assign_leaders(question, question.placed(replicas), per_topic).changed


def min_leader_range(state: ClusterState, request: PlanRequest, replicas: IntArray) -> int:
    """The least that the leader counts of the brokers allowed can differ by, given the replicas.

    Args and raises as in `least_leader_changes`.
    """
    question = NormalizedProblem.of(state, request)
    counts = np.bincount(assign_leaders(question, question.placed(replicas)).broker, minlength=question.num_brokers)
    return int(counts.max() - counts.min())


def min_replica_range(state: ClusterState, request: PlanRequest) -> int:
    """The least that the replica counts of the brokers allowed can differ by, given racks and replication factors."""
    span = replica_count_range(NormalizedProblem.of(state, request))
    return span.most - span.least
