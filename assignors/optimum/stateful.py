"""The cheapest place of stateful tasks and their standbys: by flows where these prove it, by a programme where not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from assignors.columns import BoolArray, IntArray
from assignors.optimum.joint import Found, Joint, solve
from assignors.optimum.least_repeats import least_repeats
from assignors.optimum.pools import Pools
from assignors.optimum.prices import total
from assignors.optimum.rooms import Rooms
from assignors.optimum.single import cheapest
from assignors.optimum.spread import NO_VALUE, repeats


def place(joint: Joint, time_limit_s: float) -> tuple[Found | None, bool]:
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
    least = least_repeats(joint)
    if not (active & standby).any() and repeats(joint.where, active | standby) <= least:
        return Found(active, standby, bound), False
    found, is_impossible = _programmed(joint, least, time_limit_s)
    if is_impossible:
        return None, True
    if found is not None:
        return Found(found.active, found.standby, max(found.bound, bound)), False
    return _one_after_the_other(joint, active, bound), False


def _programmed(joint: Joint, least: int, time_limit_s: float) -> tuple[Found | None, bool]:
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


def _alone(price: IntArray, rooms: Rooms, copies: int) -> BoolArray | None:
    return cheapest(Pools(price, rooms, np.arange(price.shape[1])), copies)


def _one_after_the_other(joint: Joint, active: BoolArray, bound: int) -> Found | None:
    """Standbys where the actives are not, and in other places rather than in the same."""
    most = int(joint.standby.max(initial=0)) * len(active) * joint.copies + 1
    price = joint.standby.copy()
    owner = active.argmax(axis=1)
    for row in joint.where:
        price += most * ((row[owner][:, None] == row) & (row[owner][:, None] != NO_VALUE))
    price[active] = most * (len(joint.where) + 1) * len(active) * joint.copies
    standby = _alone(price, joint.standing_by, joint.copies)
    if standby is None or (standby & active).any():
        return None
    return Found(active, standby, bound)
