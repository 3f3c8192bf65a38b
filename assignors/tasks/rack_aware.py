"""Rack-aware optimization of an assignment, and its cost by Kafka's own count.

The cost counts partitions, not bytes, and a replica in the client's rack makes a partition local, as in Kafka.

Source: KIP-925, `RackAwareTaskAssignor`, `RackAwareGraphConstructor`, `MinTrafficGraphConstructor`,
`BalanceSubtopologyGraphConstructor`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assignors.errors import IllegalStateError
from assignors.flow import FlowSolution, cached_solve, solve_balance_subtopology, solve_min_traffic
from assignors.model.assignment import UNASSIGNED, AssignmentColumns, TaskType
from assignors.model.columns import IntArray, Ragged, cells
from assignors.model.configs import RackAwareStrategy
from assignors.model.state import ApplicationState
from assignors.objective import STATELESS_WEIGHTS, Weights
from assignors.recording import Exchange, Recorder
from assignors.tasks.standby_exchange import exchange_standbys
from assignors.tasks.task_placement import TaskPlacement

RowArray = npt.NDArray[np.intp]

Flow = Callable[[IntArray, RowArray, RowArray, RowArray | None], FlowSolution]
"""Solves a flow: costs (N, K) of N tasks on K clients, the owner of each task, the tasks (rows), the clients' racks."""


def configured_flow(state: ApplicationState) -> Flow:
    """Return the flow of the configured strategy."""
    if state.assignment_configs.rack_aware_assignment_strategy is not RackAwareStrategy.BALANCE_SUBTOPOLOGY:
        return lambda costs, owner, tasks, racks: solve_min_traffic(costs, owner, racks)
    return lambda costs, owner, tasks, racks: solve_balance_subtopology(
        costs, owner, state.tasks.subtopology[tasks], racks
    )


def traffic_by_rack(state: ApplicationState, partitions: Ragged, traffic_cost: int) -> IntArray:
    """Return the traffic cost of each task in each rack, shape (T, R)."""
    traffic: IntArray = state.partitions.count_remote(partitions) * traffic_cost
    return traffic


def move_actives(
    placement: TaskPlacement,
    tasks: Sequence[int],
    clients: Sequence[int],
    traffic: IntArray,
    non_overlap_cost: int,
    recorder: Recorder,
) -> None:
    """Solve one flow of the configured strategy, and move the active tasks to its owners.

    `tasks`: tasks to move, rows in order. `clients`: all clients, rows in the order of the nodes of the graph.
    `traffic`, shape (T, R): traffic cost of a task in a rack.
    """
    state = placement.state
    rows, nodes = np.array(tasks, dtype=np.intp), np.array(clients, dtype=np.intp)
    owner = np.argsort(nodes)[placement.owners()[rows]]
    rack_traffic, racks = traffic[rows], state.clients.rack[nodes]

    def solve() -> FlowSolution:
        costs = costs_of_moving(rack_traffic[:, racks], owner, non_overlap_cost)
        return configured_flow(state)(costs, owner, rows, racks)

    strategy = state.assignment_configs.rack_aware_assignment_strategy
    groups, price = state.tasks.subtopology[rows], np.array([non_overlap_cost])
    solution = cached_solve(strategy, (rack_traffic, racks, owner, groups, price), solve)
    recorder.flow(solution.effort)
    if recorder.wants_steps:
        moved, spreads = np.flatnonzero(solution.owner != owner), strategy is RackAwareStrategy.BALANCE_SUBTOPOLOGY
        ends = owner[moved], solution.owner[moved]
        recorder.exchange(
            describe_exchange(
                TaskType.ACTIVE,
                rows[moved],
                nodes,
                ends,
                rack_traffic[moved][:, racks],
                non_overlap_cost,
                spreads=spreads,
            )
        )
    placement.move_actives(rows, nodes[solution.owner])


def describe_exchange(
    role: TaskType,
    tasks: RowArray,
    clients: RowArray,
    ends: tuple[RowArray, RowArray],
    traffic: IntArray,
    non_overlap_cost: int,
    *,
    spreads: bool,
) -> Exchange:
    """Return the record of M tasks that a flow moved.

    `ends`: sources and destinations, as positions in `clients`. `traffic`, shape (M, K): traffic cost of each task on
    each client. `spreads` says whether the flow also balances subtopologies.
    """
    moves = np.arange(len(tasks))
    source, destination = ends
    return Exchange(
        role=role,
        tasks=tasks,
        sources=clients[source],
        destinations=clients[destination],
        source_traffic=traffic[moves, source],
        destination_traffic=traffic[moves, destination],
        non_overlap_cost=non_overlap_cost,
        spreads=spreads,
    )


