"""The maximum flow of Kafka's `balance_subtopology`: shortest augmenting paths from an empty flow.

Guarantees
    The flow from which Kafka's cycle canceling starts, path by path.
Priority
    Breadth first, neighbors in ascending node number: tasks, then shares by group and client, then clients, then the
    sink. So an unassigned task goes to the first share with capacity, by group and client, whose client has capacity.
    Assigned tasks move only if there is none.
Complexity
    At most shares + clients steps for each task; each moved task scans its group.
Source
    ``Graph.fordFulkson`` and ``breadthFirstSearch`` of Kafka Streams. Why few tasks enter the queue: the first task
    of a group that is scanned has an arc to each share of the group except its own, which was visited before. Later
    tasks of the group reach nothing new. If the group has unassigned tasks, the first of them is scanned first; else
    the first task of the first share.
"""

from __future__ import annotations

from assignors.compilation import Vector
from assignors.flow.network import ResidualNetwork, count_tasks
from assignors.model.assignment import UNASSIGNED

FROM_CLIENT = -1
FROM_SOURCE = -1


def assign_all(
    network: ResidualNetwork,
    free_capacity: Vector,
    queue: Vector,
    parent: Vector,
    seen: Vector,
    opened: Vector,
    origin: Vector,
) -> int:
    """Assign tasks, all UNASSIGNED at first, one augmenting path at a time (kernel).

    Returns the number of assigned tasks.

    Args:
        network: the residual graph to change.
        free_capacity: [client] free capacity to the sink; changed.
        queue: scratch, [group + share + client].
        parent: scratch, [share, then client].
        seen: scratch, [share, then client].
        opened: scratch, [group].
        origin: scratch, [task].
    """
    for node in range(len(seen)):
        seen[node] = 0
    for group in range(len(opened)):
        opened[group] = 0
    for number in range(count_tasks(network)):
        client = find_path(network, free_capacity, queue, parent, seen, opened, origin, number + 1)
        if client < 0:
            return number
        free_capacity[client] -= 1
        push_back(network, parent, origin, client)
    return count_tasks(network)


def find_path(
    network: ResidualNetwork,
    free_capacity: Vector,
    queue: Vector,
    parent: Vector,
    seen: Vector,
    opened: Vector,
    origin: Vector,
    stamp: int,
) -> int:
    """Return the client before the sink on the shortest augmenting path, or -1 (kernel).

    Entries of `seen` and `opened` that equal `stamp` were visited in this search. The queue holds tasks, then tasks +
    share, then tasks + shares + client.
    """
    clients = network.clients
    tasks = count_tasks(network)
    shares = len(network.held)
    head = tail = 0
    for group in range(len(opened)):
        task = first_of(network, group, UNASSIGNED)
        if task >= 0:
            opened[group] = stamp
            origin[task] = FROM_SOURCE
            queue[tail] = task
            tail += 1
    while head < tail:
        node = queue[head]
        head += 1
        if node < tasks:
            base = network.group[node] * clients
            for share in range(base, base + clients):
                if seen[share] != stamp:
                    seen[share] = stamp
                    parent[share] = node
                    queue[tail] = tasks + share
                    tail += 1
        elif node < tasks + shares:
            share = node - tasks
            group = share // clients
            client = share % clients
            if network.held[share] > 0 and opened[group] != stamp:
                opened[group] = stamp
                task = first_of(network, group, client)
                origin[task] = share
                queue[tail] = task
                tail += 1
            if network.spare[share] > 0 and seen[shares + client] != stamp:
                seen[shares + client] = stamp
                parent[shares + client] = share
                queue[tail] = tasks + shares + client
                tail += 1
        else:
            client = node - tasks - shares
            if free_capacity[client] > 0:
                return client
            for share in range(client, shares, clients):
                if network.held[share] > 0 and seen[share] != stamp:
                    seen[share] = stamp
                    parent[share] = FROM_CLIENT
                    queue[tail] = tasks + share
                    tail += 1
    return -1


def first_of(network: ResidualNetwork, group: int, client: int) -> int:
    """Return the first task of the group on the client, or -1 (kernel)."""
    for task in range(network.first[group], network.first[group + 1]):
        if network.owner[task] == client:
            return task
    return -1


def push_back(network: ResidualNetwork, parent: Vector, origin: Vector, client: int) -> None:
    """Push 1 unit along the path that ends at a client: each task on it moves to the share that it reached (kernel)."""
    clients = network.clients
    share = parent[len(network.held) + client]
    while True:
        task = parent[share]
        if task == FROM_CLIENT:
            share = parent[len(network.held) + share % clients]
            continue
        network.owner[task] = share % clients
        network.held[share] += 1
        network.spare[share] -= 1
        former = origin[task]
        if former == FROM_SOURCE:
            return
        network.held[former] -= 1
        network.spare[former] += 1
        share = former
