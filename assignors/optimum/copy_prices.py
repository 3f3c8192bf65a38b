"""The price of a copy of a task on each client: its cost, and tie-breaks, in whole numbers.

Ties are broken in favor of clients that need no warm-up, then of clients that are warming up, so that an assignment
stays the same while its copies are restored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assignors.model.columns import BoolArray, IntArray
from assignors.model.lags import is_caught_up, require_lags
from assignors.model.state import ApplicationState, previous_holders
from assignors.optimum.costs import CopyCosts


def needs_warmup(state: ApplicationState) -> BoolArray:
    """Return where a stateful task would wait for state: the client is not caught up, and another client is closer.

    The result has shape (N, C), a row for each stateful task.
    """
    require_lags(state)
    lags = state.lags[state.tasks.stateful]
    if not lags.size:
        return np.zeros(lags.shape, dtype=np.bool_)
    caught_up = is_caught_up(lags, state.assignment_configs.acceptable_recovery_lag)
    behind: BoolArray = ~caught_up & (lags > lags.min(axis=1, keepdims=True))
    return behind


_MAX_WAIT = 2
"""Maximum tie-break value of a copy that needs a warm-up."""


@dataclass(frozen=True, slots=True, eq=False)
class CopyPrices:
    """The prices of copies, and their scale.

    Attributes:
        active: shape (N, C); prices of N stateful tasks.
        standby: shape (N, C); prices of their standbys.
        stateless: shape (M, C); prices of the M stateless tasks.
        scale: factor of costs in prices; all tie-breaks together are less than a cost of 1.
    """

    active: IntArray
    standby: IntArray
    stateless: IntArray
    scale: int

    def cost(self, total_price: int) -> int:
        """Return the cost in a sum of prices."""
        return total_price // self.scale

    def lower_bound_of_cost(self, total_price: int) -> int:
        """Return the lower bound of a cost for a lower bound of the sum of prices."""
        return -((self.scale - 1 - total_price) // self.scale)


def compute_prices(state: ApplicationState, copies: int, costs: CopyCosts, downtime_cost: int) -> CopyPrices:
    """Return the prices of all copies on all clients.

    `copies`: standbys of each stateful task; `downtime_cost`: additional cost of a task on a client that lags behind
    another one, in the unit of the costs.
    """
    stateful = state.tasks.stateful
    ran, held = previous_holders(state)
    behind = needs_warmup(state)
    is_new, is_new_standby = (costs.prefers_staying * ~had[stateful] for had in (ran, held))
    worst = _MAX_WAIT + costs.prefers_staying
    scale = worst * (int(stateful.sum()) * (1 + copies) + int((~stateful).sum())) + 1
    waits = behind * (_MAX_WAIT - held[stateful])
    down = round(downtime_cost / costs.unit) * behind
    return CopyPrices(
        active=(costs.active[stateful] + down) * scale + waits + is_new,
        standby=costs.standby[stateful] * scale + waits + is_new_standby,
        stateless=costs.active[~stateful] * scale + ~ran[~stateful],
        scale=scale,
    )


def total_price(price: IntArray, held: BoolArray) -> int:
    """Return the sum of the prices of copies."""
    return int(price[held].sum())
