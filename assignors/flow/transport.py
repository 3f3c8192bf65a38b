"""Min-cost placement of tasks on clients with limited capacity, where the cost of a task depends on the client's rack.

Clients of a rack differ only by the tasks that they held before: such a task has no move cost there. A task therefore
needs one arc to each rack and one to each client that held it, instead of one to each client. The optimum is the same
with T·R arcs instead of T·C, because a task that is new in a rack may use any free capacity there.
`assign_clients` chooses the clients.

Source: Ahuja, Magnanti, Orlin, "Network Flows" (transport problems); the aggregation is this project's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from assignors.flow.min_cost import Arcs, min_cost_flow
from assignors.model.columns import BoolArray, IntArray, cells


@dataclass(frozen=True, slots=True, eq=False)
class TransportProblem:
    """A transport problem of N tasks, R racks and C clients.

    Attributes:
        num_copies: shape (N,); copies of each task to place.
        traffic_cost: shape (N, R); cost of a copy in a rack.
        held: shape (N, C); clients on which a copy has no move cost.
        move_cost: cost of a copy on any other client.
        rack: shape (C,); rack of each client.
        max_copies: shape (C,); maximum number of copies of each client.
        min_copies: shape (C,); minimum number of copies of each client.
    """

    num_copies: IntArray
    traffic_cost: IntArray
    held: BoolArray
    move_cost: int
    rack: IntArray
    max_copies: IntArray
    min_copies: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class TransportSolution:
    """An optimal solution of a transport problem.

    Attributes:
        cost: total cost.
        kept: shape (N, C); copies that stay where they were held.
        by_rack: shape (N, R); number of copies of each task that are new in a rack.
        new_copies: shape (C,); number of new copies of each client.
    """

    cost: int
    kept: BoolArray
    by_rack: IntArray
    new_copies: IntArray


def solve_transport(problem: TransportProblem) -> TransportSolution | None:
    """Solve a transport problem.

    With one copy for each task, the solution is exact. With several, its cost is a lower bound: two copies of a task
    may share a client if one of them is new.

    Returns:
        The solution; None if the capacities or the minimums cannot be met.

    Complexity: a min-cost flow over N·R + H + 2·C arcs; H is the number of True entries of `held`.
    """
    num_tasks, num_racks = problem.traffic_cost.shape
    num_clients = len(problem.rack)
    total = int(problem.num_copies.sum())
    if int(problem.min_copies.sum()) > total or (problem.min_copies > problem.max_copies).any():
        return None
    first_rack, first_client = num_tasks, num_tasks + num_racks
    sink = first_client + num_clients
    task, client = cells(problem.held)
    clients = np.arange(num_clients)
    nothing = np.zeros(num_clients, dtype=np.int64)
    arcs = Arcs.joined(
        Arcs(
            *_ends_of_new_copies(num_tasks, num_racks),
            capacity=np.tile(np.bincount(problem.rack, minlength=num_racks), num_tasks),
            cost=(problem.traffic_cost + problem.move_cost).ravel(),
        ),
        Arcs(task, client + first_client, np.ones_like(task), problem.traffic_cost[task, problem.rack[client]]),
        Arcs(problem.rack + first_rack, clients + first_client, problem.max_copies, nothing),
        Arcs(clients + first_client, np.full(num_clients, sink), problem.max_copies - problem.min_copies, nothing),
    )
    supply = np.concatenate([problem.num_copies, np.zeros(num_racks, dtype=np.int64), -problem.min_copies, [0]])
    supply[sink] = int(problem.min_copies.sum()) - total
    flow = min_cost_flow(arcs, supply)
    if flow is None:
        return None
    num_new, held = num_tasks * num_racks, len(task)
    kept = np.zeros_like(problem.held)
    stays = flow[num_new : num_new + held] > 0
    kept[task[stays], client[stays]] = True
    return TransportSolution(
        cost=int((flow * arcs.cost).sum()),
        kept=kept,
        by_rack=flow[:num_new].reshape(num_tasks, num_racks),
        new_copies=flow[num_new + held : num_new + held + num_clients],
    )


@lru_cache(maxsize=16)
def _ends_of_new_copies(num_tasks: int, num_racks: int) -> tuple[IntArray, IntArray]:
    """Return the tails and heads of the arcs from each task to each rack; read-only."""
    tail = np.repeat(np.arange(num_tasks), num_racks)
    head = np.tile(np.arange(num_racks), num_tasks) + num_tasks
    for ends in (tail, head):
        ends.setflags(write=False)
    return tail, head


def assign_clients(problem: TransportProblem, solution: TransportSolution) -> IntArray:
    """Choose the client of each task of a solution with one copy for each task.

    Tasks that are new in a rack fill the capacity of its clients in ascending order of tasks and clients. The result
    has shape (N,): the client of each task.
    """
    owner: IntArray = solution.kept.argmax(axis=1)
    for rack in range(problem.traffic_cost.shape[1]):
        rows = np.flatnonzero(solution.by_rack[:, rack])
        clients_in_rack = np.flatnonzero(problem.rack == rack)
        owner[rows] = np.repeat(clients_in_rack, solution.new_copies[clients_in_rack])[: len(rows)]
    return owner
