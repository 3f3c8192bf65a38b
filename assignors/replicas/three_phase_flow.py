"""Replicas, then leaders, then first followers evened out, each by the same flow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assignors.model.columns import IntArray
from assignors.replicas.canonical import CanonicalState
from assignors.replicas.phases.even_shares import EvenShares
from assignors.replicas.phases.first_replica_flow import balance_first_replicas, swap_columns
from assignors.replicas.phases.move_graph import PlacementRules
from assignors.replicas.phases.replica_filling import fill_missing_replicas, keep_allowed_replicas
from assignors.replicas.phases.replica_flow import balance_replicas
from assignors.replicas.phases.residue_flow import BalancingMethod, Costs, Pruning
from assignors.replicas.plan import Capabilities, Plan, PlanRequest, PlanStatus
from assignors.replicas.state import NO_BROKER, ClusterState


@dataclass(frozen=True, slots=True)
class ThreePhaseFlow:
    """Evens out replicas, leaders and first followers, over all topics together, each without touching what was before.

    First, what is missing is placed, and replicas go from brokers that hold too many to those that hold too few. Then
    the order within partitions changes: leaders as in `LeaderMaxFlow`, but over all topics; and for each leader who
    follows first, so that what it leads falls to all its followers alike if it goes down. The last needs three
    replicas: with two, there is one follower and no choice.

    Attributes:
        checks_first: whether a phase sees first whether anything can be made more even, and changes nothing otherwise.
            Without it, an even cluster is moved about again: the residue lets brokers change places.
        costs: as in `LeaderMaxFlow`.
        pruning: as in `LeaderMaxFlow`; none, as published, moves more than there is need for.

    Raises:
        ValueError: costs or pruning is none of those of `LeaderMaxFlow`.

    Guarantees:
        Every partition has its replicas, on brokers that may hold them; no rack holds more of a partition than it must.
        With costs `fixed`, leaders differ by one at most wherever the replicas leave that possible. So do replicas
        wherever racks do, if all pairs of partition and broker are looked at; where racks do not, brokers come to what
        their racks can share out, or next to it. With `checks_first`, the same plan again changes nothing. The order of
        the input does not matter.

    Priority:
        Racks, then replicas, then leaders, then first followers. What one phase has evened out, no later one undoes; an
        earlier one does not look ahead.

    Complexity:
        A largest and a cheapest flow a phase: over partitions times brokers arcs in the first while that is below half
        a million, above it over some brokers for each partition; over P·W in the others. Repeated while something gets
        more even without getting even.

    Source:
        Appier, "Kafka reassignment 方案" (2022). It says that neither racks nor a lower replication factor are served,
        and that racks could be: here pairs of partition and rack are nodes. It names no costs; `fixed` stands for the
        shortest augmenting paths of the algorithms that it names. It does not say what is even of pairs of leader and
        follower: here it is each leader's partitions over the followers that it has.
    """

    checks_first: bool = True
    costs: Costs = "fixed"
    pruning: Pruning = "none"

    capabilities: ClassVar[Capabilities] = Capabilities(
        balances_replicas=True,
        is_rack_aware=True,
        balances_leaders=True,
        spreads_failover=True,
        raises_replication_factor=True,
        decommissions_brokers=True,
        is_idempotent=True,
        is_order_independent=True,
    )

    def __post_init__(self) -> None:
        self._method()

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        """Propose replicas for every partition of the state."""
        canonical = CanonicalState.of(state)
        rules = PlacementRules.of(canonical.state, request)
        gaps = keep_allowed_replicas(rules, canonical.state.replicas, len(state.brokers))
        held, holders = balance_replicas(rules, fill_missing_replicas(rules, gaps), self._method())
        led, leaders = _balance_leaders(held, self._method())
        replicas = np.append(rules.brokers, NO_BROKER)[_balance_first_followers(led, self._method())]
        return Plan(PlanStatus.FEASIBLE, canonical.to_input_order(replicas), notes=_notes(holders, leaders))

    def _method(self) -> BalancingMethod:
        return BalancingMethod(True, self.costs, self.pruning, self.checks_first)


def _balance_leaders(replicas: IntArray, method: BalancingMethod) -> tuple[IntArray, EvenShares]:
    """The second phase: who of the replicas leads."""
    column, shares = balance_first_replicas(replicas, np.zeros(len(replicas), dtype=np.int64), 1, method)
    return swap_columns(replicas, 0, column), shares


def _balance_first_followers(replicas: IntArray, method: BalancingMethod) -> IntArray:
    """The third phase: who of the followers is the first."""
    rows = np.flatnonzero(replicas[:, 1:2].ravel() != NO_BROKER)
    if not len(rows) or replicas.shape[1] < 3:
        return replicas
    leaders, leader = np.unique(replicas[rows, 0], return_inverse=True)
    column, _ = balance_first_replicas(replicas[rows, 1:], leader, len(leaders), method)
    followed = replicas.copy()
    followed[rows] = swap_columns(replicas[rows], 1, column + 1)
    return followed


def _notes(holders: EvenShares, leaders: EvenShares) -> tuple[str, ...]:
    """What a user should know of what stays uneven."""
    spreads = {"replicas": int(np.ptp(holders.load)), "leaders": int(np.ptp(leaders.load))}
    return tuple(
        f"brokers' {what} stay uneven (most less least: {spread})" for what, spread in spreads.items() if spread > 1
    )
