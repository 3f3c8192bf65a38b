"""The cost of each assignment of a run, and its lower bound."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from assignors.flow import cached_solve
from assignors.model.assignment import AssignmentColumns
from assignors.model.columns import BoolArray, ClientTable
from assignors.model.state import ApplicationState
from assignors.objective.cost import (
    CostAndBound,
    TaskCopies,
    Weights,
    capacity_at_max_load,
    cost_of_copies,
    flow_bound,
    group_copies_by_role,
)


def appraise(
    state: ApplicationState,
    columns: AssignmentColumns,
    weights: Weights,
    previous: tuple[BoolArray, BoolArray],
) -> CostAndBound | None:
    """Return the cost and the bound of `compute_cost_and_bound`, which the rebalances of a run share where they recur.

    Args:
        state: the state that was assigned.
        columns: the assignment.
        weights: the weights.
        previous: the active tasks and all copies that each client had, two arrays of shape (T, C).

    Returns:
        The cost and the bound; None if a client has no rack, or the racks of a partition that is read are unknown.
    """
    copies = group_copies_by_role(state, columns, weights, previous)
    if copies is None:
        return None
    kinds = (copies.stateful, copies.stateless, copies.standbys)
    cost = sum(cost_of_copies(kind, state.clients.rack) for kind in kinds)
    return CostAndBound(cost, sum(_bound(kind, state.clients) for kind in kinds))


def _bound(copies: TaskCopies, clients: ClientTable) -> int:
    """Return `flow_bound`, from the cache where it does not depend on the previous clients and therefore often recurs.

    That is where moves cost nothing and each task has one copy. The relaxation lets a second copy share a client only
    if one of them was there before.
    """
    if copies.move_cost or (copies.num_copies != 1).any():
        return flow_bound(copies, clients.rack, clients.threads)
    capacity = capacity_at_max_load(copies.placed, clients.threads)
    unmoved = replace(copies, held=np.zeros_like(copies.held))
    return cached_solve(
        "bound without moves",
        (copies.num_copies, copies.traffic_cost, capacity, clients.rack),
        lambda: flow_bound(unmoved, clients.rack, clients.threads),
    )
