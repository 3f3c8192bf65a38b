"""Move active tasks by a min-cost flow.

Source: KIP-925, `RackAwareGraphConstructor` and its two implementations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from assignors.flow import FlowSolution, cached_solve, solve_balance_subtopology, solve_min_traffic
from assignors.model.assignment import TaskType
from assignors.model.columns import IntArray, Ragged
from assignors.model.configs import RackAwareStrategy
from assignors.model.state import ApplicationState
from assignors.recording.recorder import Exchange, Recorder
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
