"""The bound of an assignment's cost, raised to the optimum: standbys on distinct clients, none with its active.

Source: an assignment problem of two roles with shared clients, as an integer programme of HiGHS.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from assignors.integer_program import LinearProgram, solve_integer
from assignors.model.assignment import AssignmentColumns
from assignors.model.columns import ClientTable, IntArray
from assignors.model.state import ApplicationState
from assignors.objective.cost import (
    BoundProof,
    CopiesByRole,
    CostAndBound,
    TaskCopies,
    Weights,
    cost_of_copies,
    flow_bound,
    group_copies_by_role,
    room,
)
from assignors.optimum.placement_program import MAX_VARIABLES
from assignors.optimum.variables import RowBuilder

_ROUNDING, _RELATIVE_ROUNDING = 1e-3, 1e-9
"""How much of a bound, and which part of it, may be an error of floating-point arithmetic."""


def prove(
    state: ApplicationState, columns: AssignmentColumns, weights: Weights, time_limit_s: float
) -> CostAndBound | None:
    """Appraise an assignment as `objective.appraise` does, with a bound that is the optimum if that can be proven.

    Args:
        state: what was assigned.
        columns: a valid assignment.
        weights: the costs.
        time_limit_s: how long an integer programme may take, counted in nodes of its search; see `solve_integer`.

    Returns:
        An appraisal with its proof, None where `appraise` knows nothing. The bound is the optimum if it is what the
        cheapest known assignment costs.

    Guarantees: the bound is of the same assignments as that by flows, the given one among them: with the same copies,
    on distinct clients, and no client with more of a kind per thread than some client has in the given one. It is
    never lower than that by flows.

    Complexity: that of `appraise` where its bound is exact: without standbys, or if the assignment reaches it. Else an
    integer programme of 2·N·C numbers for N tasks on C clients, which is not tried above `joint.LARGEST`.
    """
    kinds = group_copies_by_role(state, columns, weights)
    if kinds is None:
        return None
    rack, threads = state.clients.rack, state.clients.threads
    stateless = flow_bound(kinds.stateless, rack, threads)
    relaxed = flow_bound(kinds.stateful, rack, threads) + flow_bound(kinds.standbys, rack, threads)
    paid = cost_of_copies(kinds.stateful, rack) + cost_of_copies(kinds.standbys, rack)
    bound, cheapest = relaxed, paid
    if not len(kinds.standbys.tasks):
        cheapest = relaxed
    elif relaxed < paid and 2 * _tasks(kinds).size * len(threads) <= MAX_VARIABLES:
        least, found = _Problem.of(kinds, state.clients).solved(time_limit_s)
        bound = max(relaxed, least)
        cheapest = paid if found is None else min(paid, found)
    return CostAndBound(
        cost=paid + cost_of_copies(kinds.stateless, rack),
        bound=bound + stateless,
        proof=BoundProof(relaxed + stateless, cheapest + stateless),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """Stateful tasks, N, whose copies are to be placed on C clients, either role in a table of its own.

    Attributes:
        price: shape (2, N, C); what a copy costs, actives first.
        number: shape (2, N); how many copies there are.
        most: shape (2, C); how many each client takes.
    """

    price: IntArray
    number: IntArray
    most: IntArray

    @classmethod
    def of(cls, kinds: CopiesByRole, clients: ClientTable) -> _Problem:
        """The problem that an assignment answers."""
        roles = (kinds.stateful, kinds.standbys)
        tasks = _tasks(kinds)
        price = np.zeros((2, len(tasks), len(clients)), dtype=np.int64)
        number = np.zeros((2, len(tasks)), dtype=np.int64)
        for role, copies in enumerate(roles):
            rows = np.searchsorted(tasks, copies.tasks)
            price[role, rows] = _prices(copies, clients.rack)
            number[role, rows] = copies.number
        return cls(price, number, np.array([room(copies.placed, clients.threads) for copies in roles]))

    def programme(self) -> LinearProgram:
        """Every copy has a place, no client more than it takes, and no client two copies of a task."""
        _, num_tasks, num_clients = self.price.shape
        place = np.arange(self.price.size).reshape(self.price.shape)
        task, client = np.divmod(np.arange(num_tasks * num_clients), num_clients)
        one = np.ones(num_tasks * num_clients, dtype=np.int64)
        rows = RowBuilder()
        for role in range(2):
            rows.add([(task, place[role].ravel(), 1)], self.number[role], self.number[role])
            rows.add([(client, place[role].ravel(), 1)], np.zeros_like(self.most[role]), self.most[role])
        each = np.arange(num_tasks * num_clients)
        rows.add([(each, place[role].ravel(), 1) for role in range(2)], 0 * one, one)
        return rows.programme(-self.price.ravel(), np.ones(self.price.size, dtype=np.int64))

    def solved(self, time_limit_s: float) -> tuple[int, int | None]:
        """What nothing costs less than, and what the cheapest placement costs that was found; None if none was."""
        answer = solve_integer(self.programme(), time_limit_s)
        least = -answer.bound if math.isfinite(answer.bound) else 0.0
        bound = math.ceil(least - _ROUNDING - _RELATIVE_ROUNDING * least)
        if answer.values is None:
            return bound, None
        return bound, int(self.price.ravel() @ np.rint(answer.values).astype(np.int64))


def _tasks(kinds: CopiesByRole) -> IntArray:
    """The rows of the tasks that are in a problem."""
    tasks: IntArray = np.union1d(kinds.stateful.tasks, kinds.standbys.tasks)
    return tasks


def _prices(copies: TaskCopies, rack: IntArray) -> IntArray:
    """Shape (N, C); what a copy of each task costs on each client."""
    price: IntArray = copies.traffic[:, rack] + copies.moving * ~copies.held
    return price
