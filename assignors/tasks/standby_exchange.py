"""Exchange standbys between clients in different racks, pair by pair, by min_traffic flows.

Source: KIP-925, `RackAwareTaskAssignor.optimizeStandbyTasks`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from assignors.compilation import CHOICE, Kernels, Matrix, Vector
from assignors.flow import min_traffic_effort
from assignors.flow.cycles import cancel_cycles
from assignors.flow.network import UNREACHABLE, ResidualNetwork
from assignors.model.assignment import UNASSIGNED, TaskType
from assignors.model.columns import NO_TAG, IntArray, cells
from assignors.recording import NO_RECORDER, Exchange, Recorder
from assignors.tasks.task_placement import TaskPlacement

MAX_ROUNDS = 4


class PairWalk(NamedTuple):
    """The input of a walk over the pairs of clients; `owner` and `standby` as in `TaskPlacement`."""

    owner: Vector
    standby: Vector
    clients: Vector
    """all clients in the order in which they form pairs"""
    rack: Vector
    """[client]"""
    traffic: Matrix
    """[task][rack] traffic cost of a standby"""
    non_overlap_cost: int
    tags: Matrix
    """[client][] numbers of its tags, padded with NO_TAG"""
    num_tags: int
    """number of columns of `tags`; 0 if all moves are allowed"""
    standbys: Vector
    """the tasks of each client's standbys, by client, then by task; exchanges keep their number"""
    first_standby: Vector
    """[client + 1] where each client's standbys begin in `standbys`"""
    shared: Matrix
    """[client][client] number of standbys of the first whose task the second holds, too; empty if not requested"""
    max_saving: Matrix
    """[client][rack] maximum saving by moving one of its standbys to the rack; -UNREACHABLE if it has none"""
    merged: Vector
    """scratch: tasks of which a client of a pair holds a standby, in order"""
    rows: Vector
    """scratch: tasks of a pair that may move"""


class ExchangeLog(NamedTuple):
    """The flows and moves for a recorder; parts that it does not request are empty."""

    unchanged: Vector
    """[tasks] number of flows of so many tasks without a cycle"""
    flows: Matrix
    """[flow] number of tasks, number of cycles; of flows with a cycle"""
    moves: Vector
    """four numbers for each moved standby: flow, task, source, destination"""
    written: Vector
    """[2] number of rows of `flows`, number of entries of `moves`"""


class PairSearch(NamedTuple):
    """The flow of a pair, with two clients and space for all tasks; overwritten for each pair."""

    network: ResidualNetwork
    history: Matrix
    classes: Vector
    periods: Vector
    falls: Vector
    parent: Vector
    seen: Vector


def exchange_pairs(walk: PairWalk, search: PairSearch, log: ExchangeLog) -> None:
    """Walk over the pairs until nothing moves, and fill the log (kernel)."""
    clients = walk.clients
    rack = walk.rack
    max_saving = walk.max_saving
    cost_of_moves = 2 * walk.non_overlap_cost
    for client in clients:
        update_max_savings(walk, client)
    for _ in range(MAX_ROUNDS):
        moved = False
        for position in range(len(clients)):
            for later in range(position + 1, len(clients)):
                first = min(clients[position], clients[later])
                second = max(clients[position], clients[later])
                if rack[first] != rack[second]:
                    may_pay = max_saving[first][rack[second]] + max_saving[second][rack[first]] > cost_of_moves
                    tasks = 0
                    cycles = 0
                    if may_pay or (len(log.unchanged) > 0 and walk.num_tags > 0):
                        tasks = gather_movable(walk, search.network, first, second)
                        if tasks > 0 and may_pay:
                            cycles = solve_pair(walk, search, log, first, second, tasks)
                    elif len(log.unchanged) > 0:
                        tasks = count_movable(walk, first, second)
                    if cycles > 0:
                        moved = True
                        if len(log.unchanged) > 0:
                            log.flows[log.written[0]][0] = tasks
                            log.flows[log.written[0]][1] = cycles
                            log.written[0] += 1
                    elif tasks > 0 and len(log.unchanged) > 0:
                        log.unchanged[tasks] += 1
        if not moved:
            break


