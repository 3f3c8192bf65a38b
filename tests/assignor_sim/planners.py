"""Small replica assignors, each with one trait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assignors.model.columns import IntArray
from assignors.replicas.plan import Capabilities, Plan, PlanRequest, PlanStatus
from assignors.replicas.state import NO_BROKER, ClusterState

ABLE = Capabilities(
    balances_replicas=True, raises_replication_factor=True, lowers_replication_factor=True, decommissions_brokers=True
)


def in_turn(state: ClusterState, request: PlanRequest, first: int = 0) -> IntArray:
    """Every partition on the next brokers, by id and name."""
    allowed = np.flatnonzero(request.is_allowed(state))
    order = allowed[np.argsort(state.ids[allowed])]
    factors = request.factors(state)
    placed = np.full((state.num_partitions, int(factors.max())), NO_BROKER, dtype=np.int64)
    for turn, row in enumerate(sorted(range(state.num_partitions), key=state.partition_id), start=first):
        for place in range(factors[row]):
            placed[row, place] = order[(turn + place) % len(order)]
    return placed


@dataclass(frozen=True, slots=True)
class InTurn:
    """Steady in any order."""

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
        replicas = in_turn(state, request)
        note = f"limit {self.time_limit_s:g} s"
        return Plan(PlanStatus.OPTIMAL, replicas, objective="replicas out of turn", value=0, bound=0, notes=(note,))

    def lp_text(self, state: ClusterState, request: PlanRequest) -> str:
        return f"/* {state.num_partitions} partitions on {int(request.is_allowed(state).sum())} brokers */\n"


@dataclass(frozen=True, slots=True)
class Drawn:
    """Its seed decides."""

    capabilities: ClassVar = ABLE
    seed: int = 0

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        return Plan(PlanStatus.FEASIBLE, in_turn(state, request, self.seed))


@dataclass(frozen=True, slots=True)
class Impossible:
    """Never finds anything."""

    capabilities: ClassVar = ABLE

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        return Plan.without_replicas(PlanStatus.INFEASIBLE, f"{state.name(0)}: no room")


@dataclass(frozen=True, slots=True)
class Sized:
    """Needs sizes, and can change no replication factor."""

    capabilities: ClassVar = Capabilities(needs_sizes=True, balances_bytes=True)

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        return Plan(PlanStatus.OPTIMAL, state.replicas)


@dataclass(frozen=True, slots=True)
class Liar:
    """Names a broker twice."""

    capabilities: ClassVar = ABLE

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        return Plan(PlanStatus.OPTIMAL, np.zeros_like(state.replicas))


@dataclass(frozen=True, slots=True)
class Broken:
    """Breaks down; if `late`, only where the cluster is told in another order."""

    capabilities: ClassVar = ABLE
    late: bool = False

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        if not self.late or state.name(0) != "orders-0":
            raise ZeroDivisionError("nothing\nleft")
        return Plan(PlanStatus.FEASIBLE, in_turn(state, request))


@dataclass(frozen=True, slots=True)
class Late(Broken):
    """Breaks down only when it is asked again."""

    late: bool = True
