"""The cheapest place of tasks by which every client has its share, with as little slack as there can be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assignors.model.columns import NO_RACK, BoolArray, IntArray
from assignors.model.state import ApplicationState
from assignors.optimum.aggregated_clients import AggregatedClients
from assignors.optimum.capacity_bounds import CapacityBounds, active_shares, rooms, standby_shares
from assignors.optimum.placement_program import PlacementProblem, PlacementSolution
from assignors.optimum.prices import CopyPrices, total
from assignors.optimum.single_role_flow import cheapest
from assignors.optimum.stateful_placement import place


@dataclass(frozen=True, slots=True)
class Slack:
    """By how many tasks clients may differ from their shares.

    Attributes:
        of_all: of stateful tasks, of stateless tasks, and of standbys.
        of_subtopologies: of every subtopology; None asks nothing of subtopologies.
    """

    of_all: int
    of_subtopologies: int | None


@dataclass(frozen=True, slots=True, eq=False)
class BalancedPlacement:
    """The place of stateful tasks.

    Attributes:
        found: where they are.
        slack: by how many copies clients differ from their shares.
        is_needed: whether it is proven that there is no place with less slack than that, but what was asked for.
    """

    found: PlacementSolution
    slack: int
    is_needed: bool = True


def place_stateful_tasks(
    state: ApplicationState, price: CopyPrices, copies: int, where: IntArray, asked: Slack, time_limit_s: float
) -> BalancedPlacement:
    """Place stateful tasks and their standbys.

    Args:
        state: whose tasks.
        price: what they cost.
        copies: standbys of each task.
        where: in which places copies of a task should be apart, as of `spread.places`.
        asked: the slack. Where standbys find no place, it grows.
        time_limit_s: as of `stateful.place`.
    """
    number, threads = len(price.active), state.clients.threads
    if not price.active.size:
        nothing = np.zeros(price.active.shape, dtype=np.bool_)
        return BalancedPlacement(PlacementSolution(nothing, nothing, 0), asked.of_all)
    subtopology = state.tasks.subtopology[state.tasks.stateful]
    is_needed = True
    for slack in range(asked.of_all, max(asked.of_all, number) + 1):
        running = rooms(active_shares(number, threads), slack, subtopology, asked.of_subtopologies)
        if not copies:
            active = _flow(state, price.active, running)
            return BalancedPlacement(
                PlacementSolution(active, np.zeros_like(active), total(price.active, active)), slack
            )
        shares = standby_shares(number, copies, threads)
        extra = None if asked.of_subtopologies is None else asked.of_subtopologies + slack - asked.of_all
        standing_by = rooms(shares, slack, subtopology, extra)
        joint = PlacementProblem(price.active, price.standby, copies, running, standing_by, where)
        found, is_impossible = place(joint, time_limit_s)
        if found is not None:
            return BalancedPlacement(found, slack, is_needed)
        is_needed = is_needed and is_impossible
    raise AssertionError("with slack enough for all tasks everything fits")


def place_stateless_tasks(state: ApplicationState, price: CopyPrices, asked: Slack) -> BoolArray:
    """Place stateless tasks; shape (N, C)."""
    if not price.stateless.size:
        return np.zeros(price.stateless.shape, dtype=np.bool_)
    shares = active_shares(len(price.stateless), state.clients.threads)
    subtopology = state.tasks.subtopology[~state.tasks.stateful]
    return _flow(state, price.stateless, rooms(shares, asked.of_all, subtopology, asked.of_subtopologies))


def _flow(state: ApplicationState, price: IntArray, room: CapacityBounds) -> BoolArray:
    """The cheapest place of tasks of which one copy is placed; clients of a rack are one."""
    held = cheapest(AggregatedClients(price, room, state.clients.rack - NO_RACK), 1)
    if held is None:
        raise AssertionError("every client can have its share")
    return held
