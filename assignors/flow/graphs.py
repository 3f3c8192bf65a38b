"""The two graphs of Kafka's rack-aware assignor, solved exactly as Kafka solves them.

Both take tasks in TaskId order and clients in ProcessId order: `costs` [task][client], and `owner` [task], the current
client of each task. Costs are Kafka's ints and fit in 32 bits; negative costs are allowed, as in Kafka.

Guarantees
    The owners of Kafka's own search, not only owners of the same total cost: among assignments of equal cost, Kafka's
    choice depends on the order of cycles, which is reproduced. The number of tasks of each client stays the same. The
    total cost is the minimum for these numbers (with `balance_subtopology`, also for the spread of each subtopology).
Priority
    See `assignors.flow.cycles` and, for the initial flow of `balance_subtopology`, below.
Complexity
    As many searches as Kafka, about one for every three tasks on random racks. 1,000 tasks x 100 clients take
    milliseconds with `min_traffic` and 0.1 s with `balance_subtopology`; Kafka's own search takes minutes.
Source
    ``MinTrafficGraphConstructor`` and ``BalanceSubtopologyGraphConstructor`` of Kafka Streams (KIP-925).

The maximum flow of Kafka's `balance_subtopology`: shortest augmenting paths from an empty flow.

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

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assignors.compilation import CHOICE, Kernels, Vector
from assignors.flow.cycles import cancel_cycles
from assignors.flow.network import UNREACHABLE, ResidualNetwork, count_tasks
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

    `network`: the residual graph to change. `free_capacity`: [client] free capacity to the sink; changed. `queue`:
    scratch, [group + share + client]. `parent`: scratch, [share, then client]. `seen`: scratch, [share, then client].
    `opened`: scratch, [group]. `origin`: scratch, [task].
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


BALANCE_WORK = 20
"""Steps of work per task and client with `balance_subtopology` (`KernelChoice`)."""

HISTORY_ROWS = 32
"""Number of passes that the history of a search holds at first; it grows for searches that need more."""


@dataclass(frozen=True, slots=True)
class FlowEffort:
    """The work of Kafka's own search for a solution, without shortcuts: `passes` x `edges` edge scans.

    Attributes:
        passes: `nodes` for each cycle and for the last search, which finds none.
        nodes: nodes of the residual graph, with the dummy node.
        edges: edges of the residual graph, with those of the dummy node.
    """

    cycles: int
    passes: int
    nodes: int
    edges: int


@dataclass(frozen=True, slots=True)
class FlowSolution:
    """The client of each task, and the effort of Kafka's search.

    Attributes:
        owner: shape (N,); client of each task.
    """

    owner: NDArray[np.intp]
    effort: FlowEffort


def min_traffic(costs: NDArray[np.int64], owner: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the owners after Kafka's cycle canceling on the ``min_traffic`` graph.

    `costs`: cost of each task on each client; `owner`: current client of each task, from which the flow starts. Returns
    the client of each task, shape (N,). Raises ValueError if the shapes do not match, or an owner is not a client.
    """
    return solve_min_traffic(costs, owner).owner


