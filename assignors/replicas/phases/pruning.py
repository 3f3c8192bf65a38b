"""Which part of a flow between bins does any good: the rest changes places and leaves everything as uneven.

Source: Pinterest, "Using graph algorithms to optimize Kafka operations, part 2": weakly connected components, of which
those that do not reduce the skew are left out. Paths go further: a component that reduces it may still hold paths that
do not.
"""

from __future__ import annotations

import numpy as np

from assignors.flow.min_cost import Arcs, min_cost_flow
from assignors.model.columns import IntArray
from assignors.replicas.phases.even_shares import EvenShares


def prune_by_component(shares: EvenShares, arcs: Arcs, num_nodes: int, flows: IntArray) -> IntArray:
    """Leave out weakly connected components in which no bin gives what it must give, or takes what it must take.

    Args:
        shares: the bins, which are the first nodes.
        arcs: the graph.
        num_nodes: how many nodes it has.
        flows: what each arc carries.

    Returns:
        What each arc still carries.

    Complexity: O(arcs · log(nodes)).
    """
    gives, takes = _useful(shares, arcs, num_nodes, flows)
    used = flows > 0
    component = _components(arcs.tail[used], arcs.head[used], num_nodes)
    is_useful = np.zeros(num_nodes, dtype=np.bool_)
    is_useful[component[: len(shares.load)][(gives > 0) | (takes > 0)]] = True
    return np.where(is_useful[component[arcs.tail]], flows, 0)


def prune_by_path(shares: EvenShares, arcs: Arcs, num_nodes: int, flows: IntArray) -> IntArray:
    """Keep the fewest hops of a flow by which bins give what they must, and take what they must, as they do by all.

    Arguments and result are those of `pruned_by_component`.

    Guarantees: within the arcs that the flow uses, nothing cheaper makes bins as even.

    Complexity: a cheapest flow over these arcs.
    """
    gives, takes = _useful(shares, arcs, num_nodes, flows)
    sent = _sent(arcs, num_nodes, flows)[: len(gives)]
    used, bins, world = np.flatnonzero(flows > 0), np.arange(len(gives)), np.full(len(gives), num_nodes)
    nothing = np.zeros(len(gives), dtype=np.int64)
    part = Arcs(arcs.tail[used], arcs.head[used], flows[used], arcs.cost[used])
    more = Arcs(world, bins, np.maximum(sent, 0) - gives, nothing)
    less = Arcs(bins, world, np.maximum(-sent, 0) - takes, nothing)
    supply = np.zeros(num_nodes + 1, dtype=np.int64)
    supply[: len(gives)] = gives - takes
    supply[num_nodes] = -supply.sum()
    cheapest = min_cost_flow(Arcs.joined(part, more, less), supply)
    if cheapest is None:
        raise ValueError("what the arcs carry is no flow between bins")
    kept = np.zeros_like(flows)
    kept[used] = cheapest[: len(used)]
    return kept


def _useful(shares: EvenShares, arcs: Arcs, num_nodes: int, flows: IntArray) -> tuple[IntArray, IntArray]:
    """Shape (bins,) each; how much of what a bin sends it must give, and of what it receives it must take."""
    sent = _sent(arcs, num_nodes, flows)[: len(shares.load)]
    return np.clip(sent, 0, shares.must_give), np.clip(-sent, 0, shares.must_take)


def _sent(arcs: Arcs, num_nodes: int, flows: IntArray) -> IntArray:
    """Shape (nodes,); what leaves each node, less what enters it."""
    sent = np.zeros(num_nodes, dtype=np.int64)
    np.add.at(sent, arcs.tail, flows)
    np.subtract.at(sent, arcs.head, flows)
    return sent


def _components(tail: IntArray, head: IntArray, num_nodes: int) -> IntArray:
    """Shape (nodes,); the lowest node that each hangs together with, whatever the arcs' direction."""
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
