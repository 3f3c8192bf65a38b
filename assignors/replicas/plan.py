"""The input and the output of a replica assignor."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from assignors.model.columns import NO_RACK, BoolArray, IntArray
from assignors.replicas.state import ClusterState


class PlanStatus(StrEnum):
    """The outcome of a strategy.

    optimal: the plan is proven optimal for the objective of the strategy. feasible: the plan meets every constraint.
    infeasible: it is proven that no plan meets every constraint. failed: no plan was found, although one may exist.
    not_applicable: the strategy does not support the request.
    """

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    FAILED = "failed"
    NOT_APPLICABLE = "not_applicable"


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """The requirements for a plan.

    Attributes:
        brokers: ids of the brokers that may hold replicas; None for all brokers that are alive.
        replication_factor: the replication factor of every partition; None to keep the current ones.
        rack_aware: whether to place the replicas of a partition in different racks, if there are enough racks; no effect
            if no broker has a rack.
    """

    brokers: tuple[int, ...] | None = None
    replication_factor: int | None = None
    rack_aware: bool = True

    def is_allowed(self, state: ClusterState) -> BoolArray:
        """Return a mask of the brokers that may hold replicas, shape (B,)."""
        if self.brokers is None:
            return state.is_alive.copy()
        return state.is_alive & np.isin(state.ids, self.brokers)

    def factors(self, state: ClusterState) -> IntArray:
        """Return the requested replication factor of each partition, shape (P,)."""
        if self.replication_factor is None:
            return state.replication_factor
        return np.full(state.num_partitions, self.replication_factor, dtype=np.int64)

    def is_rack_aware(self, state: ClusterState) -> bool:
        """Return whether racks constrain the plan: `rack_aware` is set, and every allowed broker has a rack."""
        return self.rack_aware and bool((state.rack[self.is_allowed(state)] != NO_RACK).all())

    def rack_limits(self, state: ClusterState) -> IntArray:
        """Return the maximum number of replicas of each partition in one rack, shape (P,): an even share, rounded up.

        The limit is higher if some racks have too few brokers for an even share. It is the replication factor if racks do not
        constrain the plan.
        """
        factors = self.factors(state)
        if not self.is_rack_aware(state):
            return factors
        sizes = np.bincount(state.rack[self.is_allowed(state)])
        capacity = np.minimum(sizes[None, :], np.arange(int(sizes.max()) + 1)[:, None]).sum(axis=1)
        limits: IntArray = np.searchsorted(capacity, factors)
        return limits


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The proposal of a strategy.

    Attributes:
        status: the outcome.
        replicas: shape (P, W), for every partition of the state, in its order: rows of the state's brokers in replica
            order, the preferred leader first, padded with NO_BROKER; None unless the status is optimal or feasible.
        reason: why there is no plan; names the partition and the constraint.
        objective: what the strategy minimizes or maximizes, for example "replicas moved"; empty if it has no global
            objective.
        value: the objective value of the plan.
        bound: the proven bound of the objective value over all plans that meet the same constraints; None if unproven.
        notes: further information for the user.
    """

    status: PlanStatus
    replicas: IntArray | None = None
    reason: str = ""
    objective: str = ""
    value: float | None = None
    bound: float | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def without_replicas(cls, status: PlanStatus, reason: str) -> Plan:
        """Return the result of a strategy that found no plan."""
        return cls(status, reason=reason)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The objectives and the supported requests of a strategy. Reports show unsupported ones as not applicable.

    Attributes:
        moves_replicas: chooses the brokers of replicas; otherwise only their order.
        balances_replicas: balances the number of replicas per broker.
        balances_bytes: balances the bytes per broker.
        is_rack_aware: adds no replica beyond the rack limit.
        may_exceed_rack_limit: although rack-aware, may exceed the rack limit if there are more replicas than racks.
        balances_leaders: balances the number of leaders per broker.
        spreads_failover: balances the leaders if a broker is down.
        raises_replication_factor: can raise the replication factor.
        lowers_replication_factor: can lower the replication factor.
        decommissions_brokers: can decommission brokers.
        is_idempotent: moves nothing if its own plan is the input.
        is_order_independent: gives the same plan for every order of the input.
        needs_sizes: requires partition sizes.
        needs_capacities: requires the disk capacities of brokers.
    """

    moves_replicas: bool = True
    balances_replicas: bool = False
    balances_bytes: bool = False
    is_rack_aware: bool = False
    may_exceed_rack_limit: bool = False
    balances_leaders: bool = False
    spreads_failover: bool = False
    raises_replication_factor: bool = False
    lowers_replication_factor: bool = False
    decommissions_brokers: bool = False
    is_idempotent: bool = False
    is_order_independent: bool = False
    needs_sizes: bool = False
    needs_capacities: bool = False


@runtime_checkable
class ReplicaAssignor(Protocol):
    """A strategy: a frozen dataclass whose fields are its parameters.

    `plan` is pure: the same state, request and parameters give the same plan. A randomized strategy has a field `seed`, a
    searching strategy a field `time_limit_s`.
    """

    capabilities: ClassVar[Capabilities]

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        """Propose replicas for every partition of the state; `planning.plan` checks the request before."""
        ...


@runtime_checkable
class LpWriter(Protocol):
    """A strategy that solves an integer program and can write it."""

    def lp_text(self, state: ClusterState, request: PlanRequest) -> str:
        """Return the program in the LP format of lp_solve."""
        ...
