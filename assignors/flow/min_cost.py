"""Network flow solvers of OR-Tools, with arrays as input and output.

Source: `ortools.graph.python`: `min_cost_flow.SimpleMinCostFlow` (cost scaling) and `max_flow.SimpleMaxFlow`
(push-relabel).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assignors.model.columns import IntArray

MAX_COST = 1 << 58
"""Upper limit of the largest cost times the number of nodes, so that the solver does not overflow."""


@dataclass(frozen=True, slots=True, eq=False)
class Arcs:
    """The arcs of a directed graph; each array has one entry for each arc.

    Attributes:
        tail: start node.
        head: end node.
        capacity: maximum flow.
        cost: cost of one unit of flow.
    """

    tail: IntArray
    head: IntArray
    capacity: IntArray
    cost: IntArray

    @classmethod
    def joined(cls, *parts: Arcs) -> Arcs:
        """Return the arcs of several graphs over the same nodes, concatenated."""
        names = ("tail", "head", "capacity", "cost")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def min_cost_flow(arcs: Arcs, supply: IntArray) -> IntArray | None:
    """Find the cheapest flow that carries all supplies to all demands.

    `arcs`: the graph; costs may be negative. `supply`: supply of each node, negative for a demand; the sum is 0.
    Returns the flow of each arc; None if there is no feasible flow. Raises OverflowError if the costs are too large for
    the solver.
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
    raise OverflowError(f"the solver failed ({status.name}): costs times nodes must be below 2^63")


def max_flow(arcs: Arcs, source: int, sink: int) -> IntArray:
    """Return the flow of each arc in a maximum flow between two nodes; costs are ignored.

    Raises OverflowError if the maximum flow is too large for the solver.
    """
    from ortools.graph.python.max_flow import SimpleMaxFlow

    solver = SimpleMaxFlow()
    solver.add_arcs_with_capacity(arcs.tail, arcs.head, arcs.capacity)
    status = solver.solve(source, sink)
    if status != solver.OPTIMAL:
        raise OverflowError(f"the maximum flow is too large for the solver ({status.name})")
    flows: IntArray = solver.flows(np.arange(len(arcs.tail)))
    return flows


def max_flow_min_cost(arcs: Arcs, source: int, sink: int, num_nodes: int) -> IntArray:
    """Return the flow of each arc in the cheapest maximum flow between two nodes.

    Raises OverflowError if the flow or its costs are too large for the solver.
    """
    flows = max_flow(arcs, source, sink)
    amount = int(flows[arcs.tail == source].sum() - flows[arcs.head == source].sum())
    supply = np.zeros(num_nodes, dtype=np.int64)
    supply[source], supply[sink] = amount, -amount
    cheapest = min_cost_flow(arcs, supply)
    if cheapest is None:
        raise OverflowError("the maximum flow is not feasible as a min-cost flow")
    return cheapest


def distances(arcs: Arcs, flows: IntArray, num_nodes: int) -> IntArray:
    """Return the shortest distance of each node from any node in the residual graph of a min-cost flow.

    The distances prove that the flow is optimal: with them, no arc with free capacity has a negative reduced cost. An
    additional arc can make the flow cheaper only if its reduced cost is negative.

    Complexity: O(arcs), vectorized, for each arc of the longest shortest path.
    """
    forward, backward = flows < arcs.capacity, flows > 0
    tail = np.concatenate([arcs.tail[forward], arcs.head[backward]])
    head = np.concatenate([arcs.head[forward], arcs.tail[backward]])
    cost = np.concatenate([arcs.cost[forward], -arcs.cost[backward]])
    order = np.argsort(head, kind="stable")
    tail, head, cost = tail[order], head[order], cost[order]
    starts = np.flatnonzero(np.diff(head, prepend=-1))
    reached = head[starts]
    distance = np.zeros(num_nodes, dtype=np.int64)
    while len(starts):
        nearer = np.minimum(distance[reached], np.minimum.reduceat(distance[tail] + cost, starts))
        if (nearer == distance[reached]).all():
            break
        distance[reached] = nearer
    return distance
