"""How often copies of a task must meet in one place, at least.

The shares of the clients alone settle it, whatever the tasks: if N tasks can be placed with so many repeats, so can
an average task, a part of which is on each client. That is a linear programme of a few numbers a client.
"""

from __future__ import annotations

import math

import numpy as np

from assignors.integer_program import FloatArray, LinearProgram, solve_relaxed
from assignors.model.columns import IntArray
from assignors.optimum.failure_domains import NO_DOMAIN
from assignors.optimum.placement_program import PlacementProblem

_TIME_LIMIT_S = 10.0
_ROUNDING = 1e-6


def min_colocations(joint: PlacementProblem) -> int:
    """The fewest repeats, or fewer, if parts of tasks can be placed where whole ones cannot."""
    if not len(joint.where):
        return 0
    number, num_clients = joint.active.shape
    members = [row == value for row in joint.where for value in np.unique(row[row != NO_DOMAIN])]
    client, extra = np.arange(num_clients), 2 * num_clients + np.arange(len(members))
    matrix = np.zeros((2 + num_clients + len(members), 2 * num_clients + len(members)))
    matrix[0, client] = matrix[1, num_clients + client] = 1
    matrix[2 + client, client] = matrix[2 + client, num_clients + client] = 1
    for place, member in enumerate(members):
        matrix[2 + num_clients + place, : 2 * num_clients] = np.tile(member, 2)
        matrix[2 + num_clients + place, extra[place]] = -1
    above = np.concatenate([[1, joint.copies], np.ones(num_clients + len(members))])
    below = np.concatenate([[1, joint.copies], np.zeros(num_clients), np.full(len(members), -joint.copies)])
    row, column = np.nonzero(matrix)
    answer = solve_relaxed(
        LinearProgram(
            objective=-np.concatenate([np.zeros(2 * num_clients), np.ones(len(members))]),
            lowest=np.concatenate([_part(joint.running.least, joint.standing_by.least, number), 0 * extra]),
            highest=np.concatenate([_part(joint.running.most, joint.standing_by.most, number), 0 * extra + number]),
            row=row,
            column=column,
            coefficient=matrix[row, column],
            lower=below,
            upper=above,
        ),
        _TIME_LIMIT_S,
    )
    if answer.is_infeasible or not math.isfinite(answer.bound):
        return 0
    average = -answer.bound - _ROUNDING
    return math.ceil(average * int(number))


def _part(active: IntArray, standby: IntArray, number: int) -> FloatArray:
    return np.concatenate([active, standby]) / number
