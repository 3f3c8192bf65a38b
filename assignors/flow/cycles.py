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
    For each cycle: one search (below); its last pass, in which shares + tasks, and for at most one
    group racks x tasks, are scanned; and the tasks of one group for each node on the cycle.
Source
    ``Graph.cancelNegativeCycles`` of Kafka Streams. Why no other node can end a search: a share that lowers its client
    in pass N was lowered by a task before in the same pass, and a client that lowers a share by a share before. Where
    the second stage lowered a share late in pass N - 1, its first task is lowered in pass N. Each cycle contains
    tasks, whose arcs have capacity 1, so the pushed flow is 1. A share passes on what it holds, so the moves of the
    tasks describe the flow completely.

The distances of Kafka's search for a negative cycle, pass by pass, on the clients' nodes only.

Kafka runs Bellman-Ford from a dummy node at distance 0 from all nodes, with exactly N passes for N nodes. Each pass
scans the nodes in ascending order: source, tasks, shares, clients, sink (see `ResidualNetwork`), and lowers distances
in place. `relax` executes one pass; `search_distances` executes all but the last.

Guarantees
    The rows of a history are exactly the distances of Kafka's search after the passes that they represent.
Priority
    None: which of several equal arcs becomes the parent does not change distances.
Complexity
    A pass costs at most racks x (shares whose distance fell in the previous pass), tasks and clients. A search takes as
    many passes as the distances need to become periodic, mostly two to a few dozen, independent of N.
Source
    ``Graph.detectNegativeCycles`` of Kafka Streams. Why the omitted work changes nothing:

    * Source and sink stay saturated: no arc leaves the source or enters the sink, so the source lowers no distance, and
      neither does the sink, at distance 0. (The source can end a search: see above.)
    * Only the share that holds a task relaxes it, and shares are scanned after tasks. So in pass p a task uses the
      distance of its share when shares were scanned in pass p - 1, minus its own cost there (or 0, if that is less,
      which lowers nothing after pass 1). All tasks of a pass together are one min-plus product over shares, with the
      minimum of ``cost[task][client] - cost[task][owner]`` over the tasks of each share.
    * A task costs the same on all clients of a rack, except on one, its home. So a share lowers the clients of a rack
      by one sum, the minimum over its tasks, and tasks lower their homes one by one. That the sum of a rack is applied
      to a task's home and own client, too, lowers nothing: neither costs more than the other clients of its rack.
    * A share whose distance did not fall since its tasks were last scanned lowers nothing; neither does a share that is
      too far away to reach below the highest distance of its group.
    * If a pass changes nothing, no later pass does: there is no negative cycle.
    * Periods: passes commute with adding a constant to all distances. If all shares of a class of groups fell by one
      constant over the last k passes, the class repeats this every k passes while no group outside the class
      lowers its distances through the second stage. `find_period` proves for how many passes; `leap` skips them.