def costs_of_moving(traffic: IntArray, owner: RowArray, non_overlap_cost: int) -> IntArray:
    """Return the costs (N, K) of N tasks on K clients: traffic, and the non-overlap cost except on the owner."""
    costs = traffic + non_overlap_cost
    costs[np.arange(len(owner)), owner] -= non_overlap_cost
    return costs


@dataclass(frozen=True, slots=True)
class RackCosts:
    """The cost of an assignment by Kafka's own count.

    None where Kafka cannot compute it: unknown racks, a copy that reads no partition, no standbys configured.
    """

    active: int | None
    stateless: int | None
    standby: int | None


def can_enable(state: ApplicationState) -> bool:
    """Return whether Kafka optimizes for racks: a strategy is configured, and all clients and replicas have a rack.

    Replicas of changelogs matter only if standbys are configured.
    """
    configs = state.assignment_configs
    if configs.rack_aware_assignment_strategy is RackAwareStrategy.NONE:
        return False
    return state.has_known_racks(standbys=configs.num_standby_replicas > 0)


def optimize_active_tasks(placement: TaskPlacement, tasks: Sequence[int], weights: Weights, recorder: Recorder) -> None:
    """Move active tasks to the minimum total cost, as Kafka's min-cost flow does.

    `tasks`: tasks to move, rows in order; `weights`: costs of remote partitions and moves. Raises IllegalStateError if
    a task reads no partition.

    Guarantees: the minimum of traffic and non-overlap cost in the graph of the configured strategy. With min_traffic,
    the number of tasks on each client stays the same.
    """
    if not tasks:
        return
    state = placement.state
    _require_partitions(state, state.tasks.source, tasks)
    traffic = traffic_by_rack(state, state.tasks.source, weights.traffic_cost)
    move_actives(placement, tasks, range(len(state.clients)), traffic, weights.non_overlap_cost, recorder)


def optimize_standby_tasks(placement: TaskPlacement, weights: Weights, tags: IntArray, recorder: Recorder) -> None:
    """Exchange standbys between clients in different racks, pair by pair, while this reduces the cost.

    `weights`: costs of remote partitions and moves. Raises IllegalStateError if a standby task has no changelog.

    Guarantees: the number of standbys of each client stays the same; no client gets a second copy of a task.

    Priority: pairs of clients in Kafka's order, each solved and applied before the next; at most 4 rounds.

    Complexity: O(C²) small min-cost flows in each round.
    """
    state = placement.state
    _require_partitions(state, state.tasks.changelog, np.flatnonzero(placement.standbys().any(axis=0)))
    traffic = traffic_by_rack(state, state.tasks.changelog, weights.traffic_cost)
    exchange_standbys(placement, range(len(state.clients)), traffic, weights.non_overlap_cost, tags, recorder)


def _require_partitions(state: ApplicationState, partitions: Ragged, tasks: Sequence[int] | IntArray) -> None:
    rows = np.asarray(tasks, dtype=np.int64)
    without = rows[partitions.counts()[rows] == 0]
    if len(without):
        raise IllegalStateError(f"Task {state.tasks.ids[without[0]]} has no TopicPartitions")


def rack_costs(state: ApplicationState, columns: AssignmentColumns, traffic_cost: int) -> RackCosts:
    """Return the cost of an assignment by Kafka's own count.

    `traffic_cost`: cost of a remote partition of a stateful task; 1 for stateless tasks.
    """
    if not can_enable(state):
        return RackCosts(None, None, None)
    running = columns.active != UNASSIGNED
    standbys = columns.standby & (state.assignment_configs.num_standby_replicas > 0)
    without_partitions = (running & (state.tasks.source.counts() == 0)) | (
        standbys.any(axis=1) & (state.tasks.changelog.counts() == 0)
    )
    if without_partitions.any():
        return RackCosts(None, None, None)
    racks = state.clients.rack
    remote = np.zeros(len(running), dtype=np.int64)
    remote[running] = state.partitions.count_remote(state.tasks.source)[running, racks[columns.active[running]]]
    task, client = cells(standbys)
    standby = state.partitions.count_remote(state.tasks.changelog)[task, racks[client]].sum()
    return RackCosts(
        active=int(remote[state.tasks.stateful].sum()) * traffic_cost,
        stateless=int(remote[~state.tasks.stateful].sum()) * STATELESS_WEIGHTS.traffic_cost,
        standby=int(standby) * traffic_cost if state.assignment_configs.num_standby_replicas else None,
    )