def update_max_savings(walk: PairWalk, client: int) -> None:
    """Compute the maximum savings of a client's standbys after they changed (kernel)."""
    max_saving = walk.max_saving[client]
    own_rack = walk.rack[client]
    for rack in range(len(max_saving)):
        max_saving[rack] = -UNREACHABLE
    for position in range(walk.first_standby[client], walk.first_standby[client + 1]):
        traffic = walk.traffic[walk.standbys[position]]
        for rack in range(len(max_saving)):
            if traffic[own_rack] - traffic[rack] > max_saving[rack]:
                max_saving[rack] = traffic[own_rack] - traffic[rack]


def count_movable(walk: PairWalk, first: int, second: int) -> int:
    """Count the standbys that may move between two clients, where tags do not matter (kernel).

    Returns the number of standbys; 0 unless both clients have some.
    """
    to_second = walk.first_standby[first + 1] - walk.first_standby[first] - walk.shared[first][second]
    to_first = walk.first_standby[second + 1] - walk.first_standby[second] - walk.shared[second][first]
    return to_second + to_first if to_second > 0 and to_first > 0 else 0


def gather_movable(walk: PairWalk, network: ResidualNetwork, first: int, second: int) -> int:
    """List the standbys that may move between two clients (kernel).

    Returns the number of standbys; 0 unless both clients have some.
    """
    num_tasks = len(walk.owner)
    held = network.held
    held[0] = 0
    held[1] = 0
    tasks = 0
    for position in range(merge_standbys(walk, first, second)):
        task = walk.merged[position]
        on_first = walk.standby[first * num_tasks + task]
        if on_first != walk.standby[second * num_tasks + task]:
            source = first if on_first == 1 else second
            destination = second if on_first == 1 else first
            if walk.owner[task] != destination and may_move(walk, source, destination, task):
                walk.rows[tasks] = task
                network.owner[tasks] = 1 - on_first
                held[1 - on_first] += 1
                tasks += 1
    return tasks if held[0] > 0 and held[1] > 0 else 0


def merge_standbys(walk: PairWalk, first: int, second: int) -> int:
    """List the tasks of which either client holds a standby, in order (kernel); return the number of tasks."""
    standbys = walk.standbys
    left = walk.first_standby[first]
    right = walk.first_standby[second]
    end_left = walk.first_standby[first + 1]
    end_right = walk.first_standby[second + 1]
    tasks = 0
    while left < end_left or right < end_right:
        if right == end_right or (left < end_left and standbys[left] <= standbys[right]):
            task = standbys[left]
            left += 1
            if right < end_right and standbys[right] == task:
                right += 1
        else:
            task = standbys[right]
            right += 1
        walk.merged[tasks] = task
        tasks += 1
    return tasks


def list_standbys(walk: PairWalk, client: int, merged: int) -> None:
    """List the standbys of a client of a pair again after an exchange (kernel).

    `merged`: number of tasks in `merged`, which are those of this pair.
    """
    end = walk.first_standby[client]
    for position in range(merged):
        task = walk.merged[position]
        if walk.standby[client * len(walk.owner) + task] == 1:
            walk.standbys[end] = task
            end += 1


def update_shared(walk: PairWalk, task: int, source: int, destination: int) -> None:
    """Count the shared tasks again after a standby moved (kernel)."""
    shared = walk.shared
    num_tasks = len(walk.owner)
    for client in range(len(walk.rack)):
        if client != source and client != destination:
            is_standby = walk.standby[client * num_tasks + task] == 1
            if is_standby:
                shared[client][source] -= 1
                shared[client][destination] += 1
            if is_standby or walk.owner[task] == client:
                shared[source][client] -= 1
                shared[destination][client] += 1


def may_move(walk: PairWalk, source: int, destination: int, task: int) -> bool:
    """Return whether the task's copies have no fewer distinct tags after the move (kernel)."""
    lost = 0
    gained = 0
    for column in range(walk.num_tags):
        tag = walk.tags[source][column]
        if tag != NO_TAG and not is_carried(walk, source, destination, task, tag):
            lost += 1
        tag = walk.tags[destination][column]
        if tag != NO_TAG and not is_carried(walk, source, destination, task, tag):
            gained += 1
    return gained >= lost


def is_carried(walk: PairWalk, source: int, destination: int, task: int, tag: int) -> bool:
    """Return whether a client other than these two holds the task in either role, and has the tag (kernel)."""
    num_tasks = len(walk.owner)
    for client in range(len(walk.rack)):
        holds = walk.owner[task] == client or walk.standby[client * num_tasks + task] == 1
        if holds and client != source and client != destination:
            for column in range(walk.num_tags):
                if walk.tags[client][column] == tag:
                    return True
    return False


