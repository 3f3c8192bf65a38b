"""The residual graph of the flow kernels, and the cycles of moves between two assignments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from assignors.compilation import Matrix, Vector


def decompose_into_cycles(sources: Sequence[int], destinations: Sequence[int]) -> list[list[int]]:
    """Decompose moves into cycles: each move starts at the client at which the one before it ends.

    `sources`: client of each move's task before; M entries. `destinations`: client after; different from the source,
    and each client occurs as often as in `sources`. Returns numbers of the moves of each cycle, in its order. Each move
    is in one cycle; no cycle visits a client twice.

    Guarantees: if the later assignment has the minimum total cost among those with the same number of tasks on each
    client, and the cost of a task depends only on its own client, no cycle has a positive cost; undoing it would reduce
    the cost.

    Complexity: O(M).
    """
    moves_from: dict[int, list[int]] = {}
    for move in reversed(range(len(sources))):
        moves_from.setdefault(sources[move], []).append(move)
    cycles: list[list[int]] = []
    for start in list(moves_from):
        path: list[int] = []
        position_of = {start: 0}
        client = start
        while moves_from[client] or path:
            move = moves_from[client].pop()
            path.append(move)
            client = destinations[move]
            if client in position_of:
                position = position_of[client]
                for closed in path[position:]:
                    position_of.pop(destinations[closed])
                cycles.append(path[position:])
                del path[position:]
            position_of[client] = len(path)
    return [cycle[(first := cycle.index(min(cycle))) :] + cycle[:first] for cycle in cycles]


UNREACHABLE = 1 << 60
"""Distance that exceeds all others."""


class ResidualNetwork(NamedTuple):
    """A residual graph; the kernels change `owner`, `held`, `spare`, `cheapest` and `best` in place.

    The nodes are tasks, *shares* ``s = group * clients + client`` (Kafka's first-stage client nodes; with one group,
    the client nodes of ``min_traffic``) and clients (the second stage). A group is a subtopology that has tasks.
    """

    clients: int
    """number of clients"""
    linked: int
    """1 if a share can have free capacity, so that tasks may pass from group to group on a client; else 0"""
    negative: int
    """1 if a cost is negative"""
    costs: Matrix
    """[task][client] cost"""
    rack: Vector
    """[client] rack: a task has one cost on all clients of a rack, except on its home"""
    home: Vector
    """[task] client on which the task costs no more than on others of its rack; empty if no task has a home"""
    return_cost: Vector
    """[task] cost on its home minus that on its client; empty if no task has a home"""
    rack_costs: Matrix
    """[task][rack] cost on the clients of the rack, except on the task's home; UNREACHABLE if it has no other"""
    owner: Vector
    """[task] client; may be longer than the number of tasks"""
    group: Vector
    """[task] group, ascending"""
    first: Vector
    """[group] first task; at the end the number of tasks"""
    held: Vector
    """[share] number of tasks"""
    spare: Vector
    """[share] free capacity towards the client: capacity minus `held`"""
    cheapest: Matrix
    """[share][rack] minimum cost of moving a task of the share to the rack, homes left out; UNREACHABLE if empty"""
    best: Vector
    """[share] minimum of `cheapest`"""
    reached: Vector
    """scratch, [group, rack]"""


def refresh_share(network: ResidualNetwork, share: int) -> None:
    """Recompute `cheapest` and `best` of a share, and `return_cost`, from its tasks."""
    clients = network.clients
    costs = network.costs
    owner = network.owner
    row = network.cheapest[share]
    group = share // clients
    client = share % clients
    for rack in range(len(row)):
        row[rack] = UNREACHABLE
    for task in range(network.first[group], network.first[group + 1]):
        if owner[task] == client:
            current_cost = costs[task][client]
            if len(network.home) > 0:
                network.return_cost[task] = costs[task][network.home[task]] - current_cost
            rack_costs = network.rack_costs[task]
            for rack in range(len(row)):
                move = rack_costs[rack] - current_cost
                if move < row[rack]:
                    row[rack] = move
    best = row[0]
    for rack in range(len(row)):
        if row[rack] < best:
            best = row[rack]
    network.best[share] = best


def count_tasks(network: ResidualNetwork) -> int:
    """Return the number of tasks."""
    return int(network.first[len(network.first) - 1])
