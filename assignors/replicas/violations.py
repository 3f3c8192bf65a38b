"""All rule violations of a plan."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from assignors.model.columns import IntArray
from assignors.replicas.broker_loads import count_per_rack
from assignors.replicas.plan import PlanRequest
from assignors.replicas.state import NO_BROKER, ClusterState


class PlanRule(StrEnum):
    """A rule for every plan. `rack` applies only if racks constrain the plan and the strategy is rack-aware."""

    REPLICATION_FACTOR = "replication_factor"
    DUPLICATE = "duplicate"
    FORBIDDEN_BROKER = "forbidden_broker"
    RACK = "rack"


class Violation(NamedTuple):
    """A partition (a row of the state), the violated rule, and the number of occurrences."""

    row: int
    rule: PlanRule
    occurrences: int


def find_violations(state: ClusterState, request: PlanRequest, replicas: IntArray) -> tuple[Violation, ...]:
    """Return the violations of all partitions; `replicas` has shape (P, W), as `Plan.replicas`."""
    return tuple(_find(state, request, replicas))


def _find(state: ClusterState, request: PlanRequest, replicas: IntArray) -> Iterator[Violation]:
    is_replica = replicas != NO_BROKER
    wrong_factor = np.abs(is_replica.sum(axis=1) - request.factors(state))
    ordered = np.sort(replicas, axis=1)
    duplicates = ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != NO_BROKER)).sum(axis=1)
    forbidden = (is_replica & ~np.append(request.is_allowed(state), False)[replicas]).sum(axis=1)
    rack_excess = np.zeros(len(replicas), dtype=np.int64)
    if request.is_rack_aware(state):
        most = request.rack_limits(state)
        rack_excess = np.maximum(count_per_rack(replicas, state.rack, len(state.racks)) - most[:, None], 0).sum(axis=1)
    for rule, count in zip(PlanRule, (wrong_factor, duplicates, forbidden, rack_excess), strict=True):
        for row in np.flatnonzero(count):
            yield Violation(int(row), rule, int(count[row]))
