"""Place stateful tasks and their standbys at minimum cost: by flows if they prove it, else by an integer program.

Colocations are copies of a task that share a failure domain. The lower bound of their number depends only on the bounds
of the clients: the mean over the N tasks of a placement is a fractional placement of one task, with 1/N of the
colocations and of the bounds. The minimum over all fractional placements is the optimum of a linear program with a few
variables for each client.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from assignors.integer_program import LinearProgram, solve_relaxed
from assignors.model.columns import BoolArray, IntArray
from assignors.optimum.aggregated_clients import AggregatedClients
from assignors.optimum.capacity_bounds import CapacityBounds
from assignors.optimum.copy_prices import total_price
from assignors.optimum.failure_domains import NO_DOMAIN, count_colocations
from assignors.optimum.single_role_flow import place_one_role
from assignors.optimum.task_placement_program import MAX_VARIABLES, PlacementProblem, PlacementSolution, solve_placement

_TIME_LIMIT_S = 10.0
_ROUNDING = 1e-6


def min_colocations(problem: PlacementProblem) -> int:
    """Return a lower bound of the number of colocations.

    It is too low where parts of tasks fit and whole tasks do not. Returns the bound, 0 if there are no failure domains.
    """
    if not len(problem.domains):
        return 0
    num_tasks, num_clients = problem.active.shape
    members = [domain == value for domain in problem.domains for value in np.unique(domain[domain != NO_DOMAIN])]
    client, excess = np.arange(num_clients), 2 * num_clients + np.arange(len(members))
    matrix = np.zeros((2 + num_clients + len(members), 2 * num_clients + len(members)))
    matrix[0, client] = matrix[1, num_clients + client] = 1
    matrix[2 + client, client] = matrix[2 + client, num_clients + client] = 1
    for number, clients_in_domain in enumerate(members):
        matrix[2 + num_clients + number, : 2 * num_clients] = np.tile(clients_in_domain, 2)
        matrix[2 + num_clients + number, excess[number]] = -1
    upper = np.concatenate([[1, problem.copies], np.ones(num_clients + len(members))])
    lower = np.concatenate([[1, problem.copies], np.zeros(num_clients), np.full(len(members), -problem.copies)])
    row, column = np.nonzero(matrix)
    active, standby = problem.active_bounds, problem.standby_bounds
    solution = solve_relaxed(
        LinearProgram(
            objective=-np.concatenate([np.zeros(2 * num_clients), np.ones(len(members))]),
            lowest=np.concatenate([active.min_copies / num_tasks, standby.min_copies / num_tasks, 0 * excess]),
            highest=np.concatenate(
                [active.max_copies / num_tasks, standby.max_copies / num_tasks, 0 * excess + num_tasks]
            ),
            row=row,
            column=column,
            coefficient=matrix[row, column],
            lower=lower,
            upper=upper,
        ),
        _TIME_LIMIT_S,
    )
    if solution.is_infeasible or not math.isfinite(solution.bound):
        return 0
    average = -solution.bound - _ROUNDING
    return math.ceil(average * int(num_tasks))


def find_cheapest_placement(
    problem: PlacementProblem, time_limit_s: float, max_variables: int = MAX_VARIABLES
) -> tuple[PlacementSolution | None, bool]:
    """Find the cheapest placement among those with the fewest colocations.

    `time_limit_s`: time limit of a program. If it ends without a placement, flows place the active tasks at minimum
    cost and then the standbys; only the bound is then guaranteed. `max_variables`: number of variables above which a
    program is not solved; flows then place the tasks as above. Returns the placement (None if none was found) and
    whether the bounds are proven to be infeasible. A placement may exist although the result is `(None, False)`: the
    program found none in time, and the standbys do not fit beside the cheapest active tasks.
    """
    active = _place_role(problem.active, problem.active_bounds, 1)
    standby = _place_role(problem.standby, problem.standby_bounds, problem.copies)
    if active is None or standby is None:
        return None, True
    bound = total_price(problem.active, active) + total_price(problem.standby, standby)
    fewest = min_colocations(problem)
    if not (active & standby).any() and count_colocations(problem.domains, active | standby) <= fewest:
        return PlacementSolution(active, standby, bound), False
    solution, is_infeasible = _solve_program(problem, fewest, time_limit_s, max_variables)
    if is_infeasible:
        return None, True
    if solution is not None:
        return PlacementSolution(solution.active, solution.standby, max(solution.bound, bound)), False
    return _place_standbys_after_actives(problem, active, bound), False


def _solve_program(
    problem: PlacementProblem, max_colocations: int, time_limit_s: float, max_variables: int
) -> tuple[PlacementSolution | None, bool]:
    """Solve as `solve_placement`, with more colocations if they are proven to be necessary."""
    solution, is_infeasible = solve_placement(problem, max_colocations, time_limit_s, max_variables=max_variables)
    if not is_infeasible:
        return solution, False
    zeros = np.zeros_like(problem.active)
    unlimited = len(problem.active) * problem.copies * len(problem.domains)
    without_prices = replace(problem, active=zeros, standby=zeros)
    fewest, is_infeasible = solve_placement(without_prices, unlimited, time_limit_s, 1, max_variables=max_variables)
    if fewest is None:
        return None, is_infeasible
    max_colocations = count_colocations(problem.domains, fewest.active | fewest.standby)
    return solve_placement(problem, max_colocations, time_limit_s, max_variables=max_variables)


def _place_role(price: IntArray, bounds: CapacityBounds, copies: int) -> BoolArray | None:
    return place_one_role(AggregatedClients(price, bounds, np.arange(price.shape[1])), copies)


def _place_standbys_after_actives(problem: PlacementProblem, active: BoolArray, bound: int) -> PlacementSolution | None:
    """Place standbys on other clients than the active tasks, and preferably in other domains."""
    penalty = int(problem.standby.max(initial=0)) * len(active) * problem.copies + 1
    price = problem.standby.copy()
    owner = active.argmax(axis=1)
    for domain_of in problem.domains:
        price += penalty * ((domain_of[owner][:, None] == domain_of) & (domain_of[owner][:, None] != NO_DOMAIN))
    price[active] = penalty * (len(problem.domains) + 1) * len(active) * problem.copies
    standby = _place_role(price, problem.standby_bounds, problem.copies)
    if standby is None or (standby & active).any():
        return None
    return PlacementSolution(active, standby, bound)
