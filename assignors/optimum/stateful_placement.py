"""The cheapest place of stateful tasks and their standbys: by flows where these prove it, by a programme where not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from assignors.model.columns import BoolArray, IntArray
from assignors.optimum.aggregated_clients import AggregatedClients
from assignors.optimum.capacity_bounds import CapacityBounds
from assignors.optimum.colocation_bound import min_colocations
from assignors.optimum.failure_domains import NO_DOMAIN, repeats
from assignors.optimum.placement_program import PlacementProblem, PlacementSolution, solve
from assignors.optimum.prices import total
from assignors.optimum.single_role_flow import cheapest


def place(joint: PlacementProblem, time_limit_s: float) -> tuple[PlacementSolution | None, bool]:
    """Find the cheapest of the answers with the fewest repeats.

    Args:
        joint: the problem.
        time_limit_s: how long a programme may take. What it did not settle by then is settled by flows: the actives
            as they are cheapest, then the standbys, with no promise but the bound.

    Returns:
        What was found, None if nothing was; and whether it is proven that the clients' rooms admit nothing. Neither
        where a programme found nothing in its time, and standbys have no room beside the cheapest actives.
    """
    active = _alone(joint.active, joint.running, 1)
    standby = _alone(joint.standby, joint.standing_by, joint.copies)
    if active is None or standby is None:
        return None, True
    bound = total(joint.active, active) + total(joint.standby, standby)
    least = min_colocations(joint)
    if not (active & standby).any() and repeats(joint.where, active | standby) <= least:
        return PlacementSolution(active, standby, bound), False
    found, is_impossible = _programmed(joint, least, time_limit_s)
    if is_impossible:
        return None, True
    if found is not None:
        return PlacementSolution(found.active, found.standby, max(found.bound, bound)), False
    return _one_after_the_other(joint, active, bound), False


def _programmed(joint: PlacementProblem, least: int, time_limit_s: float) -> tuple[PlacementSolution | None, bool]:
    """As `joint.solve`, with more repeats if it is proven that there must be."""
    found, is_impossible = solve(joint, least, time_limit_s)
    if not is_impossible:
        return found, False
    nothing = np.zeros_like(joint.active)
    any_number = len(joint.active) * joint.copies * len(joint.where)
    fewest, is_impossible = solve(replace(joint, active=nothing, standby=nothing), any_number, time_limit_s, 1)
    if fewest is None:
        return None, is_impossible
    return solve(joint, repeats(joint.where, fewest.active | fewest.standby), time_limit_s)


def _alone(price: IntArray, rooms: CapacityBounds, copies: int) -> BoolArray | None:
    return cheapest(AggregatedClients(price, rooms, np.arange(price.shape[1])), copies)


def _one_after_the_other(joint: PlacementProblem, active: BoolArray, bound: int) -> PlacementSolution | None:
    """Standbys where the actives are not, and in other places rather than in the same."""
    most = int(joint.standby.max(initial=0)) * len(active) * joint.copies + 1
    price = joint.standby.copy()
    owner = active.argmax(axis=1)
    for row in joint.where:
        price += most * ((row[owner][:, None] == row) & (row[owner][:, None] != NO_DOMAIN))
    price[active] = most * (len(joint.where) + 1) * len(active) * joint.copies
    standby = _alone(price, joint.standing_by, joint.copies)
    if standby is None or (standby & active).any():
        return None
    return PlacementSolution(active, standby, bound)