def solve_pair(walk: PairWalk, search: PairSearch, log: ExchangeLog, first: int, second: int, tasks: int) -> int:
    """Solve the flow of the gathered pair, and apply it (kernel); return the number of cycles."""
    network = search.network
    num_tasks = len(walk.owner)
    for position in range(tasks):
        traffic = walk.traffic[walk.rows[position]]
        owner = network.owner[position]
        cost = network.costs[position]
        cost[0] = traffic[walk.rack[first]] + owner * walk.non_overlap_cost
        cost[1] = traffic[walk.rack[second]] + (1 - owner) * walk.non_overlap_cost
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
            task = walk.rows[position]
            to_second = network.owner[position]
            if walk.standby[second * num_tasks + task] != to_second:
                source = first if to_second == 1 else second
                destination = second if to_second == 1 else first
                if len(log.moves) > 0:
                    end = log.written[1]
                    log.moves[end] = log.written[0]
                    log.moves[end + 1] = task
                    log.moves[end + 2] = source
                    log.moves[end + 3] = destination
                    log.written[1] += 4
                if len(walk.shared) > 0:
                    update_shared(walk, task, source, destination)
            walk.standby[first * num_tasks + task] = 1 - to_second
            walk.standby[second * num_tasks + task] = to_second
        merged = merge_standbys(walk, first, second)
        list_standbys(walk, first, merged)
        list_standbys(walk, second, merged)
        update_max_savings(walk, first)
        update_max_savings(walk, second)
    return cycles


STEPS_OF_WORK = 4
"""Number of visits of a standby by a client in one step of work (`KernelChoice`)."""


