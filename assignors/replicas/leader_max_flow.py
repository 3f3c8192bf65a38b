"""Leaders evened out topic by topic, by maximum flow."""

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
    """Hands leaders on from brokers that lead too much of a topic to those that lead too little; moves no replica.

    A unit of flow goes from a broker that leads a partition, by way of the partition, to one that follows; there it may
    go on. A leader that is handed on changes places with the follower who takes it: the order changes, nothing is
    copied. Brokers that hold no replica of a topic have no share in it, and topics that are even are left alone.

    Attributes:
        residue: whether two nodes that all brokers share make up for rounding their flows down. Without it, brokers
            next to their share can take or give nothing.
        costs: none: any largest flow will do; published: as in the article; fixed: with the residue dearer than any
            chain, without which topics stay uneven that need not be.
        pruning: which part of the flow is taken; none: all of it; component: the weakly connected components that
            lessen the skew, as in the article; path: the fewest hops that lessen it as much.

    Raises:
        ValueError: costs or pruning is none of these.

    Guarantees:
        With the residue and costs `fixed`, the most and the least that brokers lead of a topic differ by one at most
        wherever that is possible. Whatever the parameters, the same plan again changes nothing. The order of the input
        does not matter.

    Priority:
        Evenness of every topic, then few changes of leader. Nothing is said of all topics taken together.

    Complexity:
        All topics are one network of P·W arcs: a largest flow, a cheapest, and one more for pruning by path. Repeated
        where a topic cannot be made even, until nothing gets better.

    Source:
        Pinterest Engineering, "Using graph algorithms to optimize Kafka operations, part 2". `fixed` and `path` are
        not in it.
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
    """What a user should know of topics, the groups of `shares`, that stay uneven: the worst, and how many."""
    spread = np.where(shares.is_uneven, shares.spread(), 0)
    count, worst = int(np.count_nonzero(spread)), int(spread.argmax())
    if not count:
        return ()
    more = f", and those of {count - 1} more topics" if count > 1 else ""
    return (f"the leaders of {topics[worst]} stay uneven (most less least: {spread[worst]}){more}",)
