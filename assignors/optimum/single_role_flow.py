"""The cheapest way to place the copies of one role: a min-cost flow, with subtopologies or without.

Source: Ahuja, Magnanti, Orlin, "Network Flows" (transport problems; bounds on nested sets of arcs into a node).
"""

from __future__ import annotations

import numpy as np

from assignors.flow.min_cost import Arcs, min_cost_flow
from assignors.model.columns import BoolArray, IntArray
from assignors.optimum.aggregated_clients import AggregatedClients


def cheapest(pools: AggregatedClients, copies: int) -> BoolArray | None:
    """Place so many copies of each task, on different clients.

    Args:
        pools: prices, rooms and cells; with more than one copy, cells of one client each.
        copies: of each task.

    Returns:
        Shape (N, C); where the copies are; None if the clients' rooms do not admit it.

    Complexity: a min-cost flow over N·P + S + G·C arcs: P pools, G groups, S places cheaper than their pool.
    """
    number, num_clients = pools.price.shape
    groups, num_pools = len(pools.rooms.group_least), pools.num_pools
    first_pool = number
    first_part = first_pool + groups * num_pools
    first_client = first_part + groups * num_clients
    sink = first_client + num_clients
    group = pools.rooms.group
    task, client = np.nonzero(pools.is_own)
    every = np.arange(groups * num_clients)
    part_client = every % num_clients
    inside = np.flatnonzero(pools.pooled[part_client] >= 0)
    into = (every // num_clients * num_pools + pools.pooled[part_client])[inside]
    most = pools.rooms.group_most.ravel()
    ends = np.arange(num_clients)
    arcs = Arcs.joined(
        _free(
            np.repeat(np.arange(number), num_pools),
            (first_pool + group[:, None] * num_pools + np.arange(num_pools)).ravel(),
            pools.pool_price.ravel(),
        ),
        _free(task, first_part + group[task] * num_clients + client, pools.price[task, client]),
        Arcs(first_pool + into, first_part + inside, most[inside], np.zeros_like(inside)),
        Arcs(
            first_part + every, first_client + part_client, most - pools.rooms.group_least.ravel(), np.zeros_like(every)
        ),
        Arcs(first_client + ends, np.full_like(ends, sink), pools.rooms.most - pools.rooms.least, np.zeros_like(ends)),
    )
    flow = _carried(arcs, _supply(pools, copies, sink, first_part, first_client))
    if flow is None:
        return None
    own = np.zeros_like(pools.is_own)
    pool_arcs, own_arcs = number * num_pools, number * num_pools + len(task)
    comes = flow[pool_arcs:own_arcs] > 0
    own[task[comes], client[comes]] = True
    taken = np.zeros(groups * num_clients, dtype=np.int64)
    taken[inside] = flow[own_arcs : own_arcs + len(inside)]
    to_pool = flow[:pool_arcs].reshape(number, num_pools) > 0
    return pools.placed(own, to_pool, taken.reshape(groups, num_clients))


def _free(tail: IntArray, head: IntArray, cost: IntArray) -> Arcs:
    return Arcs(tail, head, np.ones_like(tail), cost)


def _supply(pools: AggregatedClients, copies: int, sink: int, first_part: int, first_client: int) -> IntArray:
    """What nodes give and take, after each part and each client was sent its least."""
    supply = np.zeros(sink + 1, dtype=np.int64)
    number = len(pools.price)
    supply[:number] = copies
    supply[first_part:first_client] = -pools.rooms.group_least.ravel()
    supply[first_client:sink] = pools.rooms.group_least.sum(axis=0) - pools.rooms.least
    supply[sink] = int(pools.rooms.least.sum()) - number * copies
    return supply


def _carried(arcs: Arcs, supply: IntArray) -> IntArray | None:
    return None if (arcs.capacity < 0).any() else min_cost_flow(arcs, supply)