"""

from __future__ import annotations

from assignors.compilation import Matrix, Vector
from assignors.flow.network import UNREACHABLE, ResidualNetwork, count_tasks, refresh_share

CONVERGED = -1
HISTORY_FULL = -2


def search_distances(
    network: ResidualNetwork, history: Matrix, last: int, classes: Vector, periods: Vector, falls: Vector
) -> int:
    """Fill `history` up to the distances after pass `last`, and skip periodic passes (kernel).

    The row before the result is the pass before it. After a skip, at least the longest period is executed pass by pass,
    so that each distance that still falls does so within these rows. A row holds the distance of each share when its
    tasks were scanned; if `linked`, then the distance of each share at the end of the pass, and the distance of each
    client. `classes`: scratch, [group]; `periods`: scratch, [group]; `falls`: scratch, [group]. Returns the row of the
    last pass; CONVERGED if no later pass changes a distance; HISTORY_FULL if there are too few rows.
    """
    row = base = 0
    done = try_at = 1
    begin(network, history[0])
    while done < last:
        if row + 2 >= len(history):
            return HISTORY_FULL
        relax(network, history[row], history[max(row - 1, 0)], row == base, history[row + 1])
        if are_equal(history[row], history[row + 1]):
            return CONVERGED
        row += 1
        done += 1
        if row >= try_at:
            passes = find_period(network, history, row, base, classes, periods, falls)
            longest = 1
            for group in range(len(periods)):
                longest = max(longest, periods[group])
            passes = min(passes, last - done - longest)
            if passes > longest:
                leap(network, history, row, periods, falls, passes)
                row += 1
                done += passes
                base = row
            try_at = row + 1 + (row - base) // 4
    return row


def begin(network: ResidualNetwork, row: Vector) -> None:
    """Write the distances after pass 1: 0, or a negative cost (kernel)."""
    clients = network.clients
    shares = len(network.held)
    for node in range(len(row)):
        row[node] = 0
    if network.negative == 1:
        for task in range(count_tasks(network)):
            cost = network.costs[task]
            base = network.group[task] * clients
            for client in range(clients):
                if client != network.owner[task] and cost[client] < row[base + client]:
                    row[base + client] = cost[client]
        if network.linked == 1:
            relax_clients(network, row, shares)


def relax(network: ResidualNetwork, old: Vector, before: Vector, everything: bool, new: Vector) -> None:
    """Execute one pass from `old` to `new` (kernel).

    Only shares whose distance fell between `before`, the pass before `old`, and `old` are scanned; with `everything`,
    all shares are, and `before` is not used.
    """
    clients = network.clients
    held = network.held
    best = network.best
    cheapest = network.cheapest
    rack = network.rack
    reached = network.reached
    shares = len(held)
    racks = len(reached) // (len(network.first) - 1)
    at_end = shares * network.linked
    for share in range(shares):
        new[share] = old[at_end + share]
    # The loop counts groups: a range with a step would prevent vectorization of the innermost loop.
    for group in range(len(network.first) - 1):
        base = group * clients
        highest = new[base]
        for client in range(clients):
            if new[base + client] > highest:
                highest = new[base + client]
        for place in range(racks):
            reached[place] = UNREACHABLE
        for share in range(base, base + clients):
            distance = old[share]
            if held[share] > 0 and (everything or distance != before[share]) and distance + best[share] < highest:
                row = cheapest[share]
                for place in range(racks):
                    if distance + row[place] < reached[place]:
                        reached[place] = distance + row[place]
        for client in range(clients):
            if reached[rack[client]] < new[base + client]:
                new[base + client] = reached[rack[client]]
    if len(network.home) > 0:
        relax_homes(network, old, new)
    if network.linked == 1:
        for node in range(2 * shares, len(old)):
            new[node] = old[node]
        relax_clients(network, new, shares)


def relax_homes(network: ResidualNetwork, old: Vector, new: Vector) -> None:
    """Lower, in a pass, the shares at the homes of tasks that are elsewhere (kernel)."""
    clients = network.clients
    owner = network.owner
    home = network.home
    return_cost = network.return_cost
    for group in range(len(network.first) - 1):
        base = group * clients
        for task in range(network.first[group], network.first[group + 1]):
            distance = old[base + owner[task]] + return_cost[task]
            if distance < new[base + home[task]]:
                new[base + home[task]] = distance


def relax_clients(network: ResidualNetwork, row: Vector, shares: int) -> None:
    """Execute the second stage of a pass (kernel).

    Shares with capacity lower their client; clients then lower the shares that hold tasks.
    """
    clients = network.clients
    held = network.held
    spare = network.spare
    second = 2 * shares
    for group in range(len(network.first) - 1):
        base = group * clients
        for client in range(clients):
            if spare[base + client] > 0 and row[base + client] < row[second + client]:
                row[second + client] = row[base + client]
    for group in range(len(network.first) - 1):
        base = group * clients
        for client in range(clients):
            if held[base + client] > 0 and row[second + client] < row[base + client]:
                row[shares + base + client] = row[second + client]
            else:
                row[shares + base + client] = row[base + client]


def are_equal(left: Vector, right: Vector) -> bool:
    """Return whether two rows are equal (kernel)."""
    for node in range(len(left)):  # noqa: SIM110
        if left[node] != right[node]:
            return False
    return True


def find_period(
    network: ResidualNetwork, history: Matrix, row: int, base: int, classes: Vector, periods: Vector, falls: Vector
) -> int:
    """Compute the period and the fall of each group, and for how many passes after `row` they are valid (kernel).

    Rows base to row are consecutive passes. Groups that recently lowered one another form a class with one period and
    one fall, named after its first group. See `independent_passes` for effects between classes. Returns the number of
    passes; 0 if unknown.
    """
    groups = len(classes)
    # Groups of a class have its period, so without a period of each group there is none of each class.
    for group in range(groups):
        period = 1
        while not group_falls_evenly(network, history[row - period], history[row], group):
            period += 1
            if period > row - base:
                return 0
    join_classes(network, history, row, (row - base) // 2 + 1, classes)
    for group in range(groups):
        name = classes[group]
        if name == group:
            period = 1
            while not falls_evenly(network, history[row - period], history[row], classes, name):
                period += 1
                if period > row - base:
                    return 0
            periods[name] = period
            falls[name] = history[row][name * network.clients] - history[row - period][name * network.clients]
        periods[group] = periods[name]
        falls[group] = falls[name]
    passes = UNREACHABLE
    for giver in range(groups):
        for taker in range(groups):
            if classes[giver] != classes[taker]:
                passes = min(passes, independent_passes(network, history, row, periods, falls, giver, taker))
    return passes


def join_classes(network: ResidualNetwork, history: Matrix, row: int, window: int, classes: Vector) -> None:
    """Join the classes of two groups if one was recently lower where it can lower the other (kernel)."""
    groups = len(classes)
    for group in range(groups):
        classes[group] = group
    for giver in range(groups):
        for taker in range(groups):
            if classes[giver] != classes[taker] and reaches(network, history, row, window, giver, taker):
                low = min(classes[giver], classes[taker])
                high = max(classes[giver], classes[taker])
                for group in range(groups):
                    if classes[group] == high:
                        classes[group] = low


def reaches(network: ResidualNetwork, history: Matrix, row: int, window: int, giver: int, taker: int) -> bool:
    """Return whether, on some client, the giver has capacity and a lower distance than the taker's tasks (kernel)."""
    clients = network.clients
    for client in range(clients):
        above = giver * clients + client
        below = taker * clients + client
        if network.spare[above] > 0 and network.held[below] > 0:
            for back in range(window):
                if history[row - back][above] < history[row - back][below]:
                    return True
    return False


