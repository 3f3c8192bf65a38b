"""The flow that balances bins: from bins with too much through possible transfers to bins with too little.

Guarantees: no bin above its share ends below it rounded down, and none below ends above it rounded up. With costs
`fixed` and the residue, every bin ends even if that is possible.

Priority: the size of the flow; with `fixed`, whole units that bins must give and take before the residue of rounding;
few hops.

Complexity: one max flow and one min-cost flow over the arcs, and O(bins) more.

Source: Pinterest, "Using graph algorithms to optimize Kafka operations, part 2". With its costs, a unit through the
residue saves a hop at the price of one. So if the flow cannot fill all arcs, it may leave a bin uneven that only a
longer chain would relieve. A residue that costs more than any chain (`fixed`) prevents this: augmenting a flow never
empties an arc at the source or the sink, so a max flow exists that fills as many of the other arcs as possible.

The part of the flow that does not improve balance is pruned: in the source, the weakly connected components that do not
reduce the skew; here also the paths within a component that do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from assignors.flow.min_cost import Arcs, max_flow, max_flow_min_cost, min_cost_flow
from assignors.model.columns import IntArray
from assignors.replicas.phases.even_shares import EvenShares


def prune_by_component(shares: EvenShares, arcs: Arcs, num_nodes: int, flows: IntArray) -> IntArray:
    """Remove weakly connected components in which no bin gives what it must give, or takes what it must take.

    Args:
        shares: the bins, which are the first nodes.
        arcs: the graph.
        num_nodes: the number of nodes.
        flows: the flow on each arc.

    Returns:
        The remaining flow on each arc.

    Complexity: O(arcs · log(nodes)).
    """
    gives, takes = _useful(shares, arcs, num_nodes, flows)
    used = flows > 0
    component = _components(arcs.tail[used], arcs.head[used], num_nodes)
    is_useful = np.zeros(num_nodes, dtype=np.bool_)
    is_useful[component[: len(shares.load)][(gives > 0) | (takes > 0)]] = True
    return np.where(is_useful[component[arcs.tail]], flows, 0)


def prune_by_path(shares: EvenShares, arcs: Arcs, num_nodes: int, flows: IntArray) -> IntArray:
    """Keep the fewest hops of a flow with which bins give and take as much of their excess as with the whole flow.

    Arguments and result are those of `prune_by_component`. Returns the remaining flow on each arc. Raises ValueError if
    the arcs do not carry a flow between bins.

    Guarantees: within the arcs that the flow uses, no cheaper flow balances the bins equally.

    Complexity: a min-cost flow over these arcs.
    """
    gives, takes = _useful(shares, arcs, num_nodes, flows)
    net_outflow = _net_outflow(arcs, num_nodes, flows)[: len(gives)]
    used, bins, outside = np.flatnonzero(flows > 0), np.arange(len(gives)), np.full(len(gives), num_nodes)
    nothing = np.zeros(len(gives), dtype=np.int64)
    used_arcs = Arcs(arcs.tail[used], arcs.head[used], flows[used], arcs.cost[used])
    entering = Arcs(outside, bins, np.maximum(net_outflow, 0) - gives, nothing)
    leaving = Arcs(bins, outside, np.maximum(-net_outflow, 0) - takes, nothing)
    supply = np.zeros(num_nodes + 1, dtype=np.int64)
    supply[: len(gives)] = gives - takes
    supply[num_nodes] = -supply.sum()
    cheapest = min_cost_flow(Arcs.joined(used_arcs, entering, leaving), supply)
    if cheapest is None:
        raise ValueError("the arcs do not carry a flow between bins")
    kept = np.zeros_like(flows)
    kept[used] = cheapest[: len(used)]
    return kept


def _useful(shares: EvenShares, arcs: Arcs, num_nodes: int, flows: IntArray) -> tuple[IntArray, IntArray]:
    """Return how much of each bin's outflow it must give, and of its inflow it must take, shape (bins,) each."""
    net_outflow = _net_outflow(arcs, num_nodes, flows)[: len(shares.load)]
    return np.clip(net_outflow, 0, shares.must_give), np.clip(-net_outflow, 0, shares.must_take)


def _net_outflow(arcs: Arcs, num_nodes: int, flows: IntArray) -> IntArray:
    """Return the outflow of each node minus its inflow, shape (nodes,)."""
    net_outflow = np.zeros(num_nodes, dtype=np.int64)
    np.add.at(net_outflow, arcs.tail, flows)
    np.subtract.at(net_outflow, arcs.head, flows)
    return net_outflow


