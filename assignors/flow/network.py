"""The residual graph of the flow kernels."""

from __future__ import annotations

from typing import NamedTuple

from assignors.compilation import Matrix, Vector

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
    least: Vector
    """[task] minimum cost"""
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
    """[share][client] minimum cost of moving a task of the share to the client; UNREACHABLE if the share is empty"""
    best: Vector
    """[share] minimum of `cheapest`"""


def refresh_share(network: ResidualNetwork, share: int) -> None:
    """Recompute `cheapest` and `best` of a share from its tasks."""
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
            current_cost = cost[client]
            for other in range(clients):
                move = cost[other] - current_cost
                if move < row[other]:
                    row[other] = move
    best = row[0]
    for other in range(clients):
        if row[other] < best:
            best = row[other]
    network.best[share] = best


def count_tasks(network: ResidualNetwork) -> int:
    """Return the number of tasks."""
    return int(network.first[len(network.first) - 1])