def falls_evenly(network: ResidualNetwork, old: Vector, new: Vector, classes: Vector, name: int) -> bool:
    """Return whether all shares of a class fell by one constant from `old` to `new` (kernel)."""
    clients = network.clients
    fall = new[name * clients] - old[name * clients]
    for group in range(name, len(classes)):
        if classes[group] == name and (
            new[group * clients] - old[group * clients] != fall or not group_falls_evenly(network, old, new, group)
        ):
            return False
    return True


def group_falls_evenly(network: ResidualNetwork, old: Vector, new: Vector, group: int) -> bool:
    """Return whether all shares of a group fell by one constant from `old` to `new` (kernel)."""
    clients = network.clients
    at_end = len(network.held) * network.linked
    fall = new[group * clients] - old[group * clients]
    for share in range(group * clients, (group + 1) * clients):
        if new[share] - old[share] != fall or new[at_end + share] - old[at_end + share] != fall:
            return False
    return True


def independent_passes(
    network: ResidualNetwork, history: Matrix, row: int, periods: Vector, falls: Vector, giver: int, taker: int
) -> int:
    """Return for how many passes after `row` the giver cannot lower a distance of the taker (kernel).

    It would do so on a client where it has capacity, the taker has a task, and its distance is lower. For the last
    period of the taker, the distances are compared. After that, a line below the giver's distances and a line above the
    taker's, with the average falls of the groups, bound how long the giver stays higher. Returns the number of passes;
    0 if the giver just lowered a distance.
    """
    clients = network.clients
    closing = falls[taker] * periods[giver] - falls[giver] * periods[taker]
    passes = UNREACHABLE
    for client in range(clients):
        above = giver * clients + client
        below = taker * clients + client
        if network.spare[above] > 0 and network.held[below] > 0:
            low = history[row][above] * periods[giver]
            for back in range(periods[giver]):
                low = min(low, history[row - back][above] * periods[giver] + falls[giver] * back)
            high = history[row][below] * periods[taker]
            for back in range(periods[taker]):
                if history[row - back][above] < history[row - back][below]:
                    return 0
                high = max(high, history[row - back][below] * periods[taker] + falls[taker] * back)
            gap = low * periods[taker] - high * periods[giver]
            if gap < closing:
                return 0
            if closing > 0:
                passes = min(passes, gap // closing)
    return passes


def leap(network: ResidualNetwork, history: Matrix, row: int, periods: Vector, falls: Vector, passes: int) -> None:
    """Write to row + 1 the distances `passes` passes after `row`, computed from the periods (kernel)."""
    clients = network.clients
    shares = len(network.held)
    at_end = shares * network.linked
    new = history[row + 1]
    for group in range(len(periods)):
        times = (passes + periods[group] - 1) // periods[group]
        old = history[row - (times * periods[group] - passes)]
        for share in range(group * clients, (group + 1) * clients):
            new[share] = old[share] + times * falls[group]
            new[at_end + share] = old[at_end + share] + times * falls[group]
    if network.linked == 1:
        for client in range(clients):
            distance = history[row][2 * shares + client]
            for share in range(client, shares, clients):
                if network.spare[share] > 0:
                    distance = min(distance, new[share])
            new[2 * shares + client] = distance


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

    `network`: the residual graph to change. `history`: scratch; rows of distances, see `search_distances`. `last`:
    Kafka's number of nodes minus 1. `classes`: scratch, [group]. `periods`: scratch, [group]. `falls`: scratch,
    [group]. `parent`: scratch, [share, client]. `seen`: scratch, [share, client].
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