def _components(tail: IntArray, head: IntArray, num_nodes: int) -> IntArray:
    """Return the lowest node of each node's weakly connected component, shape (nodes,)."""
    label = np.arange(num_nodes)
    while True:
        low = np.minimum(label[tail], label[head])
        merged = label.copy()
        np.minimum.at(merged, label[tail], low)
        np.minimum.at(merged, label[head], low)
        while not np.array_equal(merged, merged[merged]):
            merged = merged[merged]
        if np.array_equal(merged, label):
            return label
        label = merged


Costs = Literal["none", "published", "fixed"]
Pruning = Literal["none", "component", "path"]


@dataclass(frozen=True, slots=True)
class BalancingMethod:
    """The method of balancing; each part can be disabled to measure its effect.

    Raises ValueError if costs or pruning is unknown.

    Attributes:
        residue: whether the remainders of rounding flow through two nodes per group.
        costs: none: any max flow; published: a hop and a unit of the residue cost 1 each; fixed: a unit of the residue
            costs more than any chain of hops.
        pruning: the part of the flow to apply. none: all; component: the weakly connected components that improve
            balance; path: the fewest hops with the same balance.
        checks: whether to skip even groups, apply the flow only if it improves balance, and repeat it until it does
            not. Otherwise the flow is applied once.
    """

    residue: bool = True
    costs: Costs = "fixed"
    pruning: Pruning = "path"
    checks: bool = True

    def __post_init__(self) -> None:
        for name, value, allowed in (("costs", self.costs, Costs), ("pruning", self.pruning, Pruning)):
            if value not in get_args(allowed):
                raise ValueError(f"unknown {name} '{value}' ({name}: {', '.join(get_args(allowed))})")


@dataclass(frozen=True, slots=True, eq=False)
class BalancingFlow:
    """A flow between bins.

    Attributes:
        flows: the flow on each arc.
        is_full: whether all arcs at the source are full, so that no further arcs could increase the flow.
    """

    flows: IntArray
    is_full: bool


def balance_bins(
    shares: EvenShares, arcs: Arcs, num_nodes: int, max_chain: int, method: BalancingMethod
) -> BalancingFlow:
    """Compute the flow.

    `shares`: the bins, which are the first nodes. `arcs`: the possible transfers between bins, through other nodes; the
    arcs with a cost are hops. `num_nodes`: the number of nodes, including bins. `max_chain`: the maximum number of hops
    in a chain. Returns the flow on the arcs, after pruning.
    """
    residue_cost = 1 if method.costs == "published" else max_chain + 1
    ends = _ends(shares, num_nodes, residue_cost if method.residue else None)
    network = Arcs.joined(arcs, ends)
    source, sink, last = num_nodes, num_nodes + 1, num_nodes + 2 + 2 * shares.num_groups
    if method.costs == "none":
        all_flows = max_flow(network, source, sink)
    else:
        all_flows = max_flow_min_cost(network, source, sink, last)
    is_full = bool((all_flows == network.capacity)[network.tail == source].all())
    flows = all_flows[: len(arcs.tail)]
    if method.pruning == "component":
        flows = prune_by_component(shares, arcs, num_nodes, flows)
    elif method.pruning == "path":
        flows = prune_by_path(shares, arcs, num_nodes, flows)
    return BalancingFlow(flows, is_full)


def _ends(shares: EvenShares, source: int, residue_cost: int | None) -> Arcs:
    """Return the arcs at the source and the sink; a residue with a cost adds two nodes per group, one at either end."""
    sink, first = source + 1, source + 2
    groups = np.arange(shares.num_groups)
    surplus_nodes, deficit_nodes = first + groups, first + shares.num_groups + groups
    over, under = np.flatnonzero(shares.is_over), np.flatnonzero(shares.is_under)
    direct = (arcs_between(source, over, shares.must_give[over]), arcs_between(under, sink, shares.must_take[under]))
    if residue_cost is None:
        return Arcs.joined(*direct)
    return Arcs.joined(
        *direct,
        arcs_between(source, surplus_nodes, shares.residue(shares.is_over), residue_cost),
        arcs_between(surplus_nodes[shares.group[over]], over),
        arcs_between(under, deficit_nodes[shares.group[under]]),
        arcs_between(deficit_nodes, sink, shares.residue(shares.is_under), residue_cost),
    )


def arcs_between(tail: IntArray | int, head: IntArray | int, capacity: IntArray | int = 1, cost: int = 0) -> Arcs:
    """Return arcs; a single number applies to all of them."""
    columns = np.broadcast_arrays(*(np.asarray(column, dtype=np.int64) for column in (tail, head, capacity, cost)))
    return Arcs(*(np.ascontiguousarray(column) for column in columns))