def exchange_standbys(
    placement: TaskPlacement,
    clients: Sequence[int],
    traffic: IntArray,
    non_overlap_cost: int,
    tags: IntArray,
    recorder: Recorder,
) -> None:
    """Solve one min_traffic flow for each pair of clients in different racks, in the order of `clients`.

    `placement`: the placement to change. `clients`: all clients, rows. `traffic`: shape (T, R); traffic cost of a
    standby in a rack. `non_overlap_cost`: cost of a move. `tags`: shape (C, K); numbers of each client's tags, padded
    with NO_TAG. A move must not reduce the number of distinct tags of a task's copies. With K = 0, all moves are
    allowed. `recorder`: receives the flows and their moves.

    Complexity: O(C²) in each round, and a flow for each pair that may gain. The only negative cycles of a pair are a
    task in one direction and a task back. If the largest savings in both directions do not exceed the cost of two
    moves, the flow is optimal and need not be solved. For the leader's compute time, the recorder receives its size all
    the same, which follows from the number of tasks that both clients hold, unless tags restrict moves.
    """
    num_tasks, num_clients = len(placement.owner), len(clients)
    holders, tasks = cells(placement.standbys())
    kernels = CHOICE.choose((len(tasks) * num_clients + num_clients**2 // 5) // STEPS_OF_WORK)
    counts_flows = recorder is not NO_RECORDER
    if counts_flows and tags.shape[1] == 0:
        shared = _count_shared(holders, tasks, placement.owners(), num_clients)
    else:
        shared = np.empty((0, 0), dtype=np.int64)
    first_standby = np.concatenate(([0], np.cumsum(np.bincount(holders, minlength=num_clients))))
    walk = PairWalk(
        owner=kernels.view(placement.owner),
        standby=kernels.view(placement.standby),
        clients=kernels.vector(list(clients)),
        rack=kernels.vector(placement.state.clients.rack.tolist()),
        traffic=kernels.matrix(traffic),
        non_overlap_cost=non_overlap_cost,
        tags=kernels.matrix(tags),
        num_tags=tags.shape[1],
        standbys=kernels.vector(tasks.tolist()),
        first_standby=kernels.vector(first_standby.tolist()),
        shared=kernels.matrix(shared),
        max_saving=kernels.space(num_clients, traffic.shape[1]),
        merged=kernels.zeros(num_tasks),
        rows=kernels.zeros(num_tasks),
    )
    lowest = int(traffic.min(initial=0)) + min(non_overlap_cost, 0)
    log = _log(kernels, placement, traffic, non_overlap_cost, recorder)
    kernels.of(exchange_pairs)(walk, _search(kernels, num_tasks, lowest), log)
    if counts_flows:
        _record_efforts(log, recorder)
    if log.written[1]:
        _record_moves(log, placement, traffic, non_overlap_cost, recorder)


def _count_shared(holders: IntArray, tasks: IntArray, owner: IntArray, num_clients: int) -> IntArray:
    """Count the standbys of one client whose task another client holds, in either role.

    `owner`: client that runs each task, or UNASSIGNED. The result has shape (C, C), by client of the standby, and the
    other client.
    """
    by_task = np.argsort(tasks, kind="stable")
    task, holder = tasks[by_task], holders[by_task]
    runs = owner[task] != UNASSIGNED
    pairs = [holder[runs] * num_clients + owner[task[runs]]]
    for distance in range(1, int(np.bincount(task).max(initial=0))):
        same = task[distance:] == task[:-distance]
        first, second = holder[:-distance][same], holder[distance:][same]
        pairs += [first * num_clients + second, second * num_clients + first]
    counts: IntArray = np.bincount(np.concatenate(pairs), minlength=num_clients**2)
    return counts.reshape(num_clients, num_clients)


def _log(
    kernels: Kernels, placement: TaskPlacement, traffic: IntArray, non_overlap_cost: int, recorder: Recorder
) -> ExchangeLog:
    num_clients = len(placement.threads)
    counts_flows = recorder is not NO_RECORDER
    pairs = MAX_ROUNDS * num_clients * (num_clients - 1) // 2 if counts_flows else 0
    sizes = len(placement.owner) + 1 if counts_flows else 0
    moves = 0
    if recorder.wants_steps:
        holders, tasks = cells(placement.standbys())
        # The pairs of a client with all later ones move a standby at most twice: to that client, and on.
        moves = MAX_ROUNDS * len(tasks) * 2 * num_clients
        if non_overlap_cost >= 0:
            # Two standbys are exchanged only if this saves more traffic than both moves cost.
            max_saving = traffic[tasks, placement.state.clients.rack[holders]] - traffic[tasks].min(axis=1)
            moves = min(moves, 2 * int(max_saving.sum()) // (2 * non_overlap_cost + 1))
    return ExchangeLog(kernels.zeros(sizes), kernels.space(pairs, 2), kernels.zeros(4 * moves), kernels.zeros(2))


def _record_efforts(log: ExchangeLog, recorder: Recorder) -> None:
    unchanged = np.array(log.unchanged)
    counts = {(tasks, 0): int(unchanged[tasks]) for tasks in np.flatnonzero(unchanged).tolist()}
    for tasks, cycles in np.array(log.flows[: log.written[0]]).reshape(-1, 2).tolist():
        counts[tasks, cycles] = counts.get((tasks, cycles), 0) + 1
    for (tasks, cycles), count in sorted(counts.items()):
        recorder.flow(min_traffic_effort(tasks, 2, cycles), count)


def _record_moves(
    log: ExchangeLog, placement: TaskPlacement, traffic: IntArray, non_overlap_cost: int, recorder: Recorder
) -> None:
    moves = np.array(log.moves[: log.written[1]]).reshape(-1, 4)
    rack = placement.state.clients.rack
    for moves_of_flow in np.split(moves, np.flatnonzero(np.diff(moves[:, 0])) + 1):
        _, tasks, sources, destinations = moves_of_flow.T
        recorder.exchange(
            Exchange(
                role=TaskType.STANDBY,
                tasks=tasks,
                sources=sources,
                destinations=destinations,
                source_traffic=traffic[tasks, rack[sources]],
                destination_traffic=traffic[tasks, rack[destinations]],
                non_overlap_cost=non_overlap_cost,
                spreads=False,
            )
        )


def _search(kernels: Kernels, num_tasks: int, least_cost: int) -> PairSearch:
    zeros = kernels.zeros
    costs = kernels.space(num_tasks, 2)
    network = ResidualNetwork(
        clients=2,
        linked=0,
        negative=int(least_cost < 0),
        costs=costs,
        rack=kernels.vector([0, 1]),
        home=zeros(0),
        return_cost=zeros(0),
        rack_costs=costs,
        owner=zeros(num_tasks),
        group=zeros(num_tasks),
        first=zeros(2),
        held=zeros(2),
        spare=zeros(2),
        cheapest=kernels.space(2, 2),
        best=zeros(2),
        reached=zeros(2),
    )
    # A search has at most as many passes as nodes: all tasks, two clients, source, sink and the dummy.
    return PairSearch(network, kernels.space(num_tasks + 7, 2), zeros(1), zeros(1), zeros(1), zeros(4), zeros(4))
