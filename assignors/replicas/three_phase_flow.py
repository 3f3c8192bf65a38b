"""Balance of replicas, then leaders, then first followers, each by the same kind of flow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assignors.model.columns import IntArray
from assignors.replicas.canonical import CanonicalState
from assignors.replicas.phases.even_shares import EvenShares
from assignors.replicas.phases.first_replica_flow import balance_first_replicas, swap_columns
from assignors.replicas.phases.move_graph import MAX_DENSE_PAIRS, PlacementRules
from assignors.replicas.phases.replica_filling import balance_replicas, fill_missing_replicas, keep_allowed_replicas
from assignors.replicas.phases.residue_flow import BalancingMethod, Costs, Pruning
from assignors.replicas.plan import Capabilities, Plan, PlanRequest, PlanStatus
from assignors.replicas.state import NO_BROKER, ClusterState


@dataclass(frozen=True, slots=True)
class ThreePhaseFlow:
    """Balance replicas, leaders and first followers over all topics; each phase keeps the results of the previous one.

    The first phase places missing replicas and moves replicas from brokers with too many to brokers with too few. The
    later phases change the order within partitions: leaders as in `LeaderMaxFlow`, but over all topics; then the first
    followers of each leader, so that its partitions are spread evenly over its followers if it fails. The last phase
    needs three replicas: with two, there is only one follower.

    Attributes:
        checks_first: whether a phase first checks that it can improve the balance, and otherwise changes nothing.
            Without it, an even cluster changes again, because the residue lets brokers exchange replicas.
        costs: as in `LeaderMaxFlow`.
        pruning: as in `LeaderMaxFlow`; none, as published, moves more than necessary.
        max_dense_pairs: the maximum number of pairs of partition and broker that the first phase tries; in a larger
            problem it tries a sample of brokers per partition.

    Guarantees:
        Every partition has its replicas on allowed brokers, within the lowest possible rack limits. With costs `fixed`,
        leader counts differ by at most 1 if the replicas allow it. So do replica counts if racks allow it and all pairs
        of partition and broker are tried; otherwise the counts of brokers are at or next to the share of their racks.
        With `checks_first`, the plan is idempotent. It is independent of the input order.

    Priority:
        Racks, then replicas, then leaders, then first followers. No phase undoes an earlier one, or looks ahead.

    Complexity:
        A max flow and a min-cost flow per phase. The first phase has P·B arcs up to `max_dense_pairs`, above that arcs
        to about 16 brokers per partition, or 128 if these do not suffice; the others have P·W arcs. Repeated while the
        balance improves without becoming even.

    Source:
        Appier, "Kafka reassignment 方案" (2022). It supports neither racks nor a lower replication factor, and mentions
        that racks could be supported: here pairs of partition and rack are nodes. It gives no costs; `fixed`
        corresponds to the shortest augmenting paths of the algorithms that it names. It does not define balance of
        pairs of leader and follower: here it is the balance of each leader's partitions over its followers.
    """

    checks_first: bool = True
    costs: Costs = "fixed"
    pruning: Pruning = "none"
    max_dense_pairs: int = MAX_DENSE_PAIRS

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
        rules = PlacementRules.of(canonical.state, request, self.max_dense_pairs)
        kept = keep_allowed_replicas(rules, canonical.state.replicas, len(state.brokers))
        held, replica_shares = balance_replicas(rules, fill_missing_replicas(rules, kept), self._method())
        with_leaders, leader_shares = _balance_leaders(held, self._method())
        replicas = np.append(rules.brokers, NO_BROKER)[_balance_first_followers(with_leaders, self._method())]
        return Plan(
            PlanStatus.FEASIBLE, canonical.to_input_order(replicas), notes=_notes(replica_shares, leader_shares)
        )

    def _method(self) -> BalancingMethod:
        return BalancingMethod(True, self.costs, self.pruning, self.checks_first)


def _balance_leaders(replicas: IntArray, method: BalancingMethod) -> tuple[IntArray, EvenShares]:
    """Balance leaders over all topics: the second phase."""
    column, shares = balance_first_replicas(replicas, np.zeros(len(replicas), dtype=np.int64), 1, method)
    return swap_columns(replicas, 0, column), shares


def _balance_first_followers(replicas: IntArray, method: BalancingMethod) -> IntArray:
    """Balance the first followers of each leader: the third phase."""
    rows = np.flatnonzero(replicas[:, 1:2].ravel() != NO_BROKER)
    if not len(rows) or replicas.shape[1] < 3:
        return replicas
    leaders, leader = np.unique(replicas[rows, 0], return_inverse=True)
    column, _ = balance_first_replicas(replicas[rows, 1:], leader, len(leaders), method)
    balanced = replicas.copy()
    balanced[rows] = swap_columns(replicas[rows], 1, column + 1)
    return balanced


def _notes(replica_shares: EvenShares, leader_shares: EvenShares) -> tuple[str, ...]:
    """Return notes on remaining imbalance."""
    spreads = {"replicas": int(np.ptp(replica_shares.load)), "leaders": int(np.ptp(leader_shares.load))}
    return tuple(
        f"{counted} per broker stay uneven (range: {spread})" for counted, spread in spreads.items() if spread > 1
    )
