"""What is wrong with a plan; every finding, never just the first."""

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
    """What every plan must keep to; `rack` only where racks constrain it and the strategy heeds them."""

    REPLICATION_FACTOR = "replication_factor"
    DUPLICATE = "duplicate"
    FORBIDDEN_BROKER = "forbidden_broker"
    RACK = "rack"


class Violation(NamedTuple):
    """A partition (a row of the state), the rule that it breaks, and how often."""

    row: int
    rule: PlanRule
    times: int


def find_violations(state: ClusterState, request: PlanRequest, replicas: IntArray) -> tuple[Violation, ...]:
    """Look through the replicas of every partition, as `Plan.replicas` holds them."""
    return tuple(_find(state, request, replicas))


def _find(state: ClusterState, request: PlanRequest, replicas: IntArray) -> Iterator[Violation]:
    is_there = replicas != NO_BROKER
    wrong = np.abs(is_there.sum(axis=1) - request.factors(state))
    ordered = np.sort(replicas, axis=1)
    twice = ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != NO_BROKER)).sum(axis=1)
    forbidden = (is_there & ~np.append(request.allowed(state), False)[replicas]).sum(axis=1)
    crowded = np.zeros(len(replicas), dtype=np.int64)
    if request.is_rack_aware(state):
        most = request.rack_limits(state)
        crowded = np.maximum(count_per_rack(replicas, state.rack, len(state.racks)) - most[:, None], 0).sum(axis=1)
    for rule, times in zip(PlanRule, (wrong, twice, forbidden, crowded), strict=True):
        for row in np.flatnonzero(times):
            yield Violation(int(row), rule, int(times[row]))
