"""Exchange standbys between clients in different racks, pair by pair, by min_traffic flows.

Source: KIP-925, `RackAwareTaskAssignor.optimizeStandbyTasks`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assignors.compilation import CHOICE, Kernels
from assignors.flow import min_traffic_effort
from assignors.flow.network import ResidualNetwork
from assignors.model.assignment import UNASSIGNED, TaskType
from assignors.model.columns import IntArray, cells
from assignors.recording.recorder import NO_RECORDER, Exchange, Recorder
from assignors.tasks.standby_pairs import MAX_ROUNDS, ExchangeLog, PairSearch, PairWalk, exchange_pairs
from assignors.tasks.task_placement import TaskPlacement

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

    Args:
        placement: the placement to change.
        clients: all clients, rows.
        traffic: shape (T, R); traffic cost of a standby in a rack.
        non_overlap_cost: cost of a move.
        tags: shape (C, K); numbers of each client's tags, padded with NO_TAG. A move must not reduce the number of
            distinct tags of a task's copies. With K = 0, all moves are allowed.
        recorder: receives the flows and their moves.

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
