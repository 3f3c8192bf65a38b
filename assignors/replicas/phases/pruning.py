"""Pruning of a flow between bins: the part that does not improve balance is removed.

Source: Pinterest, "Using graph algorithms to optimize Kafka operations, part 2": weakly connected components that do
not reduce the skew are left out. Pruning by path removes more: a component that reduces the skew may contain paths that
do not.
"""

from __future__ import annotations

import numpy as np

from assignors.flow.min_cost import Arcs, min_cost_flow
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

    Arguments and result are those of `prune_by_component`.

    Guarantees: within the arcs that the flow uses, no cheaper flow balances the bins equally.

    Complexity: a min-cost flow over these arcs.

    Raises:
        ValueError: the arcs do not carry a flow between bins.
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
    """Return how much of its outflow each bin must give, and how much of its inflow it must take, shape (bins,) each."""
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