def balance_subtopology(costs: NDArray[np.int64], owner: NDArray[np.intp], group: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the owners after Kafka's maximum flow and cycle canceling on the ``balance_subtopology`` graph.

    `costs`: cost of each task on each client. `owner`: current client of each task. `group`: a number of each task's
    subtopology that ascends with the tasks. Subtopologies without tasks do not matter: Kafka numbers their nodes, but
    its graph has no edges for them. Returns the client of each task, shape (N,). Raises ValueError if the shapes do not
    match, an owner is not a client, or `group` descends. A flow that assigns all tasks always exists, because Kafka
    rounds the shares up.
    """
    return solve_balance_subtopology(costs, owner, group).owner


def solve_min_traffic(
    costs: NDArray[np.int64], owner: NDArray[np.intp], racks: NDArray[np.intp] | None = None
) -> FlowSolution:
    """Solve as `min_traffic`, and compute the effort.

    `costs`: cost of each task on each client. `owner`: current client of each task. `racks`: [client] a rack, from 0.
    If each task costs the same on all clients of a rack, and no more on its owner, the search is faster; None if not.
    Returns the owners and the effort. Raises ValueError if the shapes do not match, an owner is not a client, or costs
    differ within a rack.
    """
    check_shapes(costs, owner)
    tasks, clients = costs.shape
    if tasks == 0:
        return FlowSolution(owner.copy(), FlowEffort(0, 0, 0, 0))
    kernels = CHOICE.choose(tasks * clients)
    count = tasks_per_client(owner, clients)
    prices = rack_prices(costs, owner, racks)
    graph = build_network(kernels, costs, prices, owner.tolist(), [0] * tasks, [0, tasks], count, [0] * clients)
    return cancel_all(kernels, graph, tasks + tasks * clients + clients, tasks + clients + 3)


def solve_balance_subtopology(
    costs: NDArray[np.int64],
    owner: NDArray[np.intp],
    group: NDArray[np.intp],
    racks: NDArray[np.intp] | None = None,
    *,
    history_rows: int = HISTORY_ROWS,
) -> FlowSolution:
    """Solve as `balance_subtopology`, and compute the effort.

    `costs`: cost of each task on each client. `owner`: current client of each task. `group`: [task] number of the
    task's subtopology; see `balance_subtopology`. `history_rows`: initial size of the search history; it affects the
    run time only. Returns the owners and the effort. Raises ValueError if the shapes do not match, an owner is not a
    client, `group` descends, or costs differ within a rack; and RuntimeError as in `balance_subtopology`.
    """
    check_shapes(costs, owner)
    tasks, clients = costs.shape
    if group.shape != owner.shape or (np.diff(group) < 0).any():
        raise ValueError(f"group must name a subtopology for each of {tasks} tasks, in ascending order")
    if tasks == 0:
        return FlowSolution(owner.copy(), FlowEffort(0, 0, 0, 0))
    kernels = CHOICE.choose(BALANCE_WORK * tasks * clients)
    _, number, sizes = np.unique(group, return_inverse=True, return_counts=True)
    count = tasks_per_client(owner, clients)
    shares = [math.ceil(held * 1.0 / tasks * size) for size in sizes.tolist() for held in count]
    prices = rack_prices(costs, owner, racks)
    graph = build_initial_flow(kernels, costs, prices, number.tolist(), sizes.tolist(), shares, count)
    edges = tasks + tasks * clients + len(shares) + clients
    return cancel_all(kernels, graph, edges, tasks + len(shares) + clients + 3, history_rows)


def min_traffic_effort(tasks: int, clients: int, cycles: int) -> FlowEffort:
    """Return the effort of Kafka's search on a ``min_traffic`` graph with this number of cycles."""
    return effort(tasks + tasks * clients + clients, tasks + clients + 3, cycles)


def effort(edges: int, nodes: int, cycles: int) -> FlowEffort:
    """Return the effort of a search.

    `edges`: number of edges of the graph, one direction each.
    """
    return FlowEffort(cycles, (cycles + 1) * nodes, nodes, 2 * edges + nodes - 1)


def check_shapes(costs: NDArray[np.int64], owner: NDArray[np.intp]) -> None:
    """Check that `costs` has a row and a valid owner for each task; raise ValueError if not."""
    if costs.ndim != 2 or owner.shape != costs.shape[:1]:
        raise ValueError(f"costs must be [task][client] and owner [task], not {costs.shape} and {owner.shape}")
    if owner.size and not 0 <= owner.min() <= owner.max() < costs.shape[1]:
        raise ValueError(f"owner must be a client from 0 to {costs.shape[1] - 1} for each task")


def tasks_per_client(owner: NDArray[np.intp], clients: int) -> list[int]:
    """Return the number of tasks of each client."""
    count: list[int] = np.bincount(owner, minlength=clients).tolist()
    return count


@dataclass(frozen=True, slots=True)
class RackPrices:
    """The costs of N tasks by rack, except on their homes; see `ResidualNetwork`.

    Attributes:
        rack: shape (K,); rack of each client.
        home: shape (N,); the client on which each task may cost less than on others of its rack; (0,) if there is none.
        costs: shape (N, R); cost of each task in each rack.
    """

    rack: NDArray[np.intp]
    home: NDArray[np.intp]
    costs: NDArray[np.int64]


def rack_prices(costs: NDArray[np.int64], owner: NDArray[np.intp], racks: NDArray[np.intp] | None) -> RackPrices:
    """Return the costs by rack; each client is a rack of its own without `racks`, or if a task costs most on its owner.

    Raises ValueError if costs differ within a rack.
    """
    tasks, clients = costs.shape
    alone = RackPrices(np.arange(clients), owner[:0], costs)
    if racks is None:
        return alone
    _, rack = np.unique(racks, return_inverse=True)
    by_rack = np.argsort(rack, kind="stable")
    ends = np.bincount(rack).cumsum()
    first, second = by_rack[np.r_[0, ends[:-1]]], by_rack[np.minimum(np.r_[0, ends[:-1]] + 1, clients - 1)]
    has_second = rack[second] == np.arange(len(ends))
    is_home = owner[:, None] == first
    prices = np.where(is_home, costs[:, second], costs[:, first])
    prices[is_home & ~has_second] = UNREACHABLE
    differs = prices[:, rack] != costs
    rows = np.arange(tasks)
    differs[rows, owner] = False
    if differs.any():
        raise ValueError("a task costs the same on all clients of a rack, except on its owner")
    return RackPrices(rack, owner, prices) if (prices[rows, rack[owner]] >= costs[rows, owner]).all() else alone


def build_initial_flow(
    kernels: Kernels,
    costs: NDArray[np.int64],
    prices: RackPrices,
    group: list[int],
    sizes: list[int],
    shares: list[int],
    client_capacity: list[int],
) -> ResidualNetwork:
    """Return the network with Kafka's maximum flow.

    `kernels`: plain or compiled kernels; `costs`: cost of each task on each client; `sizes`: number of tasks of each
    group. Returns the residual graph. Raises RuntimeError if the capacities do not fit all tasks.
    """
    tasks, clients = costs.shape
    first = [0, *np.cumsum(sizes).tolist()]
    none = [UNASSIGNED] * tasks
    graph = build_network(kernels, costs, prices, none, group, first, [0] * len(shares), shares)
    nodes = len(shares) + clients
    zeros = kernels.zeros
    assigned = kernels.of(assign_all)(
        graph,
        kernels.vector(client_capacity),
        zeros(len(sizes) + nodes),
        zeros(nodes),
        zeros(nodes),
        zeros(len(sizes)),
        zeros(tasks),
    )
    if assigned != tasks:
        raise RuntimeError(f"only {assigned} of {tasks} tasks can be assigned within the shares of their subtopologies")
    return graph._replace(linked=int(max(graph.spare) > 0))


def build_network(
    kernels: Kernels,
    costs: NDArray[np.int64],
    prices: RackPrices,
    owner: list[int],
    group: list[int],
    first: list[int],
    count: list[int],
    spare: list[int],
) -> ResidualNetwork:
    """Return the network of the given columns, without links between groups."""
    clients, racks = costs.shape[1], prices.costs.shape[1]
    vector = kernels.vector
    return ResidualNetwork(
        clients=clients,
        linked=0,
        negative=int(costs.min() < 0),
        costs=kernels.matrix(costs),
        rack=vector(prices.rack.tolist()),
        home=vector(prices.home.tolist()),
        return_cost=kernels.zeros(len(prices.home)),
        rack_costs=kernels.matrix(prices.costs),
        owner=vector(owner),
        group=vector(group),
        first=vector(first),
        held=vector(count),
        spare=vector(spare),
        cheapest=kernels.space(len(count), racks),
        best=kernels.zeros(len(count)),
        reached=kernels.zeros((len(first) - 1) * racks),
    )


def cancel_all(
    kernels: Kernels, graph: ResidualNetwork, edges: int, nodes: int, history_rows: int = HISTORY_ROWS
) -> FlowSolution:
    """Cancel all cycles of a graph.

    `kernels`: plain or compiled kernels; `edges`: number of edges of Kafka's graph; `nodes`: number of nodes of Kafka's
    graph, with the dummy node; `history_rows`: initial size of the search history. Returns the owners and the effort.
    """
    groups, shares = len(graph.first) - 1, len(graph.held)
    width = 2 * shares + graph.clients if graph.linked else shares
    scratch = [kernels.zeros(size) for size in (groups, groups, groups, shares + graph.clients, shares + graph.clients)]
    cycles, rows, finished = 0, history_rows, False
    while not finished:
        history = kernels.space(min(rows, nodes + 2), width)
        more, finished = kernels.of(cancel_cycles)(graph, history, nodes - 1, *scratch)
        cycles += more
        rows *= 4
    return FlowSolution(np.array(graph.owner, dtype=np.intp), effort(edges, nodes, cycles))
