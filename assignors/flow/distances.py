"""The distances of Kafka's search for a negative cycle, pass by pass, on the clients' nodes alone.

Kafka runs Bellman-Ford from a dummy node that is at distance 0 from all, with exactly N passes, N being the number of
nodes. Every pass scans the nodes in ascending order: source, tasks, shares, clients, sink (see `Network`), and lowers
distances in place. `relax` does one pass, `search_distances` all but the last one, which `assignors.flow.cycles` looks
at.

Guarantees
    The rows of a history are the distances of Kafka's search after the passes they stand for, exactly.
Priority
    None: which of several equal arcs becomes a parent does not change distances.
Complexity
    A pass costs at most clients x (shares whose distance fell in the pass before). A search takes as many passes as the
    distances need to fall into a rhythm, mostly two to a few dozen, whatever N is.
Source
    ``Graph.detectNegativeCycles`` of Kafka Streams. Why what is left out changes nothing:

    * Source and sink are saturated and stay so: no arc leads out of the source or into the sink, so the source lowers
      nobody, and the sink, at distance 0, neither. (The source can end a search: see `assignors.flow.cycles`.)
    * A task hears only from the share that holds it, which is scanned after the tasks. So in pass p it speaks with what
      its share had when shares were scanned in pass p - 1, less its own cost there (or with 0, if that is less, which
      lowers nothing that pass 1 has not lowered already). All tasks of a pass together are one min-plus product over
      shares, with the least ``cost[task][client] - cost[task][owner]`` over each share's tasks.
    * A share whose distance did not fall since its tasks last spoke has nothing new to say; nor has one that is too far
      away to reach below the highest distance of its group.
    * After a pass that changes nothing no later one does: there is no negative cycle.
    * Rhythm: passes commute with adding a constant to all distances. If over the last k passes all shares of a class of
      groups fell by one constant, the class goes on like that, k passes for k passes, as long as no group outside it
      lowers its distances through the second stage. `find_rhythm` proves for how many passes, `leap` skips them.
"""

from __future__ import annotations

from assignors.compilation import Matrix, Vector
from assignors.flow.network import UNREACHABLE, ResidualNetwork, count_tasks

CONVERGED = -1
HISTORY_FULL = -2


def search_distances(
    network: ResidualNetwork, history: Matrix, last: int, classes: Vector, periods: Vector, falls: Vector
) -> int:
    """Fills `history` up to the distances after pass `last`, leaping where it can, and answers their row.

    SETTLED if from some pass on nothing changes any more; HISTORY_FULL if there are too few rows. The row before is the
    pass before, and after a leap at least the longest period is gone through pass by pass, so that every distance that
    still falls falls within these rows. A row holds each share's distance when its tasks heard of it; if `linked`, then
    the share's distance at the end of the pass, and then each client's. Scratch: classes, periods and falls [group].
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
    """Writes the distances after pass 1: 0, or less where a task or a share says so because of a negative cost."""
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
    """One pass, from `old` to `new`; `before` is the pass before `old`, and only what fell in between is scanned.

    With `everything` all shares are scanned, and `before` is not looked at.
    """
    clients = network.clients
    held = network.held
    best = network.best
    cheapest = network.cheapest
    shares = len(held)
    now = shares * network.linked
    for share in range(shares):
        new[share] = old[now + share]
    # Groups are counted, since a range with a step would keep the innermost loop from being vectorised.
    for group in range(len(network.first) - 1):
        base = group * clients
        highest = UNREACHABLE
        spoken = 0
        for share in range(base, base + clients):
            distance = old[share]
            if held[share] > 0 and (everything or distance != before[share]) and distance + best[share] < highest:
                row = cheapest[share]
                for client in range(clients):
                    reached = distance + row[client]
                    if reached < new[base + client]:
                        new[base + client] = reached
                spoken += 1
                if spoken % 4 == 0:
                    highest = new[base]
                    for client in range(clients):
                        if new[base + client] > highest:
                            highest = new[base + client]
    if network.linked == 1:
        for node in range(2 * shares, len(old)):
            new[node] = old[node]
        relax_clients(network, new, shares)


def relax_clients(network: ResidualNetwork, row: Vector, shares: int) -> None:
    """The rest of a pass: shares with room lower their client; clients then lower the shares that hold tasks."""
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
    """Whether two rows are the same."""
    for node in range(len(left)):  # noqa: SIM110
        if left[node] != right[node]:
            return False
    return True


def find_period(
    network: ResidualNetwork, history: Matrix, row: int, base: int, classes: Vector, periods: Vector, falls: Vector
) -> int:
    """Finds each group's period and fall, and for how many passes after `row` they surely hold; 0 if it is unknown.

    Rows base..row are consecutive passes. Groups that lowered one another lately form a class, named after its lowest,
    with one period and one fall. Between classes see `passes_apart`.
    """
    groups = len(classes)
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
    """Puts two groups into one class if in the last rows of the window one was lower where it can lower the other."""
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
    """Whether on some client the giver has room, the taker a task, and the giver's distance was the lower one."""
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
    """Whether all shares of a class fell by one constant from `old` to `new`."""
    clients = network.clients
    now = len(network.held) * network.linked
    fall = new[name * clients] - old[name * clients]
    for group in range(name, len(classes)):
        if classes[group] == name:
            for share in range(group * clients, (group + 1) * clients):
                if new[share] - old[share] != fall or new[now + share] - old[now + share] != fall:
                    return False
    return True


def independent_passes(
    network: ResidualNetwork, history: Matrix, row: int, periods: Vector, falls: Vector, giver: int, taker: int
) -> int:
    """For how many passes after `row` the giver surely does not lower a distance of the taker; 0 if it just did.

    It would where, on one client, it has room, the taker has a task, and its distance is below the taker's. For the
    last period of the taker that is looked up. Later on, a straight line under the giver's distances and one over the
    taker's, falling as the groups do on average, tell how long the first stays above.
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
    """Writes to row + 1 the distances that the rhythm gives `passes` passes after `row`."""
    clients = network.clients
    shares = len(network.held)
    now = shares * network.linked
    new = history[row + 1]
    for group in range(len(periods)):
        times = (passes + periods[group] - 1) // periods[group]
        old = history[row - (times * periods[group] - passes)]
        for share in range(group * clients, (group + 1) * clients):
            new[share] = old[share] + times * falls[group]
            new[now + share] = old[now + share] + times * falls[group]
    if network.linked == 1:
        for client in range(clients):
            distance = history[row][2 * shares + client]
            for share in range(client, shares, clients):
                if network.spare[share] > 0:
                    distance = min(distance, new[share])
            new[2 * shares + client] = distance
