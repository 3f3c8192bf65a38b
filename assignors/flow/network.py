"""The residual graph that the flow kernels work on, as plain columns."""

from __future__ import annotations

from typing import NamedTuple

from assignors.compilation import Matrix, Vector

UNREACHABLE = 1 << 60


class ResidualNetwork(NamedTuple):
    """One residual graph; the kernels change `owner`, `held`, `spare`, `cheapest` and `best` in place.

    Its nodes are tasks, *shares* ``s = group * clients + client`` (Kafka's first-stage client nodes; with one group
    they are the client nodes of ``min_traffic``) and clients (the second stage). A group is a subtopology with tasks.
    """

    clients: int
    linked: int
    """1 if some share has room, so that tasks may pass from group to group on a client; 0 if none ever can have."""
    negative: int
    """1 if some cost is negative."""
    costs: Matrix
    """[task][client]"""
    least: Vector
    """[task] the least of its costs"""
    owner: Vector
    """[task] client; rows of tasks may be longer than there are tasks"""
    group: Vector
    """[task] group, ascending"""
    first: Vector
    """[group] its first task; at the end the number of tasks"""
    held: Vector
    """[share] tasks it holds: what its client can hand back to it"""
    spare: Vector
    """[share] tasks it could still hand on to its client: capacity less held"""
    cheapest: Matrix
    """[share][client] the least cost of moving one of the share's tasks to that client; FAR if it holds none"""
    best: Vector
    """[share] the least of `cheapest`"""


def refresh_share(network: ResidualNetwork, share: int) -> None:
    """Recomputes `cheapest` and `best` of a share from the tasks it holds now."""
    clients = network.clients
    costs = network.costs
    owner = network.owner
    row = network.cheapest[share]
    group = share // clients
    client = share % clients
    for other in range(clients):
        row[other] = UNREACHABLE
    for task in range(network.first[group], network.first[group + 1]):
        if owner[task] == client:
            cost = costs[task]
            here = cost[client]
            for other in range(clients):
                move = cost[other] - here
                if move < row[other]:
                    row[other] = move
    best = row[0]
    for other in range(clients):
        if row[other] < best:
            best = row[other]
    network.best[share] = best


def count_tasks(network: ResidualNetwork) -> int:
    """How many tasks there are."""
    return int(network.first[len(network.first) - 1])
