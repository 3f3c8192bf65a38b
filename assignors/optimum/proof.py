"""Raise the bound of an assignment's cost to the optimum, with copies of a task on distinct clients."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from assignors.integer_program import LinearProgram, solve_integer
from assignors.model.assignment import AssignmentColumns
from assignors.model.columns import ClientTable, IntArray
from assignors.model.state import ApplicationState
from assignors.objective import (
    BoundProof,
    CopiesByRole,
    CostAndBound,
    TaskCopies,
    Weights,
    capacity_at_max_load,
    cost_of_copies,
    flow_bound,
    group_copies_by_role,
)
from assignors.optimum.task_placement_program import MAX_VARIABLES, RowBuilder

_ROUNDING, _RELATIVE_ROUNDING = 1e-3, 1e-9
"""Absolute and relative tolerance of a bound for floating-point errors."""


def prove_bound(
    state: ApplicationState,
    columns: AssignmentColumns,
    weights: Weights,
    time_limit_s: float,
    max_variables: int = MAX_VARIABLES,
) -> CostAndBound | None:
    """Return the cost of an assignment, and a bound that is the optimum if it can be proven.

    `state`: the state that was assigned. `columns`: a valid assignment. `weights`: the weights. `time_limit_s`: time
    limit of the integer program, converted to nodes of its search; see `solve_integer`. `max_variables`: number of
    variables above which no integer program is solved. Returns the cost and the bound with its proof; None where
    `compute_cost_and_bound` returns None. The bound is the optimum if it equals the cost of the best known assignment.

    Guarantees: the bound is for the same assignments as the bound by flows: with the same copies on distinct clients,
    and with no higher maximum load per thread of any kind. The given assignment is one of them. The bound is never
    lower than the bound by flows.

    Complexity: as `compute_cost_and_bound` if its bound is exact: without standbys, or if the assignment reaches it.
    Else an integer program of 2·N·C variables for N tasks on C clients, unless that exceeds `max_variables`.
    """
    kinds = group_copies_by_role(state, columns, weights)
    if kinds is None:
        return None
    rack, threads = kinds.rack, state.clients.threads
    stateless = flow_bound(kinds.stateless, rack, threads)
    relaxed_bound = flow_bound(kinds.stateful, rack, threads) + flow_bound(kinds.standbys, rack, threads)
    cost = cost_of_copies(kinds.stateful, rack) + cost_of_copies(kinds.standbys, rack)
    bound, best_known = relaxed_bound, cost
    if not len(kinds.standbys.tasks):
        best_known = relaxed_bound
    elif relaxed_bound < cost and 2 * _tasks(kinds).size * len(threads) <= max_variables:
        proven, found_cost = _Problem.of(kinds, state.clients).solve(time_limit_s)
        bound = max(relaxed_bound, proven)
        best_known = cost if found_cost is None else min(cost, found_cost)
    return CostAndBound(
        cost=cost + cost_of_copies(kinds.stateless, rack),
        bound=bound + stateless,
        proof=BoundProof(relaxed_bound + stateless, best_known + stateless),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """A placement problem of the copies of N stateful tasks on C clients; roles are separate.

    Attributes:
        price: shape (2, N, C); cost of a copy, active tasks first.
        number: shape (2, N); number of copies.
        most: shape (2, C); maximum number of copies of each client.
    """

    price: IntArray
    number: IntArray
    most: IntArray

    @classmethod
    def of(cls, kinds: CopiesByRole, clients: ClientTable) -> _Problem:
        """Return the problem that an assignment solves."""
        roles = (kinds.stateful, kinds.standbys)
        tasks = _tasks(kinds)
        price = np.zeros((2, len(tasks), len(clients)), dtype=np.int64)
        number = np.zeros((2, len(tasks)), dtype=np.int64)
        for role, copies in enumerate(roles):
            rows = np.searchsorted(tasks, copies.tasks)
            price[role, rows] = _prices(copies, kinds.rack)
            number[role, rows] = copies.num_copies
        return cls(price, number, np.array([capacity_at_max_load(copies, clients.threads) for copies in roles]))

    def program(self) -> LinearProgram:
        """Return the program: all copies are placed, capacities are met, and no client has two copies of a task."""
        _, num_tasks, num_clients = self.price.shape
        variable = np.arange(self.price.size).reshape(self.price.shape)
        task, client = np.divmod(np.arange(num_tasks * num_clients), num_clients)
        ones = np.ones(num_tasks * num_clients, dtype=np.int64)
        rows = RowBuilder()
        for role in range(2):
            rows.add([(task, variable[role].ravel(), 1)], self.number[role], self.number[role])
            rows.add([(client, variable[role].ravel(), 1)], np.zeros_like(self.most[role]), self.most[role])
        pairs = np.arange(num_tasks * num_clients)
        rows.add([(pairs, variable[role].ravel(), 1) for role in range(2)], 0 * ones, ones)
        return rows.build(-self.price.ravel(), np.ones(self.price.size, dtype=np.int64))

    def solve(self, time_limit_s: float) -> tuple[int, int | None]:
        """Return a lower bound of the cost, and the cost of the best placement found; None if none was found."""
        solution = solve_integer(self.program(), time_limit_s)
        lowest = -solution.bound if math.isfinite(solution.bound) else 0.0
        bound = math.ceil(lowest - _ROUNDING - _RELATIVE_ROUNDING * lowest)
        if solution.values is None:
            return bound, None
        return bound, int(self.price.ravel() @ np.rint(solution.values).astype(np.int64))


def _tasks(kinds: CopiesByRole) -> IntArray:
    """Return the rows of the tasks of a problem."""
    tasks: IntArray = np.union1d(kinds.stateful.tasks, kinds.standbys.tasks)
    return tasks


def _prices(copies: TaskCopies, rack: IntArray) -> IntArray:
    """Return the cost of a copy of each task on each client, shape (N, C)."""
    price: IntArray = copies.traffic_cost[:, rack] + copies.move_cost * ~copies.held
    return price
