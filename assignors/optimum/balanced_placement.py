"""Place tasks at the minimum cost with each client's share, and with as little slack as possible."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from assignors.model.columns import NO_RACK, BoolArray, IntArray
from assignors.model.state import ApplicationState
from assignors.optimum.aggregated_clients import AggregatedClients
from assignors.optimum.capacity_bounds import CapacityBounds, active_shares, compute_capacity_bounds, standby_shares
from assignors.optimum.copy_prices import CopyPrices, total_price
from assignors.optimum.single_role_flow import place_one_role
from assignors.optimum.stateful_placement import find_cheapest_placement
from assignors.optimum.task_placement_program import PlacementProblem, PlacementSolution

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
