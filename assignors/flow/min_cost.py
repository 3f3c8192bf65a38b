"""Network flow solvers of OR-Tools, with arrays as input and output.

Source: `ortools.graph.python`: `min_cost_flow.SimpleMinCostFlow` (cost scaling) and `max_flow.SimpleMaxFlow`
(push-relabel).

Even flow: the cheapest placement of tasks on clients that is as even over threads as possible.

Unlike in the transport problem, each pair of task and client has its own cost, and clients may already hold tasks.

Guarantees: exact; no placement is better in the order of the priorities. With groups, each client gets its share of
each group by threads, rounded down or up, which is always possible.
Priority: evenness, then cost, then tie-break costs.
Complexity: a min-cost flow over N·C arcs; about 50 ms for 1,000 tasks x 100 clients.
Source: Ahuja, Magnanti, Orlin, "Network Flows" (lower bounds, convex costs). Priorities are weights: a flow that is not
optimal can be improved by a simple cycle, so a weight must only exceed what one cycle can save of the next priority.

Transport problem: min-cost placement of tasks on clients with limited capacity, where the cost of a task depends on the
client's rack.

Clients of a rack differ only by the tasks that they held before: such a task has no move cost there. A task therefore
needs one arc to each rack and one to each client that held it, instead of one to each client. The optimum is the same
with T·R arcs instead of T·C, because a task that is new in a rack may use any free capacity there.
`assign_clients` chooses the clients.

Source: Ahuja, Magnanti, Orlin, "Network Flows" (transport problems); the aggregation is this project's.

Subscription skew: the most even distribution of partitions over consumers that subscribe to different topics.

Guarantees: exact. The distribution with the least sum of squares has the least maximum and the greatest minimum of all,
so no other one has a smaller difference between them.
Complexity: a min-cost flow over the topics and the different subscriptions, with an arc for each partition that a
consumer may hold; 3 ms for 5,000 partitions and 50 subscriptions.
Source: Harvey, Ladner, Lovász, Tamir, "Semi-matchings for bipartite graphs and load balancing" (2006).

Matching: the largest number of tasks that can be on one of their clients, where clients have capacities.

Source: a maximum matching by augmenting paths (Kuhn, "The Hungarian method", 1955), with capacities.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from assignors.model.columns import NO_CLIENT, BoolArray, IntArray, cells


def max_matching(allowed: BoolArray, capacity: IntArray) -> int:
    """Return how many tasks can be placed, each on one of its clients.

    `allowed`: shape (N, C); the clients of each task. `capacity`: shape (C,); the maximum number of tasks of each
    client.

    Complexity: O(N · E) for E allowed pairs; searches that fail take O(E) together.
    """
    clients_of: dict[int, list[int]] = {}
    for task, client in zip(*(ends.tolist() for ends in cells(allowed)), strict=True):
        clients_of.setdefault(task, []).append(client)
    matching = _Matching(clients_of, capacity.tolist())
    return sum(matching.place(task) for task in clients_of)


class _Matching:
    """The tasks that are placed so far."""

    def __init__(self, clients_of: dict[int, list[int]], free: list[int]) -> None:
        self._clients_of = clients_of
        self._free = free
        self._placed: list[list[int]] = [[] for _ in free]
        self._is_full = [False for _ in free]
        """whether neither a client nor any to which its tasks could move has free capacity, now and later"""

    def place(self, task: int) -> bool:
        """Place a task, and move others if necessary; return whether that is possible."""
        reached_by = {client: (NO_CLIENT, task) for client in self._clients_of[task] if not self._is_full[client]}
        reached = list(reached_by)
        for client in reached:  # grows while it is read
            if self._free[client]:
                self._shift(client, reached_by)
                return True
            for other in self._placed[client]:
                for target in self._clients_of[other]:
                    if target not in reached_by and not self._is_full[target]:
                        reached_by[target] = client, other
                        reached.append(target)
        for client in reached:
            self._is_full[client] = True
        return False

    def _shift(self, client: int, reached_by: dict[int, tuple[int, int]]) -> None:
        """Move a task to a client with free capacity, another one to its place, and so on."""
        self._free[client] -= 1
        while client != NO_CLIENT:
            source, task = reached_by[client]
            self._placed[client].append(task)
            if source != NO_CLIENT:
                self._placed[source].remove(task)
            client = source


MAX_COST = 1 << 58
"""Upper limit of the largest cost times the number of nodes, so that the solver does not overflow."""


@dataclass(frozen=True, slots=True, eq=False)
class Arcs:
    """The arcs of a directed graph; each array has one entry for each arc."""

    tail: IntArray
    head: IntArray
    capacity: IntArray
    cost: IntArray

    @classmethod
    def joined(cls, *parts: Arcs) -> Arcs:
        """Return the arcs of several graphs over the same nodes, concatenated."""
        names = ("tail", "head", "capacity", "cost")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def min_cost_flow(arcs: Arcs, supply: IntArray) -> IntArray | None:
    """Find the cheapest flow that carries all supplies to all demands.

    `arcs`: the graph; costs may be negative. `supply`: supply of each node, negative for a demand; the sum is 0.
    Returns the flow of each arc; None if there is no feasible flow. Raises OverflowError if the costs are too large for
    the solver.
    """
    from ortools.graph.python.min_cost_flow import SimpleMinCostFlow

    solver = SimpleMinCostFlow()
    solver.add_arcs_with_capacity_and_unit_cost(arcs.tail, arcs.head, arcs.capacity, arcs.cost)
    solver.set_nodes_supplies(np.arange(len(supply)), supply)
    status = solver.solve()
    if status == solver.OPTIMAL:
        flows: IntArray = solver.flows(np.arange(len(arcs.tail)))
        return flows
    if status == solver.INFEASIBLE:
        return None
    raise OverflowError(f"the solver failed ({status.name}): costs times nodes must be below 2^63")


def max_flow(arcs: Arcs, source: int, sink: int) -> IntArray:
    """Return the flow of each arc in a maximum flow between two nodes; costs are ignored.

    Raises OverflowError if the maximum flow is too large for the solver.
    """
    from ortools.graph.python.max_flow import SimpleMaxFlow

    solver = SimpleMaxFlow()
    solver.add_arcs_with_capacity(arcs.tail, arcs.head, arcs.capacity)
    status = solver.solve(source, sink)
    if status != solver.OPTIMAL:
        raise OverflowError(f"the maximum flow is too large for the solver ({status.name})")
    flows: IntArray = solver.flows(np.arange(len(arcs.tail)))
    return flows


def max_flow_min_cost(arcs: Arcs, source: int, sink: int, num_nodes: int) -> IntArray:
    """Return the flow of each arc in the cheapest maximum flow between two nodes.

    Raises OverflowError if the flow or its costs are too large for the solver.
    """
    flows = max_flow(arcs, source, sink)
    amount = int(flows[arcs.tail == source].sum() - flows[arcs.head == source].sum())
    supply = np.zeros(num_nodes, dtype=np.int64)
    supply[source], supply[sink] = amount, -amount
    cheapest = min_cost_flow(arcs, supply)
    if cheapest is None:
        raise OverflowError("the maximum flow is not feasible as a min-cost flow")
    return cheapest


def distances(arcs: Arcs, flows: IntArray, num_nodes: int) -> IntArray:
    """Return the shortest distance of each node from any node in the residual graph of a min-cost flow.

    The distances prove that the flow is optimal: with them, no arc with free capacity has a negative reduced cost. An
    additional arc can make the flow cheaper only if its reduced cost is negative.

    Complexity: O(arcs), vectorized, for each arc of the longest shortest path.
    """
    forward, backward = flows < arcs.capacity, flows > 0
    tail = np.concatenate([arcs.tail[forward], arcs.head[backward]])
    head = np.concatenate([arcs.head[forward], arcs.tail[backward]])
    cost = np.concatenate([arcs.cost[forward], -arcs.cost[backward]])
    order = np.argsort(head, kind="stable")
    tail, head, cost = tail[order], head[order], cost[order]
    starts = np.flatnonzero(np.diff(head, prepend=-1))
    reached = head[starts]
    distance = np.zeros(num_nodes, dtype=np.int64)
    while len(starts):
        nearer = np.minimum(distance[reached], np.minimum.reduceat(distance[tail] + cost, starts))
        if (nearer == distance[reached]).all():
            break
        distance[reached] = nearer
    return distance


@dataclass(frozen=True, slots=True, eq=False)
class EvenFlowProblem:
    """A placement problem of N tasks and C clients.

    Attributes:
        costs: shape (N, C); cost of a task on a client.
        threads: shape (C,); threads of each client.
        taken: shape (C,); number of tasks that each client already holds, which counts for evenness.
        group: shape (N,); group of each task; each group is spread evenly. None for no groups.
        tie: shape (N, C); tie-break costs of equally good placements; None leaves ties to the solver.
    """

    costs: IntArray
    threads: IntArray
    taken: IntArray
    group: IntArray | None = None
    tie: IntArray | None = None


def solve_even_flow(problem: EvenFlowProblem) -> IntArray:
    """Return the client of each task, shape (N,)."""
    num_tasks, num_clients = problem.costs.shape
    groups = np.zeros(num_tasks, dtype=np.int64)
    if problem.group is not None:
        groups = np.unique(problem.group, return_inverse=True)[1].astype(np.int64)
    least, most = _shares(problem, groups)
    capacity = levels(problem.threads, problem.taken, num_tasks)
    if problem.group is None:
        capacity = _needed_levels(capacity, num_tasks)
    num_shares = len(least)
    first_share, first_client = num_tasks, num_tasks + num_shares
    sink = first_client + num_clients
    shares, task = np.arange(num_shares), np.repeat(np.arange(num_tasks), num_clients)
    client = np.tile(np.arange(num_clients), num_tasks)
    costs = problem.costs.ravel() - int(problem.costs.min())
    holder, level = np.nonzero(capacity)
    unevenness = (num_shares + 1) * (int(costs.max()) + 1)
    arcs = Arcs.joined(
        Arcs(task, first_share + groups[task] * num_clients + client, np.ones_like(task), costs),
        Arcs(first_share + shares, first_client + shares % num_clients, most - least, np.zeros_like(shares)),
        Arcs(first_client + holder, np.full_like(holder, sink), capacity[holder, level], level * unevenness),
    )
    supply = np.concatenate([np.ones_like(groups), -least, least.reshape(-1, num_clients).sum(axis=0), [-num_tasks]])
    flow = _solve_flow(arcs, supply)
    if problem.tie is not None:
        flow = _break_ties(arcs, supply, flow, problem.tie.ravel())
    owner: IntArray = client[flow[: len(task)] > 0]
    return owner


def levels(threads: IntArray, taken: IntArray, number: int) -> IntArray:
    """Return how many more tasks each client takes at each level of unevenness, shape (C, L).

    Level 0 ends at the client's share rounded down, level 1 at the share rounded up, and each further level adds one
    task for each thread. `taken`, shape (C,): tasks that each client already holds.
    """
    shares, total = (int(taken.sum()) + number) * threads, int(threads.sum())
    fair = -(-shares // total)
    beyond = np.maximum(-(-(taken + number - fair) // threads), 0)
    tops = np.column_stack([shares // total, fair[:, None] + threads[:, None] * np.arange(int(beyond.max()) + 1)])
    capacity: IntArray = np.diff(np.maximum(tops, taken[:, None]), axis=1, prepend=taken[:, None])
    return capacity


def _solve_flow(arcs: Arcs, supply: IntArray) -> IntArray:
    flow = min_cost_flow(arcs, supply)
    assert flow is not None, "each task has a client"
    return flow


def _break_ties(arcs: Arcs, supply: IntArray, flow: IntArray, tie: IntArray) -> IntArray:
    """Return the flow with the lowest tie-break cost among those that are as cheap as the given one.

    These are the flows that use no arc of positive reduced cost, and saturate each arc of negative reduced cost.
    """
    distance = distances(arcs, flow, len(supply))
    reduced = arcs.cost + distance[arcs.tail] - distance[arcs.head]
    full = np.where(reduced < 0, arcs.capacity, 0)
    remaining = supply.copy()
    np.subtract.at(remaining, arcs.tail, full)
    np.add.at(remaining, arcs.head, full)
    costs = np.zeros_like(arcs.cost)
    costs[: len(tie)] = tie
    untied = _solve_flow(replace(arcs, capacity=np.where(reduced == 0, arcs.capacity, 0), cost=costs), remaining)
    return untied + full


def _shares(problem: EvenFlowProblem, groups: IntArray) -> tuple[IntArray, IntArray]:
    """Return the minimum and maximum number of tasks of each group on each client; two arrays of shape (G·C,)."""
    sizes = np.bincount(groups)
    if problem.group is None:
        most = np.repeat(sizes, len(problem.threads))
        return np.zeros_like(most), most
    exact, total = sizes[:, None] * problem.threads, int(problem.threads.sum())
    return (exact // total).ravel(), (-(-exact // total)).ravel()


def _needed_levels(capacity: IntArray, number: int) -> IntArray:
    enough = int(np.argmax(capacity.sum(axis=0).cumsum() >= number))
    return capacity[:, : enough + 1]


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

    Returns the solution; None if the capacities or the minimums cannot be met.

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


def least_skew(partitions: Mapping[str, int], subscriptions: Sequence[Collection[str]]) -> int:
    """Return the least difference in partitions between two consumers: maximum minus minimum.

    `subscriptions`: the topics of each consumer; at least one consumer.
    """
    members = Counter(frozenset(partitions.keys() & set(topics)) for topics in subscriptions)
    groups = list(members)
    topics = [name for name in partitions if any(name in group for group in groups)]
    total = sum(partitions[name] for name in topics)
    if not total or len(groups) == 1:
        return int(total % len(subscriptions) > 0)
    loads = _loads(groups, members, topics, partitions, total)
    sizes: IntArray = np.array([members[group] for group in groups], dtype=np.int64)
    return int((-(-loads // sizes)).max() - (loads // sizes).min())


def _loads(
    groups: Sequence[frozenset[str]],
    members: Mapping[frozenset[str], int],
    topics: Sequence[str],
    partitions: Mapping[str, int],
    total: int,
) -> IntArray:
    """Return how many partitions the consumers with each subscription have together."""
    first_group, sink = len(topics), len(topics) + len(groups)
    pairs = [(row, column) for row, name in enumerate(topics) for column, group in enumerate(groups) if name in group]
    topic, group = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
    whole = np.full(len(pairs), total, dtype=np.int64)
    arcs = [Arcs(topic, first_group + group, whole, np.zeros_like(whole))]
    for column, subscription in enumerate(groups):
        # The n-th partition of each consumer costs 2n - 1, so that n of them cost their square.
        most = min(total, sum(partitions[name] for name in subscription))
        cost = 2 * np.arange(-(-most // members[subscription]), dtype=np.int64) + 1
        capacity = np.full_like(cost, members[subscription])
        arcs.append(Arcs(np.full_like(cost, first_group + column), np.full_like(cost, sink), capacity, cost))
    supply = np.zeros(sink + 1, dtype=np.int64)
    supply[: len(topics)] = [partitions[name] for name in topics]
    supply[sink] = -total
    flow = min_cost_flow(Arcs.joined(*arcs), supply)
    assert flow is not None  # Each topic has a consumer.
    loads: IntArray = np.bincount(group, flow[: len(pairs)], minlength=len(groups)).astype(np.int64)
    return loads
