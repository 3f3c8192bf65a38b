"""Exchanging standbys between clients of different racks, pair by pair, by min_traffic flows.

Source: KIP-925, `RackAwareTaskAssignor.optimizeStandbyTasks`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from assignors.columns import IntArray
from assignors.compilation import CHOICE, Kernels, Matrix, Vector
from assignors.flow import min_traffic_effort
from assignors.flow.cycles import cancel_cycles
from assignors.flow.network import FAR, Network
from assignors.recorder import SILENT, Recorder
from assignors.tasks.placement import Placement

ROUNDS = 4

STEPS_OF_WORK = 4
"""How many looks of a client at a standby make up one step of work (`KernelChoice`)."""


class Exchange(NamedTuple):
    """All that one walk over the pairs of clients looks at; `owner` and `standby` as in `Placement`."""

    owner: Vector
    standby: Vector
    clients: Vector
    """all clients in the order in which they make pairs"""
    rack: Vector
    """[client]"""
    traffic: Matrix
    """[task][rack] what a standby costs there, without the cost of moving it"""
    non_overlap_cost: int
    tags: Matrix
    """[client][] numbers of its tags, padded with NO_TAG"""
    num_tags: int
    """how many columns `tags` has; 0 if any move is allowed"""
    most: Matrix
    """[client][rack] the most that moving any one of its standbys to that rack can save; -FAR if it has none"""
    rows: Vector
    """scratch: the tasks of a pair"""


NO_TAG = -1


class Search(NamedTuple):
    """The flow of a pair: two clients and up to as many tasks as there are; all of it is written for each pair anew."""

    network: Network
    history: Matrix
    classes: Vector
    periods: Vector
    falls: Vector
    parent: Vector
    seen: Vector


def exchange_standbys(
    placement: Placement,
    clients: Sequence[int],
    traffic: IntArray,
    non_overlap_cost: int,
    tags: IntArray,
    recorder: Recorder,
) -> None:
    """Solve one min_traffic flow for each pair of clients in different racks, in the order of `clients`.

    Args:
        placement: what to change.
        clients: all clients, rows.
        traffic: shape (T, R); what a standby costs in a rack, without the cost of moving it.
        non_overlap_cost: what it costs to move a standby.
        tags: shape (C, K); numbers of each client's tags, padded with NO_TAG. A task's copies must not come to carry
            fewer distinct tags than before. With K = 0 any move is allowed.
        recorder: is told the flows.

    Complexity: O(C²) a round, and a flow for each pair that may gain. A pair's only negative cycles are a task there
    and a task back; where the largest saving of any task of the one, and that of the other, do not pay for moving both,
    there is none, so the flow is what it was and need not be solved.
    """
    num_tasks, num_clients = len(placement.owner), len(clients)
    num_standbys = int(placement.standbys().sum())
    kernels = CHOICE.choose((num_standbys * num_clients + num_clients**2 // 5) // STEPS_OF_WORK)
    logged_most = 0 if recorder is SILENT else ROUNDS * num_clients * (num_clients - 1) // 2
    log = kernels.space(logged_most, 2)
    exchange = Exchange(
        owner=kernels.view(placement.owner),
        standby=kernels.view(placement.standby),
        clients=kernels.vector(list(clients)),
        rack=kernels.vector(placement.state.clients.rack.tolist()),
        traffic=kernels.matrix(traffic),
        non_overlap_cost=non_overlap_cost,
        tags=kernels.matrix(tags),
        num_tags=tags.shape[1],
        most=kernels.space(num_clients, traffic.shape[1]),
        rows=kernels.zeros(num_tasks),
    )
    least = int(traffic.min(initial=0)) + min(non_overlap_cost, 0)
    flows = kernels.of(exchange_pairs)(exchange, _search(kernels, num_tasks, least), log)
    if flows:
        solved, times = np.unique(np.array(log[:flows]), axis=0, return_counts=True)
        for (tasks, cycles), number in zip(solved.tolist(), times.tolist(), strict=True):
            recorder.flow(min_traffic_effort(tasks, 2, cycles), number)


def _search(kernels: Kernels, num_tasks: int, least_cost: int) -> Search:
    zeros = kernels.zeros
    network = Network(
        clients=2,
        linked=0,
        negative=int(least_cost < 0),
        costs=kernels.space(num_tasks, 2),
        least=zeros(num_tasks),
        owner=zeros(num_tasks),
        group=zeros(num_tasks),
        first=zeros(2),
        held=zeros(2),
        spare=zeros(2),
        cheapest=kernels.space(2, 2),
        best=zeros(2),
    )
    # A search makes at most as many passes as there are nodes: all tasks, two clients, source, sink and the dummy.
    return Search(network, kernels.space(num_tasks + 7, 2), zeros(1), zeros(1), zeros(1), zeros(4), zeros(4))


def exchange_pairs(exchange: Exchange, search: Search, log: Matrix) -> int:
    """A kernel: walks over the pairs until nothing moves; if `log` has rows, writes (tasks, cycles) of each flow to it.

    Answers how many rows were written.
    """
    clients = exchange.clients
    rack = exchange.rack
    most = exchange.most
    price = 2 * exchange.non_overlap_cost
    flows = 0
    for client in clients:
        look_again(exchange, client)
    for _ in range(ROUNDS):
        moved = False
        for place in range(len(clients)):
            for other in range(place + 1, len(clients)):
                first = min(clients[place], clients[other])
                second = max(clients[place], clients[other])
                if rack[first] != rack[second]:
                    may_pay = most[first][rack[second]] + most[second][rack[first]] > price
                    if may_pay or len(log) > 0:
                        tasks = gather(exchange, search.network, first, second)
                        if tasks > 0:
                            cycles = solve(exchange, search, first, second, tasks) if may_pay else 0
                            if cycles > 0:
                                moved = True
                            if len(log) > 0:
                                log[flows][0] = tasks
                                log[flows][1] = cycles
                                flows += 1
        if not moved:
            break
    return flows


def look_again(exchange: Exchange, client: int) -> None:
    """A kernel: works out the most that a client's standbys can save, after they have changed."""
    most = exchange.most[client]
    here = exchange.rack[client]
    base = client * len(exchange.owner)
    for rack in range(len(most)):
        most[rack] = -FAR
    for task in range(len(exchange.owner)):
        if exchange.standby[base + task] == 1:
            traffic = exchange.traffic[task]
            for rack in range(len(most)):
                if traffic[here] - traffic[rack] > most[rack]:
                    most[rack] = traffic[here] - traffic[rack]


