"""Place tasks at the minimum cost with each client's share, and with as little slack as possible.

Stateful tasks and their standbys are placed by flows if these prove the minimum cost, else by an integer program.
Colocations are copies of a task that share a failure domain. The lower bound of their number depends only on the bounds
of the clients: the mean over the N tasks of a placement is a fractional placement of one task, with 1/N of the
colocations and of the bounds. The minimum over all fractional placements is the optimum of a linear program with a few
variables for each client.

Source of the flow of one role: Ahuja, Magnanti, Orlin, "Network Flows" (transport problems; bounds on nested sets of
arcs into a node).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from assignors.flow.min_cost import Arcs, min_cost_flow
from assignors.integer_program import LinearProgram, solve_relaxed
from assignors.model.columns import NO_RACK, BoolArray, IntArray
from assignors.model.state import ApplicationState
from assignors.optimum.capacity_bounds import (
    AggregatedClients,
    CapacityBounds,
    active_shares,
    compute_capacity_bounds,
    standby_shares,
)
from assignors.optimum.costs import CopyPrices, total_price
from assignors.optimum.task_placement_program import (
    MAX_VARIABLES,
    NO_DOMAIN,
    PlacementProblem,
    PlacementSolution,
    count_colocations,
    solve_placement,
)


def place_one_role(pools: AggregatedClients, copies: int) -> BoolArray | None:
    """Place the copies of each task on different clients.

    `pools`: prices, bounds and cells; with more than one copy of each task, cells of one client each. `copies`: copies
    of each task. Returns the clients with a copy, shape (N, C); None if the bounds cannot be met.

    Complexity: a min-cost flow over N·P + S + G·C arcs: P pools, G groups, S pairs of task and client that are cheaper
    than the pool.
    """
    number, num_clients = pools.price.shape
    groups, num_pools = len(pools.bounds.group_min_copies), pools.num_pools
    first_pool = number
    first_part = first_pool + groups * num_pools
    first_client = first_part + groups * num_clients
    sink = first_client + num_clients
    group = pools.bounds.group
    task, client = np.nonzero(pools.has_own_arc)
    parts = np.arange(groups * num_clients)
    part_client = parts % num_clients
    pooled_parts = np.flatnonzero(pools.pool[part_client] >= 0)
    pool_of_part = (parts // num_clients * num_pools + pools.pool[part_client])[pooled_parts]
    max_copies = pools.bounds.group_max_copies.ravel()
    clients = np.arange(num_clients)
    arcs = Arcs.joined(
        _unit_arcs(
            np.repeat(np.arange(number), num_pools),
            (first_pool + group[:, None] * num_pools + np.arange(num_pools)).ravel(),
            pools.pool_price.ravel(),
        ),
        _unit_arcs(task, first_part + group[task] * num_clients + client, pools.price[task, client]),
        Arcs(
            first_pool + pool_of_part, first_part + pooled_parts, max_copies[pooled_parts], np.zeros_like(pooled_parts)
        ),
        Arcs(
            first_part + parts,
            first_client + part_client,
            max_copies - pools.bounds.group_min_copies.ravel(),
            np.zeros_like(parts),
        ),
        Arcs(
            first_client + clients,
            np.full_like(clients, sink),
            pools.bounds.max_copies - pools.bounds.min_copies,
            np.zeros_like(clients),
        ),
    )
    flow = _solve_flow(arcs, _supply(pools, copies, sink, first_part, first_client))
    if flow is None:
        return None
    own = np.zeros_like(pools.has_own_arc)
    pool_arcs, own_arcs = number * num_pools, number * num_pools + len(task)
    has_copy = flow[pool_arcs:own_arcs] > 0
    own[task[has_copy], client[has_copy]] = True
    taken = np.zeros(groups * num_clients, dtype=np.int64)
    taken[pooled_parts] = flow[own_arcs : own_arcs + len(pooled_parts)]
    to_pool = flow[:pool_arcs].reshape(number, num_pools) > 0
    return pools.choose_clients(own, to_pool, taken.reshape(groups, num_clients))


def _unit_arcs(tail: IntArray, head: IntArray, cost: IntArray) -> Arcs:
    return Arcs(tail, head, np.ones_like(tail), cost)


def _supply(pools: AggregatedClients, copies: int, sink: int, first_part: int, first_client: int) -> IntArray:
    """Return the supplies after each part and each client received its minimum."""
    supply = np.zeros(sink + 1, dtype=np.int64)
    number = len(pools.price)
    supply[:number] = copies
    supply[first_part:first_client] = -pools.bounds.group_min_copies.ravel()
    supply[first_client:sink] = pools.bounds.group_min_copies.sum(axis=0) - pools.bounds.min_copies
    supply[sink] = int(pools.bounds.min_copies.sum()) - number * copies
    return supply


def _solve_flow(arcs: Arcs, supply: IntArray) -> IntArray | None:
    return None if (arcs.capacity < 0).any() else min_cost_flow(arcs, supply)


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


PlacementSolver: TypeAlias = Callable[[PlacementProblem, float], tuple[PlacementSolution | None, bool]]
"""Solves a problem within a time limit in seconds, as `find_cheapest_placement` does."""


@dataclass(frozen=True, slots=True)
class Slack:
    """The number of tasks by which clients may exceed or miss their shares.

    Attributes:
        of_all: slack of stateful tasks, of stateless tasks, and of standbys.
        of_subtopologies: slack of each subtopology; None if subtopologies do not matter.
    """

    of_all: int
    of_subtopologies: int | None


@dataclass(frozen=True, slots=True, eq=False)
class BalancedPlacement:
    """The placement of stateful tasks.

    Attributes:
        slack: number of copies by which clients exceed or miss their shares.
        is_slack_minimal: whether all smaller slacks, from the requested one on, are proven to be infeasible.
    """

    solution: PlacementSolution
    slack: int
    is_slack_minimal: bool = True


def place_stateful_tasks(
    state: ApplicationState,
    price: CopyPrices,
    copies: int,
    domains: IntArray,
    slack_limits: Slack,
    time_limit_s: float,
    solve: PlacementSolver = find_cheapest_placement,
) -> BalancedPlacement:
    """Place stateful tasks and their standbys.

    `domains`: failure domains; see `failure_domains`. `slack_limits`: requested slack; it grows where standbys do not
    fit. `time_limit_s`: see `find_cheapest_placement`. `solve`: places tasks with standbys for a given slack. Raises
    AssertionError if no slack is feasible, which cannot happen.
    """
    num_tasks, threads = len(price.active), state.clients.threads
    if not price.active.size:
        no_copies = np.zeros(price.active.shape, dtype=np.bool_)
        return BalancedPlacement(PlacementSolution(no_copies, no_copies, 0), slack_limits.of_all)
    subtopology = state.tasks.subtopology[state.tasks.stateful]
    is_slack_minimal = True
    for slack in range(slack_limits.of_all, max(slack_limits.of_all, num_tasks) + 1):
        active_bounds = compute_capacity_bounds(
            active_shares(num_tasks, threads), slack, subtopology, slack_limits.of_subtopologies
        )
        if not copies:
            active = _flow(state, price.active, active_bounds)
            return BalancedPlacement(
                PlacementSolution(active, np.zeros_like(active), total_price(price.active, active)), slack
            )
        shares = standby_shares(num_tasks, copies, threads)
        subtopology_slack = (
            None
            if slack_limits.of_subtopologies is None
            else slack_limits.of_subtopologies + slack - slack_limits.of_all
        )
        standby_bounds = compute_capacity_bounds(shares, slack, subtopology, subtopology_slack)
        problem = PlacementProblem(price.active, price.standby, copies, active_bounds, standby_bounds, domains)
        solution, is_infeasible = solve(problem, time_limit_s)
        if solution is not None:
            return BalancedPlacement(solution, slack, is_slack_minimal)
        is_slack_minimal = is_slack_minimal and is_infeasible
    raise AssertionError("a slack of all tasks is feasible")


def place_stateless_tasks(state: ApplicationState, price: CopyPrices, slack_limits: Slack) -> BoolArray:
    """Place stateless tasks; return the client of each, shape (N, C)."""
    if not price.stateless.size:
        return np.zeros(price.stateless.shape, dtype=np.bool_)
    shares = active_shares(len(price.stateless), state.clients.threads)
    subtopology = state.tasks.subtopology[~state.tasks.stateful]
    return _flow(
        state,
        price.stateless,
        compute_capacity_bounds(shares, slack_limits.of_all, subtopology, slack_limits.of_subtopologies),
    )


def _flow(state: ApplicationState, price: IntArray, bounds: CapacityBounds) -> BoolArray:
    """Return the cheapest placement of tasks with one copy; the clients of a rack are aggregated."""
    placed = place_one_role(AggregatedClients(price, bounds, state.clients.rack - NO_RACK), 1)
    assert placed is not None, "each client can have its share"
    return placed
