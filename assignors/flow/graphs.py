"""The two graphs of Kafka's rack-aware assignor, solved as Kafka solves them.

Both take tasks in TaskId order and clients in ProcessId order: `costs` [task][client], and `owner` [task], the client
that has each task now. Costs are Kafka's ints, so they fit in 32 bits; negative ones are allowed, as in Kafka.

Guarantees
    The owners that Kafka's own search ends with, not merely some of the same total cost: among assignments of equal
    cost Kafka's choice depends on which cycles it meets first, and here the same are met. Every client keeps its number
    of tasks; the total cost is the least that this (with `balance_subtopology`, also each subtopology's spread) allows.
Priority
    See `assignors.flow.cycles` and, for the flow that `balance_subtopology` starts from, `assignors.flow.augmentation`.
Complexity
    As many searches as Kafka makes, about one for every three tasks on random racks. 1,000 tasks x 100 clients take
    milliseconds with `min_traffic`, a tenth of a second with `balance_subtopology`; Kafka's own search takes minutes.
Source
    ``MinTrafficGraphConstructor`` and ``BalanceSubtopologyGraphConstructor`` of Kafka Streams (KIP-925).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assignors.compilation import CHOICE, Kernels
from assignors.flow.augmentation import UNASSIGNED, assign_all
from assignors.flow.cycles import cancel_cycles
from assignors.flow.network import ResidualNetwork

BALANCE_WORK = 20
FIRST_ROWS = 32


@dataclass(frozen=True, slots=True)
class FlowEffort:
    """What Kafka's own search does for an answer, which makes no use of shortcuts: `passes` x `edges` looks at an edge.

    `nodes` and `edges` are those of the residual graph, with the dummy node and its edges; `passes` is `nodes` for each
    of the `cycles` found and for the last search, which finds none.
    """

    cycles: int
    passes: int
    nodes: int
    edges: int


@dataclass(frozen=True, slots=True)
class FlowSolution:
    """The client of each task, and what it takes Kafka to find it."""

    owner: NDArray[np.intp]
    effort: FlowEffort


def min_traffic(costs: NDArray[np.int64], owner: NDArray[np.intp]) -> NDArray[np.intp]:
    """The owners after Kafka's cycle cancelling on the ``min_traffic`` graph, whose flow is the present assignment.

    Raises ValueError if the shapes do not fit or an owner is not a client.
    """
    return solve_min_traffic(costs, owner).owner


def balance_subtopology(costs: NDArray[np.int64], owner: NDArray[np.intp], group: NDArray[np.intp]) -> NDArray[np.intp]:
    """The owners after Kafka's maximum flow and cycle cancelling on the ``balance_subtopology`` graph.

    `group` [task] is any number of the task's subtopology that ascends with the tasks; subtopologies without tasks here
    play no part (Kafka numbers their nodes, but has no edges for them, so they are not in its graph).
    Raises ValueError as `min_traffic` does or if `group` descends; RuntimeError if no flow carries every task, which
    rounded-up shares rule out.
    """
    return solve_balance_subtopology(costs, owner, group).owner


def solve_min_traffic(costs: NDArray[np.int64], owner: NDArray[np.intp]) -> FlowSolution:
    """As `min_traffic`, with the effort."""
    check_shapes(costs, owner)
    tasks, clients = costs.shape
    if tasks == 0:
        return FlowSolution(owner.copy(), FlowEffort(0, 0, 0, 0))
    kernels = CHOICE.choose(tasks * clients)
    count = count_tasks(owner, clients)
    graph = build_network(kernels, costs, owner.tolist(), [0] * tasks, [0, tasks], count, [0] * clients)
    return cancel_all(kernels, graph, tasks + tasks * clients + clients, tasks + clients + 3)


def solve_balance_subtopology(
    costs: NDArray[np.int64], owner: NDArray[np.intp], group: NDArray[np.intp]
) -> FlowSolution:
    """As `balance_subtopology`, with the effort."""
    check_shapes(costs, owner)
    tasks, clients = costs.shape
    if group.shape != owner.shape or (np.diff(group) < 0).any():
        raise ValueError(f"group must name a subtopology for each of {tasks} tasks, in ascending order")
    if tasks == 0:
        return FlowSolution(owner.copy(), FlowEffort(0, 0, 0, 0))
    kernels = CHOICE.choose(BALANCE_WORK * tasks * clients)
    _, number, sizes = np.unique(group, return_inverse=True, return_counts=True)
    count = count_tasks(owner, clients)
    shares = [math.ceil(held * 1.0 / tasks * size) for size in sizes.tolist() for held in count]
    graph = build_initial_flow(kernels, costs, number.tolist(), sizes.tolist(), shares, count)
    edges = tasks + tasks * clients + len(shares) + clients
    return cancel_all(kernels, graph, edges, tasks + len(shares) + clients + 3)


def min_traffic_effort(tasks: int, clients: int, cycles: int) -> FlowEffort:
    """What it takes Kafka to solve a ``min_traffic`` graph in which it finds that many cycles."""
    return effort(tasks + tasks * clients + clients, tasks + clients + 3, cycles)


def effort(edges: int, nodes: int, cycles: int) -> FlowEffort:
    """The same of any graph of so many edges, one way each, and nodes, the dummy among them."""
    return FlowEffort(cycles, (cycles + 1) * nodes, nodes, 2 * edges + nodes - 1)


def check_shapes(costs: NDArray[np.int64], owner: NDArray[np.intp]) -> None:
    """Raises ValueError unless `costs` has a row and a valid owner for each task."""
    if costs.ndim != 2 or owner.shape != costs.shape[:1]:
        raise ValueError(f"costs must be [task][client] and owner [task], not {costs.shape} and {owner.shape}")
    if owner.size and not 0 <= owner.min() <= owner.max() < costs.shape[1]:
        raise ValueError(f"owner must be a client from 0 to {costs.shape[1] - 1} for each task")


def count_tasks(owner: NDArray[np.intp], clients: int) -> list[int]:
    """How many tasks each client has."""
    count: list[int] = np.bincount(owner, minlength=clients).tolist()
    return count


def build_initial_flow(
    kernels: Kernels,
    costs: NDArray[np.int64],
    group: list[int],
    sizes: list[int],
    shares: list[int],
    room: list[int],
) -> ResidualNetwork:
    """The network with the maximum flow that Kafka finds; `shares` and `room`: what each share and client may hold."""
    tasks, clients = costs.shape
    first = [0, *np.cumsum(sizes).tolist()]
    none = [UNASSIGNED] * tasks
    graph = build_network(kernels, costs, none, group, first, [0] * len(shares), shares)
    nodes = len(shares) + clients
    zeros = kernels.zeros
    assigned = kernels.of(assign_all)(
        graph,
        kernels.vector(room),
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
    owner: list[int],
    group: list[int],
    first: list[int],
    count: list[int],
    spare: list[int],
) -> ResidualNetwork:
    """The network of these columns, without links."""
    clients = costs.shape[1]
    least: list[int] = costs.min(axis=1).tolist()
    vector = kernels.vector
    return ResidualNetwork(
        clients=clients,
        linked=0,
        negative=int(min(least) < 0),
        costs=kernels.matrix(costs),
        least=vector(least),
        owner=vector(owner),
        group=vector(group),
        first=vector(first),
        held=vector(count),
        spare=vector(spare),
        cheapest=kernels.space(len(count), clients),
        best=kernels.zeros(len(count)),
    )


def cancel_all(kernels: Kernels, graph: ResidualNetwork, edges: int, nodes: int) -> FlowSolution:
    """Cancels the graph's cycles; `edges` and `nodes` are those of Kafka's graph, its dummy node among the nodes."""
    groups, shares = len(graph.first) - 1, len(graph.held)
    width = 2 * shares + graph.clients if graph.linked else shares
    scratch = [kernels.zeros(size) for size in (groups, groups, groups, shares + graph.clients, shares + graph.clients)]
    cycles, rows, finished = 0, FIRST_ROWS, False
    while not finished:
        history = kernels.space(min(rows, nodes + 2), width)
        more, finished = kernels.of(cancel_cycles)(graph, history, nodes - 1, *scratch)
        cycles += more
        rows *= 4
    return FlowSolution(np.array(graph.owner, dtype=np.intp), effort(edges, nodes, cycles))
