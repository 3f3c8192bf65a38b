"""Kafka's cycle canceling: the cycle that ends each search, and the tasks that it moves.

Guarantees
    The same cycles as Kafka's in the same order, hence the same final owners; after all cycles, the total cost is the
    minimum that the graph allows.
Priority
    A search ends at the first distance that is lowered in pass N, the last. A pass scans tasks in order, each relaxing
    the source and then the clients in order; then shares in order, each relaxing its tasks. From that node, parents are
    followed until a node repeats. The parent of a node is the last node that lowered its distance; among equals in one
    pass it is the first to be scanned: the first task of the group, or the first share of the client.
Complexity
    For each cycle: one search (`assignors.flow.distances`); its last pass, in which shares + tasks, and for at most one
    group racks x tasks, are scanned; and the tasks of one group for each node on the cycle.
Source
    ``Graph.cancelNegativeCycles`` of Kafka Streams. Why no other node can end a search: a share that lowers its client
    in pass N was lowered by a task before in the same pass, and a client that lowers a share by a share before. Where
    the second stage lowered a share late in pass N - 1, its first task is lowered in pass N. Each cycle contains
    tasks, whose arcs have capacity 1, so the pushed flow is 1. A share passes on what it holds, so the moves of the
    tasks describe the flow completely.
"""

from __future__ import annotations

from assignors.compilation import Matrix, Vector
from assignors.flow.distances import HISTORY_FULL, search_distances
from assignors.flow.network import UNREACHABLE, ResidualNetwork, count_tasks, refresh_share

FROM_CLIENT = -1
NO_TASK = -1


def cancel_cycles(
    network: ResidualNetwork,
    history: Matrix,
    last: int,
    classes: Vector,
    periods: Vector,
    falls: Vector,
    parent: Vector,
    seen: Vector,
) -> tuple[int, bool]:
    """Cancel negative cycles until none is left (kernel).

    Returns the number of cycles, and False if `history` has too few rows to continue.

    Args:
        network: the residual graph to change.
        history: scratch; rows of distances, see `search_distances`.
        last: Kafka's number of nodes minus 1.
        classes: scratch, [group].
        periods: scratch, [group].
        falls: scratch, [group].
        parent: scratch, [share, client].
        seen: scratch, [share, client].
    """
    for share in range(len(network.held)):
        refresh_share(network, share)
    cycles = 0
    row = search_distances(network, history, last, classes, periods, falls)
    while row >= 0:
        cancel_cycle(network, history, row, parent, seen)
        cycles += 1
        row = search_distances(network, history, last, classes, periods, falls)
    return cycles, row != HISTORY_FULL


def cancel_cycle(network: ResidualNetwork, history: Matrix, row: int, parent: Vector, seen: Vector) -> None:
    """Cancel the cycle that ends a search which reached `row` without convergence (kernel).

    A negative cycle then exists, so pass N lowers a distance: without one, no shortest path visits all N nodes (none
    visits the sink), and the search would have converged. Scratch as in `cancel_cycles`.
    """
    start, task = find_end(network, history[row - 1], history[row])
    for node in range(len(seen)):
        seen[node] = 0
    node = start
    while seen[node] == 0:
        seen[node] = 1
        if node == start and task != NO_TASK:
            parent[node] = task
        else:
            parent[node] = find_parent(network, history, row, node)
        node = follow(network, parent, node)
    while seen[node] == 1:
        seen[node] = 2
        node = follow(network, parent, node)
    move_tasks(network, parent, seen)


def find_end(network: ResidualNetwork, before: Vector, row: Vector) -> tuple[int, int]:
    """Return the share at which to start following parents, and the task that pass N makes its parent (kernel).

    `before` and `row` are the distances after passes N - 2 and N - 1; the source's distance is one pass behind. If a
    task lowers the source or is lowered itself, its share is next on the path. Returns the share, and the task or
    NO_TASK.
    """
    clients = network.clients
    owner = network.owner
    group = network.group
    held = network.held
    at_end = len(held) * network.linked
    find_highest(network, row, at_end)
    source = 0
    for task in range(count_tasks(network)):
        source = min(source, before[group[task] * clients + owner[task]] - network.costs[task][owner[task]])
    for task in range(count_tasks(network)):
        cost = network.costs[task]
        base = group[task] * clients
        distance = row[base + owner[task]] - cost[owner[task]]
        if distance < source:
            return base + owner[task], NO_TASK
        if lowers_client(network, row, at_end, task, distance):
            for client in range(clients):
                if distance + cost[client] < row[at_end + base + client]:
                    return base + client, task
    share = 0
    while held[share] == 0 or row[at_end + share] == row[share]:
        share += 1
    return share, NO_TASK


