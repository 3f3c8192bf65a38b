"""A lower bound of the number of colocations: copies of a task that share a failure domain.

It depends only on the bounds of the clients. The mean over the N tasks of a placement is a fractional placement of one
task, with 1/N of the colocations and of the bounds. The minimum over all fractional placements is the optimum of a
linear program with a few variables for each client.
"""

from __future__ import annotations

import math

import numpy as np

from assignors.integer_program import LinearProgram, solve_relaxed
from assignors.optimum.failure_domains import NO_DOMAIN
from assignors.optimum.placement_program import PlacementProblem

_TIME_LIMIT_S = 10.0
_ROUNDING = 1e-6


def min_colocations(problem: PlacementProblem) -> int:
    """Return a lower bound of the number of colocations.

    It is too low where parts of tasks fit and whole tasks do not.

    Returns:
        The bound, 0 if there are no failure domains.
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
