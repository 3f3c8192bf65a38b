"""The optimum of an instance, or bounds of it, and the place of an assignment relative to it.

The objective is KIP-925's cost with the default weights of Kafka's default assignor: 10 for each partition that a
stateful task or standby reads across racks, 1 for each that a stateless task reads, and 1 for each copy on a client
that did not hold it. The optimum is the minimum over all assignments in which every task is active once, has its
standbys on other clients, and every client has its share by threads, rounded either way, of stateful tasks, of
stateless tasks and of standbys.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assignors.model.assignment import UNASSIGNED, AssignmentColumns
from assignors.model.columns import IntArray
from assignors.model.state import ApplicationState
from assignors.objective.cost import HIGH_AVAILABILITY_WEIGHTS, compute_cost_and_bound
from assignors.tasks.optimal import Optimal, Separation

MAX_VARIABLES = 50_000
"""Variables above which no integer program is solved; 25,000 stateful tasks times clients."""


FLOW, PROGRAM = "min-cost flow", "min-cost flow or integer program"
"""What proves a bound: with standbys, an integer program where the flows place two copies of a task on one client."""


@dataclass(frozen=True, slots=True)
class Optimum:
    """The optimum of an instance.

    Attributes:
        best: cost of the best known assignment.
        bound: lower bound; equal to `best` if the optimum is proven.
        slack: number of copies by which clients exceed or miss their rounded shares; 0 unless no assignment exists.
        status: `optimal` or `bounded`.
        proof: what proves the bound.
    """

    best: int
    bound: int
    slack: int
    status: str
    proof: str


def find_optimum(state: ApplicationState) -> Optimum | None:
    """Return the optimum of an instance; None if the racks of clients or partitions are unknown."""
    weights = HIGH_AVAILABILITY_WEIGHTS
    if not state.has_known_racks(standbys=True):
        return None
    solution = Optimal(
        traffic_cost=weights.traffic_cost,
        non_overlap_cost=weights.non_overlap_cost,
        apart=Separation.CLIENTS,
        max_variables=MAX_VARIABLES,
    ).solve(state)
    standbys = min(state.assignment_configs.num_standby_replicas, len(state.clients) - 1)
    variables = 2 * int(state.tasks.stateful.sum()) * len(state.clients)
    is_program = standbys > 0 and variables <= MAX_VARIABLES
    return Optimum(
        best=solution.cost,
        bound=solution.bound,
        slack=solution.slack,
        status="optimal" if solution.status == "optimal" else "bounded",
        proof=PROGRAM if is_program else FLOW,
    )


def cost_of(state: ApplicationState, columns: AssignmentColumns) -> int | None:
    """Return the cost of an assignment; None if racks are unknown."""
    found = compute_cost_and_bound(state, columns, HIGH_AVAILABILITY_WEIGHTS)
    return None if found is None else found.cost


def is_balanced(state: ApplicationState, columns: AssignmentColumns, slack: int = 0) -> bool:
    """Return whether an assignment is balanced, so that it cannot cost less than the optimum."""
    stateful, running = state.tasks.stateful, columns.active != UNASSIGNED
    standbys = min(state.assignment_configs.num_standby_replicas, max(len(state.clients) - 1, 0))
    if not running.all() or (columns.standby[stateful].sum(axis=1) != standbys).any():
        return False
    counts = (
        np.bincount(columns.active[stateful], minlength=len(state.clients)),
        np.bincount(columns.active[~stateful], minlength=len(state.clients)),
        columns.standby.sum(axis=0),
    )
    return all(_fits(count, state.clients.threads, slack) for count in counts)


def _fits(count: IntArray, threads: IntArray, slack: int) -> bool:
    total, shares = int(count.sum()), int(threads.sum())
    lowest, highest = total * threads // shares, -(-total * threads // shares)
    return bool(((count >= lowest - slack) & (count <= highest + slack)).all())
