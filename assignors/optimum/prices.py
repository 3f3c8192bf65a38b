"""What a copy of a task costs on each client, in whole numbers that also settle ties.

The objective is that of `assignors.objective`. Ties are settled in favour of clients that need not warm up, then of
those that do so already, so that an answer stays what it was while its copies are restored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assignors.columns import BoolArray, IntArray
from assignors.objective import STATELESS_TRAFFIC_COST, Weights, knows_racks, previous
from assignors.optimum.readiness import lags_behind
from assignors.state import ApplicationState

_WORST = 2
"""What a copy counts at most in settling ties."""


@dataclass(frozen=True, slots=True, eq=False)
class Prices:
    """What copies cost, and how that was made of costs and ties.

    Attributes:
        active: shape (N, C); of N stateful tasks.
        standby: shape (N, C); of these.
        stateless: shape (M, C); of the M other tasks.
        scale: how often a cost is counted, so that all ties together count less than a cost of 1.
    """

    active: IntArray
    standby: IntArray
    stateless: IntArray
    scale: int

    def cost(self, total: int) -> int:
        """The cost in a sum of prices."""
        return total // self.scale

    def least_cost(self, total: int) -> int:
        """What costs at least, if their prices sum up to at least this."""
        return -((self.scale - 1 - total) // self.scale)


def most_remote(state: ApplicationState, copies: int) -> int:
    """How many partitions the copies of all stateful tasks can read across racks, at most."""
    stateful = state.tasks.stateful
    sources, changelogs = state.tasks.source.counts()[stateful], state.tasks.changelog.counts()[stateful]
    return int(sources.sum() + copies * changelogs.sum())


def prices(state: ApplicationState, copies: int, weights: Weights, downtime_cost: int) -> Prices:
    """Price every copy on every client.

    Args:
        state: what is to be assigned. Where racks are not known, traffic costs nothing.
        copies: standbys of each stateful task.
        weights: the costs.
        downtime_cost: what a task costs besides, that would run on a client that lags behind another one.
    """
    stateful = state.tasks.stateful
    ran, held = previous(state)
    behind = lags_behind(state)
    scale = _WORST * (int(stateful.sum()) * (1 + copies) + int((~stateful).sum())) + 1
    known = knows_racks(state, standbys=copies > 0)
    read = state.remote_partitions(state.tasks.source) if known else np.zeros_like(state.lags)
    restored = state.remote_partitions(state.tasks.changelog) if known and copies else np.zeros_like(state.lags)
    active = weights.traffic_cost * read + weights.non_overlap_cost * ~ran
    standby = weights.traffic_cost * restored + weights.non_overlap_cost * ~held
    waits = behind * (_WORST - held[stateful])
    return Prices(
        active=(active[stateful] + downtime_cost * behind) * scale + waits,
        standby=standby[stateful] * scale + waits,
        stateless=STATELESS_TRAFFIC_COST * read[~stateful] * scale + ~ran[~stateful],
        scale=scale,
    )


def total(price: IntArray, held: BoolArray) -> int:
    """The sum of the prices of copies."""
    return int(price[held].sum())
