"""Moving active tasks by a min-cost flow.

Source: KIP-925, `RackAwareGraphConstructor` and its two implementations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from assignors.columns import IntArray
from assignors.configs import RackAwareStrategy
from assignors.flow import balance_subtopology, min_traffic
from assignors.state import ApplicationState
from assignors.tasks.placement import Placement

RowArray = npt.NDArray[np.intp]

Flow = Callable[[IntArray, RowArray, RowArray], RowArray]
"""Solves a flow: costs (N, K) of N tasks on K clients, who owns each task, the tasks (rows); who is to own each."""


def min_traffic_flow(costs: IntArray, owner: RowArray, tasks: RowArray) -> RowArray:
    """The flow of min_traffic, whatever the strategy is."""
    return min_traffic(costs, owner)


def configured_flow(state: ApplicationState) -> Flow:
    """The flow of the configured strategy."""
    if state.assignment_configs.rack_aware_assignment_strategy is not RackAwareStrategy.BALANCE_SUBTOPOLOGY:
        return min_traffic_flow
    return lambda costs, owner, tasks: balance_subtopology(costs, owner, state.tasks.subtopology[tasks])


def move_actives(
    placement: Placement,
    tasks: Sequence[int],
    clients: Sequence[int],
    traffic: IntArray,
    non_overlap_cost: int,
    flow: Flow,
) -> None:
    """Solve one flow and move the active tasks accordingly.

    Args:
        placement: what to change.
        tasks: the tasks to move, rows in order.
        clients: all clients, rows in the order in which they are nodes of the graph.
        traffic: shape (T, C); what a task costs on a client, without the cost of moving it.
        non_overlap_cost: what it costs to move a task.
        flow: how to solve it.
    """
    rows, nodes = np.array(tasks, dtype=np.intp), np.array(clients, dtype=np.intp)
    node_of = np.argsort(nodes)
    owner = node_of[[placement.owner[task] for task in tasks]]
    moved_to = flow(costs_of_moving(traffic[np.ix_(rows, nodes)], owner, non_overlap_cost), owner, rows)
    for position in np.flatnonzero(moved_to != owner).tolist():
        placement.unassign_active(tasks[position], clients[owner[position]])
        placement.assign_active(tasks[position], clients[moved_to[position]])


def costs_of_moving(traffic: IntArray, owner: RowArray, non_overlap_cost: int) -> IntArray:
    """The costs (N, K) of N tasks on K clients: their traffic, and the non-overlap cost wherever they are not now."""
    costs = traffic + non_overlap_cost
    costs[np.arange(len(owner)), owner] -= non_overlap_cost
    return costs