def find_highest(network: ResidualNetwork, row: Vector, at_end: int) -> None:
    """Write the highest distance of each group in each rack to `reached` (kernel)."""
    clients = network.clients
    reached = network.reached
    groups = len(network.first) - 1
    racks = len(reached) // groups
    for place in range(len(reached)):
        reached[place] = -UNREACHABLE
    for group in range(groups):
        for client in range(clients):
            place = group * racks + network.rack[client]
            if row[at_end + group * clients + client] > reached[place]:
                reached[place] = row[at_end + group * clients + client]


def lowers_client(network: ResidualNetwork, row: Vector, at_end: int, task: int, distance: int) -> bool:
    """Return whether a task at a distance lowers a share of its group; `reached` as by `find_highest` (kernel)."""
    rack_costs = network.rack_costs[task]
    highest = network.group[task] * len(rack_costs)
    for rack in range(len(rack_costs)):
        if distance + rack_costs[rack] < network.reached[highest + rack]:
            return True
    if len(network.home) == 0:
        return False
    home = network.home[task]
    return distance + network.costs[task][home] < row[at_end + network.group[task] * network.clients + home]


def find_parent(network: ResidualNetwork, history: Matrix, row: int, node: int) -> int:
    """Return the parent of a node after the pass of `row` (kernel).

    Returns, for a share, its task or FROM_CLIENT; for a client, its share.
    """
    clients = network.clients
    shares = len(network.held)
    at_end = shares * network.linked
    if node >= shares:
        position = shares + node
        while history[row][position] == history[row - 1][position]:
            row -= 1
        share = node - shares
        while network.spare[share] == 0 or history[row][share] != history[row][position]:
            share += clients
        return share
    while history[row][at_end + node] == history[row - 1][at_end + node]:
        row -= 1
    if history[row][at_end + node] < history[row][node]:
        return FROM_CLIENT
    return first_task(network, history[row - 1], node, history[row][node])


def first_task(network: ResidualNetwork, old: Vector, share: int, distance: int) -> int:
    """Return the first task that gave `share` this distance; `old` has the distances of the tasks' shares (kernel)."""
    clients = network.clients
    costs = network.costs
    owner = network.owner
    cheapest = network.cheapest
    client = share % clients
    rack = network.rack[client]
    base = share - client
    task = network.first[share // clients]
    while (
        owner[task] == client
        or (
            old[base + owner[task]] + cheapest[base + owner[task]][rack] != distance
            and (len(network.home) == 0 or network.home[task] != client)
        )
        or old[base + owner[task]] + costs[task][client] - costs[task][owner[task]] != distance
    ):
        task += 1
    return task


def follow(network: ResidualNetwork, parent: Vector, node: int) -> int:
    """Return the share or client before `node` on the path; a task counts as the share that holds it (kernel)."""
    shares = len(network.held)
    if node >= shares:
        return parent[node]
    if parent[node] == FROM_CLIENT:
        return shares + node % network.clients
    task = parent[node]
    return network.group[task] * network.clients + network.owner[task]


def move_tasks(network: ResidualNetwork, parent: Vector, seen: Vector) -> None:
    """Move the tasks on the cycle (where `seen` is 2) to the shares whose parents they are (kernel)."""
    clients = network.clients
    shares = len(network.held)
    for share in range(shares):
        if seen[share] == 2 and parent[share] != FROM_CLIENT:
            task = parent[share]
            former = network.group[task] * clients + network.owner[task]
            network.owner[task] = share % clients
            network.held[former] -= 1
            network.spare[former] += 1
            network.held[share] += 1
            network.spare[share] -= 1
    for share in range(shares):
        if seen[share] == 2:
            refresh_share(network, share)
