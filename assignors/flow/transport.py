"""The cheapest way to place tasks on clients with limited room, where what a task costs hangs on the client's rack.

Clients of a rack differ only by the tasks that they held before, which stay there at their traffic alone. So a task has
an arc to every rack and one to every client that held it, in place of one to every client: the same optimum with T·R
arcs instead of T·C, since a task that comes to a rack anew may take any room there. `expand` finds it a client.

Source: Ahuja, Magnanti, Orlin, "Network Flows" (transport problems); the aggregation is this project's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assignors.flow.min_cost import Arcs, min_cost_flow
from assignors.model.columns import BoolArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class TransportProblem:
    """A problem of N tasks, R racks and C clients.

    Attributes:
        copies: shape (N,); how many copies of each task are to be placed.
        traffic: shape (N, R); what a copy costs in a rack.
        held: shape (N, C); where a copy costs nothing more.
        moving: what it costs in addition anywhere else.
        rack: shape (C,); the clients' racks.
        most: shape (C,); how many copies each client takes at most.
        least: shape (C,); how many it takes at least.
    """

    copies: IntArray
    traffic: IntArray
    held: BoolArray
    moving: int
    rack: IntArray
    most: IntArray
    least: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class TransportSolution:
    """A solution.

    Attributes:
        cost: what it costs.
        kept: shape (N, C); the copies that are where they were held.
        by_rack: shape (N, R); how many copies of each task come to a rack anew.
        room: shape (C,); how many of these each client takes.
    """

    cost: int
    kept: BoolArray
    by_rack: IntArray
    room: IntArray


def solve(problem: TransportProblem) -> TransportSolution | None:
    """Find the cheapest placement.

    Two copies of a task may meet on a client, if one comes anew, or if several come to a rack; with one copy each the
    answer is exact, with several its cost is a lower bound.

    Returns:
        None if there is no room for all, or not enough to give every client its least.

    Complexity: a min-cost flow over N·R + H + 2·C arcs, where H entries of `held` are set.
    """
    num_tasks, num_racks = problem.traffic.shape
    num_clients = len(problem.rack)
    total = int(problem.copies.sum())
    if int(problem.least.sum()) > total or (problem.least > problem.most).any():
        return None
    first_rack, first_client = num_tasks, num_tasks + num_racks
    sink = first_client + num_clients
    task, client = np.nonzero(problem.held)
    clients = np.arange(num_clients)
    nothing = np.zeros(num_clients, dtype=np.int64)
    arcs = Arcs.joined(
        Arcs(
            tail=np.repeat(np.arange(num_tasks), num_racks),
            head=np.tile(np.arange(num_racks), num_tasks) + first_rack,
            capacity=np.tile(np.bincount(problem.rack, minlength=num_racks), num_tasks),
            cost=(problem.traffic + problem.moving).ravel(),
        ),
        Arcs(task, client + first_client, np.ones_like(task), problem.traffic[task, problem.rack[client]]),
        Arcs(problem.rack + first_rack, clients + first_client, problem.most, nothing),
        Arcs(clients + first_client, np.full(num_clients, sink), problem.most - problem.least, nothing),
    )
    supply = np.concatenate([problem.copies, np.zeros(num_racks, dtype=np.int64), -problem.least, [0]])
    supply[sink] = int(problem.least.sum()) - total
    flow = min_cost_flow(arcs, supply)
    if flow is None:
        return None
    anew, held = num_tasks * num_racks, len(task)
    kept = np.zeros_like(problem.held)
    stays = flow[anew : anew + held] > 0
    kept[task[stays], client[stays]] = True
    return TransportSolution(
        cost=int((flow * arcs.cost).sum()),
        kept=kept,
        by_rack=flow[:anew].reshape(num_tasks, num_racks),
        room=flow[anew + held : anew + held + num_clients],
    )


def expand(problem: TransportProblem, route: TransportSolution) -> IntArray:
    """Find a client for every task of which one copy is placed.

    Returns:
        Shape (N,); those that come to a rack anew take its clients' room in order, tasks and clients ascending.
    """
    owner: IntArray = route.kept.argmax(axis=1)
    for rack in range(problem.traffic.shape[1]):
        rows = np.flatnonzero(route.by_rack[:, rack])
        there = np.flatnonzero(problem.rack == rack)
        owner[rows] = np.repeat(there, route.room[there])[: len(rows)]
    return owner
