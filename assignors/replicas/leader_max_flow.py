"""Balance of leaders per topic, by max flow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assignors.replicas.canonical import CanonicalState
from assignors.replicas.phases.even_shares import EvenShares
from assignors.replicas.phases.first_replica_flow import balance_first_replicas, swap_columns
from assignors.replicas.phases.residue_flow import BalancingMethod, Costs, Pruning
from assignors.replicas.plan import Capabilities, Plan, PlanRequest, PlanStatus
from assignors.replicas.state import ClusterState


@dataclass(frozen=True, slots=True)
class LeaderMaxFlow:
    """Transfer leadership from brokers that lead too much of a topic to brokers that lead too little; move no replica.

    A unit of flow goes from the leader of a partition through the partition to a follower, and possibly further. A
    transferred leader swaps positions with the follower: the order changes, nothing is copied. Brokers without a
    replica of a topic have no share in it, and even topics are not changed.

    Attributes:
        residue: whether two nodes shared by all brokers carry the remainders of rounding. Without it, brokers within
            one of their share can neither give nor take.
        costs: none: any max flow; published: as in the article; fixed: the residue costs more than any chain, without
            which some topics stay uneven unnecessarily.
        pruning: the part of the flow to apply. none: all; component: the weakly connected components that reduce the
            skew, as in the article; path: the fewest hops that reduce it equally.

    Guarantees:
        With the residue and costs `fixed`, the leader counts of a topic differ by at most 1 wherever possible. With any
        parameters, the plan is idempotent. It is independent of the input order.

    Priority:
        Balance of every topic, then few leader changes. The balance over all topics is not considered.

    Complexity:
        One network of P·W arcs for all topics: a max flow, a min-cost flow, and another one for pruning by path.
        Repeated while the balance of an uneven topic improves.

    Source:
        Pinterest Engineering, "Using graph algorithms to optimize Kafka operations, part 2". `fixed` and `path` are
        additions of this project.
    """

    residue: bool = True
    costs: Costs = "fixed"
    pruning: Pruning = "path"

    capabilities: ClassVar[Capabilities] = Capabilities(
        moves_replicas=False, balances_leaders=True, is_idempotent=True, is_order_independent=True
    )

    def __post_init__(self) -> None:
        self._method()

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        """Propose an order of every partition's replicas."""
        canonical = CanonicalState.of(state)
        topic, replicas = canonical.state.topic, canonical.state.replicas
        column, shares = balance_first_replicas(replicas, topic, len(state.topics), self._method())
        return Plan(
            PlanStatus.FEASIBLE,
            canonical.to_input_order(swap_columns(replicas, 0, column)),
            notes=uneven_topics(canonical.state.topics, shares),
        )

    def _method(self) -> BalancingMethod:
        return BalancingMethod(self.residue, self.costs, self.pruning)


def uneven_topics(topics: tuple[str, ...], shares: EvenShares) -> tuple[str, ...]:
    """Return a note on uneven topics (the groups of `shares`): the worst one, and the number of others."""
    spread = np.where(shares.is_uneven, shares.spread(), 0)
    count, worst = int(np.count_nonzero(spread)), int(spread.argmax())
    if not count:
        return ()
    more = f", and of {count - 1} more topics" if count > 1 else ""
    return (f"leaders of {topics[worst]} stay uneven (range: {spread[worst]}){more}",)
