"""Minimal replica assignors, each with one property."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assignors.model.columns import IntArray
from assignors.replicas.plan import Capabilities, Plan, PlanRequest, PlanStatus
from assignors.replicas.state import NO_BROKER, ClusterState

ALL_CHANGES = Capabilities(
    balances_replicas=True, raises_replication_factor=True, lowers_replication_factor=True, decommissions_brokers=True
)


def place_round_robin(state: ClusterState, request: PlanRequest, first: int = 0) -> IntArray:
    """Place each partition on the next brokers in rotation, by id and name."""
    allowed = np.flatnonzero(request.is_allowed(state))
    order = allowed[np.argsort(state.ids[allowed])]
    factors = request.factors(state)
    replicas = np.full((state.num_partitions, int(factors.max())), NO_BROKER, dtype=np.int64)
    for turn, row in enumerate(sorted(range(state.num_partitions), key=state.partition_id), start=first):
        for place in range(factors[row]):
            replicas[row, place] = order[(turn + place) % len(order)]
    return replicas


@dataclass(frozen=True, slots=True)
class RoundRobin:
    """Idempotent and independent of the input order."""

    capabilities: ClassVar = Capabilities(
        balances_replicas=True,
        raises_replication_factor=True,
        lowers_replication_factor=True,
        decommissions_brokers=True,
        is_order_independent=True,
    )
    seed: int = 0
    time_limit_s: float = 60.0

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        replicas = place_round_robin(state, request)
        note = f"limit {self.time_limit_s:g} s"
        return Plan(PlanStatus.OPTIMAL, replicas, objective="misplaced replicas", value=0, bound=0, notes=(note,))

    def lp_text(self, state: ClusterState, request: PlanRequest) -> str:
        return f"/* {state.num_partitions} partitions on {int(request.is_allowed(state).sum())} brokers */\n"


@dataclass(frozen=True, slots=True)
class Seeded:
    """Its plan depends on the seed."""

    capabilities: ClassVar = ALL_CHANGES
    seed: int = 0

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        return Plan(PlanStatus.FEASIBLE, place_round_robin(state, request, self.seed))


@dataclass(frozen=True, slots=True)
class Infeasible:
    """Never finds a plan."""

    capabilities: ClassVar = ALL_CHANGES

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        return Plan.without_replicas(PlanStatus.INFEASIBLE, f"{state.name(0)}: no room")


@dataclass(frozen=True, slots=True)
class NeedsSizes:
    """Requires partition sizes, and cannot change the replication factor."""

    capabilities: ClassVar = Capabilities(needs_sizes=True, balances_bytes=True)

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        return Plan(PlanStatus.OPTIMAL, state.replicas)


@dataclass(frozen=True, slots=True)
class DuplicateBroker:
    """Places two replicas of a partition on the same broker."""

    capabilities: ClassVar = ALL_CHANGES

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        return Plan(PlanStatus.OPTIMAL, np.zeros_like(state.replicas))


@dataclass(frozen=True, slots=True)
class Failing:
    """Raises an exception; with `only_when_rerun`, only for another input order."""

    capabilities: ClassVar = ALL_CHANGES
    only_when_rerun: bool = False

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        if not self.only_when_rerun or state.name(0) != "orders-0":
            raise ZeroDivisionError("nothing\nleft")
        return Plan(PlanStatus.FEASIBLE, place_round_robin(state, request))


@dataclass(frozen=True, slots=True)
class FailingWhenRerun(Failing):
    """Raises an exception only when it runs again."""

    only_when_rerun: bool = True


@dataclass(frozen=True, slots=True)
class Exiting:
    """Ends the process, as if the command had succeeded."""

    capabilities: ClassVar = ALL_CHANGES

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        sys.exit(0)


class ExitingAtOnce(Exiting):
    """Ends the process without its handlers."""

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        os._exit(0)


class Unbuildable(Exiting):
    """Cannot be built."""

    def __init__(self) -> None:
        raise OverflowError("no license")
