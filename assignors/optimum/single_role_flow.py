"""The cheapest placement of the copies of one role: a min-cost flow, with or without subtopologies.

Source: Ahuja, Magnanti, Orlin, "Network Flows" (transport problems; bounds on nested sets of arcs into a node).
"""

from __future__ import annotations

import numpy as np

from assignors.flow.min_cost import Arcs, min_cost_flow
from assignors.model.columns import BoolArray, IntArray
from assignors.optimum.aggregated_clients import AggregatedClients


def place_one_role(pools: AggregatedClients, copies: int) -> BoolArray | None:
    """Place the copies of each task on different clients.

    Args:
        pools: prices, bounds and cells; with more than one copy of each task, cells of one client each.
        copies: copies of each task.

    Returns:
        Shape (N, C); clients with a copy; None if the bounds cannot be met.

    Complexity: a min-cost flow over N·P + S + G·C arcs: P pools, G groups, S pairs of task and client that are cheaper
    than the pool.
    """
    number, num_clients = pools.price.shape
    groups, num_pools = len(pools.bounds.group_min_copies), pools.num_pools
    first_pool = number
    first_part = first_pool + groups * num_pools
    first_client = first_part + groups * num_clients
    sink = first_client + num_clients
    group = pools.bounds.group
    task, client = np.nonzero(pools.has_own_arc)
    parts = np.arange(groups * num_clients)
    part_client = parts % num_clients
    pooled_parts = np.flatnonzero(pools.pool[part_client] >= 0)
    pool_of_part = (parts // num_clients * num_pools + pools.pool[part_client])[pooled_parts]
    max_copies = pools.bounds.group_max_copies.ravel()
    clients = np.arange(num_clients)
    arcs = Arcs.joined(
        _unit_arcs(
            np.repeat(np.arange(number), num_pools),
            (first_pool + group[:, None] * num_pools + np.arange(num_pools)).ravel(),
            pools.pool_price.ravel(),
        ),
        _unit_arcs(task, first_part + group[task] * num_clients + client, pools.price[task, client]),
        Arcs(
            first_pool + pool_of_part, first_part + pooled_parts, max_copies[pooled_parts], np.zeros_like(pooled_parts)
        ),
        Arcs(
            first_part + parts,
            first_client + part_client,
            max_copies - pools.bounds.group_min_copies.ravel(),
            np.zeros_like(parts),
        ),
        Arcs(
            first_client + clients,
            np.full_like(clients, sink),
            pools.bounds.max_copies - pools.bounds.min_copies,
            np.zeros_like(clients),
        ),
    )
    flow = _solve_flow(arcs, _supply(pools, copies, sink, first_part, first_client))
    if flow is None:
        return None
    own = np.zeros_like(pools.has_own_arc)
    pool_arcs, own_arcs = number * num_pools, number * num_pools + len(task)
    has_copy = flow[pool_arcs:own_arcs] > 0
    own[task[has_copy], client[has_copy]] = True
    taken = np.zeros(groups * num_clients, dtype=np.int64)
    taken[pooled_parts] = flow[own_arcs : own_arcs + len(pooled_parts)]
    to_pool = flow[:pool_arcs].reshape(number, num_pools) > 0
    return pools.choose_clients(own, to_pool, taken.reshape(groups, num_clients))


def _unit_arcs(tail: IntArray, head: IntArray, cost: IntArray) -> Arcs:
    return Arcs(tail, head, np.ones_like(tail), cost)


def _supply(pools: AggregatedClients, copies: int, sink: int, first_part: int, first_client: int) -> IntArray:
    """Return the supplies after each part and each client received its minimum."""
    supply = np.zeros(sink + 1, dtype=np.int64)
    number = len(pools.price)
    supply[:number] = copies
    supply[first_part:first_client] = -pools.bounds.group_min_copies.ravel()
    supply[first_client:sink] = pools.bounds.group_min_copies.sum(axis=0) - pools.bounds.min_copies
    supply[sink] = int(pools.bounds.min_copies.sum()) - number * copies
    return supply


def _solve_flow(arcs: Arcs, supply: IntArray) -> IntArray | None:
    return None if (arcs.capacity < 0).any() else min_cost_flow(arcs, supply)
