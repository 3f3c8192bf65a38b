"""OR-Tools' network flow, arrays in and arrays out.

Source: `ortools.graph.python`: `min_cost_flow.SimpleMinCostFlow` (cost scaling) and `max_flow.SimpleMaxFlow`
(push-relabel).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assignors.model.columns import IntArray

MAX_COST = 1 << 58
"""What the largest cost times the number of nodes should stay below, for the solver to count safely."""


@dataclass(frozen=True, slots=True, eq=False)
class Arcs:
    """A directed graph; every array has an entry an arc.

    Attributes:
        tail: the node it leaves.
        head: the node it enters.
        capacity: how much it carries at most.
        cost: what a unit costs.
    """

    tail: IntArray
    head: IntArray
    capacity: IntArray
    cost: IntArray

    @classmethod
    def joined(cls, *parts: Arcs) -> Arcs:
        """The arcs of several graphs over the same nodes, one after the other."""
        names = ("tail", "head", "capacity", "cost")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def min_cost_flow(arcs: Arcs, supply: IntArray) -> IntArray | None:
    """The cheapest flow that carries all supplies to all demands.

    Args:
        arcs: the graph; costs may be negative.
        supply: an entry a node; what leaves it, negative where it arrives. They sum to zero.

    Returns:
        What each arc carries, None if not all can be carried.

    Raises:
        OverflowError: costs so large that the solver cannot count with them.
    """
    from ortools.graph.python.min_cost_flow import SimpleMinCostFlow

    solver = SimpleMinCostFlow()
    solver.add_arcs_with_capacity_and_unit_cost(arcs.tail, arcs.head, arcs.capacity, arcs.cost)
    solver.set_nodes_supplies(np.arange(len(supply)), supply)
    status = solver.solve()
    if status == solver.OPTIMAL:
        flows: IntArray = solver.flows(np.arange(len(arcs.tail)))
        return flows
    if status == solver.INFEASIBLE:
        return None
    raise OverflowError(f"the flow cannot be solved ({status.name}); costs times nodes must stay below 2^63")


def max_flow(arcs: Arcs, source: int, sink: int) -> IntArray:
    """What each arc carries in a largest flow from one node to another; costs count for nothing."""
    from ortools.graph.python.max_flow import SimpleMaxFlow

    solver = SimpleMaxFlow()
    solver.add_arcs_with_capacity(arcs.tail, arcs.head, arcs.capacity)
    status = solver.solve(source, sink)
    if status != solver.OPTIMAL:
        raise OverflowError(f"the largest flow is too large to count ({status.name})")
    flows: IntArray = solver.flows(np.arange(len(arcs.tail)))
    return flows


def max_flow_min_cost(arcs: Arcs, source: int, sink: int, num_nodes: int) -> IntArray:
    """What each arc carries in the cheapest of the largest flows from one node to another."""
    flows = max_flow(arcs, source, sink)
    amount = int(flows[arcs.tail == source].sum() - flows[arcs.head == source].sum())
    supply = np.zeros(num_nodes, dtype=np.int64)
    supply[source], supply[sink] = amount, -amount
    cheapest = min_cost_flow(arcs, supply)
    if cheapest is None:
        raise OverflowError("the largest flow cannot be carried again")
    return cheapest


def distances(arcs: Arcs, flows: IntArray, num_nodes: int) -> IntArray:
    """Lengths of shortest paths in what a cheapest flow leaves free, to every node from whichever is nearest to it.

    They prove that the flow is cheapest: no arc with room left makes a head nearer than its tail plus its cost. An arc
    that is missing could make the flow cheaper only if it would.

    Complexity: O(arcs) for each arc of the longest such path, all arcs at a time.
    """
    ahead, back = flows < arcs.capacity, flows > 0
    tail = np.concatenate([arcs.tail[ahead], arcs.head[back]])
    head = np.concatenate([arcs.head[ahead], arcs.tail[back]])
    cost = np.concatenate([arcs.cost[ahead], -arcs.cost[back]])
    order = np.argsort(head, kind="stable")
    tail, head, cost = tail[order], head[order], cost[order]
    starts = np.flatnonzero(np.diff(head, prepend=-1))
    reached = head[starts]
    length = np.zeros(num_nodes, dtype=np.int64)
    while len(starts):
        nearer = np.minimum(length[reached], np.minimum.reduceat(length[tail] + cost, starts))
        if (nearer == length[reached]).all():
            break
        length[reached] = nearer
    return length