def gather(exchange: Exchange, network: Network, first: int, second: int) -> int:
    """A kernel: lists the standbys that may move between two clients; how many, or 0 unless both have some."""
    num_tasks = len(exchange.owner)
    held = network.held
    held[0] = 0
    held[1] = 0
    tasks = 0
    for task in range(num_tasks):
        on_first = exchange.standby[first * num_tasks + task]
        if on_first != exchange.standby[second * num_tasks + task]:
            source = first if on_first == 1 else second
            destination = second if on_first == 1 else first
            if exchange.owner[task] != destination and may_move(exchange, source, destination, task):
                exchange.rows[tasks] = task
                network.owner[tasks] = 1 - on_first
                held[1 - on_first] += 1
                tasks += 1
    return tasks if held[0] > 0 and held[1] > 0 else 0


def may_move(exchange: Exchange, source: int, destination: int, task: int) -> bool:
    """A kernel: whether the task's copies carry no fewer distinct tags if this one moves."""
    lost = 0
    gained = 0
    for column in range(exchange.num_tags):
        tag = exchange.tags[source][column]
        if tag != NO_TAG and not is_carried(exchange, source, destination, task, tag):
            lost += 1
        tag = exchange.tags[destination][column]
        if tag != NO_TAG and not is_carried(exchange, source, destination, task, tag):
            gained += 1
    return gained >= lost


def is_carried(exchange: Exchange, source: int, destination: int, task: int, tag: int) -> bool:
    """A kernel: whether another client than these two has the task, in either role, and the tag."""
    num_tasks = len(exchange.owner)
    for client in range(len(exchange.rack)):
        holds = exchange.owner[task] == client or exchange.standby[client * num_tasks + task] == 1
        if holds and client != source and client != destination:
            for column in range(exchange.num_tags):
                if exchange.tags[client][column] == tag:
                    return True
    return False


def solve(exchange: Exchange, search: Search, first: int, second: int, tasks: int) -> int:
    """A kernel: solves the flow of the pair that was gathered, and applies it; answers how many cycles there were."""
    network = search.network
    num_tasks = len(exchange.owner)
    for position in range(tasks):
        traffic = exchange.traffic[exchange.rows[position]]
        owner = network.owner[position]
        cost = network.costs[position]
        cost[0] = traffic[exchange.rack[first]] + owner * exchange.non_overlap_cost
        cost[1] = traffic[exchange.rack[second]] + (1 - owner) * exchange.non_overlap_cost
        network.least[position] = min(cost[0], cost[1])
    network.first[1] = tasks
    cycles, _ = cancel_cycles(
        network,
        search.history,
        tasks + 4,
        search.classes,
        search.periods,
        search.falls,
        search.parent,
        search.seen,
    )
    if cycles > 0:
        for position in range(tasks):
            task = exchange.rows[position]
            exchange.standby[first * num_tasks + task] = 1 - network.owner[position]
            exchange.standby[second * num_tasks + task] = network.owner[position]
        look_again(exchange, first)
        look_again(exchange, second)
    return cycles
