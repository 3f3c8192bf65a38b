"""Moving active tasks by a min-cost flow.

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

Flow = Callable[[IntArray, RowArray, RowArray], FlowSolution]
"""Solves a flow: costs (N, K) of N tasks on K clients, who owns each task, the tasks (rows)."""


def configured_flow(state: ApplicationState) -> Flow:
    """The flow of the configured strategy."""
    if state.assignment_configs.rack_aware_assignment_strategy is not RackAwareStrategy.BALANCE_SUBTOPOLOGY:
        return lambda costs, owner, tasks: solve_min_traffic(costs, owner)
    return lambda costs, owner, tasks: solve_balance_subtopology(costs, owner, state.tasks.subtopology[tasks])


def traffic_by_rack(state: ApplicationState, partitions: Ragged, traffic_cost: int) -> IntArray:
    """What each task costs in each rack, shape (T, R): so much for each of its partitions without a replica there."""
    return state.partitions.remote(partitions) * traffic_cost


def move_actives(
    placement: TaskPlacement,
    tasks: Sequence[int],
    clients: Sequence[int],
    traffic: IntArray,
    non_overlap_cost: int,
    recorder: Recorder,
) -> None:
    """Solve one flow of the configured strategy and move the active tasks accordingly.

    Args:
        placement: what to change.
        tasks: the tasks to move, rows in order.
        clients: all clients, rows in the order in which they are nodes of the graph.
        traffic: shape (T, R); what a task costs in a rack, without the cost of moving it.
        non_overlap_cost: what it costs to move a task.
        recorder: is told the flow, and what it moved.
    """
    state = placement.state
    rows, nodes = np.array(tasks, dtype=np.intp), np.array(clients, dtype=np.intp)
    owner = np.argsort(nodes)[placement.owners()[rows]]
    here, racks = traffic[rows], state.clients.rack[nodes]

    def solve() -> FlowSolution:
        return configured_flow(state)(costs_of_moving(here[:, racks], owner, non_overlap_cost), owner, rows)

    strategy = state.assignment_configs.rack_aware_assignment_strategy
    groups, price = state.tasks.subtopology[rows], np.array([non_overlap_cost])
    solution = cached_solve(strategy, (here, racks, owner, groups, price), solve)
    recorder.flow(solution.effort)
    if recorder.wants_steps:
        moved, spreads = np.flatnonzero(solution.owner != owner), strategy is RackAwareStrategy.BALANCE_SUBTOPOLOGY
        ends = owner[moved], solution.owner[moved]
        recorder.exchange(
            describe_exchange(
                TaskType.ACTIVE, rows[moved], nodes, ends, here[moved][:, racks], non_overlap_cost, spreads=spreads
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
    """What a recorder is told of M tasks that a flow moved; both ends are places in `clients`, traffic (M, K)."""
    each = np.arange(len(tasks))
    source, destination = ends
    return Exchange(
        role=role,
        tasks=tasks,
        sources=clients[source],
        destinations=clients[destination],
        source_traffic=traffic[each, source],
        destination_traffic=traffic[each, destination],
        non_overlap_cost=non_overlap_cost,
        spreads=spreads,
    )


def costs_of_moving(traffic: IntArray, owner: RowArray, non_overlap_cost: int) -> IntArray:
    """The costs (N, K) of N tasks on K clients: their traffic, and the non-overlap cost wherever they are not now."""
    costs = traffic + non_overlap_cost
    costs[np.arange(len(owner)), owner] -= non_overlap_cost
    return costs
