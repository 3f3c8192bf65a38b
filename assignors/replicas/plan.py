"""What a replica assignor is asked, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from assignors.model.columns import NO_RACK, BoolArray, IntArray
from assignors.replicas.state import ClusterState


class PlanStatus(StrEnum):
    """How a strategy came out.

    optimal: nothing that it may answer has a better value, and it proved that. feasible: every constraint holds.
    infeasible: nothing can hold every constraint, and it proved that. failed: it found nothing, though there may be
    something. not_applicable: it cannot do what was asked, by its nature.
    """

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    FAILED = "failed"
    NOT_APPLICABLE = "not_applicable"


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What a plan has to come to.

    Attributes:
        brokers: ids of the brokers that may hold replicas; None for all that are alive.
        replication_factor: how many replicas every partition shall have; None for as many as it has.
        rack_aware: whether replicas of a partition go to different racks, as far as there are racks enough; of no
            effect where no broker has a rack.
    """

    brokers: tuple[int, ...] | None = None
    replication_factor: int | None = None
    rack_aware: bool = True

    def allowed(self, state: ClusterState) -> BoolArray:
        """Shape (B,); the brokers that may hold replicas."""
        if self.brokers is None:
            return state.is_alive.copy()
        return state.is_alive & np.isin(state.ids, self.brokers)

    def factors(self, state: ClusterState) -> IntArray:
        """Shape (P,); how many replicas each partition shall have."""
        if self.replication_factor is None:
            return state.replication_factor
        return np.full(state.num_partitions, self.replication_factor, dtype=np.int64)

    def is_rack_aware(self, state: ClusterState) -> bool:
        """Whether racks constrain the plan: they shall, and every broker that may hold replicas has one."""
        return self.rack_aware and bool((state.rack[self.allowed(state)] != NO_RACK).all())

    def rack_limits(self, state: ClusterState) -> IntArray:
        """Shape (P,); how many replicas of each partition one rack may hold: its share, rounded up.

        It is more where some racks have too few brokers to take their shares, and all of them where racks do not
        constrain the plan.
        """
        factors = self.factors(state)
        if not self.is_rack_aware(state):
            return factors
        sizes = np.bincount(state.rack[self.allowed(state)])
        room = np.minimum(sizes[None, :], np.arange(int(sizes.max()) + 1)[:, None]).sum(axis=1)
        most: IntArray = np.searchsorted(room, factors)
        return most


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What a strategy proposes.

    Attributes:
        status: how it came out.
        replicas: shape (P, W), for every partition of the state, changed or not, in its order: rows of the state's
            brokers in replica order, the preferred leader first, NOBODY behind the last; None unless the status is
            optimal or feasible.
        reason: why there is none; names partition and constraint.
        objective: what the strategy makes as small, or as large, as it can, in words ("replicas moved"); empty if it
            optimises nothing as a whole.
        value: what the plan comes to in that.
        bound: what nothing that meets the same constraints can be better than, as the strategy proved; None if it
            proved nothing.
        notes: what else its user should know.
    """

    status: PlanStatus
    replicas: IntArray | None = None
    reason: str = ""
    objective: str = ""
    value: float | None = None
    bound: float | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def none(cls, status: PlanStatus, reason: str) -> Plan:
        """No plan, and why."""
        return cls(status, reason=reason)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a strategy is made for. What it is not made for is shown as not applicable.

    Attributes:
        moves_replicas: it says who holds replicas; otherwise it orders those that are there.
        balances_replicas: it evens out how many replicas brokers hold.
        balances_bytes: it evens out how much they hold.
        heeds_racks: no replica that it adds crowds a rack, whatever it finds.
        may_crowd: though it heeds racks, its own way may crowd one where replicas are more than racks.
        balances_leaders: it evens out how many partitions brokers lead.
        spreads_failover: it evens out who leads if a broker is down.
        grows: it can raise the replication factor.
        shrinks: it can lower it.
        drains: it can take brokers out of use.
        is_idempotent: it promises that nothing moves when its own plan is its input.
        is_order_free: it promises that the order of the input does not matter.
        needs_sizes: it needs the partitions' sizes.
        needs_capacities: it needs what the brokers' disks take.
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

    `plan` is pure: the same state, request and parameters give the same plan. One that draws has a field `seed`; one
    that searches has a field `time_limit_s`.
    """

    capabilities: ClassVar[Capabilities]

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        """Propose replicas for every partition of the state; `planning.plan` checks the request before."""
        ...
