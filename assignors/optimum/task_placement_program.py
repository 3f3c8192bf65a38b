"""Place active tasks and standbys of stateful tasks with one integer program.

Source: an assignment problem with side constraints; the clients of a rack are aggregated where that is exact
(`aggregated_clients`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from assignors.integer_program import solve_integer
from assignors.model.columns import BoolArray, IntArray
from assignors.optimum.aggregated_clients import AggregatedClients
from assignors.optimum.capacity_bounds import CapacityBounds
from assignors.optimum.failure_domains import NO_DOMAIN, group_by_domains
from assignors.optimum.variables import RoleVariables, RowBuilder

MAX_VARIABLES = 200_000
"""Default number of variables above which no program is solved: building it would take minutes."""


@dataclass(frozen=True, slots=True, eq=False)
class PlacementProblem:
    """A placement problem of N stateful tasks with standbys on C clients.

    Attributes:
        active: shape (N, C); price of an active task.
        standby: shape (N, C); price of a standby.
        copies: standbys of each task.
        active_bounds: bounds of the active tasks of clients.
        standby_bounds: bounds of the standbys of clients.
        domains: shape (K, C); failure domains that copies of a task should not share; see `failure_domains`.
    """

    active: IntArray
    standby: IntArray
    copies: int
    active_bounds: CapacityBounds
    standby_bounds: CapacityBounds
    domains: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class PlacementSolution:
    """A placement, and a lower bound.

    Attributes:
        active: shape (N, C); clients that run each task.
        standby: shape (N, C); clients with a standby of each task.
        bound: lower bound of the total price of all placements with at most as many colocations.
    """

    active: BoolArray
    standby: BoolArray
    bound: int


def solve_placement(
    problem: PlacementProblem,
    max_colocations: int,
    time_limit_s: float,
    colocation_price: int = 0,
    *,
    max_variables: int = MAX_VARIABLES,
    aggregates: bool = True,
) -> tuple[PlacementSolution | None, bool]:
    """Find the cheapest placement with a limited number of colocations.

    Args:
        problem: the problem.
        max_colocations: maximum total of `count_colocations`.
        time_limit_s: time limit.
        colocation_price: price of a colocation.
        max_variables: number of variables above which the program is not solved.
        aggregates: whether to aggregate equivalent clients where that is exact; a program that does not is larger.

    Returns:
        The placement, None if none was found; and whether the problem is proven to be infeasible.

    Complexity: without colocations, N·(2·P + S) integer variables for P pools and S clients that are cheaper for a task
    than their pool; with colocations, 2·N·C + N·V, for V domains.
    """
    is_separated = max_colocations == 0
    num_clients = problem.active.shape[1]
    cell = group_by_domains(problem.domains) if is_separated and aggregates else np.arange(num_clients)
    active_role = RoleVariables(AggregatedClients(problem.active, problem.active_bounds, cell), 0)
    standby_role = RoleVariables(AggregatedClients(problem.standby, problem.standby_bounds, cell), active_role.end)
    if standby_role.end > max_variables:
        return None, False
    rows = RowBuilder()
    active_role.add_to(rows, 1)
    standby_role.add_to(rows, problem.copies)
    num_tasks = len(problem.active)
    ones = np.ones(num_tasks, dtype=np.int64)
    for member in _exclusive_sets(problem.domains, cell, separated=is_separated):
        rows.add([*active_role.within(member), *standby_role.within(member)], 0 * ones, ones)
    num_colocation_variables = (
        0 if is_separated else _add_colocations(rows, problem, (active_role, standby_role), max_colocations)
    )
    zeros = np.zeros(num_colocation_variables, dtype=np.int64)
    solution = solve_integer(
        rows.build(
            -np.concatenate([active_role.prices(), standby_role.prices(), zeros + colocation_price]),
            np.concatenate([active_role.upper_bounds(), standby_role.upper_bounds(), zeros + problem.copies]),
        ),
        time_limit_s,
    )
    if solution.values is None:
        return None, solution.is_infeasible
    values = np.rint(solution.values).astype(np.int64)
    active, standby = active_role.read(values), standby_role.read(values)
    bound = -solution.bound if np.isfinite(solution.bound) else 0.0
    return PlacementSolution(active, standby, int(np.ceil(round(bound, 3)))), False


def _exclusive_sets(domains: IntArray, cell: IntArray, *, separated: bool) -> Iterator[BoolArray]:
    """Yield the sets of clients of which at most one holds a copy of a task: a client, a cell or a domain.

    Yields masks of clients.
    """
    for number in range(int(cell.max(initial=-1)) + 1):
        member = cell == number
        if not separated or (domains[:, member] == NO_DOMAIN).all():
            yield member
    for domain_of in domains if separated else ():
        for value in range(int(domain_of.max(initial=NO_DOMAIN)) + 1):
            if (domain_of == value).any():
                yield domain_of == value


def _add_colocations(
    rows: RowBuilder, problem: PlacementProblem, roles: tuple[RoleVariables, RoleVariables], max_colocations: int
) -> int:
    """Count the colocations of each task in each domain, and limit their sum.

    Returns the number of additional variables.
    """
    num_tasks, end = len(problem.active), roles[1].end
    tasks = np.arange(num_tasks)
    count = 0
    for domain_of in problem.domains:
        for value in range(int(domain_of.max(initial=NO_DOMAIN)) + 1):
            member = domain_of == value
            if member.any():
                excess = (tasks, end + count * num_tasks + tasks, -1)
                entries = [*roles[0].within(member), *roles[1].within(member), excess]
                rows.add(entries, np.full(num_tasks, -problem.copies), np.ones(num_tasks, dtype=np.int64))
                count += 1
    if count:
        columns = end + np.arange(count * num_tasks)
        rows.add([(np.zeros_like(columns), columns, 1)], np.array([0]), np.array([max_colocations]))
    return count * num_tasks
